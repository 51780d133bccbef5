/* The record decides whether an approval was used: the database is only quicker to ask. */
#include "approval.h"

#include <stdio.h>
#include <string.h>

#include "approval_row.h"
#include "audit.h"

/* What the record says of a request, read from the head in its signed text on. */
struct told {
	const struct approval *row;
	int requested, granted, denied, expired;
	int kept[APPROVAL_PEOPLE_MAX]; /* 1: signature I of the row was handed in */
	char holder[STATE_ID_SIZE];    /* the call that claimed it and has not given it back; "" */
	int64_t latest;		       /* the newest time in it */
};

static int is(const char *text, const char *other)
{
	return text != NULL && strcmp(text, other) == 0;
}

static void hear_signature(struct told *told, jv event)
{
	const char *key = json_str(event, "key_sha256");

	for (size_t i = 0; i < told->row->signature_count; i++)
		told->kept[i] |= is(key, told->row->signatures[i].key_sha256);
}

static int hear(jv event, void *context, struct sbx_error *err)
{
	struct told *told = context;
	const char *name = json_str(event, "event"), *call = json_str(event, "request_id");

	(void)err;
	if (name == NULL || !is(json_str(event, "approval"), told->row->id))
		return 0;
	if (strcmp(name, "approval.requested") == 0)
		told->requested |= is(json_str(event, "text_sha256"), told->row->text_sha256);
	else if (strcmp(name, "approval.signed") == 0)
		hear_signature(told, event);
	else if (strcmp(name, "approval.granted") == 0) {
		hear_signature(told, event);
		told->granted = 1;
	} else if (strcmp(name, "approval.denied") == 0)
		told->denied = 1;
	else if (strcmp(name, "approval.expired") == 0)
		told->expired = 1;
	else if (strcmp(name, "approval.claimed") == 0)
		snprintf(told->holder, sizeof told->holder, "%s", call != NULL ? call : "?");
	else if (strcmp(name, "approval.released") == 0 && is(call, told->holder))
		told->holder[0] = '\0';
	return 0;
}

static int ask(const struct approvals *approvals, const struct approval *row, struct told *told, struct sbx_error *err)
{
	struct sbx_error inner = SBX_ERROR_INIT;

	*told = (struct told){.row = row};
	if (audit_since(approvals->state, row->head, row->id, hear, told, &told->latest, &inner) == 0)
		return 0;
	if (strcmp(inner.code, "audit_head_missing") == 0) {
		sbx_fail(err, SBX_DENIED, "approval_head_missing",
			 "the record does not hold the place that the signed text names: it was cut, replaced, or is "
			 "an older copy");
		return sbx_hint(err,
				"compare it with the heads in results and signed texts (sbx-audit verify --head); "
				"then close this request with sbx-approve deny %s and make the call again",
				row->id);
	}
	*err = inner;
	if (err->class == SBX_COMMAND_FAILED) {
		sbx_error_clear(err);
		sbx_fail(err, SBX_CONFIG, "audit_unsafe", "%s", inner.message);
		return sbx_hint(err, "run: sbx-audit verify");
	}
	return -1;
}

static int fail_used(struct sbx_error *err)
{
	sbx_fail(err, SBX_DENIED, "approval_replayed",
		 "the record says that this approval was used, and the database does not: it was changed or restored, "
		 "or a process died at that moment");
	return sbx_hint(err, "look at it with: sbx-audit show --event approval.claimed; the same call again is a new "
			     "request, unless nobody knows what became of the call that used it");
}

static int check(struct approvals *approvals, const struct approval *row, const struct told *told, int64_t now,
		 struct sbx_error *err)
{
	if (told->latest > now + APPROVAL_CLOCK_SLACK_S)
		return approval_fail_clock(err);
	if (told->holder[0] != '\0' && (row->status != APPROVAL_CLAIMED || strcmp(told->holder, row->call) != 0))
		return approval_call_works(approvals, told->holder) ? approval_fail_in_use(err) : fail_used(err);
	if (told->denied)
		return approval_fail_denied(row, err);
	if (told->expired)
		return approval_fail_ended(err);
	int recorded = told->requested && told->granted;
	for (size_t i = 0; i < row->signature_count; i++)
		recorded &= told->kept[i];
	if (recorded)
		return 0;
	sbx_fail(err, SBX_DENIED, "approval_unrecorded",
		 "the record knows nothing of this request, or of a signature that is kept with it");
	return sbx_hint(err,
			"it did not come about through sbx-approve: close it with sbx-approve deny %s and make "
			"the call again",
			row->id);
}

int approval_check_record(struct approvals *approvals, const struct approval *row, int64_t now, int *is_held,
			  struct sbx_error *err)
{
	struct told told;

	*is_held = 0;
	if (ask(approvals, row, &told, err) < 0 || check(approvals, row, &told, now, err) < 0)
		return -1;
	*is_held = told.holder[0] != '\0';
	return 0;
}

int approval_is_held_by(const struct approvals *approvals, const struct approval *row, const char *call)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	struct told told;

	return ask(approvals, row, &told, &ignored) == 0 && strcmp(told.holder, call) == 0;
}

static int write_claim(struct approvals *approvals, const struct approval *row, const char *call, int64_t now,
		       struct sbx_error *err)
{
	const struct store_value values[] = {store_text(row->id), store_text(call), store_number(now)};
	const struct store_value consumed[] = {store_text(row->id), store_number(row->round), store_text(call),
					       store_number(now)};
	auto_jv details = json_set_str(jv_object(), "approval", row->id);

	if (store_run(approvals->store, "UPDATE approval SET state = 'claimed', call = ?2, claimed = ?3 WHERE id = ?1",
		      values, ARRAY_LEN(values), NULL, err) < 0 ||
	    store_run(approvals->store,
		      "INSERT INTO consumption (approval, round, call, at) VALUES (?1, ?2, ?3, ?4)"
		      " ON CONFLICT DO NOTHING",
		      consumed, ARRAY_LEN(consumed), NULL, err) < 0)
		return -1;
	return audit_append(approvals->state, AUDIT_OUTCOME, "approval.corrected", call, details, err);
}

int approval_correct(struct approvals *approvals, const struct approval *row, struct sbx_error *err)
{
	auto_approval now = {0};
	struct approval_clock clock;
	struct told told;
	const struct store_value values[] = {store_text(row->id)};

	if (approval_begin(approvals, &clock, err) < 0)
		return -1;
	int done = approval_load(approvals, "id = ?1", values, ARRAY_LEN(values), &now, err) < 0
			   ? -1
			   : ask(approvals, row, &told, err);
	int differs = now.status == APPROVAL_APPROVED ||
		      (now.status == APPROVAL_CLAIMED && strcmp(now.call, told.holder) != 0);
	if (done == 0 && differs && state_is_id(told.holder))
		done = write_claim(approvals, row, told.holder, clock.wall, err);
	return approval_finish(approvals, done, err);
}
