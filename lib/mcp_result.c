/* The door's object as words and as data. */
#include "mcp_result.h"

#include <string.h>

#include "mcp_report.h"
#include "words.h"

/* By construction of the call the parts come to less than half of it. */
static const size_t words_max = (size_t)512 << 10;
/* A sentence of a stage, and a name that someone else chose. */
static const size_t sentence_max = 800, name_max = 200;
/* A list stays good for so long: every call is judged afresh, a stale list only misleads. */
static const int list_ttl_ms = 60 * 1000;

static int has_structure(enum mcp_version version)
{
	return version >= MCP_2025_06_18;
}

static const char *or_unknown(const char *text)
{
	return text ? text : "unknown";
}

/* Copy member KEY of FROM (any kind) to TO under NAME; consumes TO. */
static jv copy_member(jv to, const char *name, jv from, const char *key)
{
	jv value = json_get(from, key);

	if (!jv_is_valid(value)) {
		jv_free(value);
		return to;
	}
	return json_set(to, name, value);
}

/* Consumes VALUE; the same with every string made visible as words_show does. */
static jv visible(jv value)
{
	auto_jv whole = value;
	jv_kind kind = jv_get_kind(whole);

	if (kind == JV_KIND_STRING) {
		auto_words w = WORDS_INIT(LIMIT_RPC_LINE);
		words_show(&w, jv_string_value(whole), (size_t)jv_string_length_bytes(jv_copy(whole)));
		return jv_string_sized(buf_str(&w.text), (int)w.text.len);
	}
	if (kind == JV_KIND_ARRAY) {
		jv out = jv_array();
		for (int i = 0, n = json_length(whole); i < n; i++)
			out = json_append(out, visible(json_at(whole, i)));
		return out;
	}
	if (kind == JV_KIND_OBJECT) {
		jv out = jv_object();
		for (int i = jv_object_iter(whole); jv_object_iter_valid(whole, i); i = jv_object_iter_next(whole, i))
			out = jv_object_set(out, visible(jv_object_iter_key(whole, i)),
					    visible(jv_object_iter_value(whole, i)));
		return out;
	}
	return take_jv(&whole);
}

enum outcome { OUTCOME_COMPLETED, OUTCOME_ERROR };

/* Write the answer from its words and its data; consumes DATA. The data is left out when both together would be too
 * long a line. */
static int finish(enum mcp_version version, const char *id, const struct words *w, enum outcome outcome, jv data,
		  struct buf *out, struct sbx_error *err)
{
	auto_jv structure = visible(data);
	struct sbx_error too_long = SBX_ERROR_INIT;

	if (w->err.class != SBX_OK) {
		*err = w->err;
		return -1;
	}
	jv block = json_set_str(jv_object(), "type", "text");
	block = json_set(block, "text", jv_string_sized(buf_str(&w->text), (int)w->text.len));
	auto_jv result = json_set(jv_object(), "content", json_append(jv_array(), block));
	if (outcome == OUTCOME_ERROR)
		result = json_set_bool(take_jv(&result), "isError", 1);
	if (has_structure(version)) {
		jv whole = json_set(jv_copy(result), "structuredContent", jv_copy(structure));
		size_t before = out->len;
		if (mcp_write_result(version, id, whole, MCP_TTL_NONE, out, &too_long) == 0)
			return 0;
		out->len = before;
	}
	return mcp_write_result(version, id, take_jv(&result), MCP_TTL_NONE, out, err);
}

static jv error_data(const char *code, const char *message, const char *hint)
{
	return json_set_str(json_set_str(json_set_str(jv_object(), "code", code), "message", message), "hint", hint);
}

int mcp_call_refused(enum mcp_version version, const char *id, const char *tool, const struct sbx_error *why,
		     struct buf *out, struct sbx_error *err)
{
	auto_words w = WORDS_INIT(words_max);
	jv data = json_set_str(json_set_str(jv_object(), "tool", tool), "state", "not_run");

	words_quote(&w, tool, name_max);
	words_say(&w, " was not run: %s (%s).\n", why->message, why->code);
	if (why->hint[0] != '\0')
		words_say(&w, "What to do: %s\n", why->hint);
	data = json_set(data, "error", error_data(why->code, why->message, why->hint[0] ? why->hint : NULL));
	return finish(version, id, &w, OUTCOME_ERROR, json_set_str(data, "summary", buf_str(&w.text)), out, err);
}

int mcp_call_running(enum mcp_version version, const char *id, const char *tool, const char *call_id, struct buf *out,
		     struct sbx_error *err)
{
	auto_words w = WORDS_INIT(words_max);
	jv data = json_set_str(json_set_str(jv_object(), "tool", tool), "state", "running");

