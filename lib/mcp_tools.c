/* From the door's list to a client's. */
#include "mcp_tools.h"

#include <string.h>

#include "mcp_list.h"
#include "mcp_write.h"
#include "words.h"

static const size_t words_max = (size_t)4 << 10;
/* A sentence of a stage. */
static const size_t sentence_max = 800;
/* A list stays good for so long: every call is judged afresh, a stale list only misleads. */
static const int list_ttl_ms = 60 * 1000;

int mcp_list_result(enum mcp_version version, const char *id, const struct mcp_reply *reply, struct buf *out,
		    struct sbx_error *err)
{
	auto_buf list = BUF_INIT(2 * LIMIT_RPC_LINE);
	struct sbx_error why = SBX_ERROR_INIT;
	auto_jv object = jv_invalid();
	auto_words w = WORDS_INIT(words_max);

	if (reply->text != NULL && mcp_list_write(version, reply->text, reply->len, &list, &why) == 0)
		return mcp_write_result_text(version, id, list.data, list.len, list_ttl_ms, out, err);
	const char *problem = mcp_reply_parse(reply, &object);
	auto_jv refusal = json_object(object, "error");
	auto_jv data = json_set_str(json_set_int(jv_object(), "status", reply->status), "code", "door_failed");
	if (jv_is_valid(refusal)) {
		const char *message = json_str(refusal, "message");
		data = mcp_copy(mcp_copy(take_jv(&data), "code", refusal, "code"), "hint", refusal, "hint");
		words_say(&w, "The tools cannot be listed: ");
		words_line(&w, message ? message : "unknown", sentence_max);
	} else {
		words_say(&w, "The door to the toolkit failed: %s",
			  problem ? problem : why.class != SBX_OK ? why.message : "its answer is no list of tools");
		words_say(&w, "%s", reply->last_line[0] ? "; its last words: " : "");
		words_quote(&w, reply->last_line[0] ? reply->last_line : NULL, sentence_max);
	}
	data = mcp_visible(take_jv(&data));
	return rpc_write_error(out, id, RPC_INTERNAL_ERROR, buf_str(&w.text), data, err);
}

/* The fields of a question, each as one line of JSON; invalid when one is none. */
static jv good_fields(jv fields)
{
	jv good = jv_object();

	for (int i = jv_object_iter(fields); jv_object_iter_valid(fields, i); i = jv_object_iter_next(fields, i)) {
		auto_jv name = jv_object_iter_key(fields, i), field = jv_object_iter_value(fields, i);
		auto_buf line = BUF_INIT(LIMIT_CALL);
		struct sbx_error ignored = SBX_ERROR_INIT;
		const char *text = json_text(field);
		if (json_text(name) == NULL || text == NULL || mcp_compact(text, strlen(text), &line, &ignored) < 0 ||
		    line.data[0] != '{') {
			jv_free(good);
			return jv_invalid();
		}
		good = json_set_str(good, json_text(name), line.data);
	}
	return good;
}

/* A question as the rest of us relies on it; invalid when the door's is none. */
static jv good_ask(jv ask)
{
	auto_jv fields = json_object(ask, "fields"), required = json_array(ask, "required"), good = jv_invalid();
	const char *name = json_str(ask, "name"), *message = json_str(ask, "message"), *roots = json_str(ask, "roots");
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_buf text = BUF_INIT(LIMIT_CALL);

	if (name == NULL || (message == NULL) == (roots == NULL) || !jv_is_valid(fields) || !jv_is_valid(required) ||
	    json_write(required, &text, &ignored) < 0)
		return jv_invalid();
	good = good_fields(fields);
	if (!jv_is_valid(good))
		return jv_invalid();
	jv made = json_set(json_set_str(jv_object(), "name", name), "fields", take_jv(&good));
	made = json_set(json_set_str(made, "message", message), "required", jv_copy(required));
	return json_set_str(made, "roots", roots);
}

jv mcp_list_asks(const struct mcp_reply *reply)
{
	static const char member[] = "\"ask\"";
	auto_jv object = jv_invalid();
	jv asks = jv_object();

	/* Most lists have none, and reading one takes longer than all else that a list takes. */
	if (reply->text == NULL || memmem(reply->text, reply->len, member, sizeof member - 1) == NULL || mcp_reply_parse(reply, &object) != NULL)
		return asks;
	auto_jv tools = json_array(object, "tools");
	for (int i = 0, n = json_length(tools); i < n; i++) {
		auto_jv tool = json_at(tools, i), listed = json_array(tool, "ask");
		jv good = jv_array();
		for (int k = 0, m = json_length(listed); k < m; k++) {
			auto_jv ask = json_at(listed, k);
			jv made = good_ask(ask);
			if (jv_is_valid(made))
				good = json_append(good, made);
			else
				jv_free(made);
		}
		if (json_str(tool, "name") != NULL && json_length(good) > 0)
			asks = json_set(asks, json_str(tool, "name"), good);
		else
			jv_free(good);
	}
	return asks;
}
