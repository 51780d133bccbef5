/* Claiming: one transaction, whose event is on disk before it is committed. */
#include "approval.h"

#include <stdio.h>
#include <string.h>

#include "approval_row.h"
#include "audit.h"

static int same_bytes(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return a != NULL && b != NULL && a_len == b_len && memcmp(a, b, a_len) == 0;
}

static int same_signatures(const struct approval *a, const struct approval *b)
{
	if (a->signature_count != b->signature_count)
		return 0;
	for (size_t i = 0; i < a->signature_count; i++) {
		const struct approval_signature *x = &a->signatures[i], *y = &b->signatures[i];
		if (strcmp(x->signer, y->signer) != 0 ||
		    strcmp(x->key_sha256, y->key_sha256) != 0 ||
		    !same_bytes(x->armor, x->armor_len, y->armor, y->armor_len))
			return 0;
	}
	return 1;
}

int approval_is_unchanged(struct approvals *approvals, const struct approval *row,
			  struct sbx_error *err)
{
	const struct store_value values[] = {store_text(row->id)};
	auto_approval now = {0};
	int found = approval_load(approvals, "id = ?1", values, 1, &now, err);

	if (found < 0)
		return -1;
	return found == 1 && now.is_edited == row->is_edited && now.status == row->status && now.expires == row->expires &&
	       now.round == row->round && now.terms.threshold == row->terms.threshold &&
	       now.terms.user == row->terms.user && strcmp(now.call, row->call) == 0 &&
	       strcmp(now.subject, row->subject) == 0 &&
	       same_bytes(now.text, now.text_len, row->text, row->text_len) &&
	       same_signatures(&now, row);
}

int approval_fail_denied(const struct approval *row, struct sbx_error *err)
{
	sbx_fail(err, SBX_DENIED, "approval_denied", "a person denied this call");
	return row->reason[0] != '\0' ? sbx_hint(err, "reason: %s", row->reason) : -1;
}

/* Why ROW, which was not what it had been, cannot be had. */
static int lost(struct approvals *approvals, struct approval *row, struct sbx_error *err)
{
	if (approval_reload(approvals, row, err) < 0)
		return -1;
	switch (row->status) {
	case APPROVAL_CLAIMED:
		return approval_fail_in_use(err);
	case APPROVAL_DENIED:
		return approval_fail_denied(row, err);
	case APPROVAL_EXPIRED:
		return approval_fail_ended(err);
	case APPROVAL_WAITING:
	case APPROVAL_APPROVED:
		break;
	}
	/* Its time can be over before anybody closes the row. */
	return approval_has_ended(row) ? approval_fail_ended(err)
				       : approval_fail_mismatch(row, err);
}

int approval_finish(struct approvals *approvals, int done, struct sbx_error *err)
{
	if (done == 0)
		return store_commit(approvals->store, err);
	store_rollback(approvals->store);
	return -1;
}

static int record_release(const struct approvals *approvals, const struct approval *row, const char *call,
			  const char *code, enum audit_kind kind, struct sbx_error *err)
{
	auto_jv details = json_set_str(json_set_str(jv_object(), "approval", row->id), "code", code);

	return audit_append(approvals->state, kind, "approval.released", call, details, err);
}

static int record_claim(const struct approvals *approvals, const struct approval *row, const char *call,
			struct sbx_error *err)
{
	jv event = json_set_str(jv_object(), "approval", row->id);
	auto_jv details = json_set(event, "signers", approval_signers(row));

	return audit_append(approvals->state, AUDIT_INTENT, "approval.claimed", call, details, err);
}

static int write_claim(struct approvals *approvals, const struct approval *row, const char *call, int64_t now,
		       struct sbx_error *err)
{
	int released = row->status == APPROVAL_CLAIMED;
	int64_t changed = 0, round = row->round + released;
	const struct store_value values[] = {
		store_text(row->id),
		store_text(call),
		store_number(now),
		store_number(round),
		store_text(row->text_sha256),
		store_text(released ? row->call : NULL),
	};
	const struct store_value consumed[] = {store_text(row->id), store_number(round), store_text(call),
					       store_number(now)};

