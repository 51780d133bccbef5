/* An approval as files that another person can check with ssh-keygen and sha256sum alone: text,
 * 1.sig, 2.sig, …, allowed_signers, README. */
#ifndef SBX_DESK_EXPORT_H
#define SBX_DESK_EXPORT_H

#include "approval.h"

/* Append the files of ROW to OUT: for each a line "NAME LENGTH" and LENGTH bytes. The keys are
 * those that signed, under the names that the trust file gave them then. "nothing_signed" (66). */
int desk_export(const struct approval *row, const struct state *state, struct buf *out,
		struct sbx_error *err);

/* The next file of such BYTES (*LEN of them are left): 1 and its NAME and content, as views; 0 at
 * the end; -1 for anything else, and for a name that is none of those above ("bad_export", 76). */
#define DESK_EXPORT_NAME_SIZE 32
int desk_export_next(const char **bytes, size_t *len, char name[DESK_EXPORT_NAME_SIZE],
		     const char **content, size_t *content_len, struct sbx_error *err);

#endif
