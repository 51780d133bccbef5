/* Claiming: an event on disk, then one transaction. */
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
	return found == 1 && now.status == row->status && now.expires == row->expires &&
	       now.round == row->round && now.terms.threshold == row->terms.threshold &&
	       now.terms.user == row->terms.user && strcmp(now.call, row->call) == 0 &&
	       strcmp(now.subject, row->subject) == 0 &&
	       same_bytes(now.text, now.text_len, row->text, row->text_len) &&
	       same_signatures(&now, row);
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
		sbx_fail(err, SBX_DENIED, "approval_denied", "a person denied this call");
		return row->reason[0] != '\0' ? sbx_hint(err, "reason: %s", row->reason) : -1;
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

static int record_claim(struct approvals *approvals, const struct approval *row, const char *call, int released,
			struct sbx_error *err)
{
	auto_jv given_back = json_set_str(jv_object(), "approval", row->id);
	jv event = json_set_str(jv_object(), "approval", row->id);
	auto_jv details = json_set(event, "signers", approval_names(row, APPROVAL_SIGNERS));

	if (released &&
	    audit_append(approvals->state, AUDIT_INTENT, "approval.released", row->call, given_back, err) < 0)
		return -1;
	return audit_append(approvals->state, AUDIT_INTENT, "approval.claimed", call, details, err);
}

static int claim_row(struct approvals *approvals, const struct approval *row, const char *call, int64_t now,
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

	if (released && approval_claimer(approvals, row) != CLAIMER_STARTED_NOTHING)
		return approval_fail_in_use(err);
	if (record_claim(approvals, row, call, released, err) < 0)
		return -1;
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

int approval_claim(struct approvals *approvals, struct approval *row, const char *call, struct sbx_error *err)
{
	struct sbx_error inner = SBX_ERROR_INIT;
	struct approval_clock now;

	if (row->status != APPROVAL_APPROVED && row->status != APPROVAL_CLAIMED)
		return lost(approvals, row, err);
	if (approval_begin(approvals, &now, err) < 0)
		return -1;
	int same = approval_is_unchanged(approvals, row, &inner);
	if (same == 0)
		same = lost(approvals, row, &inner);
	else if (same == 1)
		same = approval_has_ended(row) ? approval_fail_ended(&inner)
					       : claim_row(approvals, row, call, now.wall, &inner);
	if (approval_finish(approvals, same, &inner) == 0) {
		row->status = APPROVAL_CLAIMED;
		snprintf(row->call, sizeof row->call, "%s", call);
		return 0;
	}
	if (strcmp(inner.code, "store_conflict") == 0)
		return sbx_fail(err, SBX_DENIED, "approval_spent", "this approval was used before");
	*err = inner;
	return -1;
}
