/* Lease, child token, and the search for a child token whose answer was lost. */
#include "vault_revoke.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "log.h"

enum {
	SYNC_MS = 4000,	 /* the server asks the cluster, and waits as long as that does not answer */
	SHORT_MS = 2000, /* what the server answers by itself */
	LOOK_MS = 100,	 /* between two looks at a lease that is queued */
	CHILD_MS = 1500, /* kept for the child token when a lease is waited for */
	BODY_MAX = 1024,
};

/* POST of one string. */
static enum vault_answer post(const struct vault *vault, const struct vault_session *session, const char *doing,
			      const char *path, jv object, int64_t at_most_ms, struct vault_reply *reply,
			      struct sbx_error *err)
{
	auto_buf body = BUF_INIT(BODY_MAX);
	auto_jv owned = object;

	if (json_write(owned, &body, err) < 0)
		return VAULT_REFUSED;
	/* All of these may be done twice. */
	const struct vault_request request = {.doing = doing,
					      .method = "POST",
					      .path = path,
					      .token = &session->token,
					      .body = body.data,
					      .body_len = body.len,
					      .at_most_ms = at_most_ms};
	return vault_ask(vault, &request, reply, err);
}

static jv one(const char *key, const char *text)
{
	return json_set_str(jv_object(), key, text);
}

/* --- the lease --- */

/* 1: gone, 0: still there, -1: not known. */
static int lease_is_gone(const struct vault *vault, const struct vault_session *session, const char *id,
			 struct sbx_error *err)
{
	auto_vault_reply reply = VAULT_REPLY_INIT;
	struct sbx_error why = SBX_ERROR_INIT;

	if (post(vault, session, "look at the lease", "sys/leases/lookup", one("lease_id", id), SHORT_MS, &reply,
		 &why) == VAULT_OK)
		return 0;
	if (reply.status == 400 && strstr(reply.said, "invalid lease") != NULL)
		return 1;
	*err = why;
	return -1;
}

/* Queue it, and look until it is gone or no more time is left than the child token needs. 1: gone, 0: queued. */
static int revoke_later(const struct vault *vault, const struct vault_session *session, const char *id,
			struct sbx_error *err)
{
	auto_vault_reply reply = VAULT_REPLY_INIT;
	jv object = json_set_bool(one("lease_id", id), "sync", 0);

	if (post(vault, session, "queue the end of the lease", "sys/leases/revoke", object, SHORT_MS, &reply, err) !=
	    VAULT_OK)
		return -1;
	for (;;) {
		int gone = lease_is_gone(vault, session, id, err);
		if (gone != 0 || clock_left_ms(vault->deadline) < CHILD_MS + SHORT_MS)
			return gone;
		poll(NULL, 0, LOOK_MS);
	}
}

/* 1: gone, 0: queued, -1: neither. */
static int revoke_lease(const struct vault *vault, const struct vault_session *session, const char *id,
			struct sbx_error *err)
{
	auto_vault_reply reply = VAULT_REPLY_INIT;
	struct sbx_error why = SBX_ERROR_INIT;
	jv object = json_set_bool(one("lease_id", id), "sync", 1);

	enum vault_answer answer =
		post(vault, session, "end the lease", "sys/leases/revoke", object, SYNC_MS, &reply, &why);
	if (answer == VAULT_OK) {
		/* It says the same for a lease that it never knew. */
		int gone = lease_is_gone(vault, session, id, err);
		return gone != 0 ? gone : revoke_later(vault, session, id, err);
	}
	log_error(&why);
	/* 400 is what it says when the cluster did not do its part. */
	if (answer == VAULT_UNKNOWN || reply.status == 400)
		return revoke_later(vault, session, id, err);
	*err = why;
	return -1;
}

/* --- the child token --- */

/* A token that is gone already is answered with 200 and a warning. */
static int revoke_accessor(const struct vault *vault, const struct vault_session *session, const char *accessor,
			   struct sbx_error *err)
{
	auto_vault_reply reply = VAULT_REPLY_INIT;

	return post(vault, session, "end the child token", "auth/token/revoke-accessor", one("accessor", accessor),
		    SHORT_MS, &reply, err) == VAULT_OK
		       ? 0
		       : -1;
}

/* 1 when the token of ACCESSOR was made for our lease; 0 when not, or it has ended meanwhile. */
static int is_ours(const struct vault *vault, const struct vault_session *session, const char *accessor,
		   const char *lease, struct sbx_error *err)
{
	auto_vault_reply reply = VAULT_REPLY_INIT;
	struct sbx_error why = SBX_ERROR_INIT;

	if (post(vault, session, "look at a token", "auth/token/lookup-accessor", one("accessor", accessor), 0, &reply,
		 &why) != VAULT_OK) {
		if (reply.status == 400 || (reply.status == 403 && strstr(reply.said, "invalid accessor") != NULL))
			return 0;
		*err = why;
		return -1;
	}
	auto_jv data = json_object(reply.object, "data"), meta = json_object(data, "meta");
	const char *said = json_str(meta, "sbx_lease");
	return said != NULL && strcmp(said, lease) == 0;
}

