/* The error table. */
#include "vault_api.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "http_again.h"
#include "json_secret.h"

enum {
	PATH_MAX_BYTES = 1024,
	HEADER_SIZE = 300,
};

static const char token_header[] = "X-Vault-Token: ";

/* What is known of a request: more than its caller needs. */
enum verdict { DONE, REFUSED, UNKNOWN, NOT_YET /* nothing was done, and another try may help */ };

void vault_reply_clear(struct vault_reply *reply)
{
	jv_free(take_jv(&reply->object));
	for (size_t i = 0; i < VAULT_SECRETS; i++)
		secret_clear(&reply->secrets[i]);
}

int vault_add_name(struct buf *path, const char *name, enum vault_name kind, struct sbx_error *err)
{
	if (buf_add_str(path, "/", err) < 0)
		return -1;
	for (const char *slash; kind == VAULT_PATH && (slash = strchr(name, '/')) != NULL; name = slash + 1) {
		char segment[128];
		snprintf(segment, sizeof segment, "%.*s", (int)(slash - name), name);
		if (http_add_escaped(path, segment, err) < 0 || buf_add_str(path, "/", err) < 0)
			return -1;
	}
	return http_add_escaped(path, name, err);
}

/* --- what the server says --- */

static void add_printable(char *out, size_t size, const char *text)
{
	size_t used = strlen(out);

	for (const char *p = text; *p != '\0' && used + 1 < size; p++) {
		char c = *p == '"' || *p == '\\'    ? '\''
			 : *p == '\n' || *p == '\t' ? ' '
			 : *p < 0x20 || *p > 0x7e   ? '?'
						    : *p;
		if (c != ' ' || (used > 0 && out[used - 1] != ' '))
			out[used++] = c;
	}
	out[used > 0 && out[used - 1] == ' ' ? used - 1 : used] = '\0';
}

/* {"errors":["…"]}; a load balancer's page says nothing. */
static void read_errors(jv object, struct vault_reply *reply)
{
	auto_jv errors = json_array(object, "errors");

	for (int i = 0; i < json_length(errors); i++) {
		auto_jv one = json_at(errors, i);
		if (json_text(one) != NULL)
			add_printable(reply->said, sizeof reply->said, json_text(one));
	}
}

static enum verdict refused(struct sbx_error *err, enum sbx_class class, const char *code, const char *doing,
			    const char *why)
{
	sbx_fail(err, class, code, "cannot %s: %s", doing, why);
	return REFUSED;
}

/* 403 has two texts; that of a good token without the right names how many errors there were. Not contractual, and so
 * only the choice of the words depends on it. */
static enum verdict read_403(const struct vault_reply *reply, const char *doing, struct sbx_error *err)
{
	if (strstr(reply->said, "error occurred") != NULL)
		return refused(err, SBX_DENIED, "vault_denied", doing, "our token has no right to");
	return refused(err, SBX_CONFIG, "vault_token", doing,
		       "the server does not know our token, or it has ended, or been revoked");
}

static enum verdict read_unavailable(const struct vault_reply *reply, const char *doing, struct sbx_error *err)
{
	int status = reply->status;

	if (status == 503 && strstr(reply->said, "sealed") != NULL) {
		sbx_fail(err, SBX_UNAVAILABLE, "vault_sealed", "cannot %s: the server is sealed", doing);
		return REFUSED;
	}
	/* A standby that cannot reach the active server says 500 or 503, or sends us to one that may be dead. */
	if (status == 307 || status == 472 || status == 473 ||
	    (status == 503 && strstr(reply->said, "active") != NULL) ||
	    (status == 500 && strstr(reply->said, "local node not active") != NULL)) {
		sbx_fail(err, SBX_UNAVAILABLE, "vault_standby", "cannot %s: no active server takes requests", doing);
		/* Its Location is not followed: it may name a server that is dead, or none of ours. */
		if (status == 307)
			sbx_hint(err,
				 "the server is in standby and sends us to another one: providers.vault.address must "
				 "name the active server, or what finds it");
		return NOT_YET;
	}
	if (status == 429 || status == 412) {
		sbx_fail(err, SBX_UNAVAILABLE, "vault_busy", "cannot %s: the server wants us to wait", doing);
		return NOT_YET;
	}
	sbx_fail(err, SBX_UNAVAILABLE, "vault_failed", "cannot %s: the server answers with %d", doing, status);
	return UNKNOWN;
}

static enum verdict read_status(const struct vault_reply *reply, const char *doing, struct sbx_error *err)
{
	int status = reply->status;

	if (status >= 200 && status < 300)
		return DONE;
	if (status == 307 || status == 412 || status == 429 || status == 472 || status == 473 || status >= 500)
		return read_unavailable(reply, doing, err);
	if (status >= 300 && status < 400) {
		refused(err, SBX_CONFIG, "vault_redirect", doing, "the server sends us elsewhere");
		sbx_hint(err,
			 "no token goes where the settings do not say: providers.vault.address must name the server "
			 "itself");
		return REFUSED;
	}
	if (status == 400)
		return refused(err, SBX_CONFIG, "vault_refused", doing, "the server does not accept it");
	if (status == 403)
		return read_403(reply, doing, err);
	if (status == 404)
		return refused(err, SBX_CONFIG, "vault_missing", doing, "there is no such path on the server");
	return refused(err, SBX_PROTOCOL, "vault_answer", doing, "the server gives an answer that it should not give");
}

