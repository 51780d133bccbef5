/* A call meets its row, or asks for one. */
#include "approval.h"

#include <stdio.h>
#include <string.h>

#include "approval_row.h"
#include "audit.h"
#include "call.h"
#include "digest.h"
#include "io.h"
#include "refused.h"

enum { NONCE_BYTES = 16, ID_BYTES = 16 };

int approval_fail_ended(struct sbx_error *err)
{
	sbx_fail(err, SBX_DENIED, "approval_expired", "the approval's time is over");
	return sbx_hint(err, "make the call again; it opens a new request");
}

int approval_fail_in_use(struct sbx_error *err)
{
	sbx_fail(err, SBX_UNAVAILABLE, "approval_in_use",
		 "the approval for exactly this is claimed by a call that is at work");
	return sbx_hint(err, "wait until that call has ended; the same call again then opens a new request");
}

static int open_call(struct approvals *approvals, const char *call)
{
	struct sbx_error gone = SBX_ERROR_INIT;

	return state_is_id(call) ? state_run_open(approvals->state, call, &gone) : -1;
}

int approval_call_works(struct approvals *approvals, const char *call)
{
	auto_fd run_fd = open_call(approvals, call);

	return run_fd >= 0 && state_run_works(run_fd);
}

/* Its locks are looked at first: a proof counts only when nobody is left who could still act. */
enum claimer approval_claimer(struct approvals *approvals, const struct approval *row)
{
	auto_fd run_fd = open_call(approvals, row->call);

	if (run_fd < 0)
		return CLAIMER_PROVED_NOTHING;
	if (state_run_works(run_fd))
		return CLAIMER_WORKS;
	return refused_verify(approvals->state, approvals->key, run_fd, row->call, row->id) == 1
		       ? CLAIMER_STARTED_NOTHING
		       : CLAIMER_PROVED_NOTHING;
}

int approval_text(const struct review *review, const struct approval *row, struct buf *text, struct sbx_error *err)
{
	const struct review_terms terms = {
		.number = row->number,
		.id = row->id,
		.created = row->created,
		.expires = row->expires,
		.nonce = row->nonce,
		.head = row->head,
		.client = row->client[0] != '\0' ? row->client : NULL,
	};

	return review_text(review, &terms, text, err);
}

/* 1: *ROW is open, or claimed and to be had again; 0: there is none. */
static int find_for(struct approvals *approvals, const char *subject, struct approval *row, struct sbx_error *err)
{
	const struct store_value values[] = {store_text(subject)};
	int found = approval_load(approvals, "subject = ?1 AND state IN ('waiting','approved')", values, 1, row, err);

	if (found != 0)
		return found < 0 ? -1 : !approval_has_ended(row);
	found = approval_load(approvals, "subject = ?1 AND state = 'claimed' ORDER BY number DESC LIMIT 1", values, 1,
			      row, err);
	if (found <= 0)
		return found;
	switch (approval_claimer(approvals, row)) {
	case CLAIMER_WORKS:
		return approval_fail_in_use(err);
	case CLAIMER_STARTED_NOTHING:
		return !approval_has_ended(row);
	case CLAIMER_PROVED_NOTHING:
		break;
	}
	return approval_may_repeat(approvals, row, err);
}

/* How long the decision lets an approval stand, in seconds. */
static int64_t ttl_of(const struct review *review)
{
	auto_jv policy = json_object(review->call, "policy");
	auto_jv terms = json_object(policy, "approval");
	int64_t ttl;

	if (json_int(terms, "ttl_s", &ttl) < 0 || ttl <= 0 || ttl > LIMIT_APPROVAL_S)
		ttl = LIMIT_APPROVAL_S;
	return ttl;
}

static void copy_string(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text != NULL ? text : "");
}

