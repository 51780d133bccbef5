/* What a tool offers its client beside plain text: output that is JSON, produced files that are shown, and parameters
 * that the client asks the person for. */
#include <stdio.h>
#include <string.h>

#include "policy_impl.h"

enum { ASKS_MAX = 8 };
static const size_t message_max = 1000; /* one paragraph of a dialog */
static const size_t form_max = 4096;	/* JSON Schema of one field */
static const size_t media_max = 100;

/* --- output:, show: --- */

static int is_media_type(const char *text)
{
	static const char *const kinds[] = {"text/", "image/", "audio/", "application/"};
	static const char inside[] = "abcdefghijklmnopqrstuvwxyz0123456789.+-";

	for (size_t i = 0; text != NULL && i < ARRAY_LEN(kinds); i++) {
		size_t n = strlen(kinds[i]);
		if (strncmp(text, kinds[i], n) == 0)
			return text[n] != '\0' && text[n + strspn(text + n, inside)] == '\0' &&
			       strlen(text) <= media_max;
	}
	return 0;
}

static int check_show(const struct schema *s, jv tool)
{
	auto_jv show = json_object(tool, "show"), produces = json_object(tool, "produces");
	struct yaml_at at = {.key = "show"};

	if (!jv_is_valid(show))
		return 0;
	if (steps_analyse(tool))
		return schema_fail(s, &at, "make another tool of it",
				   "a tool that analyses shows its findings and nothing else");
	for (int i = jv_object_iter(show); jv_object_iter_valid(show, i); i = jv_object_iter_next(show, i)) {
		auto_jv name = jv_object_iter_key(show, i), media = jv_object_iter_value(show, i);
		struct yaml_at here = {.up = &at, .key = json_text(name)};
		if (!json_has(produces, here.key))
			return schema_fail(s, &here, "add it to produces:", "no step makes such an artifact");
		if (!is_media_type(json_text(media)))
			return schema_fail(s, &here, "such as image/png, audio/wav, text/plain or application/json",
					   "is no media type of text, an image, sound or an application");
	}
	return 0;
}

static int check_output(const struct schema *s, jv tool)
{
	const char *output = json_str(tool, "output");
	struct yaml_at at = {.key = "output"};

	if (output == NULL)
		return 0;
	if (strcmp(output, "text") != 0 && strcmp(output, "json") != 0)
		return schema_fail(s, &at, "text or json", "no such kind of output");
	if (strcmp(output, "json") == 0 && steps_analyse(tool))
		return schema_fail(s, &at, "make another tool of it",
				   "a tool that analyses shows its findings and nothing else");
	return 0;
}

jv client_run(jv run, jv tool)
{
	auto_jv show = json_object(tool, "show");
	const char *output = json_str(tool, "output");

	if (output != NULL && strcmp(output, "json") == 0)
		run = json_set_str(run, "output", output);
	if (json_bool(tool, "untrusted") == 1)
		run = json_set_bool(run, "untrusted", 1);
	return jv_is_valid(show) ? json_set(run, "show", jv_copy(show)) : run;
}

/* --- ask: --- */

int client_check_form(const struct schema *s, const struct yaml_at *at, const char *form)
{
	static const char *const types[] = {"string", "number", "integer", "boolean", "array"};
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_jv field = jv_invalid();

	if (json_parse_foreign(form, strlen(form), form_max, &field, &ignored) < 0 ||
	    jv_get_kind(field) != JV_KIND_OBJECT)
		return schema_fail(s, at, "such as '{\"type\":\"number\",\"default\":0.5}'",
				   "is no JSON object of at most %zu bytes", form_max);
	const char *type = json_str(field, "type");
	for (size_t i = 0; type != NULL && i < ARRAY_LEN(types); i++)
		if (strcmp(type, types[i]) == 0)
			return 0;
	return schema_fail(s, at, "string, number, integer, boolean, or array for a choice of several",
			   "a form has no field of this type");
}

/* What a dialog can show of the type of a parameter: the keywords that the protocol has for a field. */
static jv field_of(jv root, jv targets, jv declaration)
{
	static const char *const kept[] = {"type",	"description", "enum",	  "minLength",
					   "maxLength", "minimum",     "maximum", "default"};
	auto_jv schema = param_schema(root, targets, declaration);
	int is_choice = json_has(schema, "enum");
	jv field = jv_object();

	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		auto_jv value = json_get(schema, kept[i]);
		if (jv_is_valid(value) && !(is_choice && strstr(kept[i], "Length") != NULL))
			field = json_set(field, kept[i], jv_copy(value));
	}
	return field;
}

int client_asks(jv tool, const char *param)
{
	auto_jv asks = json_array(tool, "ask");

	for (int i = 0, n = json_length(asks); i < n; i++) {
		auto_jv ask = json_at(asks, i), params = json_array(ask, "params");
		const char *roots = json_str(ask, "roots");
		if (roots != NULL && strcmp(roots, param) == 0)
			return 1;
		for (int k = 0, m = json_length(params); k < m; k++) {
			auto_jv name = json_at(params, k);
			if (strcmp(json_text(name), param) == 0)
				return 1;
		}
	}
	return 0;
}

