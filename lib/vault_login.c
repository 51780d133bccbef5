/* The login methods. */
#include "vault_login.h"

#include <fcntl.h>
#include <string.h>

#include "io.h"
#include "json_secret.h"
#include "vault_jwt.h"
#include "vault_wrapped.h"

enum { PATH_MAX_BYTES = 512, TOKEN_MAX = 16384 };

/* The one line of a file, into an empty SECRET. */
static int read_line(const char *path, unsigned trust, struct secret *secret, struct sbx_error *err)
{
	auto_fd fd = io_open_file(AT_FDCWD, path, trust, err);

	if (fd < 0 || secret_read_fd(secret, fd, TOKEN_MAX, err) < 0)
		return sbx_wrap(err, "the login");
	if (secret->len > 0 && secret->data[secret->len - 1] == '\n')
		secret->len--;
	for (size_t i = 0; i < secret->len; i++)
		if (secret->data[i] <= 0x20 || secret->data[i] >= 0x7f)
			secret->len = 0;
	if (secret->len > 0)
		return 0;
	return sbx_fail(err, SBX_CONFIG, "vault_login", "the file with our secret is not one line of visible ASCII");
}

/* 1 when the array MEMBER of OBJECT holds "root". */
static int has_root(jv object, const char *member)
{
	auto_jv list = json_array(object, member);
	int found = 0;

	for (int i = 0; i < json_length(list); i++) {
		auto_jv one = json_at(list, i);
		found |= json_text(one) != NULL && strcmp(json_text(one), "root") == 0;
	}
	return found;
}

static int refuse_root(struct sbx_error *err)
{
	sbx_fail(err, SBX_CONFIG, "vault_root_token", "our token may do everything on the server");
	return sbx_hint(err, "give sbx a token with the policy of sbx-cred-vault(8) alone");
}

static int log_in(const struct vault *vault, const struct vault_settings *settings, const struct secret *body,
		  struct vault_session *session, struct sbx_error *err)
{
	auto_buf path = BUF_INIT(PATH_MAX_BYTES);
	auto_vault_reply reply = VAULT_REPLY_INIT;
	struct sbx_error why = SBX_ERROR_INIT;

	if (buf_add_str(&path, "auth", err) < 0 || vault_add_name(&path, settings->mount, VAULT_PATH, err) < 0 ||
	    buf_add_str(&path, "/login", err) < 0)
		return -1;
	const struct vault_request request = {.doing = "log in",
					      .method = "POST",
					      .path = buf_str(&path),
					      .body = body->data,
					      .body_len = body->len,
					      .repeat = HTTP_ONCE,
					      .outer = "auth",
					      .inner = {"client_token"}};
	if (vault_ask(vault, &request, &reply, &why) != VAULT_OK) {
		if (reply.status != 400 && reply.status != 403) {
			*err = why;
			return -1;
		}
		sbx_fail(err, SBX_CONFIG, "vault_login", "the server does not let us in");
		return reply.said[0] != '\0' ? sbx_hint(err, "the server says: %s", reply.said) : -1;
	}
	if (reply.secrets[0].len == 0)
		return sbx_fail(err, SBX_PROTOCOL, "vault_answer", "the server's answer to the login has no token");
	session->token = reply.secrets[0];
	reply.secrets[0] = (struct secret)SECRET_INIT;
	session->owner = VAULT_OWN;
	auto_jv auth = json_object(reply.object, "auth");
	return has_root(auth, "policies") ? refuse_root(err) : 0;
}

/* {"NAME":"VALUE","NAME_2":SECRET} */
static int make_body(struct secret *body, const char *name, const char *value, const char *secret_name,
		     const struct secret *secret, struct sbx_error *err)
{
	if (secret_alloc(body, TOKEN_MAX + 1024, err) < 0 || secret_append(body, "{", 1, err) < 0 ||
	    json_add_secret(body, name, value, strlen(value), err) < 0 ||
	    json_add_secret(body, secret_name, secret->data, secret->len, err) < 0)
		return -1;
	return secret_append(body, "}", 1, err);
}

static int log_in_with(const struct vault *vault, const struct vault_settings *settings, const struct secret *secret,
		       struct vault_session *session, struct sbx_error *err)
{
	auto_secret body = SECRET_INIT;
	int is_approle = settings->method == VAULT_APPROLE;

	if (make_body(&body, is_approle ? "role_id" : "role", settings->role, is_approle ? "secret_id" : "jwt", secret,
		      err) < 0)
		return -1;
	return log_in(vault, settings, &body, session, err);
}

int vault_login(const struct vault *vault, const struct vault_settings *settings, const char *config, int dir,
		struct vault_session *session, struct sbx_error *err)
{
	auto_secret secret = SECRET_INIT, unwrapped = SECRET_INIT;

	switch (settings->method) {
	case VAULT_AGENT:
		return 0;
	case VAULT_TOKEN_FILE:
		return read_line(settings->file, IO_PRIVATE, &session->token, err);
	case VAULT_APPROLE:
		if (read_line(settings->file, IO_PRIVATE, &secret, err) < 0)
			return -1;
		if (settings->wrapped_role != NULL) {
			if (vault_unwrap(vault, settings, dir, &secret, &unwrapped, err) < 0)
				return -1;
			return log_in_with(vault, settings, &unwrapped, session, err);
		}
		return log_in_with(vault, settings, &secret, session, err);
	case VAULT_KUBERNETES:
		/* The kubelet writes it readable for the Pod's group. */
		if (read_line(settings->file, IO_TRUSTED, &secret, err) < 0)
			return -1;
		return log_in_with(vault, settings, &secret, session, err);
	case VAULT_JWT:
		if (vault_own_jwt(config, settings->audience, vault->deadline, &secret, err) < 0)
			return -1;
		return log_in_with(vault, settings, &secret, session, err);
	}
	return sbx_fail(err, SBX_BUG, "bug", "a login method was left out");
}

int vault_check_session(const struct vault *vault, const struct vault_session *session, struct sbx_error *err)
{
	auto_vault_reply reply = VAULT_REPLY_INIT;
	const struct vault_request request = {.doing = "look at our own token",
					      .method = "GET",
					      .path = "auth/token/lookup-self",
					      .token = &session->token,
					      .outer = "data",
					      .inner = {"id"}};

	if (session->owner == VAULT_OWN)
		return 0;
	if (vault_ask(vault, &request, &reply, err) != VAULT_OK)
		return -1;
	auto_jv data = json_object(reply.object, "data");
	if (!json_has(data, "policies"))
		return sbx_fail(err, SBX_PROTOCOL, "vault_answer",
				"the server does not say which policies our token has");
	return has_root(data, "policies") || has_root(data, "identity_policies") ? refuse_root(err) : 0;
}

int vault_logout(const struct vault *vault, struct vault_session *session, struct sbx_error *err)
{
	auto_vault_reply reply = VAULT_REPLY_INIT;
	const struct vault_request request = {
		.doing = "end our login", .method = "POST", .path = "auth/token/revoke-self", .token = &session->token};
	int result = 0;

	if (session->owner == VAULT_OWN && session->token.len > 0 &&
	    vault_ask(vault, &request, &reply, err) != VAULT_OK)
		result = -1;
	secret_clear(&session->token);
	return result;
}
