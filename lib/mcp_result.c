/* The door's object as words and as data. */
#include "mcp_result.h"

#include <string.h>

#include "json_out.h"
#include "mcp_content.h"
#include "mcp_report.h"
#include "mcp_write.h"
#include "words.h"

/* By construction of the call the parts come to less than half of it. */
static const size_t words_max = (size_t)512 << 10;
/* A sentence of a stage, and a name that someone else chose. */
static const size_t sentence_max = 800, name_max = 200;

enum outcome { OUTCOME_COMPLETED, OUTCOME_ERROR };

/* An answer under way. */
struct answer {
	enum mcp_version version;
	const char *id;
	struct words w;
	jv data;	   /* owned: structuredContent */
	jv shown;	   /* owned: files that the tool shows; invalid for none */
	const char *call;  /* the call's id, or NULL */
	struct buf output; /* JSON text that the tool printed; empty for none */
};
#define ANSWER_INIT(revision, request)                                                                                 \
	{                                                                                                              \
		.version = (revision), .id = (request), .w = WORDS_INIT(words_max), .data = jv_invalid(),              \
		.shown = jv_invalid(), .output = BUF_INIT(LIMIT_RPC_LINE)                                              \
	}

static void answer_clear(struct answer *a)
{
	words_clear(&a->w);
	jv_free(take_jv(&a->data));
	jv_free(take_jv(&a->shown));
	buf_clear(&a->output);
}
#define auto_answer __attribute__((cleanup(answer_clear))) struct answer

static jv text_block(const struct answer *a)
{
	jv block = json_set_str(jv_object(), "type", "text");

	return json_set(block, "text", jv_string_sized(buf_str(&a->w.text), (int)a->w.text.len));
}

/* The data, and behind it what the tool printed as JSON. */
static int write_structure(const struct answer *a, struct buf *out, struct sbx_error *err)
{
	auto_jv structure = mcp_visible(jv_copy(a->data));

	if (json_write(structure, out, err) < 0 || a->output.len == 0)
		return a->output.len == 0 && err->class == SBX_OK ? 0 : -1;
	out->len--; /* its closing brace */
	if (json_out_key(out, "output", err) < 0 || buf_add(out, a->output.data, a->output.len, err) < 0)
		return -1;
	return buf_add_str(out, "}", err);
}

/* What a client that knows the output schema needs at least. */
static int write_essence(const struct answer *a, struct buf *out, struct sbx_error *err)
{
	auto_jv essence = json_set_str(jv_object(), "summary", "the result is too long to be repeated as data");

	essence = json_set_str(take_jv(&essence), "state", json_str(a->data, "state"));
	return json_write(essence, out, err);
}

static int write_answer(const struct answer *a, enum outcome outcome,
			int (*structure)(const struct answer *a, struct buf *out, struct sbx_error *err),
			struct buf *out, struct sbx_error *err)
{
	auto_jv content = mcp_content_add(json_append(jv_array(), text_block(a)), a->version, a->shown, a->call);
	auto_buf text = BUF_INIT(LIMIT_RPC_LINE);

	if (buf_add_str(&text, "{\"content\":", err) < 0 || json_write(content, &text, err) < 0 ||
	    (outcome == OUTCOME_ERROR && buf_add_str(&text, ",\"isError\":true", err) < 0))
		return -1;
	if (a->version >= MCP_2025_06_18 &&
	    (json_out_key(&text, "structuredContent", err) < 0 || structure(a, &text, err) < 0))
		return -1;
	if (buf_add_str(&text, "}", err) < 0)
		return -1;
	return mcp_write_result_text(a->version, a->id, text.data, text.len, MCP_TTL_NONE, out, err);
}

