/* Envelopes. */
#include "mcp_write.h"

#include <stdio.h>

#include "json_out.h"
#include "words.h"

static const char meta_server[] = "io.modelcontextprotocol/serverInfo";
/* One line in a client's window. */
static const size_t progress_message_max = 300;

jv mcp_server_info(void)
{
	return json_set_str(json_set_str(jv_object(), "name", "sbx-mcp"), "version", SBX_VERSION);
}

/* What every result of 2026-07-28 says: who made it, and what kind it is. */
static int add_kind(struct buf *out, const char *kind, struct sbx_error *err)
{
	auto_jv meta = json_set(jv_object(), meta_server, mcp_server_info());

	if (json_out_key(out, "_meta", err) < 0 || json_write(meta, out, err) < 0)
		return -1;
	return json_out_member(out, "resultType", kind, err);
}

int mcp_write_result_text(enum mcp_version version, const char *id, const char *object, size_t len, int ttl_ms,
			  struct buf *out, struct sbx_error *err)
{
	auto_buf whole = BUF_INIT(2 * LIMIT_RPC_LINE);

	if (version != MCP_2026_07_28)
		return rpc_write_result(out, id, object, len, err);
	/* Behind the object's last member, before its end. */
	if (buf_add(&whole, object, len - 1, err) < 0 || add_kind(&whole, "complete", err) < 0)
		return -1;
	if (ttl_ms != MCP_TTL_NONE && (json_out_member_int(&whole, "ttlMs", ttl_ms, err) < 0 ||
				       json_out_member(&whole, "cacheScope", "private", err) < 0))
		return -1;
	return buf_add_str(&whole, "}", err) < 0 ? -1 : rpc_write_result(out, id, whole.data, whole.len, err);
}

int mcp_write_result(enum mcp_version version, const char *id, jv result, int ttl_ms, struct buf *out,
		     struct sbx_error *err)
{
	auto_jv object = result;
	auto_buf text = BUF_INIT(2 * LIMIT_RPC_LINE);

	if (json_write(object, &text, err) < 0)
		return -1;
	return mcp_write_result_text(version, id, text.data, text.len, ttl_ms, out, err);
}

int mcp_write_input_required(const char *id, const char *requests, const char *state, struct buf *out,
			     struct sbx_error *err)
{
	auto_buf whole = BUF_INIT(LIMIT_RPC_LINE);

	if (buf_add_str(&whole, "{", err) < 0 || json_out_key(&whole, "inputRequests", err) < 0 ||
	    buf_add_str(&whole, requests, err) < 0 || json_out_member(&whole, "requestState", state, err) < 0 ||
	    add_kind(&whole, "input_required", err) < 0 || buf_add_str(&whole, "}", err) < 0)
		return -1;
	return rpc_write_result(out, id, whole.data, whole.len, err);
}

int mcp_write_invalid(const char *id, const struct sbx_error *why, struct buf *out, struct sbx_error *err)
{
	auto_jv data = json_set_str(jv_object(), "code", why->code);
	char message[sizeof why->message + 32];

	snprintf(message, sizeof message, "Invalid params: %s", why->message);
	return rpc_write_error(out, id, RPC_INVALID_PARAMS, message, data, err);
}

int mcp_write_progress(enum mcp_version version, const char *token, unsigned n, const char *message, struct buf *out,
		       struct sbx_error *err)
{
	auto_buf params = BUF_INIT(RPC_MESSAGE_MAX);
	auto_words w = WORDS_INIT(RPC_MESSAGE_MAX);

	words_line(&w, message, progress_message_max);
	if (buf_addf(&params, err, "{\"progressToken\":%s,\"progress\":%u", token, n) < 0 ||
	    json_out_member(&params, "message", version != MCP_2024_11_05 ? buf_str(&w.text) : NULL, err) < 0 ||
	    buf_add_str(&params, "}", err) < 0)
		return -1;
	return rpc_write_request(out, NULL, "notifications/progress", buf_str(&params), err);
}