	if (store_run(approvals->store,
		      "UPDATE approval SET state = 'claimed', call = ?2, claimed = ?3, round = ?4"
		      " WHERE id = ?1 AND text_sha256 = ?5 AND expires > ?3"
		      " AND ((?6 IS NULL AND state = 'approved') OR (state = 'claimed' AND call = ?6))",
		      values, ARRAY_LEN(values), &changed, err) < 0)
		return -1;
	if (changed != 1)
		return approval_fail_in_use(err);
	return store_run(approvals->store,
			 "INSERT INTO consumption (approval, round, call, at) VALUES (?1, ?2, ?3, ?4)", consumed,
			 ARRAY_LEN(consumed), NULL, err);
}

/* *SAID is 1 once the record may have the claim. */
static int claim_row(struct approvals *approvals, const struct approval *row, const char *call, int64_t now, int *said,
		     struct sbx_error *err)
{
	int is_held;

	if (row->status == APPROVAL_CLAIMED && approval_claimer(approvals, row) != CLAIMER_STARTED_NOTHING)
		return approval_fail_in_use(err);
	/* What the database forbids never gets into the record. */
	if (write_claim(approvals, row, call, now, err) < 0 ||
	    approval_check_record(approvals, row, now, &is_held, err) < 0 ||
	    (is_held && record_release(approvals, row, row->call, NULL, AUDIT_INTENT, err) < 0))
		return -1;
	*said = 1;
	return record_claim(approvals, row, call, err);
}

/* The database refused what the record has already. Where it is certain that it does not hold the claim the record is
 * told; else the approval is spent. */
static void take_claim_back(struct approvals *approvals, const struct approval *row, const char *call, const char *code)
{
	const struct store_value values[] = {store_text(row->id)};
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_approval now = {0};

	if (approval_load(approvals, "id = ?1", values, ARRAY_LEN(values), &now, &ignored) == 1 &&
	    strcmp(now.call, call) != 0 && approval_is_held_by(approvals, row, call))
		record_release(approvals, row, call, code, AUDIT_OUTCOME, &ignored);
}

/* Inside the transaction. */
static int try_claim(struct approvals *approvals, struct approval *row, const char *call, int64_t now, int *said,
		     struct sbx_error *err)
{
	int same = approval_is_unchanged(approvals, row, err);

	if (same < 0)
		return -1;
	if (same == 0)
		return lost(approvals, row, err);
	return approval_check_time(row, err) < 0 ? -1 : claim_row(approvals, row, call, now, said, err);
}

int approval_claim(struct approvals *approvals, struct approval *row, const char *call, struct sbx_error *err)
{
	struct sbx_error inner = SBX_ERROR_INIT, ignored = SBX_ERROR_INIT;
	struct approval_clock now;
	int said = 0;

	if (row->status != APPROVAL_APPROVED && row->status != APPROVAL_CLAIMED)
		return lost(approvals, row, err);
	if (approval_begin(approvals, &now, err) < 0)
		return -1;
	if (approval_finish(approvals, try_claim(approvals, row, call, now.wall, &said, &inner), &inner) == 0) {
		row->status = APPROVAL_CLAIMED;
		snprintf(row->call, sizeof row->call, "%s", call);
		return 0;
	}
	if (said)
		take_claim_back(approvals, row, call, inner.code);
	if (strcmp(inner.code, "store_conflict") == 0) {
		sbx_error_clear(&inner);
		sbx_fail(&inner, SBX_DENIED, "approval_spent", "this approval was used before");
		sbx_hint(&inner, "make the call again; it opens a new request");
	}
	/* A row that says less than the record is set right: else the same call would meet it until its time is over. */
	if (strcmp(inner.code, "approval_spent") == 0 || strcmp(inner.code, "approval_replayed") == 0)
		approval_correct(approvals, row, &ignored);
	*err = inner;
	return -1;
}
