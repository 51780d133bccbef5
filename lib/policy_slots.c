/* Steps of a tool: argument vectors of typed slots. There is no shell and no splitting; a value fills its slot and can
 * be neither another argument nor an option. */
#include <stdio.h>
#include <string.h>

#include "policy_impl.h"

static const char plan_artifact[] = "plan";
const char policy_unlock_form[] = "{argv: [PROGRAM, force-unlock, -force, {lock: left}], check: true}";

/* A step under check. */
struct step_check {
	const struct schema *s;
	jv tool, params; /* borrowed */
	int has_plan;
};

/* One part of a template: literal text, or the name of a parameter. */
struct part {
	enum { PART_END, PART_TEXT, PART_PARAM, PART_BAD } kind;
	const char *text;
	size_t len;
};

/* The part at *P, which moves behind it. "{{" and "}}" are the literal braces. */
static struct part next_part(const char **p)
{
	const char *start = *p;
	struct part part = {.kind = PART_TEXT, .text = start};

	if (*start == '\0') {
		part.kind = PART_END;
	} else if ((start[0] == '{' || start[0] == '}') && start[1] == start[0]) {
		part.len = 1;
		*p = start + 2;
	} else if (*start == '{') {
		const char *end = strchr(start, '}');
		part.kind = end == NULL || end == start + 1 ? PART_BAD : PART_PARAM;
		part.text = start + 1;
		part.len = end == NULL ? 0 : (size_t)(end - start - 1);
		*p = end == NULL ? start : end + 1;
	} else if (*start == '}') {
		part.kind = PART_BAD;
	} else {
		part.len = strcspn(start, "{}");
		*p = start + part.len;
	}
	return part;
}

static int part_name(const struct part *part, char *out, size_t size)
{
	if (part->len >= size)
		return -1;
	memcpy(out, part->text, part->len);
	out[part->len] = '\0';
	return schema_is_param(out) ? 0 : -1;
}

int slot_whole(const char *template, char *out, size_t size)
{
	struct part part = next_part(&template);

	return part.kind == PART_PARAM && *template == '\0' ? part_name(&part, out, size) : -1;
}

/* --- checks --- */

static int check_param_part(const struct step_check *c, const struct yaml_at *at, const char *name, const char *guard,
			    int is_first)
{
	auto_jv declaration = json_object(c->params, name);
	enum param_type type = param_type(declaration);
	int64_t min = -1;

	if (!jv_is_valid(declaration))
		return schema_fail(c->s, at, "declare it under params:, or write {{ for a brace",
				   "names an unknown parameter");
	if (type == PARAM_PLAN)
		return schema_fail(c->s, at, "write {artifact: plan} as a slot of its own", "a plan is no text");
	if (param_may_be_absent(declaration) && (guard == NULL || strcmp(guard, name) != 0))
		return schema_fail(c->s, at, "write {if: NAME, then: …}, or give it a default",
				   "names a parameter that may be absent");
	json_int(declaration, "min", &min);
	if (is_first && type == PARAM_INTEGER && min < 0)
		return schema_fail(c->s, at, "give the parameter min: 0, or write \"--option={name}\"",
				   "a negative number would be taken for an option here");
	return 0;
}

static int check_template(const struct step_check *c, const struct yaml_at *at, const char *template, const char *guard)
{
	const char *p = template;

	if (!schema_is_printable(template, strlen(template)))
		return schema_fail(c->s, at, NULL, "an argument holds a control character");
	for (;;) {
		char name[80];
		int is_first = p == template;
		struct part part = next_part(&p);
		if (part.kind == PART_END)
			return 0;
		if (part.kind == PART_BAD || (part.kind == PART_PARAM && part_name(&part, name, sizeof name) < 0))
			return schema_fail(c->s, at, "write {name} for a parameter, {{ and }} for braces",
					   "braces without a name");
		if (part.kind == PART_PARAM && check_param_part(c, at, name, guard, is_first) < 0)
			return -1;
	}
}

int slots_check_template(const struct schema *s, const struct yaml_at *at, jv params, const char *template)
{
	const struct step_check c = {.s = s, .params = params};

	return check_template(&c, at, template, NULL);
}

