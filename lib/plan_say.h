/* A finding in words: the cause before the consequence. Printable ASCII, one line; every name and value that the plan
 * chose stands in quotes or brackets of ours. */
#ifndef SBX_PLAN_SAY_H
#define SBX_PLAN_SAY_H

#include "plan_finding.h"

/* OUT must be empty. */
int plan_say(const struct plan_finding *finding, const struct plan_secrets *secrets, struct buf *out,
	     struct sbx_error *err);

/* REPLACE, DESTROY, FORGET, CREATE, UPDATE, READ, or what else it is: MOVE, IMPORT, DRIFT, PLAN, …. */
const char *plan_say_verb(const struct plan_finding *finding);

#endif
