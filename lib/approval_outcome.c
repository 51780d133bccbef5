/* A call whose outcome is unknown is not repeated blindly. */
#include "approval.h"

#include <stdio.h>
#include <string.h>

#include "approval_row.h"
#include "audit.h"

/* What resolved_by says where the record knows the outcome, so that it is searched once. No login
 * name has a blank. */
static const char by_record[] = "the record";

struct told {
	const struct approval *row;
	int has_started, has_result, is_unknown;
};

static int hear(jv event, void *context, struct sbx_error *err)
{
	struct told *told = context;
	const char *name = json_str(event, "event"), *state = json_str(event, "state"),
		   *call = json_str(event, "request_id");
	int64_t class = 0;

	(void)err;
	if (name == NULL || call == NULL || strcmp(call, told->row->call) != 0)
		return 0;
	told->has_started |= strcmp(name, "sandbox.started") == 0;
	if (strcmp(name, "tool.result") != 0)
		return 0;
	json_int(event, "class", &class);
	told->has_result = 1;
	told->is_unknown =
		class == SBX_OUTCOME_UNKNOWN || (state != NULL && strcmp(state, "unknown") == 0);
	return 0;
}

/* Whether sbx-run has had the call; OTHERWISE where its directory is gone. */
static int has_run(const struct approvals *approvals, const struct approval *row, int otherwise)
{
	struct sbx_error gone = SBX_ERROR_INIT;
	int64_t modified;
	auto_fd run_fd = state_run_open(approvals->state, row->call, &gone);

	return run_fd < 0 ? otherwise : state_stage_look(run_fd, "run", &modified) != STAGE_ABSENT;
}

/* 0: told; 1: the record is not the one in which that call was made; -1. */
static int ask_record(const struct approvals *approvals, const struct approval *row, struct told *told,
		      struct sbx_error *err)
{
	struct sbx_error inner = SBX_ERROR_INIT;
	int64_t latest;

	*told = (struct told){.row = row};
	if (audit_since(approvals->state, row->head, row->call, hear, told, &latest, &inner) == 0)
		return 0;
	if (inner.class == SBX_COMMAND_FAILED)
		return 1;
	*err = inner;
	return -1;
}

int approval_outcome(struct approvals *approvals, const struct approval *row, enum outcome *outcome,
		     struct sbx_error *err)
{
	struct told told;

	*outcome = OUTCOME_NOT_BEGUN;
	if (!state_is_id(row->call))
		return 0;
	int is_lost = ask_record(approvals, row, &told, err);
	if (is_lost < 0)
		return -1;
	if (told.has_result && !is_lost)
		*outcome = told.is_unknown ? OUTCOME_UNKNOWN : OUTCOME_KNOWN;
	else if (told.has_started || has_run(approvals, row, is_lost))
		*outcome = OUTCOME_UNKNOWN;
	return 0;
}

static int write_resolved(struct approvals *approvals, const struct approval *row, const char *by,
			  struct sbx_error *err)
{
	const struct store_value values[] = {store_text(row->id), store_text(by),
					     store_text(row->call)};

	return store_run(approvals->store,
			 "UPDATE approval SET resolved_by = ?2"
			 " WHERE id = ?1 AND state = 'claimed' AND call = ?3",
			 values, ARRAY_LEN(values), NULL, err);
}

int approval_may_repeat(struct approvals *approvals, const struct approval *row,
			struct sbx_error *err)
{
	enum outcome outcome;

	if (row->resolved_by[0] != '\0')
		return 0;
	if (approval_outcome(approvals, row, &outcome, err) < 0)
		return -1;
	switch (outcome) {
	case OUTCOME_NOT_BEGUN:
		return 0;
	case OUTCOME_KNOWN:
		return write_resolved(approvals, row, by_record, err);
	case OUTCOME_UNKNOWN:
		break;
	}
	sbx_fail(err, SBX_DENIED, "outcome_unknown",
		 "exactly this was begun before, and nobody knows what it has done");
	return sbx_hint(err,
			"a person looks what has become of it (sbx-audit show --request-id %s), "
			"and says so with: sbx-approve resolve %s",
			row->call, row->id);
}

static int resolve_row(struct approvals *approvals, const struct approval *row, const char *by,
		       struct sbx_error *err)
{
	auto_jv details = json_set_str(json_set_str(jv_object(), "approval", row->id), "by", by);

	return write_resolved(approvals, row, by, err) < 0
		       ? -1
		       : audit_append(approvals->state, AUDIT_INTENT, "approval.resolved", row->call, details, err);
}

int approval_resolve(struct approvals *approvals, struct approval *row, const char *by,
		     struct sbx_error *err)
{
	enum outcome outcome = OUTCOME_NOT_BEGUN;
	struct approval_clock now;

	if (row->status == APPROVAL_CLAIMED && approval_claimer(approvals, row) == CLAIMER_WORKS)
		return approval_fail_in_use(err);
	if (row->status == APPROVAL_CLAIMED && row->resolved_by[0] == '\0' &&
	    approval_outcome(approvals, row, &outcome, err) < 0)
		return -1;
	if (outcome != OUTCOME_UNKNOWN)
		return sbx_fail(err, SBX_DENIED, "nothing_to_resolve",
				"there is no call of this approval whose outcome is unknown");
	if (approval_begin(approvals, &now, err) < 0 ||
	    approval_finish(approvals, resolve_row(approvals, row, by, err), err) < 0)
		return -1;
	return approval_reload(approvals, row, err);
}