static int check_artifact(const struct step_check *c, const struct yaml_at *at, jv slot)
{
	static const struct field fields[] = {{"artifact", FIELD_TEXT, FIELD_REQUIRED}};
	auto_jv produces = json_object(c->tool, "produces");

	if (schema_fields(c->s, at, slot, fields, ARRAY_LEN(fields)) < 0)
		return -1;
	const char *name = json_str(slot, "artifact");
	if (json_has(produces, name) || (c->has_plan && strcmp(name, plan_artifact) == 0))
		return 0;
	return schema_fail(c->s, at, "name it under produces:, or take a parameter of the type plan",
			   "no such artifact");
}

/* The command is the one that compares the ID with the lock's, and no other may have it. */
static int check_lock(const struct step_check *c, const struct yaml_at *at, jv argv, int i)
{
	static const struct field fields[] = {{"lock", FIELD_TEXT, FIELD_REQUIRED}};
	auto_jv slot = json_at(argv, i), command = json_at(argv, 1), option = json_at(argv, 2);
	const char *word = json_text(command), *force = json_text(option);
	struct yaml_at at_lock = {.up = at, .key = "lock"};

	if (schema_fields(c->s, at, slot, fields, ARRAY_LEN(fields)) < 0)
		return -1;
	if (strcmp(json_str(slot, "lock"), "left") != 0)
		return schema_fail(c->s, &at_lock, "left", "there is no other lock to name");
	if (i == 3 && json_length(argv) == 4 && word != NULL && strcmp(word, "force-unlock") == 0 && force != NULL &&
	    strcmp(force, "-force") == 0)
		return 0;
	return schema_fail(c->s, at, policy_unlock_form, "a lock that was left can be given to force-unlock alone");
}

static int check_slot(const struct step_check *c, const struct yaml_at *at, jv slot, const char *guard)
{
	const char *template = json_text(slot);

	if (template != NULL && *template != '\0')
		return check_template(c, at, template, guard);
	if (json_has(slot, "artifact"))
		return check_artifact(c, at, slot);
	if (json_has(slot, "lock"))
		return schema_fail(c->s, at, policy_unlock_form, "a lock that was left is no argument that may be absent");
	return schema_fail(c->s, at, "a text, {artifact: NAME} or {if: NAME, then: …}", "is no argument");
}

static int check_guarded(const struct step_check *c, const struct yaml_at *at, jv slot)
{
	static const struct field fields[] = {{"if", FIELD_TEXT, FIELD_REQUIRED}, {"then", FIELD_ANY, FIELD_REQUIRED}};
	struct yaml_at at_if = {.up = at, .key = "if"}, at_then = {.up = at, .key = "then"};

	if (schema_fields(c->s, at, slot, fields, ARRAY_LEN(fields)) < 0)
		return -1;
	const char *name = json_str(slot, "if");
	auto_jv declaration = json_object(c->params, name), then = json_get(slot, "then");
	if (!jv_is_valid(declaration) ||
	    (param_type(declaration) != PARAM_BOOLEAN && !param_may_be_absent(declaration)))
		return schema_fail(c->s, &at_if, NULL, "must name a boolean parameter, or an optional one");
	if (jv_get_kind(then) != JV_KIND_ARRAY)
		return check_slot(c, &at_then, then, name);
	for (int i = 0, n = json_length(then); i < n; i++) {
		auto_jv element = json_at(then, i);
		struct yaml_at here = {.up = &at_then, .index = i};
		if (check_slot(c, &here, element, name) < 0)
			return -1;
	}
	return 0;
}

int slots_check_argv(const struct schema *s, const struct yaml_at *at, jv root, jv tool, jv argv)
{
	auto_jv params = json_object(tool, "params");
	auto_free char *plan = tool_param_of(tool, PARAM_PLAN);
	const struct step_check whole = {.s = s, .tool = tool, .params = params, .has_plan = plan != NULL}, *c = &whole;
	auto_jv first = json_at(argv, 0), programs = json_object(root, "programs");
	const char *program = json_text(first);
	struct yaml_at at_first = {.up = at, .index = 0};

	if (json_length(argv) > LIMIT_ARGV)
		return schema_fail(c->s, at, NULL, "more than %d arguments", LIMIT_ARGV);
	if (program == NULL || !json_has(programs, program))
		return schema_fail(c->s, &at_first, "add it to programs: in policy.yaml",
				   "the first argument names no program");
	for (int i = 1, n = json_length(argv); i < n; i++) {
		auto_jv slot = json_at(argv, i);
		struct yaml_at here = {.up = at, .index = i};
		if ((json_has(slot, "if")     ? check_guarded(c, &here, slot)
		     : json_has(slot, "lock") ? check_lock(c, &here, argv, i)
					      : check_slot(c, &here, slot, NULL)) < 0)
			return -1;
	}
	return 0;
}

