/* What people decide: a signature is taken, or a request denied. */
#include "approval.h"

#include <stdio.h>
#include <string.h>

#include "approval_row.h"
#include "audit.h"

/* Others may sign at the same moment; each of them moves the row on once. */
enum { TRIES = APPROVAL_PEOPLE_MAX + 1 };

struct offer {
	const char *armor;
	size_t len;
	struct sshsig sig;
	char person[SIGNER_SIZE];
	int counts[APPROVAL_PEOPLE_MAX]; /* of those that are kept */
};

static int not_waiting(struct approvals *approvals, struct approval *row, struct sbx_error *err)
{
	if (approval_reload(approvals, row, err) < 0)
		return -1;
	if (row->status == APPROVAL_EXPIRED ||
	    (row->status == APPROVAL_WAITING && approval_has_ended(row)))
		return approval_fail_ended(err);
	return sbx_fail(err, SBX_DENIED, "approval_not_waiting",
			"the request does not wait: it is %s", approval_status_name(row->status));
}

/* The text says at its beginning what a signature may be worth. */
static int check_settings(const struct approvals *approvals, const struct approval *row, struct sbx_error *err)
{
	if (row->text == NULL || review_level_of(row->text, row->text_len) == approvals->level)
		return 0;
	sbx_fail(err, SBX_DENIED, "approval_outdated", "the settings changed since this was asked: same_account");
	return sbx_hint(err,
			"sbx-approve deny %s closes it; after approval_pause make the call again, and read and sign "
			"the new text",
			row->id);
}

int approval_may_sign(struct approvals *approvals, struct approval *row, struct sbx_error *err)
{
	auto_jv people = jv_invalid();

	if (row->status != APPROVAL_WAITING || approval_has_ended(row))
		return not_waiting(approvals, row, err);
	if (row->is_edited)
		return approval_fail_edited(row, err);
	return approval_check_time(row, err) < 0 || check_settings(approvals, row, err) < 0
		       ? -1
		       : approvers_now(approvals->config, &approvals->approvers, &people, err);
}

static int check_is_new(const struct approval *row, const struct offer *offer,
			struct sbx_error *err)
{
	for (size_t i = 0; i < row->people.count; i++)
		if (strcmp(row->people.who[i].name, offer->person) == 0) {
			sbx_fail(err, SBX_DENIED, "already_signed",
				 "%s has signed this request already", offer->person);
			return sbx_hint(err, "another person must sign: each counts once, "
					     "whichever of their keys they use");
		}
	return 0;
}

static int move_counter(struct approvals *approvals, const struct sshsig *sig,
			struct sbx_error *err)
{
	const struct store_value values[] = {store_text(sig->key_sha256),
					     store_number(sig->counter)};
	int64_t last = 0;

	if (!sig->security_key)
		return 0;
	if (store_query_number(approvals->store, "SELECT counter FROM key WHERE sha256 = ?1", values, 1, &last,
			       err) < 0 ||
	    sshsig_check_counter(sig, last > 0 && last <= UINT32_MAX ? (uint32_t)last : 0, err) < 0)
		return -1;
	return store_run(approvals->store,
			 "INSERT INTO key (sha256, counter) VALUES (?1, ?2)"
			 " ON CONFLICT (sha256) DO UPDATE SET counter = max(counter, ?2)",
			 values, ARRAY_LEN(values), NULL, err);
}

/* What does not count any more, such as the signature of a key that was revoked, makes room. */
static int drop_dead(struct approvals *approvals, const struct approval *row,
		     const struct offer *offer, struct sbx_error *err)
{
	for (size_t i = 0; i < row->signature_count; i++) {
		const struct store_value values[] = {store_text(row->id),
						     store_text(row->signatures[i].key_sha256)};
		if (!offer->counts[i] &&
		    store_run(approvals->store,
			      "DELETE FROM signature WHERE approval = ?1 AND key_sha256 = ?2",
			      values, ARRAY_LEN(values), NULL, err) < 0)
			return -1;
	}
	return 0;
}

static int record_signature(struct approvals *approvals, const struct approval *row,
			    const struct offer *offer, int is_last, struct sbx_error *err)
{
	jv event = json_set_str(jv_object(), "approval", row->id);

	event = json_set_str(event, "signer", offer->sig.signer);
	event = json_set_str(event, "person", offer->person);
	event = json_set_str(event, "key_sha256", offer->sig.key_sha256);
	auto_jv details = json_set_str(event, "text_sha256", row->text_sha256);
	return audit_append(approvals->state, AUDIT_INTENT,
			    is_last ? "approval.granted" : "approval.signed", row->asked_by,
			    details, err);
}

