/* Checking, accepting, denying and claiming: each change is an event on disk, then one transaction. */
#include "approval.h"

#include <stdio.h>
#include <string.h>

#include "approval_row.h"
#include "audit.h"
#include "digest.h"
#include "sshsig.h"

static int check_key_counts(const struct approvals *approvals, const struct sshsig *sig, struct sbx_error *err)
{
	if (approvals->keys == APPROVAL_NO_KEY) {
		sbx_fail(err, SBX_DENIED, "same_account",
			 "requester and signer share this account, and the settings refuse that");
		return sbx_hint(err, "run sbx in an account of its own, or set same_account in sbx.yaml");
	}
	if (approvals->keys == APPROVAL_TOUCHED_KEY && !(sig->security_key && sig->user_present)) {
		sbx_fail(err, SBX_DENIED, "touch_required",
			 "requester and signer share this account: only a security key that was touched counts");
		return sbx_hint(err, "sign with a key made by ssh-keygen -t ed25519-sk -O application=ssh:sbx-approve, "
				     "run sbx in an account "
				     "of its own, or set same_account in sbx.yaml, deny this request and make the call again");
	}
	return 0;
}

static int check_signature(const struct approvals *approvals, const struct approval *row, const char *signature,
			   size_t len, char signer[SIGNER_SIZE], struct sbx_error *err)
{
	auto_sshsig sig = {0};
	struct approval_clock now;

	if (approval_clock_read(&now, err) < 0)
		return -1;
	if (sshsig_verify(approvals->signers, signature, len, row->text, row->text_len, now.wall, SSHSIG_USER_PRESENT,
			  &sig, err) < 0)
		return -1;
	memcpy(signer, sig.signer, SIGNER_SIZE);
	return check_key_counts(approvals, &sig, err);
}

static int mismatch(const struct approval *row, struct sbx_error *err)
{
	sbx_fail(err, SBX_DENIED, "approval_mismatch", "the text that was signed is not the one that this call gives");
	return sbx_hint(err, "sbx-approve deny %s closes it; then make the call again, and read and sign the new text", row->id);
}

int approval_check(struct approvals *approvals, const struct approval *row, const struct review *review,
		   struct sbx_error *err)
{
	auto_buf text = BUF_INIT(LIMIT_REVIEW_TEXT);
	char digest[DIGEST_HEX_SIZE], signer[SIGNER_SIZE];

	if (approval_has_ended(row))
		return approval_fail_ended(err);
	if (approval_text(review, row, &text, err) < 0)
		return -1;
	digest_sha256_hex(buf_str(&text), text.len, digest);
	if (row->text == NULL || text.len != row->text_len || memcmp(buf_str(&text), row->text, text.len) != 0 ||
	    strcmp(digest, row->text_sha256) != 0)
		return mismatch(row, err);
	if (row->signature == NULL)
		return mismatch(row, err);
	if (check_signature(approvals, row, row->signature, row->signature_len, signer, err) < 0)
		return -1;
	return strcmp(signer, row->signer) == 0 ? 0 : mismatch(row, err);
}

/* Read ROW again inside the transaction: 1 when what was checked outside is what is stored. */
static int is_unchanged(struct approvals *approvals, const struct approval *row, struct sbx_error *err)
{
	const struct store_value values[] = {store_text(row->id)};
	auto_approval now = {0};
	int found = approval_load(approvals, "id = ?1", values, 1, &now, err);

	if (found < 0)
		return -1;
	return found == 1 && now.status == row->status && now.expires == row->expires && now.round == row->round &&
	       strcmp(now.call, row->call) == 0 && strcmp(now.subject, row->subject) == 0 &&
	       now.text_len == row->text_len && now.text != NULL && row->text != NULL &&
	       memcmp(now.text, row->text, row->text_len) == 0 && now.signature_len == row->signature_len &&
	       (now.signature_len == 0 || memcmp(now.signature, row->signature, row->signature_len) == 0);
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
	return approval_has_ended(row) ? approval_fail_ended(err) : mismatch(row, err);
}

static int finish(struct approvals *approvals, int done, struct sbx_error *err)
{
	if (done == 0)
		return store_commit(approvals->store, err);
	store_rollback(approvals->store);
	return -1;
}

