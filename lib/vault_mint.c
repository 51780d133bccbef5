/* Child token, then credential, each on disk before the next. */
#include "vault_mint.h"

#include <stdio.h>
#include <string.h>

#include "ascii.h"
#include "clock.h"
#include "vault_engine.h"

enum {
	CHILD_MARGIN_S = 60, /* the child's leases end with it: it is made first, and must not end first */
	PATH_MAX_BYTES = 512,
	BODY_MAX = 4096,
	LEASE_ID_MAX = 400,
};

/* --- the child token --- */

static int bad_child(struct sbx_error *err, const char *what, const char *hint)
{
	sbx_fail(err, SBX_CONFIG, "vault_child", "the child token %s", what);
	return sbx_hint(err, "%s", hint);
}

static int check_child(jv auth, const struct vault_scope *scope, const struct vault_session *session, int64_t lifetime,
		       struct sbx_error *err)
{
	auto_jv policies = json_array(auth, "policies"), only = json_at(policies, 0);
	int64_t duration = 0;

	if (json_length(policies) != 1 || json_text(only) == NULL || strcmp(json_text(only), scope->policy) != 0)
		return bad_child(err, "has other policies than the scope's",
				 "the token role must not add any, nor the policy default");
	if (json_str(auth, "token_type") == NULL || strcmp(json_str(auth, "token_type"), "service") != 0)
		return bad_child(err, "is none that can be revoked", "the token role must have token_type=service");
	if (json_bool(auth, "renewable") != 0)
		return bad_child(err, "can be renewed", "the token role must have renewable=false");
	/* Our own login ends with this process, and takes its children along. */
	if (session->owner == VAULT_OWN && json_bool(auth, "orphan") != 1)
		return bad_child(err, "would end with our login", "the token role must have orphan=true");
	if (json_int(auth, "lease_duration", &duration) < 0 || duration < lifetime)
		return bad_child(err, "would end before the credential",
				 "the token role's explicit_max_ttl is too small for the action's deadline");
	return 0;
}

static int make_child(const struct vault *vault, const struct vault_settings *settings, const struct vault_scope *scope,
		      const struct vault_session *session, const struct provider_wish *wish,
		      struct provider_journal *journal, struct secret *child, enum vault_answer *last,
		      struct sbx_error *err)
{
	auto_buf path = BUF_INIT(PATH_MAX_BYTES), body = BUF_INIT(BODY_MAX);
	auto_vault_reply reply = VAULT_REPLY_INIT;
	char ttl[32], display[64];

	snprintf(ttl, sizeof ttl, "%llds", (long long)(wish->lifetime_s + CHILD_MARGIN_S));
	snprintf(display, sizeof display, "sbx-%.8s", journal->lease);
	jv meta = json_set_str(jv_object(), "sbx_lease", journal->lease);
	meta = json_set_str(json_set_str(meta, "sbx_call", wish->call), "sbx_principal", wish->principal);
	jv object = json_set(jv_object(), "policies", json_append(jv_array(), jv_string(scope->policy)));
	object = json_set_str(json_set_str(object, "ttl", ttl), "explicit_max_ttl", ttl);
	object = json_set_bool(json_set_bool(object, "renewable", 0), "no_default_policy", 1);
	object = json_set_str(json_set(object, "meta", meta), "display_name", display);
	auto_jv wanted = object;
	if (json_write(wanted, &body, err) < 0 || buf_add_str(&path, "auth/token/create", err) < 0 ||
	    vault_add_name(&path, settings->token_role, VAULT_SEGMENT, err) < 0)
		return -1;
	const struct vault_request request = {.doing = "make the child token",
					      .method = "POST",
					      .path = buf_str(&path),
					      .token = &session->token,
					      .body = body.data,
					      .body_len = body.len,
					      .repeat = HTTP_ONCE,
					      .outer = "auth",
					      .inner = {"client_token"}};
	*last = vault_ask(vault, &request, &reply, err);
	if (*last != VAULT_OK)
		return -1;
	auto_jv auth = json_object(reply.object, "auth");
	const char *accessor = json_str(auth, "accessor");
	if (reply.secrets[0].len == 0 || !ascii_is_printable(accessor, LEASE_ID_MAX))
		return vault_bad_answer(err, "has no child token and accessor");
	if (provider_journal_add(journal, json_set_str(jv_object(), "accessor", accessor), err) < 0 ||
	    check_child(auth, scope, session, wish->lifetime_s, err) < 0)
		return -1;
	*child = reply.secrets[0];
	reply.secrets[0] = (struct secret)SECRET_INIT;
	return 0;
}

/* --- the credential --- */

