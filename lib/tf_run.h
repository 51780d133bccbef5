/* Whether a run starts Terraform or OpenTofu, and what that means for it. */
#ifndef SBX_TF_RUN_H
#define SBX_TF_RUN_H

#include "json.h"

/* 1 when a step of RUN (policy.run), which runs the plan with SEAL (invalid: none), may be one of the two, whatever the
 * policy calls it. */
int tf_run_is(jv run, jv seal);

/* 1 when STEP (from 1) of RUN starts one of the two, which the policy or its file calls so, with WORD as its first argument, or with any
 * where WORD is NULL. */
int tf_run_step_is(jv run, unsigned step, const char *word);

/* 1 when the programs of RUN say by the names of their files that OpenTofu is among them and Terraform is not. */
int tf_run_is_tofu(jv run);

/* 1 when RUN is the local driver's. */
int tf_run_is_local(jv run);

/* How many steps of RUN, or of a tool, keep WHAT they fetch: SANDBOX_KEPT_MODULES, SANDBOX_KEPT_PROVIDERS (steps.h),
 * NULL for either. */
int tf_run_keeps(jv run, const char *what);

/* 1 when the last argument of STEP (of policy.run, or of a tool, with an argv) is {lock: left}; and whether a step of RUN has it. */
int tf_run_unlocks(jv step);
int tf_run_may_unlock(jv run);
/* 1 when a backend of TYPE compares the ID that a forced unlock names with the one of the lock that is there, itself, and says whose
 * that is. By the http backend any lock would be taken away. */
int tf_run_compares_locks(const char *type);

/* Where a backend of TYPE (backend.h; NULL: nobody has looked) keeps its state. What is kept in the sandbox is gone with
 * it. */
enum tf_state_place { TF_STATE_ELSEWHERE, TF_STATE_INSIDE, TF_STATE_UNKNOWN };
enum tf_state_place tf_run_state_place(const char *type);

#endif