static int accept_row(struct approvals *approvals, const struct approval *row, const char *signature, size_t len,
		      const char *signer, int64_t now, struct sbx_error *err)
{
	const struct store_value values[] = {store_text(row->id), store_text(signer), store_bytes(signature, len),
					     store_number(now)};
	int64_t changed = 0;
	jv event = json_set_str(jv_object(), "approval", row->id);
	event = json_set_str(json_set_str(event, "signer", signer), "text_sha256", row->text_sha256);
	auto_jv details = event;

	if (audit_append(approvals->state, AUDIT_INTENT, "approval.granted", row->asked_by, details, err) < 0 ||
	    store_run(approvals->store,
		      "UPDATE approval SET state = 'approved', signer = ?2, signature = ?3, signed = ?4"
		      " WHERE id = ?1 AND state = 'waiting' AND expires > ?4",
		      values, ARRAY_LEN(values), &changed, err) < 0)
		return -1;
	return changed == 1 ? 0 : approval_fail_ended(err);
}

static int not_waiting(struct approvals *approvals, struct approval *row, struct sbx_error *err)
{
	if (approval_reload(approvals, row, err) < 0)
		return -1;
	if (row->status == APPROVAL_EXPIRED || (row->status == APPROVAL_WAITING && approval_has_ended(row)))
		return approval_fail_ended(err);
	return sbx_fail(err, SBX_DENIED, "approval_not_waiting", "the request does not wait: it is %s",
			approval_status_name(row->status));
}

int approval_accept(struct approvals *approvals, struct approval *row, const char *signature, size_t len,
		    struct sbx_error *err)
{
	struct approval_clock now;
	char signer[SIGNER_SIZE];

	if (row->status != APPROVAL_WAITING || approval_has_ended(row))
		return not_waiting(approvals, row, err);
	if (check_signature(approvals, row, signature, len, signer, err) < 0)
		return -1;
	if (approval_begin(approvals, &now, err) < 0)
		return -1;
	int same = is_unchanged(approvals, row, err);
	if (same == 0)
		same = not_waiting(approvals, row, err);
	else if (same == 1)
		same = accept_row(approvals, row, signature, len, signer, now.wall, err);
	if (finish(approvals, same, err) < 0)
		return -1;
	return approval_reload(approvals, row, err);
}

int approval_deny(struct approvals *approvals, struct approval *row, const char *by, const char *reason,
		  struct sbx_error *err)
{
	const struct store_value values[] = {store_text(row->id), store_text(by), store_text(reason)};
	struct approval_clock now;
	int64_t changed = 0;
	auto_jv details = json_set_str(json_set_str(jv_object(), "approval", row->id), "by", by);

	if (row->status != APPROVAL_WAITING && row->status != APPROVAL_APPROVED)
		return sbx_fail(err, SBX_DENIED, "approval_not_open", "the request is not open: it is %s",
				approval_status_name(row->status));
	if (approval_begin(approvals, &now, err) < 0)
		return -1;
	int done = store_run(approvals->store,
			     "UPDATE approval SET state = 'denied', denied_by = ?2, reason = ?3"
			     " WHERE id = ?1 AND state IN ('waiting','approved')",
			     values, ARRAY_LEN(values), &changed, err);
	if (done == 0 && changed != 1)
		done = sbx_fail(err, SBX_DENIED, "approval_not_open", "the request is not open any more");
	if (done == 0)
		done = audit_append(approvals->state, AUDIT_OUTCOME, "approval.denied", row->asked_by, details, err);
	if (finish(approvals, done, err) < 0)
		return -1;
	return approval_reload(approvals, row, err);
}

static int record_claim(struct approvals *approvals, const struct approval *row, const char *call, int released,
			struct sbx_error *err)
{
	auto_jv given_back = json_set_str(jv_object(), "approval", row->id);
	jv event = json_set_str(jv_object(), "approval", row->id);
	auto_jv details = json_set(event, "signers", json_append(jv_array(), jv_string(row->signer)));

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
	int same = is_unchanged(approvals, row, &inner);
	if (same == 0)
		same = lost(approvals, row, &inner);
	else if (same == 1)
		same = approval_has_ended(row) ? approval_fail_ended(&inner)
					       : claim_row(approvals, row, call, now.wall, &inner);
	if (finish(approvals, same, &inner) == 0) {
		row->status = APPROVAL_CLAIMED;
		snprintf(row->call, sizeof row->call, "%s", call);
		return 0;
	}
	if (strcmp(inner.code, "store_conflict") == 0)
		return sbx_fail(err, SBX_DENIED, "approval_spent", "this approval was used before");
	*err = inner;
	return -1;
}
