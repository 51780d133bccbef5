/* What stands around a run: the intent in the record before it; state, plan and outcome after it; the result. */
#ifndef SBX_SANDBOX_CLOSE_H
#define SBX_SANDBOX_CLOSE_H

#include "sandbox_prepare.h"

/* One call in this stage. The first five are borrowed and set by the caller. */
struct sandbox_stage {
	const struct state *state;
	const struct secret *key;
	jv call;
	int run_fd; /* state/runs/CALL */
	struct prepared *prepared;
	struct sandbox_outcome outcome;
	int driver_ran;		/* it may have done something: nothing comes back for it without its word */
	int has_plan;		/* it has taken the plan that it runs (plan_take) */
	jv findings;		/* all of them */
	jv plan;		/* {id, seal_sha256, …} when one was kept */
	const char *state_file; /* "none", "unchanged", "taken", "kept_beside", "not_taken" */
};
void sandbox_stage_init(struct sandbox_stage *stage);
void sandbox_stage_clear(struct sandbox_stage *stage);

/* Before a driver starts: the call's plan is taken, so that no other call runs it, signed or not ("plan_unknown", 77,
 * when another was first), and sandbox.started is written: no record, no action. */
int sandbox_begin(struct sandbox_stage *stage, struct sbx_error *err);

/* After the driver, or instead of it: the state comes back. Whatever way the run ended, the newest one that Terraform
 * wrote counts; an apply whose state is not known any more is no success: "state_rejected" when it stands beside,
 * "state_not_taken" when it could not be taken (a full disk) and waits for mending. */
void sandbox_take_state_back(struct sandbox_stage *stage);

const char *sandbox_taken_name(enum ws_taken taken);

/* After the driver: the plan that it ran goes, a judged one is kept (and no plan that the record does not know),
 * sandbox.completed is written. What fails here is logged, or becomes the outcome's trouble. */
void sandbox_close(struct sandbox_stage *stage);

/* The member "result"; the caller's. */
jv sandbox_result(const struct sandbox_stage *stage);

/* Nothing was started: the call's plan can be used again, and with the proof of that the approval that it claimed. */
void sandbox_give_back(struct sandbox_stage *stage);
/* 1 when that is certain: no driver was started, or it told the whole of its stream and refused in it. */
int sandbox_began_nothing(const struct sandbox_stage *stage);
/* 1 when the call has spent an approval. */
int sandbox_is_claimed(jv call);

#endif
