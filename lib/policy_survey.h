/* What a client would meet here: not one call, but whether calls can work at all. For people who set the toolkit up,
 * and through the door's "check" for whoever connects a client. */
#ifndef SBX_POLICY_SURVEY_H
#define SBX_POLICY_SURVEY_H

#include "config.h"
#include "policy.h"

/* {"check":[{"topic","state","text"},…],"tools":[…],"usable":true|false}. TOPIC is "principal", "policy", "state",
 * "approval", "program", "sandbox", "signals", "mirror", "credential", "target" or "workspace"; STATE "ok", "note" (works, but somebody may
 * want to know) or "missing" (some tool cannot work; then the whole is not usable). The policy's tools must be loaded;
 * FAILED names those that are not served, LIST is policy_list's; a tool of it that could not run gets "usable":false. Starts `sbx-run --check`. All borrowed; the result is
 * the caller's. */
jv policy_survey(const struct policy *policy, const struct config *config, const struct state *state,
		 const char *principal, jv failed, jv list);

#endif
