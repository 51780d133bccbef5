/* Questions and answers. */
#include "mcp_ask.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json_out.h"

/* A field of a form holds a name or a choice; a root is a path. */
static const size_t answer_max = LIMIT_PARAMETER;

void mcp_answers_clear(struct mcp_answers *answers)
{
	jv_free(take_jv(&answers->params));
	jv_free(take_jv(&answers->done));
}

/* 1 when the call has all that ASK asks for. */
static int is_given(jv ask, jv params)
{
	auto_jv fields = json_object(ask, "fields");
	const char *roots = json_str(ask, "roots");

	if (roots != NULL)
		return json_has(params, roots);
	for (int i = jv_object_iter(fields); jv_object_iter_valid(fields, i); i = jv_object_iter_next(fields, i)) {
		auto_jv name = jv_object_iter_key(fields, i);
		if (!json_has(params, json_text(name)))
			return 0;
	}
	return 1;
}

jv mcp_ask_next(jv asks, const struct mcp_answers *answers, unsigned can)
{
	for (int i = 0, n = json_length(asks); i < n; i++) {
		auto_jv ask = json_at(asks, i), fields = json_object(ask, "fields");
		const char *name = json_str(ask, "name");
		unsigned needs = json_str(ask, "roots") != NULL ? MCP_CAN_ROOTS : MCP_CAN_FORM;
		if (name != NULL && jv_is_valid(fields) && (can & needs) != 0 && !json_has(answers->done, name) &&
		    !is_given(ask, answers->params))
			return take_jv(&ask);
	}
	return jv_invalid();
}

const char *mcp_ask_method(jv ask)
{
	return json_str(ask, "roots") != NULL ? "roots/list" : "elicitation/create";
}

static int write_properties(jv fields, struct buf *out, struct sbx_error *err)
{
	if (json_out_key(out, "properties", err) < 0 || buf_add_str(out, "{", err) < 0)
		return -1;
	for (int i = jv_object_iter(fields); jv_object_iter_valid(fields, i); i = jv_object_iter_next(fields, i)) {
		auto_jv name = jv_object_iter_key(fields, i), field = jv_object_iter_value(fields, i);
		/* Text, since it may hold numbers that our own writer does not have. */
		if (json_out_key(out, json_text(name), err) < 0 || buf_add_str(out, json_text(field), err) < 0)
			return -1;
	}
	return buf_add_str(out, "}", err);
}

int mcp_ask_params(enum mcp_version version, jv ask, struct buf *out, struct sbx_error *err)
{
	auto_jv fields = json_object(ask, "fields"), required = json_array(ask, "required");

	if (json_str(ask, "roots") != NULL)
		return buf_add_str(out, "{}", err);
	if (buf_add_str(out, "{", err) < 0 || json_out_member(out, "message", json_str(ask, "message"), err) < 0 ||
	    json_out_member(out, "mode", version >= MCP_2025_11_25 ? "form" : NULL, err) < 0 ||
	    buf_add_str(out, ",\"requestedSchema\":{\"type\":\"object\"", err) < 0 ||
	    write_properties(fields, out, err) < 0 || buf_add_str(out, ",\"required\":", err) < 0 ||
	    json_write(required, out, err) < 0)
		return -1;
	return buf_add_str(out, "}}", err);
}

/* A number as text: the shortest that reads as the same. */
static jv number_text(double number)
{
	char text[40] = "0";

	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	return jv_string(text);
}

/* VALUE as a parameter: text, integers and booleans stand for themselves, anything else becomes its JSON text. Invalid
 * when it has none that a parameter could hold. */
static jv as_param(jv value)
{
	auto_buf text = BUF_INIT(answer_max);
	struct sbx_error ignored = SBX_ERROR_INIT;
	jv_kind kind = jv_get_kind(value);
	int64_t integer;

	if (kind == JV_KIND_STRING && (size_t)jv_string_length_bytes(jv_copy(value)) > answer_max)
		return jv_invalid();
	if (kind == JV_KIND_STRING || kind == JV_KIND_TRUE || kind == JV_KIND_FALSE)
		return jv_copy(value);
	if (kind == JV_KIND_NUMBER && json_number(value, &integer) == 0)
		return jv_copy(value);
	if (kind == JV_KIND_NUMBER)
		return isfinite(jv_number_value(value)) ? number_text(jv_number_value(value)) : jv_invalid();
	return kind == JV_KIND_ARRAY && json_write(value, &text, &ignored) == 0 ? jv_string(buf_str(&text))
										: jv_invalid();
}

/* Members that the form does not have are none of ours; a value of null, or an empty text, is one that was left out. */
static int take_content(jv fields, jv content, jv *params)
{
	for (int i = jv_object_iter(fields); jv_object_iter_valid(fields, i); i = jv_object_iter_next(fields, i)) {
		auto_jv name = jv_object_iter_key(fields, i), given = json_get(content, json_text(name));
		jv_kind kind = jv_get_kind(given);
		if (!jv_is_valid(given) || kind == JV_KIND_NULL ||
		    (kind == JV_KIND_STRING && jv_string_length_bytes(jv_copy(given)) == 0))
			continue;
		jv value = as_param(given);
		if (!jv_is_valid(value)) {
			jv_free(value);
			return -1;
		}
		*params = json_set(take_jv(params), json_text(name), value);
	}
	return 0;
}

static enum mcp_taken take_form(jv ask, jv response, struct mcp_answers *answers)
{
	auto_jv params = jv_copy(answers->params); /* a form counts as a whole, or not at all */
	auto_jv fields = json_object(ask, "fields"), content = json_object(response, "content");
	const char *action = json_str(response, "action");

	if (action != NULL && (strcmp(action, "decline") == 0 || strcmp(action, "cancel") == 0))
		return MCP_DECLINED;
	if (action == NULL || strcmp(action, "accept") != 0 || !jv_is_valid(content) ||
	    take_content(fields, content, &params) < 0)
		return MCP_MALFORMED;
	jv_free(answers->params);
	answers->params = take_jv(&params);
	return MCP_TAKEN;
}

static enum mcp_taken take_roots(jv ask, jv response, struct mcp_answers *answers)
{
	auto_jv roots = json_array(response, "roots"), first = json_at(roots, 0);
	const char *uri = json_str(first, "uri");

	if (!jv_is_valid(roots) || (json_length(roots) > 0 && (uri == NULL || strlen(uri) > answer_max)))
		return MCP_MALFORMED;
	if (uri != NULL)
		answers->params = json_set_str(take_jv(&answers->params), json_str(ask, "roots"), uri);
	return MCP_TAKEN;
}

enum mcp_taken mcp_ask_take(jv ask, jv response, struct mcp_answers *answers)
{
	enum mcp_taken taken =
		json_str(ask, "roots") != NULL ? take_roots(ask, response, answers) : take_form(ask, response, answers);

	if (taken == MCP_TAKEN)
		answers->done = json_set(take_jv(&answers->done), json_str(ask, "name"), jv_true());
	return taken;
}
