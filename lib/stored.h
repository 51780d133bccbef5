/* The object that sbx-audit passed on for a call, kept in state/runs/CALL/object, so that a result can be fetched when
 * its reader had gone. */
#ifndef SBX_STORED_H
#define SBX_STORED_H

#include "json.h"
#include "secret.h"
#include "state.h"

/* Keep TEXT (the sealed call as it is passed on). */
int stored_keep(int run_fd, const char *text, size_t len, struct sbx_error *err);

/* The object of CALL (or of the call that claimed the approval CALL), if it is PRINCIPAL's and all its seals verify: *TEXT and *CALL_OBJECT are owned by the caller.
 * "bad_id" (64): CALL is none; "result_unknown" (66): there is none, or it is another principal's, or older than 24 h: always the same answer, so
 * that ids of others cannot be tried out. "call_running" (69): a process of this principal's call lives. "call_mended"
 * (class of what is known: 1, 3 or 77): its processes died; the message says what the record knows. "seal_invalid"
 * (77): somebody changed the file. For an approval that no call has used: "approval_required" (75; the hint says whether
 * a person or the same call is missing), "approval_denied", "approval_expired" (77). */
int stored_find(const struct state *state, const struct secret *key, const char *call, const char *principal,
		char **text, size_t *len, jv *object, struct sbx_error *err);

#endif
