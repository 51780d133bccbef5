/* Around a run that takes a lock: whose it may take away, and whether it may leave its own. */
#include "sandbox_unlock.h"

#include <string.h>

#include "audit.h"
#include "left_lock.h"
#include "log.h"
#include "tf_lock.h"
#include "tf_run.h"

int sandbox_unlock_prepare(struct sandbox_job *job, jv backend, const struct state *state, jv *dead, struct sbx_error *err)
{
	if (!tf_run_may_unlock(job->run) || !tf_run_compares_locks(json_str(backend, "type")))
		return 0;
	auto_jv whole = json_set(json_set_str(jv_object(), "target", json_str(job->run, "target")), "backend", jv_copy(backend));
	if (json_digest(whole, job->lock_of, err) < 0 || left_lock_list(state, job->lock_of, dead, err) < 0)
		return -1;
	job->dead = *dead;
	return 0;
}

static int is_dead(const struct sandbox_job *job, const char *call)
{
	for (int i = 0, n = json_length(job->dead); i < n; i++) {
		auto_jv dead = json_at(job->dead, i);
		const char *id = json_text(dead);
		if (id != NULL && strcmp(id, call) == 0)
			return 1;
	}
	return 0;
}

int sandbox_unlock_take(const struct sandbox_job *job, jv payload, struct sandbox_outcome *outcome)
{
	const char *call = json_str(payload, "call"), *lock = json_str(payload, "lock");

	if (call == NULL || lock == NULL || !tf_lock_is_id(lock) || !is_dead(job, call) || jv_is_valid(outcome->unlocked))
		return -1;
	outcome->unlocked = json_set_str(json_set_str(jv_object(), "call", call), "lock", lock);
	log_line("took away the lock %s of the state, which call %s had left", lock, call);
	return 0;
}

int sandbox_unlock_begin(const struct sandbox_job *job, const struct state *state, const char *call, struct sbx_error *err)
{
	return jv_is_valid(job->dead) ? left_lock_note(state, call, job->lock_of, err) : 0;
}

void sandbox_unlock_end(const struct sandbox_job *job, const struct state *state, const char *call,
			const struct sandbox_outcome *outcome, int is_over)
{
	const char *left_by = json_str(outcome->unlocked, "call");
	struct sbx_error err = SBX_ERROR_INIT;

	if (left_by != NULL) {
		auto_jv details = json_set_str(jv_object(), "left_by", left_by);
		details = json_set_str(take_jv(&details), "lock", json_str(outcome->unlocked, "lock"));
		if (audit_append(state, AUDIT_OUTCOME, "state.unlocked", call, details, &err) < 0)
			log_error(&err);
		left_lock_forget(state, left_by);
	}
	if (jv_is_valid(job->dead) && is_over)
		left_lock_forget(state, call);
	/* It had the lock itself, so nobody else has it. */
	if (jv_is_valid(job->dead) && outcome->state == SANDBOX_COMPLETED)
		left_lock_settle(state, job->dead, job->lock_of);
}
