/* Steps of a tool: argument vectors of typed slots. There is no shell and no splitting; a value fills its slot and can
 * be neither another argument nor an option. */
#include <stdio.h>
#include <string.h>

#include "policy_impl.h"

static const char analyser[] = "terraform"; /* the one kind of output that sbx-plan reads */
static const char plan_artifact[] = "plan";
static const char sealed_state[] = "state"; /* what a seal can cover of a step's output */

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

jv step_argv(jv step)
{
	return jv_get_kind(step) == JV_KIND_ARRAY ? jv_copy(step) : json_array(step, "argv");
}

int step_checks(jv step)
{
	return json_bool(step, "check") == 1;
}

int steps_analyse(jv tool)
{
	auto_jv steps = json_array(tool, "steps");

	for (int i = 0, n = json_length(steps); i < n; i++) {
		auto_jv step = json_at(steps, i);
		if (json_has(step, "analyse"))
			return 1;
	}
	return 0;
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

static int check_slot(const struct step_check *c, const struct yaml_at *at, jv slot, const char *guard)
{
	const char *template = json_text(slot);

	if (template != NULL && *template != '\0')
		return check_template(c, at, template, guard);
	if (json_has(slot, "artifact"))
		return check_artifact(c, at, slot);
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

static int check_argv(const struct step_check *c, const struct yaml_at *at, jv root, jv argv)
{
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
		if ((json_has(slot, "if") ? check_guarded(c, &here, slot) : check_slot(c, &here, slot, NULL)) < 0)
			return -1;
	}
	return 0;
}

/* The output of this step is the state that a plan is made against, or must be when it runs. */
static int check_seals(const struct step_check *c, const struct yaml_at *up, jv step)
{
	auto_jv workspace = json_object(c->tool, "workspace");
	const char *seals = json_str(step, "seals");
	struct yaml_at at = {.up = up, .key = "seals"};

	if (seals == NULL)
		return 0;
	if (strcmp(seals, sealed_state) != 0)
		return schema_fail(c->s, &at, sealed_state, "no seal covers this");
	if (json_has(step, "analyse"))
		return schema_fail(c->s, &at, NULL, "what is analysed is no state");
	if (!c->has_plan && !steps_analyse(c->tool))
		return schema_fail(c->s, &at, NULL, "this tool neither makes a plan nor takes one");
	if (!c->has_plan && step_checks(step))
		return schema_fail(c->s, &at, "leave check: out, or take a plan", "there is no seal to check the state by");
	if (json_has(workspace, "state"))
		return schema_fail(c->s, &at, "leave one of the two out",
				   "the state that workspace: names is sealed already");
	return 0;
}

static int check_step(const struct step_check *c, const struct yaml_at *at, jv root, jv step)
{
	static const struct field fields[] = {
		{"argv", FIELD_LIST, FIELD_REQUIRED},
		{"analyse", FIELD_TEXT, FIELD_OPTIONAL},
		{"credentials", FIELD_BOOLEAN, FIELD_OPTIONAL},
		{"seals", FIELD_TEXT, FIELD_OPTIONAL},
		{"check", FIELD_BOOLEAN, FIELD_OPTIONAL},
	};
	struct yaml_at at_argv = {.up = at, .key = "argv"}, at_analyse = {.up = at, .key = "analyse"};

	if (jv_get_kind(step) == JV_KIND_ARRAY)
		return check_argv(c, at, root, step);
	if (jv_get_kind(step) != JV_KIND_OBJECT)
		return schema_fail(c->s, at, "such as - [terraform, plan]",
				   "a step is a list [PROGRAM, ARGUMENT, ...] or a mapping");
	if (schema_fields(c->s, at, step, fields, ARRAY_LEN(fields)) < 0)
		return -1;
	const char *analyse = json_str(step, "analyse");
	if (analyse != NULL && strcmp(analyse, analyser) != 0)
		return schema_fail(c->s, &at_analyse, "terraform", "nothing reads this kind of output");
	if (analyse != NULL && json_bool(step, "credentials") == 1)
		return schema_fail(c->s, at, NULL, "a step that is analysed gets no credential");
	if (analyse != NULL && step_checks(step))
		return schema_fail(c->s, at, NULL, "a check makes nothing that could be analysed");
	if (check_seals(c, at, step) < 0)
		return -1;
	auto_jv argv = json_array(step, "argv");
	return check_argv(c, &at_argv, root, argv);
}

/* Step I of STEPS: when a check has run nothing was begun, so that what was spent for the call can be given back. */
static int check_order(const struct step_check *c, const struct yaml_at *at, jv steps, int i)
{
	auto_jv step = json_at(steps, i), before = i > 0 ? json_at(steps, i - 1) : jv_invalid();

	if (!step_checks(step))
		return 0;
	if (i > 0 && !step_checks(before))
		return schema_fail(c->s, at, "put the checks first", "a check behind a step that is none");
	return i + 1 < json_length(steps) ? 0
					  : schema_fail(c->s, at, NULL, "behind the checks there is no step to do anything");
}

static int slot_uses(jv slot, const char *name)
{
	const char *artifact = json_str(slot, "artifact");
	auto_jv then = json_get(slot, "then");

	if (artifact != NULL && strcmp(artifact, name) == 0)
		return 1;
	if (jv_get_kind(then) == JV_KIND_OBJECT)
		return slot_uses(then, name);
	for (int i = 0, n = jv_get_kind(then) == JV_KIND_ARRAY ? json_length(then) : 0; i < n; i++) {
		auto_jv element = json_at(then, i);
		if (slot_uses(element, name))
			return 1;
	}
	return 0;
}

int slots_producer(jv tool, const char *name)
{
	auto_jv steps = json_array(tool, "steps");
	int count = json_length(steps);

	for (int i = 0; i < count; i++) {
		auto_jv step = json_at(steps, i), argv = step_argv(step);
		for (int k = 0, n = json_length(argv); k < n; k++) {
			auto_jv slot = json_at(argv, k);
			if (slot_uses(slot, name))
				return i;
		}
	}
	return count;
}

static int check_produces(const struct step_check *c)
{
	auto_jv produces = json_object(c->tool, "produces");
	struct yaml_at at = {.key = "produces"};

	if (!jv_is_valid(produces))
		return 0;
	for (int i = jv_object_iter(produces); jv_object_iter_valid(produces, i);
	     i = jv_object_iter_next(produces, i)) {
		auto_jv name = jv_object_iter_key(produces, i), path = jv_object_iter_value(produces, i);
		struct yaml_at here = {.up = &at, .key = json_text(name)};
		if (!schema_is_word(here.key))
			return schema_fail(c->s, &here, NULL, "is no name of an artifact");
		if (json_text(path) == NULL || !schema_is_path(json_text(path)) || strcmp(json_text(path), ".") == 0)
			return schema_fail(c->s, &here, "such as plan.bin", "must be a relative path without . and ..");
		if (c->has_plan && strcmp(here.key, plan_artifact) == 0)
			return schema_fail(c->s, &here, NULL, "the tool is given a plan, so it cannot make one");
		int maker = slots_producer(c->tool, here.key);
		if (maker == 0)
			return schema_fail(c->s, &here, NULL, "the first step uses it already, so no step can make it");
		auto_jv steps = json_array(c->tool, "steps"), step = json_at(steps, maker - 1);
		if (step_checks(step))
			return schema_fail(c->s, &here, "give it to a step behind the one that makes it",
					   "a check would have to make it, and a check makes nothing");
	}
	return 0;
}

int slots_check(const struct schema *s, jv root, jv tool)
{
	auto_jv steps = json_array(tool, "steps"), params = json_object(tool, "params");
	auto_free char *plan = tool_param_of(tool, PARAM_PLAN);
	const struct step_check c = {.s = s, .tool = tool, .params = params, .has_plan = plan != NULL};
	struct yaml_at at = {.key = "steps"};
	int count = json_length(steps);

	if (count == 0 || count > LIMIT_STEPS)
		return schema_fail(s, &at, NULL, "needs 1 to %d steps", LIMIT_STEPS);
	for (int i = 0; i < count; i++) {
		auto_jv step = json_at(steps, i);
		struct yaml_at here = {.up = &at, .index = i};
		if (check_step(&c, &here, root, step) < 0 || check_order(&c, &here, steps, i) < 0)
			return -1;
	}
	return check_produces(&c);
}

/* --- filling --- */

/* PARAM's value as it stands in an argument. */
static int add_value(struct buf *out, jv value, jv declaration, struct sbx_error *err)
{
	const char *text = json_text(value);
	char workspace[80];
	int64_t number;

	if (text != NULL && param_type(declaration) == PARAM_DIRECTORY)
		text = param_directory(text, workspace, sizeof workspace);
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

	if (json_has(slot, "artifact")) {
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
