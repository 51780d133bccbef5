/* What sbx-run does for a run that takes away the lock which a dead call left on a state elsewhere (entry_lock.h, left_lock.h). */
#ifndef SBX_SANDBOX_UNLOCK_H
#define SBX_SANDBOX_UNLOCK_H

#include "sandbox.h"
#include "state.h"

/* JOB, whose run is known, on BACKEND (backend.h) gets *DEAD, which is the caller's: the calls whose locks it may take away. Invalid for a run
 * that takes none: no step has {lock: left}, or the backend does not compare the lock's ID. What left_lock_list says. */
int sandbox_unlock_prepare(struct sandbox_job *job, jv backend, const struct state *state, jv *dead, struct sbx_error *err);

/* 0 when PAYLOAD, of a frame about a lock, is about one of JOB's dead calls, and the first one: it is in OUTCOME then, and said on
 * stderr. */
int sandbox_unlock_take(const struct sandbox_job *job, jv payload, struct sandbox_outcome *outcome);

/* Before the intent is recorded: that CALL, which JOB is about, may leave its lock from now on; what left_lock_note says. */
int sandbox_unlock_begin(const struct sandbox_job *job, const struct state *state, const char *call, struct sbx_error *err);

/* When CALL has run, or was not started (IS_OVER: its lock, if it took one, was given back for certain): what OUTCOME says of a lock
 * is recorded, and the notes that hold no more are removed. */
void sandbox_unlock_end(const struct sandbox_job *job, const struct state *state, const char *call,
			const struct sandbox_outcome *outcome, int is_over);

#endif