	words_quote(&w, tool, name_max);
	words_say(&w, " is still running; it goes on, and its result is kept.\n");
	if (call_id[0] != '\0') {
		data = json_set_str(data, "call", call_id);
		words_say(&w, "Call %s. A person fetches the result with: sbx-audit result %s\n", call_id, call_id);
	} else {
		words_say(&w, "A person finds it with: sbx-audit show\n");
	}
	words_say(&w, "Do not make the same call again before its result is known.\n");
	return finish(version, id, &w, OUTCOME_ERROR, json_set_str(data, "summary", buf_str(&w.text)), out, err);
}

/* The door gave no object of ours. For a call that means: nobody here knows whether something ran. */
static int door_failed(enum mcp_version version, const char *id, const struct mcp_reply *reply, const char *why,
		       struct buf *out, struct sbx_error *err)
{
	auto_words w = WORDS_INIT(words_max);
	jv data = json_set_str(json_set_str(jv_object(), "tool", reply->tool), "state", "unknown");

	words_say(&w, "The door to the toolkit failed: %s (door_failed, status %d).\n", why, reply->status);
	if (reply->last_line[0] != '\0') {
		words_say(&w, "Its last words: ");
		words_quote(&w, reply->last_line, sentence_max);
		words_say(&w, "\n");
	}
	words_say(&w, "It is not known whether ");
	words_quote(&w, reply->tool, name_max);
	words_say(&w, " ran. A person looks with: sbx-audit show\n");
	data = json_set(data, "error", json_set_int(error_data("door_failed", why, NULL), "status", reply->status));
	return finish(version, id, &w, OUTCOME_ERROR, json_set_str(data, "summary", buf_str(&w.text)), out, err);
}

/* Parse the reply as one object; a sentence that says what is wrong, or NULL. */
static const char *parse_reply(const struct mcp_reply *reply, jv *object)
{
	struct sbx_error ignored = SBX_ERROR_INIT;

	*object = jv_invalid();
	if (reply->text == NULL)
		return "it answered with more than may be in an answer";
	if (reply->len == 0)
		return "it answered nothing";
	if (json_parse(reply->text, reply->len, LIMIT_CALL, object, &ignored) < 0 ||
	    jv_get_kind(*object) != JV_KIND_OBJECT)
		return "its answer is no object";
	return NULL;
}

static const struct {
	const char *name;
	enum mcp_version since;
} list_members[] = {
	{"name", MCP_2024_11_05},	 {"description", MCP_2024_11_05}, {"inputSchema", MCP_2024_11_05},
	{"annotations", MCP_2025_03_26}, {"title", MCP_2025_06_18},	  {"outputSchema", MCP_2025_06_18},
	{"_meta", MCP_2025_06_18},	 {"icons", MCP_2025_11_25},
};

/* A tool as VERSION shows it; invalid when it has no name or no schema of an object. */
static jv list_entry(enum mcp_version version, jv tool)
{
	auto_jv schema = json_object(tool, "inputSchema");
	jv out = jv_object();

	if (json_str(tool, "name") == NULL || !jv_is_valid(schema)) {
		jv_free(out);
		return jv_invalid();
	}
	for (size_t i = 0; i < ARRAY_LEN(list_members); i++)
		if (version >= list_members[i].since)
			out = copy_member(out, list_members[i].name, tool, list_members[i].name);
	return out;
}

int mcp_list_result(enum mcp_version version, const char *id, const struct mcp_reply *reply, struct buf *out,
		    struct sbx_error *err)
{
	auto_jv object = jv_invalid();
	const char *problem = parse_reply(reply, &object);
	auto_jv tools = json_array(object, "tools"), refusal = json_object(object, "error");
	auto_words w = WORDS_INIT(words_max);

	if (problem == NULL && jv_is_valid(tools)) {
		jv list = jv_array();
		for (int i = 0, n = json_length(tools); i < n; i++) {
			auto_jv tool = json_at(tools, i);
			jv entry = list_entry(version, tool);
			if (jv_is_valid(entry))
				list = json_append(list, entry);
		}
		return mcp_write_result(version, id, json_set(jv_object(), "tools", list), list_ttl_ms, out, err);
	}
	auto_jv data = json_set_str(json_set_int(jv_object(), "status", reply->status), "code", "door_failed");
	if (jv_is_valid(refusal)) {
		data = copy_member(copy_member(take_jv(&data), "code", refusal, "code"), "hint", refusal, "hint");
		words_say(&w, "The tools cannot be listed: ");
		words_line(&w, or_unknown(json_str(refusal, "message")), sentence_max);
	} else {
		words_say(&w, "The door to the toolkit failed: %s",
			  problem ? problem : "its answer is no list of tools");
		words_say(&w, "%s", reply->last_line[0] ? "; its last words: " : "");
		words_quote(&w, reply->last_line[0] ? reply->last_line : NULL, sentence_max);
	}
	data = visible(take_jv(&data));
	return rpc_write_error(out, id, RPC_INTERNAL_ERROR, buf_str(&w.text), data, err);
}

