/* What the host can see of a sealed plan before it runs: the live directory, its lock file, the plan itself and the
 * kept copy, the state, the programs, and the decision. sbx-approve looks right before it claims an approval, sbx-run
 * right before it starts a driver: what a person has read must still be so. */
#ifndef SBX_HOSTCHECK_H
#define SBX_HOSTCHECK_H

#include "config.h"
#include "state.h"

/* Terraform's lock file, whose digest a plan's seal holds, and its most bytes: some hundred providers with all their
 * digests. */
#define HOSTCHECK_LOCK_FILE ".terraform.lock.hcl"
#define HOSTCHECK_LOCK_MAX ((size_t)1 << 20)

/* 0 when everything that CALL (borrowed; its seals verified) relies on is as it was. For a call that names no plan only
 * the decision is looked at. A difference is "plan_stale" (77), whose message names the one thing that differs; a plan
 * that is gone, forged, expired or another principal's: "plan_unknown", "plan_seal_invalid", "plan_expired" (77). */
int hostcheck(const struct config *config, const struct state *state, const struct secret *key, jv call,
	      struct sbx_error *err);

#endif