/* Without a whole answer: what was never sent was not done. */
static enum verdict read_trouble(const struct http_exchange *x, const char *doing, struct sbx_error *err)
{
	const struct sbx_error *why = http_trouble(x);

	*err = *why;
	sbx_wrap(err, "cannot %s", doing);
	if (strcmp(why->code, "server_unreachable") == 0)
		return NOT_YET;
	return strcmp(why->code, "server_not_trusted") == 0 ? REFUSED : UNKNOWN;
}

/* The body, without its secrets, as an object. */
static int read_body(const struct vault_request *request, struct secret *body, struct vault_reply *reply,
		     struct sbx_error *err)
{
	auto_buf text = BUF_INIT(VAULT_ANSWER_MAX);

	for (size_t i = 0; request->outer != NULL && i < VAULT_SECRETS && request->inner[i] != NULL; i++)
		if (json_take_secret(body, request->outer, request->inner[i], &reply->secrets[i], err) < 0)
			return -1;
	if (body->len == 0) {
		reply->object = jv_object();
		return 0;
	}
	if (buf_add(&text, body->data, body->len, err) < 0 ||
	    json_parse_foreign(buf_str(&text), text.len, text.max, &reply->object, err) < 0)
		return -1;
	return jv_get_kind(reply->object) == JV_KIND_OBJECT ? 0 : -1;
}

static enum verdict read_answer(const struct vault_request *request, const struct http_exchange *x, struct secret *body,
				struct vault_reply *reply, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;

	if (http_state(x) != HTTP_ANSWERED)
		return read_trouble(x, request->doing, err);
	reply->status = http_status(x);
	int is_read = read_body(request, body, reply, &why) == 0;
	if (reply->status >= 200 && reply->status < 300 && !is_read) {
		sbx_fail(err, SBX_PROTOCOL, "vault_answer", "cannot %s: the server's answer is no JSON object",
			 request->doing);
		return UNKNOWN;
	}
	if (is_read)
		read_errors(reply->object, reply);
	enum verdict verdict = read_status(reply, request->doing, err);
	if (verdict != DONE && reply->said[0] != '\0')
		sbx_hint(err, "the server says: %s", reply->said);
	return verdict;
}

/* --- asking --- */

static int set_token(const struct secret *token, struct secret *line, struct sbx_error *err)
{
	if (secret_alloc(line, sizeof token_header + token->len, err) < 0 ||
	    secret_append(line, token_header, sizeof token_header - 1, err) < 0 ||
	    secret_append(line, token->data, token->len, err) < 0)
		return -1;
	return secret_append(line, "", 1, err);
}

static enum verdict try_once(const struct vault *vault, const struct vault_request *request, struct vault_reply *reply,
			     int64_t *retry_ms, struct sbx_error *err)
{
	auto_buf path = BUF_INIT(PATH_MAX_BYTES);
	auto_secret line = SECRET_INIT, body = SECRET_INIT;
	char namespace[HEADER_SIZE] = "";
	int64_t now = clock_mono_ms(), deadline = vault->deadline;
	/* Agents and proxies refuse requests without the first: a page in a browser cannot send it. */
	const char *headers[] = {"X-Vault-Request: true", NULL, NULL};

	if (request->at_most_ms > 0 && now + request->at_most_ms < deadline)
		deadline = now + request->at_most_ms;
	if (vault->namespace != NULL) {
		snprintf(namespace, sizeof namespace, "X-Vault-Namespace: %s", vault->namespace);
		headers[1] = namespace;
	}
	if (buf_addf(&path, err, "/v1/%s", request->path) < 0)
		return REFUSED;
	int has_token = request->token != NULL && request->token->len > 0;
	if (has_token && set_token(request->token, &line, err) < 0)
		return REFUSED;
	const struct http_request http = {.method = request->method,
					  .path = buf_str(&path),
					  .content_type = request->body != NULL ? "application/json" : NULL,
					  .body = request->body,
					  .body_len = request->body_len,
					  .deadline = deadline,
					  .max = VAULT_ANSWER_MAX,
					  .headers = headers,
					  .secret_header = has_token ? &line : NULL,
					  .answer = &body,
					  .repeat = request->repeat};
	struct http_exchange *x = http_start(vault->http, &http, err);
	if (x == NULL)
		return REFUSED;
	enum verdict verdict =
		http_finish(vault->http, x, err) < 0 ? UNKNOWN : read_answer(request, x, &body, reply, err);
	*retry_ms = http_retry_ms(x);
	http_end(x);
	return verdict;
}

enum vault_answer vault_ask(const struct vault *vault, const struct vault_request *request, struct vault_reply *reply,
			    struct sbx_error *err)
{
	struct http_again again = HTTP_AGAIN_INIT;

	for (;;) {
		int64_t retry_ms = 0;
		enum verdict verdict = try_once(vault, request, reply, &retry_ms, err);
		if (verdict != NOT_YET)
			return verdict == DONE ? VAULT_OK : verdict == UNKNOWN ? VAULT_UNKNOWN : VAULT_REFUSED;
		if (http_again_wait(&again, retry_ms, vault->deadline) < 0)
			return VAULT_REFUSED;
		vault_reply_clear(reply);
		*reply = (struct vault_reply)VAULT_REPLY_INIT;
		sbx_error_clear(err);
	}
}
