/* Everything that must be ready before a driver starts: workspace copy or kept plan, state, program digests, what to
 * scrub. */
#ifndef SBX_SANDBOX_PREPARE_H
#define SBX_SANDBOX_PREPARE_H

#include "config.h"
#include "fetched.h"
#include "sandbox.h"
#include "sandbox_egress.h"
#include "workspace.h"

struct prepared {
	jv run;	 /* policy.run */
	jv seal; /* of the kept plan that is to run; jv_invalid() for none */
	/* Where a plan is run or made, else jv_invalid(); providers without their digests where none is (programs.h,
	 * providers.h, backend.h). */
	jv programs, mounts, providers;
	jv backend;		/* where one is made */
	jv unshown;		/* too: what its configuration starts that no plan shows (unshown.h) */
	char target_sha256[65]; /* too; "" without a target */
	jv dead;	/* sandbox_unlock.h */
	jv state_facts; /* {workspace, path, lineage, serial, sha256} of the state as it was given; jv_invalid() without
			   one */
	struct ws_state ws;		 /* access write: locked until it is closed */
	int writes;			 /* 1: access write */
	struct fetch_need need;		 /* of a run that fetches */
	struct fetched fetched;		 /* for any other */
	struct egress_pins pins;	 /* of the local driver's relay; owned */
	struct scrub *scrub;		 /* owned */
	char *state_file, *rc, *signals; /* owned */
	struct sandbox_job job;		 /* its tree, plan and state descriptors are owned by this */
};

void prepared_init(struct prepared *p);
void prepared_clear(struct prepared *p);

/* Lock and copy what CALL's policy.run names; the lock of a state that is written comes first, so that nothing moves
 * between the last look (hostcheck, made here) and the run. RUN_FD is the call's directory. "no_credentials" (76) when
 * the call has some and CREDENTIALS_FD is -1, "not_approved" (77) for a call that may not run, what sandbox_egress says
 * for the local driver, "signals_missing" (78) when a step's plan could be judged by its structure alone. */
int sandbox_prepare(struct prepared *p, const struct config *config, const struct state *state,
		    const struct secret *key, jv call, int run_fd, int credentials_fd, int secrets_fd,
		    struct sbx_error *err);

#endif
