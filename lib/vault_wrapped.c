/* The kept secret id: the digest of its wrapping token, a line feed, and itself. */
#include "vault_wrapped.h"

#include <string.h>
#include <sys/file.h>

#include "clock.h"
#include "digest.h"
#include "io.h"
#include "json_secret.h"

static const char kept_file[] = "secret-id";
enum { KEPT_MAX = 4096, BODY_MAX = 4096, PATH_MAX_BYTES = 512, LOOK_MS = 20 };

/* 1: read, 0: there is none of this token. */
static int read_kept(int dir, const char *digest, struct secret *secret_id, struct sbx_error *err)
{
	auto_secret text = SECRET_INIT;

	if (!io_exists(dir, kept_file))
		return 0;
	auto_fd fd = io_open_file(dir, kept_file, IO_PRIVATE, err);
	if (fd < 0 || secret_read_fd(&text, fd, KEPT_MAX, err) < 0)
		return sbx_wrap(err, "the kept secret id");
	size_t start = strlen(digest) + 1;
	if (text.len <= start || memcmp(text.data, digest, start - 1) != 0)
		return 0;
	if (secret_alloc(secret_id, text.len - start, err) < 0 ||
	    secret_append(secret_id, text.data + start, text.len - start, err) < 0)
		return -1;
	return 1;
}

static int keep(int dir, const char *digest, const struct secret *secret_id, struct sbx_error *err)
{
	auto_secret text = SECRET_INIT;

	if (secret_alloc(&text, KEPT_MAX, err) < 0 || secret_append(&text, digest, strlen(digest), err) < 0 ||
	    secret_append(&text, "\n", 1, err) < 0 || secret_append(&text, secret_id->data, secret_id->len, err) < 0)
		return -1;
	return io_replace_file(dir, kept_file, text.data, text.len, err);
}

static int not_ours(struct sbx_error *err, const char *what)
{
	sbx_fail(err, SBX_CONFIG, "vault_wrapped", "the wrapped secret id %s", what);
	return sbx_hint(err, "find out who had it before a new one is made");
}

/* Whoever swaps the token on the way could hand us a secret id of their own. */
static int check_origin(const struct vault *vault, const struct vault_settings *settings, const struct secret *wrapping,
			struct sbx_error *err)
{
	auto_buf wanted = BUF_INIT(PATH_MAX_BYTES);
	auto_secret body = SECRET_INIT;
	auto_vault_reply reply = VAULT_REPLY_INIT;
	struct sbx_error why = SBX_ERROR_INIT;

	if (buf_addf(&wanted, err, "auth/%s/role/%s/secret-id", settings->mount, settings->wrapped_role) < 0 ||
	    secret_alloc(&body, BODY_MAX, err) < 0 || secret_append(&body, "{", 1, err) < 0 ||
	    json_add_secret(&body, "token", wrapping->data, wrapping->len, err) < 0 ||
	    secret_append(&body, "}", 1, err) < 0)
		return -1;
	const struct vault_request request = {.doing = "look at the wrapped secret id",
					      .method = "POST",
					      .path = "sys/wrapping/lookup",
					      .body = body.data,
					      .body_len = body.len};
	if (vault_ask(vault, &request, &reply, &why) != VAULT_OK) {
		if (reply.status == 400)
			return not_ours(err, "has ended, or somebody has unwrapped it");
		*err = why;
		return -1;
	}
	auto_jv data = json_object(reply.object, "data");
	const char *path = json_str(data, "creation_path");
	return path != NULL && strcmp(path, buf_str(&wanted)) == 0 ? 0 : not_ours(err, "was not made by its role");
}

static int unwrap(const struct vault *vault, const struct secret *wrapping, struct secret *secret_id,
		  struct sbx_error *err)
{
	auto_vault_reply reply = VAULT_REPLY_INIT;
	const struct vault_request request = {.doing = "unwrap the secret id",
					      .method = "POST",
					      .path = "sys/wrapping/unwrap",
					      .token = wrapping,
					      .repeat = HTTP_ONCE,
					      .outer = "data",
					      .inner = {"secret_id"}};

	if (vault_ask(vault, &request, &reply, err) != VAULT_OK)
		return -1;
	if (reply.secrets[0].len == 0)
		return sbx_fail(err, SBX_PROTOCOL, "vault_answer", "the server's answer has no secret id");
	*secret_id = reply.secrets[0];
	reply.secrets[0] = (struct secret)SECRET_INIT;
	return 0;
}

/* Two processes that begin at once would each take the other for a thief. */
static int lock(const struct vault *vault, int dir, struct sbx_error *err)
{
	while (flock(dir, LOCK_EX | LOCK_NB) < 0) {
		if (clock_left_ms(vault->deadline) == 0)
			return sbx_fail(err, SBX_UNAVAILABLE, "server_timeout",
					"another process is unwrapping the secret id");
		poll(NULL, 0, LOOK_MS);
	}
	return 0;
}

int vault_unwrap(const struct vault *vault, const struct vault_settings *settings, int dir,
		 const struct secret *wrapping, struct secret *secret_id, struct sbx_error *err)
{
	char digest[DIGEST_HEX_SIZE];

	digest_sha256_hex(wrapping->data, wrapping->len, digest);
	if (lock(vault, dir, err) < 0)
		return -1;
	int found = read_kept(dir, digest, secret_id, err);
	if (found == 0 && (check_origin(vault, settings, wrapping, err) < 0 ||
			   unwrap(vault, wrapping, secret_id, err) < 0 || keep(dir, digest, secret_id, err) < 0))
		found = -1;
	flock(dir, LOCK_UN);
	return found < 0 ? -1 : 0;
}
