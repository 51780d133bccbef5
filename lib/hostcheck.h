/* What the host can see of a sealed plan before it runs: the live directory, the plan itself and the kept copy, the
 * state, the programs and providers, and the decision. sbx-approve looks right before it claims an approval, sbx-run
 * right before it starts a driver: what a person has read must still be so. */
#ifndef SBX_HOSTCHECK_H
#define SBX_HOSTCHECK_H

#include "config.h"
#include "fetched.h"
#include "ws_state.h"

/* What was found to be right: whoever goes on to run the plan need not open it again. All of it is owned. */
struct checked_plan {
	jv seal;		/* invalid for a call that names no plan; then there is nothing else either */
	jv programs, mounts;	/* of the call's run (programs.h) */
	jv providers;		/* of the kept tree's lock file (providers.h), in the mirror */
	struct fetched fetched; /* and what was fetched for it */
	int plan_fd, tree_fd;	/* sealed memory at offset 0 */
	uint64_t plan_size, tree_size;
};
#define CHECKED_PLAN_NONE                                                                                              \
	{                                                                                                              \
		.seal = jv_invalid(), .programs = jv_invalid(), .mounts = jv_invalid(), .providers = jv_invalid(),     \
		.fetched = FETCHED_NONE, .plan_fd = -1, .tree_fd = -1                                                  \
	}
void checked_plan_clear(struct checked_plan *plan);
#define auto_checked_plan __attribute__((cleanup(checked_plan_clear))) struct checked_plan

/* 0 when everything that CALL (borrowed; its seals verified) relies on is as it was, and PLAN (CHECKED_PLAN_NONE) is
 * filled. For a call that names no plan only the decision is looked at ("decision_changed", 77). LOCKED is the state
 * that CALL uses when it is locked already, so that it is not read again; NULL: none is. A difference is the error of
 * its part (plan_part.h); a seal that is not the one that was decided about "plan_changed" (77); a plan that is gone,
 * forged, expired or another principal's: as plan_find. */
int hostcheck(const struct config *config, const struct state *state, const struct secret *key, jv call,
	      const struct ws_state *locked, struct checked_plan *plan, struct sbx_error *err);

/* The settings of the target NAME (NULL: none) as a digest; "" when there are none. What a plan was made for is more
 * than a name. */
int hostcheck_target(const struct config *config, const char *name, char sha256[65], struct sbx_error *err);

#endif