static int read_credential(const struct vault_engine *engine, struct vault_reply *reply,
			   const struct provider_wish *wish, struct provider_minted *minted, struct sbx_error *err)
{
	int64_t duration;

	if (json_int(reply->object, "lease_duration", &duration) < 0)
		return vault_bad_answer(err, "does not say when the credential ends");
	minted->expires_at = clock_seconds() + duration;
	if (engine->read(reply, minted, err) < 0)
		return -1;
	if (provider_minted_suffices(minted, wish))
		return 0;
	sbx_fail(err, SBX_CONFIG, "vault_short", "the credential would end before its action has to");
	return sbx_hint(err, "the longest time of the role, or of its mount, is less than the action's deadline");
}

static int make_credential(const struct vault *vault, const struct vault_scope *scope, const struct secret *child,
			   const struct provider_wish *wish, struct provider_journal *journal,
			   struct vault_reply *reply, enum vault_answer *last, struct sbx_error *err)
{
	const struct vault_engine *engine = vault_engine(scope->engine);
	auto_buf path = BUF_INIT(PATH_MAX_BYTES), body = BUF_INIT(BODY_MAX);
	char ttl[32];

	snprintf(ttl, sizeof ttl, "%llds", (long long)wish->lifetime_s);
	auto_jv wanted = json_set_str(engine->wanted(scope, journal->lease), "ttl", ttl);
	if (json_write(wanted, &body, err) < 0 || vault_add_name(&path, scope->mount, VAULT_PATH, err) < 0 ||
	    buf_addf(&path, err, "/%s", engine->path) < 0 || vault_add_name(&path, scope->role, VAULT_SEGMENT, err) < 0)
		return -1;
	struct vault_request request = {.doing = "mint the credential",
					.method = "POST",
					.path = buf_str(&path) + 1,
					.token = child,
					.body = body.data,
					.body_len = body.len,
					.repeat = HTTP_ONCE,
					.outer = "data"};
	memcpy(request.inner, engine->secrets, sizeof request.inner);
	*last = vault_ask(vault, &request, reply, err);
	if (*last != VAULT_OK)
		return -1;
	const char *id = json_str(reply->object, "lease_id");
	if (!ascii_is_printable(id, LEASE_ID_MAX) || strncmp(id, request.path, path.len - 1) != 0 ||
	    id[path.len - 1] != '/')
		return vault_bad_answer(err, "has no lease of the role that was asked for");
	/* Whatever else is wrong with it: what was made must be found again. */
	return provider_journal_add(journal, json_set_str(jv_object(), "vault_lease", id), err);
}

static int mint(const struct vault *vault, const struct vault_scope *scope, const struct secret *child,
		const struct provider_wish *wish, struct provider_journal *journal, struct provider_minted *minted,
		enum vault_answer *last, struct sbx_error *err)
{
	auto_vault_reply reply = VAULT_REPLY_INIT;

	if (make_credential(vault, scope, child, wish, journal, &reply, last, err) < 0 ||
	    read_credential(vault_engine(scope->engine), &reply, wish, minted, err) < 0)
		return -1;
	/* What lives on is to be told with its own end. */
	return json_str(journal->record, "lives_on") == NULL
		       ? 0
		       : provider_journal_add(journal, json_set_int(jv_object(), "expires_at", minted->expires_at),
					      err);
}

/* Where every answer came nothing is at work any more, and whoever revokes need not wait for it. */
static void note_failed(struct provider_journal *journal, enum vault_answer last)
{
	struct sbx_error ignored = SBX_ERROR_INIT;

	if (last == VAULT_UNKNOWN)
		return;
	if (json_has(journal->record, "accessor"))
		provider_journal_add(journal, json_set_int(jv_object(), "made_at", 0), &ignored);
	else if (last == VAULT_REFUSED)
		provider_journal_end(journal, &ignored);
}

int vault_mint(const struct vault *vault, const struct vault_settings *settings, const struct vault_scope *scope,
	       const struct vault_session *session, const struct provider_wish *asked, struct provider_journal *journal,
	       struct provider_minted *minted, struct sbx_error *err)
{
	const struct vault_engine *engine = vault_engine(scope->engine);
	struct provider_wish wish = *asked;
	auto_secret child = SECRET_INIT;
	/* Said in the journal before there is one. */
	int outlives = engine->outlives(vault, scope, session, err);

	if (outlives < 0)
		return -1;
	if (wish.lifetime_s < engine->lifetime_min_s)
		wish.lifetime_s = engine->lifetime_min_s;
	/* Nothing of it lives longer, whatever becomes of us. */
	jv members = json_set_int(jv_object(), "expires_at", clock_seconds() + wish.lifetime_s + CHILD_MARGIN_S);
	members = json_set_int(members, "made_at", clock_seconds());
	members = json_set_str(members, "lives_on", outlives ? engine->lives_on : NULL);
	enum vault_answer last = VAULT_UNKNOWN;
	if (provider_journal_begin(journal, members, err) < 0)
		return -1;
	if (make_child(vault, settings, scope, session, &wish, journal, &child, &last, err) == 0 &&
	    mint(vault, scope, &child, &wish, journal, minted, &last, err) == 0)
		return 0;
	note_failed(journal, last);
	return -1;
}