/* --- filling --- */

/* PARAM's value as it stands in an argument. */
static int add_value(struct buf *out, jv value, jv declaration, struct sbx_error *err)
{
	const char *text = json_text(value);
	char workspace[80];
	int64_t number;

	if (text != NULL && param_is_path(declaration))
		text = param_path(text, workspace, sizeof workspace);
	if (text != NULL)
		return buf_add_str(out, text, err);
	if (json_number(value, &number) == 0)
		return buf_addf(out, err, "%lld", (long long)number);
	return buf_add_str(out, jv_get_kind(value) == JV_KIND_TRUE ? "true" : "false", err);
}

int slot_render(const char *template, jv params, jv declarations, char **out, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(LIMIT_ARGUMENT);
	const char *p = template;
	int begins_with_value = template[0] == '{' && template[1] != '{';

	*out = NULL;
	for (struct part part = next_part(&p); part.kind != PART_END; part = next_part(&p)) {
		char name[80];
		if (part.kind == PART_TEXT) {
			if (buf_add(&text, part.text, part.len, err) < 0)
				return -1;
			continue;
		}
		if (part.kind == PART_BAD || part_name(&part, name, sizeof name) < 0)
			return sbx_fail(err, SBX_BUG, "bug", "a template that was checked is malformed");
		auto_jv value = json_get(params, name), declaration = json_object(declarations, name);
		if (!jv_is_valid(value))
			return sbx_fail(err, SBX_BUG, "bug", "a template that was checked names an absent parameter");
		if (add_value(&text, value, declaration, err) < 0)
			return -1;
	}
	/* The types exclude this already; here it holds whatever type is added later. */
	if (begins_with_value && buf_str(&text)[0] == '-') {
		sbx_fail(err, SBX_DENIED, "bad_parameter", "a parameter would become an option of the program");
		return sbx_hint(err, "a value may not begin with -");
	}
	*out = buf_take(&text);
	return *out == NULL ? sbx_fail(err, SBX_OS, "no_memory", "out of memory") : 0;
}

/* Append SLOT, which is no {if}. */
static int fill_slot(jv slot, jv params, jv declarations, jv *argv, struct sbx_error *err)
{
	auto_free char *text = NULL;

	if (json_has(slot, "artifact") || json_has(slot, "lock")) {
		*argv = json_append(take_jv(argv), jv_copy(slot));
		return 0;
	}
	if (slot_render(json_text(slot), params, declarations, &text, err) < 0)
		return -1;
	*argv = json_append(take_jv(argv), jv_string(text));
	return 0;
}

static int fill_guarded(jv slot, jv params, jv declarations, jv *argv, struct sbx_error *err)
{
	auto_jv value = json_get(params, json_str(slot, "if")), then = json_get(slot, "then");

	if (!jv_is_valid(value) || jv_get_kind(value) == JV_KIND_FALSE)
		return 0;
	if (jv_get_kind(then) != JV_KIND_ARRAY)
		return fill_slot(then, params, declarations, argv, err);
	for (int i = 0, n = json_length(then); i < n; i++) {
		auto_jv element = json_at(then, i);
		if (fill_slot(element, params, declarations, argv, err) < 0)
			return -1;
	}
	return 0;
}

int slots_resolve(jv tool, jv step, jv params, jv *argv, struct sbx_error *err)
{
	auto_jv slots = step_argv(step), declarations = json_object(tool, "params"), filled = jv_array();

	for (int i = 0, n = json_length(slots); i < n; i++) {
		auto_jv slot = json_at(slots, i);
		if ((json_has(slot, "if") ? fill_guarded(slot, params, declarations, &filled, err)
					  : fill_slot(slot, params, declarations, &filled, err)) < 0)
			return -1;
	}
	*argv = take_jv(&filled);
	return 0;
}
