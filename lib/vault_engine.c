/* Kubernetes: tokens of service accounts. AWS: sessions of STS. */
#include "vault_engine.h"

#include <stdio.h>
#include <string.h>

#include "ascii.h"
#include "clock.h"
#include "jwt_claims.h"

enum {
	PATH_MAX_BYTES = 512,
	KUBERNETES_MIN_S = 600,
	STS_MIN_S = 900,
	SESSION_NAME_SIZE = 65, /* AssumeRole takes 64 characters */
};

int vault_bad_answer(struct sbx_error *err, const char *what)
{
	return sbx_fail(err, SBX_PROTOCOL, "vault_answer", "the server's answer %s", what);
}

static void move_field(struct provider_minted *minted, size_t i, const char *name, struct secret *from)
{
	minted->fields[i].name = name;
	minted->fields[i].value = *from;
	*from = (struct secret)SECRET_INIT;
}

static void set_jti(struct provider_minted *minted, const char *jti)
{
	if (ascii_is_printable(jti, sizeof minted->jti - 1))
		snprintf(minted->jti, sizeof minted->jti, "%s", jti);
}

/* --- Kubernetes --- */

/* The tokens of a role with a fixed service account live on. */
static int kubernetes_outlives(const struct vault *vault, const struct vault_scope *scope,
			       const struct vault_session *session, struct sbx_error *err)
{
	auto_buf path = BUF_INIT(PATH_MAX_BYTES);
	auto_vault_reply reply = VAULT_REPLY_INIT;

	if (vault_add_name(&path, scope->mount, VAULT_PATH, err) < 0 || buf_add_str(&path, "/roles", err) < 0 ||
	    vault_add_name(&path, scope->role, VAULT_SEGMENT, err) < 0)
		return -1;
	const struct vault_request request = {.doing = "read the role of the scope",
					      .method = "GET",
					      .path = buf_str(&path) + 1,
					      .token = &session->token};
	if (vault_ask(vault, &request, &reply, err) != VAULT_OK)
		return -1;
	auto_jv data = json_object(reply.object, "data");
	const char *account = json_str(data, "service_account_name");
	return account != NULL ? account[0] != '\0'
			       : vault_bad_answer(err, "is no role of the Kubernetes secrets engine");
}

static jv kubernetes_wanted(const struct vault_scope *scope, const char *lease)
{
	jv out = json_set_str(jv_object(), "kubernetes_namespace", scope->kubernetes_namespace);

	(void)lease;
	return jv_is_valid(scope->audiences) ? json_set(out, "audiences", jv_copy(scope->audiences)) : out;
}

static int kubernetes_read(struct vault_reply *reply, struct provider_minted *minted, struct sbx_error *err)
{
	auto_jv claims = jv_invalid();
	int64_t exp;

	if (reply->secrets[0].len == 0)
		return vault_bad_answer(err, "has no token");
	if (jwt_claims_read(&reply->secrets[0], &claims) < 0)
		return vault_bad_answer(err, "has a token that is no JWT");
	if (json_int(claims, "exp", &exp) < 0)
		return vault_bad_answer(err, "does not say when the credential ends");
	set_jti(minted, json_str(claims, "jti"));
	if (exp < minted->expires_at)
		minted->expires_at = exp;
	move_field(minted, 0, "token", &reply->secrets[0]);
	return 0;
}

/* --- AWS --- */

/* Nothing ends a session of STS but its time. */
static int aws_outlives(const struct vault *vault, const struct vault_scope *scope, const struct vault_session *session,
			struct sbx_error *err)
{
	(void)vault, (void)scope, (void)session, (void)err;
	return 1;
}

/* The session's name stands in every event of CloudTrail. */
static jv aws_wanted(const struct vault_scope *scope, const char *lease)
{
	char name[SESSION_NAME_SIZE];

	snprintf(name, sizeof name, "sbx-%.32s", lease);
	return json_set_str(json_set_str(jv_object(), "role_session_name", name), "role_arn", scope->role_arn);
}

enum { AWS_ID, AWS_KEY, AWS_TOKEN, AWS_OLD_TOKEN };

static int aws_read(struct vault_reply *reply, struct provider_minted *minted, struct sbx_error *err)
{
	auto_jv data = json_object(reply->object, "data");
	int64_t ttl, now = clock_seconds();
	/* Older servers have the second name alone; newer ones both, for the same. */
	struct secret *token = &reply->secrets[AWS_TOKEN];

	if (token->len == 0)
		token = &reply->secrets[AWS_OLD_TOKEN];
	if (reply->secrets[AWS_ID].len == 0 || reply->secrets[AWS_KEY].len == 0 || token->len == 0)
		return vault_bad_answer(err, "has no access key with a session token");
	if (json_int(data, "ttl", &ttl) == 0 && now + ttl < minted->expires_at)
		minted->expires_at = now + ttl;
	set_jti(minted, json_str(data, "arn"));
	move_field(minted, 0, "access_key_id", &reply->secrets[AWS_ID]);
	move_field(minted, 1, "secret_access_key", &reply->secrets[AWS_KEY]);
	move_field(minted, 2, "session_token", token);
	return 0;
}

const struct vault_engine *vault_engine(enum vault_engine_kind kind)
{
	static const struct vault_engine engines[] = {
		[VAULT_ENGINE_KUBERNETES] = {.path = "creds",
					     .secrets = {"service_account_token"},
					     .lifetime_min_s = KUBERNETES_MIN_S,
					     .lives_on = "the token of a fixed service account",
					     .outlives = kubernetes_outlives,
					     .wanted = kubernetes_wanted,
					     .read = kubernetes_read},
		[VAULT_ENGINE_AWS] = {.path = "sts",
				      .secrets = {[AWS_ID] = "access_key",
						  [AWS_KEY] = "secret_key",
						  [AWS_TOKEN] = "session_token",
						  [AWS_OLD_TOKEN] = "security_token"},
				      .lifetime_min_s = STS_MIN_S,
				      .lives_on = "the session of AWS",
				      .outlives = aws_outlives,
				      .wanted = aws_wanted,
				      .read = aws_read},
	};

	return &engines[kind];
}