/* Inside the transaction, ROW unchanged. */
static int keep_signature(struct approvals *approvals, const struct approval *row,
			  const struct offer *offer, int64_t now, struct sbx_error *err)
{
	int64_t people = (int64_t)row->people.count + 1, changed = 0;
	int is_last = people >= row->terms.threshold;
	const struct store_value kept[] = {store_text(row->id), store_text(offer->sig.signer),
					   store_text(offer->sig.key_sha256),
					   store_bytes(offer->armor, offer->len),
					   store_number(now)};
	const struct store_value values[] = {store_text(row->id),
					     store_text(is_last ? "approved" : "waiting"),
					     store_number(people), store_number(now)};

	if (move_counter(approvals, &offer->sig, err) < 0 ||
	    drop_dead(approvals, row, offer, err) < 0 ||
	    store_run(approvals->store,
		      "INSERT INTO signature (approval, signer, key_sha256, armor, at)"
		      " VALUES (?1, ?2, ?3, ?4, ?5)",
		      kept, ARRAY_LEN(kept), NULL, err) < 0 ||
	    store_run(approvals->store,
		      "UPDATE approval SET state = ?2, signed = ?3"
		      " WHERE id = ?1 AND state = 'waiting' AND expires > ?4",
		      values, ARRAY_LEN(values), &changed, err) < 0)
		return -1;
	return changed == 1 ? record_signature(approvals, row, offer, is_last, err) : approval_fail_ended(err);
}

/* 1: taken; 0: the row has moved meanwhile. */
static int offer_once(struct approvals *approvals, struct approval *row, struct offer *offer,
		      struct sbx_error *err)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	struct approval_clock now;

	sshsig_clear(&offer->sig);
	if (row->status != APPROVAL_WAITING || approval_has_ended(row))
		return not_waiting(approvals, row, err);
	if (row->is_edited)
		return approval_fail_edited(row, err);
	if (approval_check_time(row, err) < 0 ||
	    approval_verify(approvals, row, &row->terms, offer->armor, offer->len, &offer->sig,
			    offer->person, err) < 0 ||
	    check_settings(approvals, row, err) < 0)
		return -1;
	approval_count_under(approvals, row, &row->terms, offer->counts, &ignored);
	if (check_is_new(row, offer, err) < 0 || approval_begin(approvals, &now, err) < 0)
		return -1;
	int same = approval_is_unchanged(approvals, row, err);
	if (same == 1)
		return approval_finish(approvals,
				       keep_signature(approvals, row, offer, now.wall, err),
				       err) < 0
			       ? -1
			       : 1;
	approval_finish(approvals, -1, err);
	return same < 0 ? -1 : approval_reload(approvals, row, err);
}

int approval_accept(struct approvals *approvals, struct approval *row, const char *signature,
		    size_t len, struct sbx_error *err)
{
	struct offer offer = {.armor = signature, .len = len};
	int taken = 0;

	for (int i = 0; taken == 0 && i < TRIES; i++)
		taken = offer_once(approvals, row, &offer, err);
	sshsig_clear(&offer.sig);
	if (taken == 0)
		return not_waiting(approvals, row, err);
	if (taken < 0 || approval_reload(approvals, row, err) < 0)
		return -1;
	approval_count(approvals, row);
	return 0;
}

static int close_denied(struct approvals *approvals, const struct approval *row, const char *by,
			const char *reason, int64_t now, struct sbx_error *err)
{
	const struct store_value values[] = {store_text(row->id), store_text(by),
					     store_text(reason), store_number(now)};
	auto_jv details = json_set_str(json_set_str(jv_object(), "approval", row->id), "by", by);
	int64_t changed = 0;

	if (store_run(
		    approvals->store,
		    "UPDATE approval SET state = 'denied', denied_by = ?2, reason = ?3, denied = ?4"
		    " WHERE id = ?1 AND state IN ('waiting','approved')",
		    values, ARRAY_LEN(values), &changed, err) < 0)
		return -1;
	if (changed != 1)
		return sbx_fail(err, SBX_DENIED, "approval_not_open",
				"the request is not open any more");
	return audit_append(approvals->state, AUDIT_OUTCOME, "approval.denied", row->asked_by,
			    details, err);
}

int approval_deny(struct approvals *approvals, struct approval *row, const char *by,
		  const char *reason, struct sbx_error *err)
{
	struct approval_clock now;

	if (row->status != APPROVAL_WAITING && row->status != APPROVAL_APPROVED)
		return sbx_fail(err, SBX_DENIED, "approval_not_open",
				"the request is not open: it is %s",
				approval_status_name(row->status));
	if (approval_begin(approvals, &now, err) < 0 ||
	    approval_finish(approvals, close_denied(approvals, row, by, reason, now.wall, err),
			    err) < 0)
		return -1;
	return approval_reload(approvals, row, err);
}