static jv call_data(jv call, enum mcp_state state, const char *summary)
{
	static const char *const of_policy[] = {"effect", "tier", "tier_from", "rule", "reasons"};
	static const char *const of_result[] = {"exit",		  "signal",	 "truncated",	   "encoding",
						"artifacts",	  "findings",	 "findings_total", "verdict",
						"counts",	  "safe",	 "safe_total",	   "data_destroyed",
						"digest",	  "plan",	 "state_file",	   "record_head",
						"took_ms"};
	static const char *const outputs[] = {"stdout", "stderr"};
	auto_jv inner = json_object(call, "call"), policy = json_object(call, "policy"),
		result = json_object(call, "result");
	auto_jv isolation = json_object(result, "isolation");
	jv data = json_set_str(jv_object(), "state", mcp_report_state_name(state));
	jv untrusted = jv_object();

	data = copy_member(copy_member(data, "call", inner, "id"), "tool", inner, "tool");
	for (size_t i = 0; i < ARRAY_LEN(of_policy); i++)
		data = copy_member(data, of_policy[i], policy, of_policy[i]);
	for (size_t i = 0; i < ARRAY_LEN(of_result); i++)
		data = copy_member(data, of_result[i], result, of_result[i]);
	for (size_t i = 0; i < ARRAY_LEN(outputs); i++) {
		auto_jv text = json_get(result, outputs[i]);
		if (jv_get_kind(text) == JV_KIND_STRING && jv_string_length_bytes(jv_copy(text)) > 0)
			untrusted = json_set(untrusted, outputs[i], jv_copy(text));
	}
	if (json_length(untrusted) > 0)
		data = json_set(data, "untrusted", untrusted);
	else
		jv_free(untrusted);
	data = copy_member(copy_member(data, "approval", call, "approval"), "error", call, "error");
	data = copy_member(data, "isolation", isolation, "isolation");
	return json_set_str(data, "summary", summary);
}

/* What is wrong with an object that was read, or NULL: without our version it is somebody else's. */
static const char *check_object(jv object, const struct mcp_reply *reply)
{
	int64_t version = 0;

	if (json_int(object, "sbx", &version) < 0 || version != 1)
		return "its answer is no call of version 1";
	if (reply->status == 0 && json_has(object, "error"))
		return "it says success beside an error";
	return NULL;
}

static int write_call(enum mcp_version version, const char *id, const struct mcp_reply *reply, jv call, struct buf *out,
		      struct sbx_error *err)
{
	auto_jv result = json_object(call, "result"), error = json_object(call, "error");
	enum mcp_state state = mcp_report_state(result, error);
	auto_words w = WORDS_INIT(words_max);

	mcp_report(&w, reply->tool, state, call, reply->status);
	jv data = call_data(call, state, buf_str(&w.text));
	mcp_report_output(&w, result, reply->fence);
	int good = state == MCP_COMPLETED && !jv_is_valid(error) && reply->status == 0;
	return finish(version, id, &w, good ? OUTCOME_COMPLETED : OUTCOME_ERROR, data, out, err);
}

static int unknown_tool(const char *id, jv call, struct buf *out, struct sbx_error *err)
{
	auto_jv error = json_object(call, "error"), inner = json_object(call, "call");
	auto_jv data = copy_member(copy_member(jv_object(), "call", inner, "id"), "hint", error, "hint");
	auto_words w = WORDS_INIT(words_max);

	words_say(&w, "Unknown tool: ");
	words_line(&w, or_unknown(json_str(error, "message")), sentence_max);
	data = visible(take_jv(&data));
	return rpc_write_error(out, id, RPC_INVALID_PARAMS, buf_str(&w.text), data, err);
}

int mcp_call_result(enum mcp_version version, const char *id, const struct mcp_reply *reply, struct buf *out,
		    struct sbx_error *err)
{
	auto_jv call = jv_invalid();
	const char *problem = parse_reply(reply, &call);

	if (problem == NULL)
		problem = check_object(call, reply);
	if (problem != NULL)
		return door_failed(version, id, reply, problem, out, err);
	auto_jv error = json_object(call, "error");
	const char *code = json_str(error, "code");
	if (code != NULL && strcmp(code, "unknown_tool") == 0)
		return unknown_tool(id, call, out, err);
	return write_call(version, id, reply, call, out, err);
}