/* Write the answer from its words and its data; the data is cut when both together would be too long a line. */
static int finish(const struct answer *a, enum outcome outcome, struct buf *out, struct sbx_error *err)
{
	struct sbx_error too_long = SBX_ERROR_INIT;
	size_t before = out->len;

	if (a->w.err.class != SBX_OK) {
		*err = a->w.err;
		return -1;
	}
	if (write_answer(a, outcome, write_structure, out, &too_long) == 0)
		return 0;
	out->len = before;
	return write_answer(a, outcome, write_essence, out, err);
}

/* The words so far are the summary too. */
static void set_summary(struct answer *a)
{
	a->data = json_set_str(take_jv(&a->data), "summary", buf_str(&a->w.text));
}

static jv error_data(const char *code, const char *message, const char *hint)
{
	return json_set_str(json_set_str(json_set_str(jv_object(), "code", code), "message", message), "hint", hint);
}

int mcp_call_refused(enum mcp_version version, const char *id, const char *tool, const struct sbx_error *why,
		     struct buf *out, struct sbx_error *err)
{
	auto_answer a = ANSWER_INIT(version, id);

	a.data = json_set_str(json_set_str(jv_object(), "tool", tool), "state", "not_run");
	words_quote(&a.w, tool, name_max);
	words_say(&a.w, " was not run: %s (%s).\n", why->message, why->code);
	if (why->hint[0] != '\0')
		words_say(&a.w, "What to do: %s\n", why->hint);
	jv error = error_data(why->code, why->message, why->hint[0] ? why->hint : NULL);
	a.data = json_set(take_jv(&a.data), "error", error);
	set_summary(&a);
	return finish(&a, OUTCOME_ERROR, out, err);
}

int mcp_call_running(enum mcp_version version, const char *id, const char *tool, const char *call_id,
		     const char *last_line, struct buf *out, struct sbx_error *err)
{
	auto_answer a = ANSWER_INIT(version, id);

	a.data = json_set_str(json_set_str(jv_object(), "tool", tool), "state", "running");
	words_quote(&a.w, tool, name_max);
	words_say(&a.w, " is still at work; it goes on, and its result is kept for 24 hours.\n");
	if (last_line[0] != '\0') {
		words_say(&a.w, "It said last: ");
		words_quote(&a.w, last_line, sentence_max);
		words_say(&a.w, "\n");
	}
	if (call_id[0] != '\0') {
		a.data = json_set_str(take_jv(&a.data), "call", call_id);
		words_say(&a.w,
			  "Fetch the result with " MCP_RESULT_TOOL
			  " {\"id\": \"%s\"}; a person types: sbx-audit result %s\n",
			  call_id, call_id);
	} else {
		words_say(&a.w, "A person finds it with: sbx-audit show\n");
	}
	words_say(&a.w, "Do not make the same call again before its result is known.\n");
	set_summary(&a);
	return finish(&a, OUTCOME_ERROR, out, err);
}

/* The door gave no object of ours. For a call that means: nobody here knows whether something ran. */
static int door_failed(enum mcp_version version, const char *id, const struct mcp_reply *reply, const char *why,
		       struct buf *out, struct sbx_error *err)
{
	auto_answer a = ANSWER_INIT(version, id);

	a.data = json_set_str(json_set_str(jv_object(), "tool", reply->tool), "state", "unknown");
	words_say(&a.w, "The door to the toolkit failed: %s (door_failed, status %d).\n", why, reply->status);
	if (reply->last_line[0] != '\0') {
		words_say(&a.w, "Its last words: ");
		words_quote(&a.w, reply->last_line, sentence_max);
		words_say(&a.w, "\n");
	}
	if (strcmp(reply->tool, MCP_RESULT_TOOL) != 0) {
		words_say(&a.w, "It is not known whether ");
		words_quote(&a.w, reply->tool, name_max);
		words_say(&a.w, " ran. ");
	}
	words_say(&a.w, "A person looks with: sbx-audit show\n");
	jv error = json_set_int(error_data("door_failed", why, NULL), "status", reply->status);
	a.data = json_set(take_jv(&a.data), "error", error);
	set_summary(&a);
	return finish(&a, OUTCOME_ERROR, out, err);
}