/* PARAM is declared, and asked for once: *SEEN knows those before it. */
static int check_asked(const struct schema *s, const struct yaml_at *at, jv tool, const char *param, jv *seen)
{
	auto_jv params = json_object(tool, "params"), declaration = json_object(params, param);

	if (!jv_is_valid(declaration))
		return schema_fail(s, at, "add it to params:", "the tool has no such parameter");
	if (param_type(declaration) == PARAM_PLAN)
		return schema_fail(s, at, NULL, "a plan is always named by the caller");
	if (json_has(*seen, param))
		return schema_fail(s, at, NULL, "another question asks for it already");
	*seen = json_set(take_jv(seen), param, jv_true());
	return 0;
}

static int check_ask(const struct schema *s, const struct yaml_at *at, jv tool, jv ask, jv *seen)
{
	static const struct field fields[] = {
		{"name", FIELD_TEXT, FIELD_REQUIRED},
		{"message", FIELD_TEXT, FIELD_OPTIONAL},
		{"params", FIELD_TEXTS, FIELD_OPTIONAL},
		{"roots", FIELD_TEXT, FIELD_OPTIONAL},
	};
	struct yaml_at at_name = {.up = at, .key = "name"}, at_message = {.up = at, .key = "message"},
		       at_params = {.up = at, .key = "params"}, at_roots = {.up = at, .key = "roots"};

	if (schema_fields(s, at, ask, fields, ARRAY_LEN(fields)) < 0)
		return -1;
	auto_jv params = json_array(ask, "params");
	const char *message = json_str(ask, "message"), *roots = json_str(ask, "roots");
	if (!schema_is_word(json_str(ask, "name")))
		return schema_fail(s, &at_name, "a lower-case letter, then letters, digits and _", "is no name");
	if ((roots == NULL) != (message != NULL && json_length(params) > 0) || (roots != NULL && message != NULL))
		return schema_fail(s, at, "message and params, or roots",
				   "a question asks a person for parameters, or the client for its roots");
	if (message != NULL && (strlen(message) > message_max || !schema_is_printable(message, strlen(message))))
		return schema_fail(s, &at_message, NULL, "must be at most %zu printable bytes on one line",
				   message_max);
	if (roots != NULL)
		return check_asked(s, &at_roots, tool, roots, seen);
	for (int i = 0, n = json_length(params); i < n; i++) {
		auto_jv param = json_at(params, i);
		struct yaml_at here = {.up = &at_params, .index = i};
		if (check_asked(s, &here, tool, json_text(param), seen) < 0)
			return -1;
	}
	return 0;
}

static int check_asks(const struct schema *s, jv tool)
{
	auto_jv asks = json_array(tool, "ask"), seen = jv_object(), names = jv_object();
	struct yaml_at at = {.key = "ask"};

	if (json_length(asks) > ASKS_MAX)
		return schema_fail(s, &at, NULL, "more than %d questions", ASKS_MAX);
	for (int i = 0, n = json_length(asks); i < n; i++) {
		auto_jv ask = json_at(asks, i);
		struct yaml_at here = {.up = &at, .index = i};
		if (check_ask(s, &here, tool, ask, &seen) < 0)
			return -1;
		if (json_has(names, json_str(ask, "name")))
			return schema_fail(s, &here, NULL, "another question has this name");
		names = json_set(take_jv(&names), json_str(ask, "name"), jv_true());
	}
	return 0;
}

int client_check(const struct schema *s, jv tool)
{
	return check_output(s, tool) < 0 || check_show(s, tool) < 0 ? -1 : check_asks(s, tool);
}

/* --- in the list --- */

/* Fields go out as text: the default of one may be a number that our own JSON does not have. */
static jv ask_entry(jv root, jv targets, jv tool, jv ask)
{
	auto_jv params = json_object(tool, "params"), asked = json_array(ask, "params");
	jv entry = json_set_str(jv_object(), "name", json_str(ask, "name")), fields = jv_object(),
	   required = jv_array();

	entry = json_set_str(entry, "message", json_str(ask, "message"));
	entry = json_set_str(entry, "roots", json_str(ask, "roots"));
	for (int i = 0, n = json_length(asked); i < n; i++) {
		auto_jv name = json_at(asked, i), declaration = json_object(params, json_text(name));
		const char *form = json_str(declaration, "form");
		auto_buf text = BUF_INIT(LIMIT_CALL);
		struct sbx_error ignored = SBX_ERROR_INIT;
		if (form == NULL) {
			auto_jv field = field_of(root, targets, declaration);
			json_write(field, &text, &ignored);
			form = buf_str(&text);
		}
		fields = json_set_str(fields, json_text(name), form);
		if (param_is_required(declaration))
			required = json_append(required, jv_copy(name));
	}
	return json_set(json_set(entry, "fields", fields), "required", required);
}

jv client_list(jv entry, jv root, jv targets, jv tool)
{
	auto_jv asks = json_array(tool, "ask");
	jv list = jv_array();

	for (int i = 0, n = json_length(asks); i < n; i++) {
		auto_jv ask = json_at(asks, i);
		list = json_append(list, ask_entry(root, targets, tool, ask));
	}
	if (json_length(list) > 0)
		return json_set(entry, "ask", list);
	jv_free(list);
	return entry;
}
