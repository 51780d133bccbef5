/* In an image with a trust file (entry_trust.h) sbx-entry starts nothing that needs a person before it has seen for itself
 * that enough people signed for exactly that. The machine that made the step table is not believed: what needs no signature
 * is said by the image, what was signed is compared with the table (entry_review.h), and the signatures are verified by the
 * program beside this one (sbx-signed), against the image's own signers.
 *
 * What it cannot see: whether the same text has been used before (the record of the door's machine says that), and what a
 * step that needs nobody does with the credential that it is handed. */
#ifndef SBX_ENTRY_SIGNED_H
#define SBX_ENTRY_SIGNED_H

#include "digest.h"
#include "limit.h"
#include "signers.h"
#include "steps.h"

#define ENTRY_SIGNED_PROGRAM SANDBOX_PROGRAMS "/.signed"

enum entry_signed_state {
	SIGNED_NOT_LOOKED, /* the table could not be read, or the text is not good */
	SIGNED_NO_TRUST,   /* this image has no trust file */
	SIGNED_NOT_NEEDED,
	SIGNED_VERIFIED,
};

struct entry_signed {
	enum entry_signed_state state;
	char text_sha256[DIGEST_HEX_SIZE];
	char people[LIMIT_APPROVERS][SIGNER_SIZE]; /* who signed, each once */
	size_t count;
};

/* Look. INPUTS_FD holds the inputs of TABLE. 0, or -1 with
 *   "trust_invalid" (78)         the image's files
 *   "signed_text_missing" (77)   this needs people, and no text was handed over
 *   "signed_text_differs" (77)   the text is about something else, or another installation
 *   "signed_text_expired" (77)   its time is over, or has not begun
 *   "signed_text_few" (77)       fewer people signed so that it counts than the image or the text asks for
 *   "environment_refused" (77)   a variable that makes other programs run
 *   "wire_malformed" (76), "input_changed" (77) */
int entry_signed_check(const struct steps *table, int inputs_fd, struct entry_signed *found, struct sbx_error *err);

/* As the member "approval" of the hello frame: a JSON object. */
int entry_signed_json(const struct entry_signed *found, struct buf *out, struct sbx_error *err);

#endif
