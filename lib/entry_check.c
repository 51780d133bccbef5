/* One check after the other, until one does not end well. */
#include "entry_check.h"

#include <sys/wait.h>

#include "entry_lock.h"

static int fail(struct sbx_error *why, unsigned number, const char *code, const char *what)
{
	return sbx_fail(why, SBX_DENIED, code, "step %u, a check, %s, so nothing was begun", number, what);
}

static int fail_stopped(struct sbx_error *why, unsigned number)
{
	return fail(why, number, "check_failed", "was stopped");
}

/* 0 when it ended well. */
static int judge(const struct running *r, struct sbx_error *why)
{
	if (r->run->stopped)
		return fail_stopped(why, r->number);
	if (r->found.class != SBX_OK)
		return sbx_fail(why, SBX_DENIED, r->found.code, "%s", r->found.message);
	if (r->failed != NULL)
		return fail(why, r->number, "check_failed", "could not be started");
	if (r->status == 0)
		return 0;
	if (WIFEXITED(r->status) && WEXITSTATUS(r->status) == ENTRY_CHECK_MOVED)
		return fail(why, r->number, "state_moved", "found something changed since it was decided about");
	return fail(why, r->number, "check_failed", WIFEXITED(r->status) ? "did not end with 0" : "was ended by a signal");
}

/* 1: go on; 0: WHY; -1: ERR. */
static int check(struct entry_run *run, unsigned number, const struct step *step, struct sbx_error *why,
		 struct sbx_error *err)
{
	struct running r = RUNNING_INIT(run, number);
	int result = 0, is_well;

	if (steps_unlocks(step)) {
		if (!entry_stop_wanted(run))
			result = entry_lock(run, number, step, err);
		is_well = !run->stopped || fail_stopped(why, number) == 0;
	} else {
		if (!entry_stop_wanted(run))
			result = entry_program_run(&r, step, err);
		is_well = result == 0 && judge(&r, why) == 0;
		entry_program_clear(&r);
	}
	return result < 0 ? -1 : is_well;
}

int entry_check(struct entry_run *run, uint32_t *first, struct sbx_error *why, struct sbx_error *err)
{
	const struct steps *table = run->table;

	for (*first = 0; *first < table->step_count && table->steps[*first].flags & STEP_CHECK; ++*first) {
		int checked = check(run, *first + 1, &table->steps[*first], why, err);
		if (checked <= 0)
			return checked;
	}
	return 1;
}
