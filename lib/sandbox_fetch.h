/* Terraform's providers and modules in a run: what it is to fetch, or what of it was fetched before. */
#ifndef SBX_SANDBOX_FETCH_H
#define SBX_SANDBOX_FETCH_H

#include "sandbox_prepare.h"

/* With the workspace at hand: whether P's run fetches, and then what. Nothing is started for what the policy does not
 * list, or there is no room for: "fetch_unsupported", "fetch_unlisted" (78), or as fetch_need_of, fetch_need_allowed
 * and fetched_make_room. */
int sandbox_fetch_begin(struct prepared *p, const struct state *state, jv call, struct sbx_error *err);

/* Put what was fetched into P's job. */
void sandbox_fetch_show(struct prepared *p);

/* Write Terraform's settings into RUN_FD, the directory of CALL; none for a run without terraform. */
int sandbox_fetch_rc(struct prepared *p, const struct state *state, const char *call, int run_fd,
		     struct sbx_error *err);

#endif
