/* How often people are asked: someone who is asked without end signs in the end. */
#include "approval.h"

#include "approval_row.h"

/* The next message says how many wait by then. */
static const int64_t tell_every_s = 60;

static int check_open(struct approvals *approvals, const struct approval *row,
		      struct sbx_error *err)
{
	const struct store_value values[] = {store_text(row->principal)};
	int64_t open = 0;

	if (store_query_number(approvals->store,
			       "SELECT count(*) FROM approval"
			       " WHERE principal = ?1 AND state IN ('waiting','approved')",
			       values, ARRAY_LEN(values), &open, err) < 0)
		return -1;
	if (open < LIMIT_OPEN_APPROVALS)
		return 0;
	sbx_fail(err, SBX_UNAVAILABLE, "too_many_approvals",
		 "%d approvals of this principal are open, and no more may be",
		 LIMIT_OPEN_APPROVALS);
	return sbx_hint(err, "use those that are signed, wait until a person decides about the "
			     "others (sbx-approve list shows them), or until their time is over");
}

static int check_pause(struct approvals *approvals, const struct approval *row, int64_t now,
		       struct sbx_error *err)
{
	int64_t pause = approvals->config->approval_pause_ms / 1000, denied = 0;
	const struct store_value values[] = {store_text(row->principal), store_text(row->tool),
					     store_number(now - pause)};

	if (store_query_number(approvals->store,
			       "SELECT coalesce(max(denied), 0) FROM approval WHERE principal = ?1"
			       " AND state = 'denied' AND denied > ?3 AND tool = ?2",
			       values, ARRAY_LEN(values), &denied, err) < 0)
		return -1;
	if (denied == 0)
		return 0;
	sbx_fail(err, SBX_UNAVAILABLE, "approval_paused",
		 "a person denied a call of this tool a moment ago");
	return sbx_hint(err, "no call of this tool is put to people for %lld s (approval_pause in sbx.yaml)",
			(long long)(denied + pause - now));
}

int approval_may_ask(struct approvals *approvals, const struct approval *row, int64_t now,
		     struct sbx_error *err)
{
	return check_pause(approvals, row, now, err) < 0 ? -1 : check_open(approvals, row, err);
}

int approval_tell(struct approvals *approvals, struct approval *row, int64_t now,
		  struct sbx_error *err)
{
	const struct store_value values[] = {store_number(now), store_number(now - tell_every_s)};
	int64_t changed = 0;

	if (json_length(approvals->config->notify) == 0)
		return 0;
	if (store_run(approvals->store,
		      "UPDATE clock SET told = ?1 WHERE one = 1 AND (told <= ?2 OR told > ?1)",
		      values, ARRAY_LEN(values), &changed, err) < 0)
		return -1;
	if (changed == 0)
		return 0;
	return store_query_number(approvals->store, "SELECT count(*) FROM approval WHERE state = 'waiting'", NULL, 0,
				  &row->told_of, err);
}
