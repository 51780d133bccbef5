/* Requests from outside: exactly three members, each bounded. */
#include "request.h"

#include <stdio.h>
#include <string.h>

#include "io.h"
#include "json_out.h"

static int bad_request(struct sbx_error *err, const char *message)
{
	sbx_fail(err, SBX_BAD_REQUEST, "bad_request", "%s", message);
	return sbx_hint(err, "{\"tool\":\"NAME\",\"params\":{...}}, and optionally \"client\"");
}

static int check_size(const struct request *r, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(LIMIT_CALL * 8);

	if (json_write(r->params, &text, err) < 0)
		return -1;
	if (text.len > REQUEST_PARAMS_MAX)
		return sbx_fail(err, SBX_BAD_REQUEST, "too_large", "the parameters hold more than %zu bytes",
				REQUEST_PARAMS_MAX);
	return 0;
}

static int take_object(struct request *r, jv object, struct sbx_error *err)
{
	static const char *const members[] = {"tool", "params", "client", NULL};

	if (jv_get_kind(object) != JV_KIND_OBJECT)
		return bad_request(err, "the request is no object");
	auto_free char *unknown = json_unknown_key(object, members);
	if (unknown != NULL) {
		sbx_fail(err, SBX_BAD_REQUEST, "unknown_member", "the request has a member that is not known");
		return sbx_hint(err, "a request has tool, params and client");
	}
	const char *tool = json_str(object, "tool"), *client = json_str(object, "client");
	r->params = json_object(object, "params");
	if (tool == NULL || *tool == '\0' || strlen(tool) > REQUEST_TOOL_MAX)
		return bad_request(err, "the request's tool is no text of 1 to 128 bytes");
	if (!jv_is_valid(r->params))
		return bad_request(err, "the request's params are no object");
	if (json_has(object, "client") && (client == NULL || strlen(client) > REQUEST_CLIENT_MAX))
		return bad_request(err, "the request's client is no text of at most 256 bytes");
	snprintf(r->tool, sizeof r->tool, "%s", tool);
	snprintf(r->client, sizeof r->client, "%s", client ? client : "");
	return check_size(r, err);
}

int request_read(struct request *r, int fd, struct sbx_error *err)
{
	auto_free char *text = NULL;
	auto_jv object = jv_invalid();
	size_t len;

	r->typing = POLICY_TYPED;
	if (io_read_all(fd, LIMIT_CALL, &text, &len, err) < 0)
		return -1;
	if (strspn(text, " \t\r\n") == len)
		return sbx_fail(err, SBX_NO_INPUT, "no_input", "there is no request on standard input");
	if (json_parse(text, len, LIMIT_CALL, &object, err) < 0)
		return -1;
	return take_object(r, object, err);
}

static int is_utf8(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0, n; i < len; i += n) {
		n = json_out_utf8(text + i, len - i, NULL);
		if (n == 0)
			return 0;
	}
	return 1;
}

int request_words(struct request *r, char **words, int count, struct sbx_error *err)
{
	r->typing = POLICY_WORDS;
	r->params = jv_object();
	if (*words[0] == '\0' || strlen(words[0]) > REQUEST_TOOL_MAX || !is_utf8(words[0]))
		return bad_request(err, "the tool's name is no text of 1 to 128 bytes");
	snprintf(r->tool, sizeof r->tool, "%s", words[0]);
	for (int i = 1; i < count; i++) {
		char *equals = strchr(words[i], '=');
		if (equals == NULL || equals == words[i] || !is_utf8(words[i])) {
			sbx_fail(err, SBX_USAGE, "usage", "an argument is not KEY=VALUE in UTF-8");
			return sbx_hint(err, "TOOL KEY=VALUE...");
		}
		*equals = '\0';
		if (json_has(r->params, words[i]))
			return sbx_fail(err, SBX_USAGE, "usage", "a parameter is given twice");
		r->params = json_set_str(take_jv(&r->params), words[i], equals + 1);
	}
	return check_size(r, err);
}

void request_clear(struct request *r)
{
	jv_free(r->params);
	r->params = jv_invalid();
}
