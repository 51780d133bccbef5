/* The object in the pipe and its seals (design: "The call"). A stage verifies what came, adds its members and its seal. */
#ifndef SBX_CALL_H
#define SBX_CALL_H

#include "json.h"
#include "secret.h"

#define CALL_VERSION 1

/* In the order of their seals. */
enum call_stage { CALL_POLICY, CALL_APPROVE, CALL_CRED, CALL_RUN, CALL_REVOKE, CALL_AUDIT, CALL_STAGES };
const char *call_stage_name(enum call_stage stage); /* "policy" "approve" "cred" "run" "revoke" "audit" */

/* Parse a call: one object with known members of the right kind; CLASS is that of the refusal (65 in sbx-policy, else 76). Nothing at all:
 * "no_input" (66 in sbx-policy, else 76). */
int call_parse(const char *bytes, size_t len, enum sbx_class class, jv *call, struct sbx_error *err);

/* 1 when CALL is {"sbx":1,"error":{…}} alone: a stage had no call to seal. */
int call_is_bare_error(jv call);

/* The call's id, tool; borrowed; NULL when malformed. */
const char *call_id(jv call);
const char *call_tool(jv call);
const char *call_principal(jv call);
const char *call_approval_state(jv call); /* "none", "waiting", "claimed"; NULL before sbx-approve */

/* 1 when something may be run for CALL: the policy allows it and no approval was needed, or wants one and it is claimed. */
int call_may_run(jv call);

/* What the call's error says; 1 if there is one (ERR filled, which must be empty; an unknown class counts as 70), 0 if not. */
int call_get_error(jv call, struct sbx_error *err);
/* Add ERR as the member "error" of STAGE; consumes CALL. */
jv call_set_error(jv call, const char *stage, const struct sbx_error *err);
/* {"sbx":1,"error":{…}} */
jv call_bare_error(const char *stage, const struct sbx_error *err);

/* Verify that CALL carries the seals a call has when it reaches the reader: NEXT is the stage that reads (CALL_APPROVE: a policy seal;
 * CALL_REVOKE: sbx-cred reading sbx-run's answer; CALL_AUDIT: everything). "seal_invalid" or "seal_stale" (77). */
int call_verify(jv call, const struct secret *key, const char *installation, enum call_stage next, struct sbx_error *err);
/* The same without the age of the newest seal: for reading a stored object. */
int call_verify_stored(jv call, const struct secret *key, const char *installation, enum call_stage next, struct sbx_error *err);

/* Append the seal of STAGE over the members that STAGE wrote; consumes *CALL and replaces it. */
int call_seal(jv *call, const struct secret *key, const char *installation, enum call_stage stage, struct sbx_error *err);

/* The class that a stage returns for this call: its error's, else for a result that of its state, else 0. */
enum sbx_class call_class(jv call);
/* How the call ended, as the record says it: {class, code and stage of its error, state of its result}; the caller's. */
jv call_outcome(jv call);
/* That of a result.state: 0, 1, 3 or, for "refused", 77. */
enum sbx_class call_state_class(const char *state);

#endif