/* End every token that says our lease; how many, or -1. */
static int search(const struct vault *vault, const struct vault_session *session, const char *lease,
		  struct sbx_error *err)
{
	auto_vault_reply reply = VAULT_REPLY_INIT;
	const struct vault_request request = {.doing = "list the accessors of tokens",
					      .method = "GET",
					      .path = "auth/token/accessors?list=true",
					      .token = &session->token};
	int found = 0;

	if (vault_ask(vault, &request, &reply, err) != VAULT_OK)
		return -1;
	auto_jv data = json_object(reply.object, "data"), keys = json_array(data, "keys");
	for (int i = 0; i < json_length(keys); i++) {
		auto_jv key = json_at(keys, i);
		const char *accessor = json_text(key);
		int ours = accessor != NULL ? is_ours(vault, session, accessor, lease, err) : 0;
		if (ours < 0 || (ours == 1 && revoke_accessor(vault, session, accessor, err) < 0))
			return -1;
		found += ours;
	}
	return found;
}

/* The answer with its accessor was lost, so it made nothing, and nobody has it. */
static int revoke_lost(const struct vault *vault, const struct vault_session *session,
		       const struct provider_journal *journal, struct provider_outcome *outcome, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;
	char expires[CLOCK_RFC3339_SIZE];
	int64_t end = provider_journal_end_time(journal);

	if (clock_seconds() >= end) {
		provider_say(outcome, "revoked",
			     "no credential was minted, and a child token would have ended by itself");
		return 0;
	}
	int found = search(vault, session, journal->lease, &why);
	if (found >= 0) {
		provider_say(outcome, "revoked",
			     found > 0 ? "child token found by its metadata and revoked; it had made nothing"
				       : "no child token was made");
		return 0;
	}
	if (strcmp(why.code, "vault_denied") != 0) {
		*err = why;
		return -1;
	}
	log_error(&why);
	clock_format(end, expires);
	provider_say(outcome, "expires", "no credential was minted; a child token that nobody holds may live until %s",
		     expires);
	return 0;
}

/* --- the whole --- */

/* What lives on when its lease has ended; NULL: nothing does. */
static const char *lives_on(const struct provider_journal *journal)
{
	return json_str(journal->record, "lives_on");
}

static void say_lease(const struct provider_journal *journal, int gone, struct provider_outcome *outcome)
{
	char expires[CLOCK_RFC3339_SIZE];
	int64_t end = provider_journal_end_time(journal);

	clock_format(end, expires);
	if (lives_on(journal) != NULL)
		provider_say(outcome, "expires", "lease and child token ended; %s lives until %s", lives_on(journal),
			     expires);
	else if (gone)
		provider_say(outcome, "revoked", "lease revoked and looked up as gone; child token revoked");
	else if (clock_seconds() >= end)
		provider_say(outcome, "expires",
			     "the server could not end its lease; the token expired by itself at %s", expires);
	else
		provider_say(outcome, "deferred", "child token revoked; the server has queued the end of the lease");
}

/* The mint gave no answer, so nobody has what it may have made. */
static void say_unanswered(const struct provider_journal *journal, struct provider_outcome *outcome)
{
	char expires[CLOCK_RFC3339_SIZE];
	int64_t end = provider_journal_end_time(journal);

	clock_format(end, expires);
	if (lives_on(journal) != NULL && clock_seconds() < end)
		provider_say(outcome, "expires", "child token revoked; %s that nobody holds may live until %s",
			     lives_on(journal), expires);
	else
		provider_say(outcome, "revoked",
			     "child token revoked, with all that it may have made; the mint gave no answer");
}

int vault_revoke(const struct vault *vault, const struct vault_session *session, const struct provider_journal *journal,
		 struct provider_outcome *outcome, struct sbx_error *err)
{
	const char *id = json_str(journal->record, "vault_lease"), *accessor = json_str(journal->record, "accessor");
	struct sbx_error failed = SBX_ERROR_INIT;

	if (id == NULL)
		provider_journal_settle(journal);
	if (accessor == NULL)
		return revoke_lost(vault, session, journal, outcome, err);
	int gone = id != NULL ? revoke_lease(vault, session, id, &failed) : 1;
	/* In any case: nothing more can be made with it then. While the cluster hangs this does, too: it waits for the
	 * lease. */
	if (revoke_accessor(vault, session, accessor, err) < 0)
		return -1;
	if (gone < 0) {
		*err = failed;
		return -1;
	}
	if (id == NULL)
		say_unanswered(journal, outcome);
	else
		say_lease(journal, gone, outcome);
	return 0;
}