static int fill_request(struct approvals *approvals, const struct review *review, const char *subject,
			const struct approval_clock *now, struct approval *row, struct sbx_error *err)
{
	auto_jv call = json_object(review->call, "call");
	auto_jv policy = json_object(review->call, "policy");
	auto_jv reasons = json_array(policy, "reasons");
	auto_jv reason = json_at(reasons, 0);
	int64_t sequence;

	approval_clear(row);
	if (audit_head(approvals->state, row->head, &sequence, err) < 0)
		return -1;
	if (store_query_number(approvals->store, "SELECT coalesce(max(number), 0) + 1 FROM approval", NULL, 0,
			       &row->number, err) < 0)
		return -1;
	row->status = APPROVAL_WAITING;
	io_random_hex(row->id, ID_BYTES);
	io_random_hex(row->nonce, NONCE_BYTES);
	copy_string(row->subject, sizeof row->subject, subject);
	copy_string(row->asked_by, sizeof row->asked_by, call_id(review->call));
	copy_string(row->principal, sizeof row->principal, call_principal(review->call));
	copy_string(row->tool, sizeof row->tool, call_tool(review->call));
	copy_string(row->tier, sizeof row->tier, json_str(policy, "tier"));
	copy_string(row->client, sizeof row->client, json_str(call, "client"));
	copy_string(row->boot, sizeof row->boot, now->boot);
	row->booted = now->booted;
	row->created = now->wall;
	row->expires = now->wall + ttl_of(review);
	approval_terms_of(review, &row->terms);
	copy_string(row->why, sizeof row->why, json_text(reason));
	review_lost(review, row->lost);
	return 0;
}

static int insert_request(struct approvals *approvals, const struct approval *row, struct sbx_error *err)
{
	char mac[65];

	if (approval_mac(approvals, row, mac, err) < 0)
		return -1;
	const struct store_value values[] = {
		store_number(row->number),
		store_text(row->id),
		store_text(row->subject),
		store_text(row->asked_by),
		store_text(row->principal),
		store_text(row->tool),
		store_text(row->tier),
		store_text(row->client),
		store_text(row->nonce),
		store_text(row->head),
		store_number(row->created),
		store_number(row->expires),
		store_text(row->boot),
		store_number(row->booted),
		store_bytes(row->text, row->text_len),
		store_text(row->text_sha256),
		store_number(row->terms.threshold),
		store_number(row->terms.user == SSHSIG_USER_VERIFIED),
		store_text(row->why),
		store_text(row->lost),
		store_text(mac),
	};

	return store_run(approvals->store,
			 "INSERT INTO approval (state, number, id, subject, asked_by, principal, tool,"
			 " tier, client, nonce, head, created, expires, boot, booted, text, text_sha256,"
			 " threshold, user_verification, why, lost, mac) VALUES ('waiting', ?1, ?2, ?3, ?4,"
			 " ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
			 values, ARRAY_LEN(values), NULL, err);
}

static int ask(struct approvals *approvals, const struct review *review, const char *subject,
	       const struct approval_clock *now, struct approval *row, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(LIMIT_REVIEW_TEXT);

	if (fill_request(approvals, review, subject, now, row, err) < 0 ||
	    approval_may_ask(approvals, row, now->wall, err) < 0 ||
	    approval_text(review, row, &text, err) < 0)
		return -1;
	row->text_len = text.len;
	row->text = buf_take(&text);
	digest_sha256_hex(row->text, row->text_len, row->text_sha256);
	jv event = json_set_str(jv_object(), "approval", row->id);
	event = json_set_str(json_set_str(event, "subject_sha256", subject), "text_sha256", row->text_sha256);
	auto_jv details = event;
	if (insert_request(approvals, row, err) < 0 || approval_tell(approvals, row, now->wall, err) < 0)
		return -1;
	return audit_append(approvals->state, AUDIT_INTENT, "approval.requested", row->asked_by, details, err);
}

int approval_meet(struct approvals *approvals, const struct review *review, const char *subject, struct approval *row,
		  struct sbx_error *err)
{
	struct approval_clock now;
	/* Most calls meet a row that is there: no lock and no write for them. */
	int found = find_for(approvals, subject, row, err);

	if (found != 0)
		return found < 0 ? -1 : 0;
	if (approval_begin(approvals, &now, err) < 0)
		return -1;
	found = find_for(approvals, subject, row, err);
	if (found == 0)
		found = ask(approvals, review, subject, &now, row, err) < 0 ? -1 : 1;
	if (found >= 0)
		return store_commit(approvals->store, err);
	store_rollback(approvals->store);
	/* What could not be asked for is no row. */
	approval_clear(row);
	return -1;
}
