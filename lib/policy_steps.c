/* Steps of a tool as they follow each other: which is analysed, which only looks, which makes what. What stands in one is
 * policy_slots.c's. */
#include <string.h>

#include "plan_format.h"
#include "policy_impl.h"
#include "tf_run.h"

static const char plan_artifact[] = "plan";
static const char sealed_state[] = "state"; /* what a seal can cover of a step's output */

/* The steps of one tool under check. */
struct step_check {
	const struct schema *s;
	jv tool; /* borrowed */
	int has_plan;
};

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
	if (plan_format_of_run(c->tool) == PLAN_FORMAT_KUBERNETES)
		return schema_fail(c->s, &at, NULL, "a change to a cluster has no state");
	if (json_has(workspace, "state"))
		return schema_fail(c->s, &at, "leave one of the two out",
				   "the state that workspace: names is sealed already");
	return 0;
}

/* A step that is a list ends with {lock: …}. */
static int plain_unlocks(jv step)
{
	auto_jv last = json_at(step, json_length(step) - 1);

	return json_has(last, "lock");
}

static int check_step(const struct step_check *c, const struct yaml_at *at, jv root, jv step)
{
	static const struct field fields[] = {
		{"argv", FIELD_LIST, FIELD_REQUIRED},
		{"analyse", FIELD_TEXT, FIELD_OPTIONAL},
		{"credentials", FIELD_BOOLEAN, FIELD_OPTIONAL},
		{"seals", FIELD_TEXT, FIELD_OPTIONAL},
		{"check", FIELD_BOOLEAN, FIELD_OPTIONAL},
		{"keeps", FIELD_TEXT, FIELD_OPTIONAL},
	};
	struct yaml_at at_argv = {.up = at, .key = "argv"}, at_analyse = {.up = at, .key = "analyse"};

	if (jv_get_kind(step) == JV_KIND_ARRAY)
		return plain_unlocks(step) ? schema_fail(c->s, at, policy_unlock_form, "what takes away a lock that was left is a check")
					   : slots_check_argv(c->s, at, root, c->tool, step);
	if (jv_get_kind(step) != JV_KIND_OBJECT)
		return schema_fail(c->s, at, "such as - [terraform, plan]",
				   "a step is a list [PROGRAM, ARGUMENT, ...] or a mapping");
	if (schema_fields(c->s, at, step, fields, ARRAY_LEN(fields)) < 0)
		return -1;
	const char *analyse = json_str(step, "analyse");
	if (analyse != NULL && plan_format_parse(analyse) == PLAN_FORMAT_NONE)
		return schema_fail(c->s, &at_analyse, "terraform or kubernetes", "nothing reads this kind of output");
	if (analyse != NULL && json_bool(step, "credentials") == 1)
		return schema_fail(c->s, at, NULL, "a step that is analysed gets no credential");
	if (analyse != NULL && step_checks(step))
		return schema_fail(c->s, at, NULL, "a check makes nothing that could be analysed");
	if (json_has(step, "keeps") && step_checks(step))
		return schema_fail(c->s, at, NULL, "a check makes nothing that could be kept");
	if (tf_run_unlocks(step) && (json_has(step, "seals") || !step_checks(step)))
		return schema_fail(c->s, at, policy_unlock_form, "what takes away a lock that was left is a check, and nothing else");
	if (check_seals(c, at, step) < 0 || fetch_check_keeps(c->s, at, step) < 0)
		return -1;
	auto_jv argv = json_array(step, "argv");
	return slots_check_argv(c->s, &at_argv, root, c->tool, argv);
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

int steps_producer(jv tool, const char *name)
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
		int maker = steps_producer(c->tool, here.key);
		if (maker == 0)
			return schema_fail(c->s, &here, NULL, "the first step uses it already, so no step can make it");
		auto_jv steps = json_array(c->tool, "steps"), step = json_at(steps, maker - 1);
		if (step_checks(step))
			return schema_fail(c->s, &here, "give it to a step behind the one that makes it",
					   "a check would have to make it, and a check makes nothing");
	}
	return 0;
}

/* The first one has found whatever there was. */
static int check_unlocks(const struct step_check *c, jv steps)
{
	struct yaml_at at = {.key = "steps"};
	int count = 0;

	for (int i = 0, n = json_length(steps); i < n; i++) {
		auto_jv step = json_at(steps, i);
		struct yaml_at here = {.up = &at, .index = i};
		count += tf_run_unlocks(step);
		if (count > 1)
			return schema_fail(c->s, &here, NULL, "a step has taken away the lock already");
	}
	return 0;
}

int steps_check(const struct schema *s, jv root, jv tool)
{
	auto_jv steps = json_array(tool, "steps");
	auto_free char *plan = tool_param_of(tool, PARAM_PLAN);
	const struct step_check c = {.s = s, .tool = tool, .has_plan = plan != NULL};
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
	return check_unlocks(&c, steps) < 0 ? -1 : check_produces(&c);
}
