/* Calls that may have left the lock of a state that lies elsewhere: a note locks/CALL in the state
 * directory, from before such a run starts until it has given the lock back for certain. The next call
 * that wants the lock is told of those that are over, and takes it away (entry_lock.h). */
#ifndef SBX_LEFT_LOCK_H
#define SBX_LEFT_LOCK_H

#include "json.h"
#include "state.h"

/* CALL is about to take the lock of the state that BACKEND, a digest, names: on disk when this returns.
 * "cannot_create" (73), "exists" (73). */
int left_lock_note(const struct state *state, const char *call, const char *backend, struct sbx_error *err);

/* CALL has left none, or it was taken away. A note that is not there is fine; one that cannot be removed
 * is logged. */
void left_lock_forget(const struct state *state, const char *call);

/* *CALLS, the caller's: an array of the calls with a note that are over, so that no process and no sandbox
 * of them lives: those that noted BACKEND first (the same state may be named otherwise, so others follow),
 * the newer before the older, LIMIT_LEFT_LOCKS at most. Notes older than LIMIT_LEFT_AGE_S are removed. */
int left_lock_list(const struct state *state, const char *backend, jv *calls, struct sbx_error *err);

/* Somebody has had the lock of BACKEND, and given it back, after CALLS (of left_lock_list) were over: those
 * of them that noted the same one are forgotten. */
void left_lock_settle(const struct state *state, jv calls, const char *backend);

/* What CALL, which has a lock, is to this installation. */
enum left_lock {
	LEFT_BY_OTHERS,	  /* it has no note here */
	LEFT_BY_RUNNING,  /* one of its processes lives */
	LEFT_BY_UNMENDED, /* none does, and what they left was not mended yet */
	LEFT_BY_DEAD,	  /* left_lock_list has it, unless there are too many */
};
enum left_lock left_lock_by(const struct state *state, const char *call);

#endif