static jv call_data(jv call, enum mcp_state state)
{
	static const char *const of_policy[] = {"effect", "tier", "tier_from", "rule", "reasons"};
	static const char *const of_result[] = {
		"exit",	      "signal",		"truncated",	     "encoding",       "artifacts",
		"findings",   "findings_total", "verdict",	     "counts",	       "safe",
		"safe_total", "differences",	"differences_total", "data_destroyed", "digest",
		"plan",	      "state_file",	"unlocked",	     "record_head",    "took_ms",
		"code",	      "hint"};
	static const char *const outputs[] = {"stdout", "stderr"};
	auto_jv inner = json_object(call, "call"), policy = json_object(call, "policy"),
		result = json_object(call, "result");
	auto_jv isolation = json_object(result, "isolation");
	jv data = json_set_str(jv_object(), "state", mcp_report_state_name(state));
	jv untrusted = jv_object();

	data = mcp_copy(mcp_copy(data, "call", inner, "id"), "tool", inner, "tool");
	for (size_t i = 0; i < ARRAY_LEN(of_policy); i++)
		data = mcp_copy(data, of_policy[i], policy, of_policy[i]);
	for (size_t i = 0; i < ARRAY_LEN(of_result); i++)
		data = mcp_copy(data, of_result[i], result, of_result[i]);
	for (size_t i = 0; i < ARRAY_LEN(outputs); i++) {
		auto_jv text = json_get(result, outputs[i]);
		if (jv_get_kind(text) == JV_KIND_STRING && jv_string_length_bytes(jv_copy(text)) > 0)
			untrusted = json_set(untrusted, outputs[i], jv_copy(text));
	}
	if (json_length(untrusted) > 0)
		data = json_set(data, "untrusted", untrusted);
	else
		jv_free(untrusted);
	data = mcp_copy(mcp_copy(data, "approval", call, "approval"), "error", call, "error");
	data = mcp_copy(data, "isolation", isolation, "isolation");
	return mcp_content_names(data, result);
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

/* What the tool printed, where its file says that this is JSON, and it is. */
static void take_output(struct answer *a, jv call, jv result)
{
	auto_jv policy = json_object(call, "policy"), run = json_object(policy, "run"),
		text = json_get(result, "stdout");
	const char *kind = json_str(run, "output"), *encoding = json_str(result, "encoding");
	struct sbx_error no_json = SBX_ERROR_INIT;

	if (kind == NULL || strcmp(kind, "json") != 0 || json_text(text) == NULL)
		return;
	size_t len = (size_t)jv_string_length_bytes(jv_copy(text));
	if (json_bool(result, "truncated") != 1 && encoding != NULL && strcmp(encoding, "utf-8") == 0 &&
	    mcp_compact(json_text(text), len, &a->output, &no_json) == 0)
		return;
	buf_clear(&a->output);
	words_say(&a->w, "The tool's output is not the JSON that its file says it is; it stands here as text.\n");
}

static int write_call(enum mcp_version version, const char *id, const struct mcp_reply *reply, jv call, struct buf *out,
		      struct sbx_error *err)
{
	auto_jv result = json_object(call, "result"), error = json_object(call, "error"),
		inner = json_object(call, "call");
	enum mcp_state state = mcp_report_state(result, error);
	auto_answer a = ANSWER_INIT(version, id);

	a.call = json_str(inner, "id");
	a.shown = json_array(result, "shown");
	mcp_report(&a.w, reply->tool, state, call, reply->status);
	mcp_content_say(&a.w, a.shown);
	take_output(&a, call, result);
	a.data = call_data(call, state);
	set_summary(&a);
	mcp_report_output(&a.w, result, reply->fence);
	int good = state == MCP_COMPLETED && !jv_is_valid(error) && reply->status == 0;
	return finish(&a, good ? OUTCOME_COMPLETED : OUTCOME_ERROR, out, err);
}

static int unknown_tool(const char *id, jv call, struct buf *out, struct sbx_error *err)
{
	auto_jv error = json_object(call, "error"), inner = json_object(call, "call");
	/* The toolkit's own hint is for who types its commands. */
	auto_jv data = json_set_str(mcp_copy(jv_object(), "call", inner, "id"), "hint", "tools/list shows the tools");
	const char *message = json_str(error, "message");
	auto_words w = WORDS_INIT(words_max);

	words_say(&w, "Unknown tool: ");
	words_line(&w, message ? message : "unknown", sentence_max);
	data = mcp_visible(take_jv(&data));
	return rpc_write_error(out, id, RPC_INVALID_PARAMS, buf_str(&w.text), data, err);
}

/* The state of a call without a result, from the error that stands for it. */
static const char *missing_state(jv error)
{
	const char *code = json_str(error, "code");
	auto_jv none = jv_invalid();

	if (code != NULL && strcmp(code, "call_running") == 0)
		return "running";
	return mcp_report_state_name(mcp_report_state(none, error));
}

/* There is none: what the call, or its approval, waits for, or that nobody knows of it. */
static int write_missing(enum mcp_version version, const char *id, jv error, struct buf *out, struct sbx_error *err)
{
	auto_answer a = ANSWER_INIT(version, id);

	words_say(&a.w, "There is no result: ");
	words_line(&a.w, json_str(error, "message"), sentence_max);
	words_say(&a.w, " (");
	words_line(&a.w, json_str(error, "code"), name_max);
	words_say(&a.w, ")\n");
	if (json_str(error, "hint") != NULL) {
		words_say(&a.w, "What to do: ");
		words_line(&a.w, json_str(error, "hint"), sentence_max);
		words_say(&a.w, "\n");
	}
	a.data = json_set_str(jv_object(), "state", missing_state(error));
	a.data = json_set(take_jv(&a.data), "error", jv_copy(error));
	set_summary(&a);
	return finish(&a, OUTCOME_ERROR, out, err);
}

/* The object that the door gave: 0, or 1 when there was none and that is written, or -1. */
static int take_object(enum mcp_version version, const char *id, const struct mcp_reply *reply, jv *call,
		       struct buf *out, struct sbx_error *err)
{
	const char *problem = mcp_reply_parse(reply, call);

	if (problem == NULL)
		problem = check_object(*call, reply);
	if (problem == NULL)
		return 0;
	return door_failed(version, id, reply, problem, out, err) < 0 ? -1 : 1;
}

int mcp_kept_result(enum mcp_version version, const char *id, const struct mcp_reply *reply, struct buf *out,
		    struct sbx_error *err)
{
	auto_jv call = jv_invalid();
	int missing = take_object(version, id, reply, &call, out, err);

	if (missing != 0)
		return missing < 0 ? -1 : 0;
	auto_jv error = json_object(call, "error"), inner = json_object(call, "call");
	if (!jv_is_valid(inner))
		return write_missing(version, id, error, out, err);
	struct mcp_reply kept = *reply;
	if (json_str(inner, "tool") != NULL)
		kept.tool = json_str(inner, "tool");
	return write_call(version, id, &kept, call, out, err);
}

int mcp_call_result(enum mcp_version version, const char *id, const struct mcp_reply *reply, struct buf *out,
		    struct sbx_error *err)
{
	auto_jv call = jv_invalid();
	int missing = take_object(version, id, reply, &call, out, err);

	if (missing != 0)
		return missing < 0 ? -1 : 0;
	auto_jv error = json_object(call, "error");
	const char *code = json_str(error, "code");
	if (code != NULL && strcmp(code, "unknown_tool") == 0)
		return unknown_tool(id, call, out, err);
	return write_call(version, id, reply, call, out, err);
}
