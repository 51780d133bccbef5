/* The decision about one call: parameters, named plan, arguments, rules, tier, effect, in this order; the first refusal
 * stands. */
#include <stdio.h>
#include <string.h>

#include "plan_format.h"
#include "policy_impl.h"

static void set_rule(struct deciding *d, const char *kind, const char *name)
{
	snprintf(d->rule, sizeof d->rule, "%s:%s", kind, name);
}

static int deny_unknown_parameter(const struct deciding *d, jv key, struct sbx_error *err)
{
	auto_jv names = jv_is_valid(d->declarations) ? jv_keys(jv_copy(d->declarations)) : jv_array();
	char list[300] = "", quoted[SBX_QUOTE_SIZE];
	size_t used = 0;

	for (int i = 0, n = json_length(names); i < n && used < sizeof list; i++) {
		auto_jv name = json_at(names, i);
		used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "",
					 json_text(name));
	}
	sbx_fail(err, SBX_DENIED, "unknown_parameter", "%s has no parameter %s", d->question->tool,
		 sbx_quote(quoted, jv_string_value(key), (size_t)jv_string_length_bytes(jv_copy(key))));
	return *list == '\0' ? sbx_hint(err, "it takes no parameters") : sbx_hint(err, "it takes: %s", list);
}

/* A value of the type directory or file must be there, in a workspace that is configured. */
static int check_path(const struct deciding *d, const char *name, jv declaration, const char *value,
			   struct sbx_error *err)
{
	auto_jv workspace = json_object(d->tool, "workspace");
	const char *tree = json_str(workspace, "tree");
	char accepted[sizeof err->hint], root[80];
	const char *path = param_path(value, root, sizeof root);

	param_describe(d->policy->root, declaration, accepted, sizeof accepted);
	if (!json_has(d->world->workspaces, root)) {
		sbx_fail(err, SBX_DENIED, "bad_parameter", "the parameter \"%s\" names no workspace that is configured",
			 name);
		return json_has(d->world->workspaces, "")
			       ? sbx_hint(err, "there is one workspace: write the path alone")
			       : sbx_hint(err, "there are several workspaces: write NAME:path");
	}
	int is_file = param_type(declaration) == PARAM_FILE;
	int found = d->world->path(d->world->context, root, tree ? tree : ".", path,
				   is_file ? POLICY_FILE : POLICY_DIRECTORY, err);
	if (found < 0)
		return -1;
	if (found == 0) {
		sbx_fail(err, SBX_DENIED, "bad_parameter", "the parameter \"%s\" names no %s that can be reached", name,
			 is_file ? "file" : "directory");
		return sbx_hint(err, "%s: %s", name, accepted);
	}
	return 0;
}

static int check_target(const struct deciding *d, const char *name, const char *value, struct sbx_error *err)
{
	if (json_has(d->world->targets, value))
		return 0;
	sbx_fail(err, SBX_DENIED, "bad_parameter", "the parameter \"%s\" names no target that is configured", name);
	return sbx_hint(err, "%s: a name under targets: in sbx.yaml", name);
}

/* A plan of another tool is of another change, whatever the one that takes it would make of it. Without a list only
 * Terraform's plans are taken, of any tool. */
static int check_maker(const struct deciding *d, jv declaration, struct sbx_error *err)
{
	auto_jv of = json_array(declaration, "of");
	const char *maker = json_str(d->seal, "tool");
	char accepted[sizeof err->hint];

	if (jv_is_valid(of) ? maker != NULL && scope_lists(of, maker)
			    : plan_format_of(d->seal) == PLAN_FORMAT_TERRAFORM)
		return 0;
	sbx_fail(err, SBX_DENIED, "plan_of_other_tool", "the plan was made by a tool whose plans %s does not take",
		 d->question->tool);
	param_describe(d->policy->root, declaration, accepted, sizeof accepted);
	return sbx_hint(err, "%s", jv_is_valid(of) ? accepted : "it takes plans of Terraform");
}

/* The named plan must be sealed, not expired, and made by the one who asks; another's looks like one that is not there.
 */
static int find_plan(struct deciding *d, jv declaration, const char *id, struct sbx_error *err)
{
	if (d->world->plan(d->world->context, id, &d->seal, d->seal_sha256, err) < 0)
		return -1;
	const char *principal = json_str(d->seal, "principal");
	if (principal == NULL || strcmp(principal, d->question->principal) != 0) {
		sbx_fail(err, SBX_DENIED, "plan_unknown", "there is no such plan of this principal");
		return sbx_hint(err, "make one with a tool that plans, and name the id that its result gives");
	}
	return check_maker(d, declaration, err);
}

static int take_param(struct deciding *d, const char *name, jv declaration, jv value, struct sbx_error *err)
{
	jv taken = jv_invalid();

	set_rule(d, "param", name);
	if (param_take(d->policy->root, name, declaration, value, d->question->typing, &taken, err) < 0)
		return -1;
	d->params = json_set(take_jv(&d->params), name, taken);
	const char *text = json_str(d->params, name);
	switch (param_type(declaration)) {
	case PARAM_DIRECTORY:
	case PARAM_FILE:
		return check_path(d, name, declaration, text, err);
	case PARAM_TARGET:
		return check_target(d, name, text, err);
	case PARAM_PLAN:
		return find_plan(d, declaration, text, err);
	case PARAM_STRING:
	case PARAM_INTEGER:
	case PARAM_BOOLEAN:
	case PARAM_DNS_LABEL:
	case PARAM_DNS_SUBDOMAIN:
	case PARAM_NAMESPACE:
	case PARAM_TYPES:
		break;
	}
	return 0;
}

/* Every given parameter is declared, every declared one is given or has a default, each is of its type. */
static int take_params(struct deciding *d, struct sbx_error *err)
{
	jv given = d->question->params;

	for (int i = jv_object_iter(given); jv_object_iter_valid(given, i); i = jv_object_iter_next(given, i)) {
		auto_jv key = jv_object_iter_key(given, i);
		if (json_text(key) == NULL || !json_has(d->declarations, json_text(key)))
			return deny_unknown_parameter(d, key, err);
	}
	if (!jv_is_valid(d->declarations))
		return 0;
	auto_jv names = jv_keys(jv_copy(d->declarations));
	for (int i = 0, n = json_length(names); i < n; i++) {
		auto_jv key = json_at(names, i);
		const char *name = json_text(key);
		auto_jv declaration = json_object(d->declarations, name);
		auto_jv value = json_has(given, name) ? json_get(given, name) : json_get(declaration, "default");
		if (!jv_is_valid(value) && !param_may_be_absent(declaration)) {
			char accepted[sizeof err->hint];
			set_rule(d, "param", name);
			param_describe(d->policy->root, declaration, accepted, sizeof accepted);
			sbx_fail(err, SBX_DENIED, "missing_parameter", "the parameter \"%s\" is missing", name);
			return sbx_hint(err, "%s: %s", name, accepted);
		}
		if (jv_is_valid(value) && take_param(d, name, declaration, value, err) < 0)
			return -1;
	}
	return 0;
}

/* All directories of one call lie in one workspace, and a workspace that the tool names is configured. */
static int check_workspaces(const struct deciding *d, jv run, struct sbx_error *err)
{
	auto_jv workspace = json_object(run, "workspace");
	const char *name = json_str(workspace, "name");
	char other[80];

	if (name == NULL)
		return 0;
	if (!json_has(d->world->workspaces, name)) {
		sbx_fail(err, SBX_CONFIG, "no_workspace", "the tool runs in a workspace that is not configured");
		return sbx_hint(err, "set workspaces in sbx.yaml, or workspace: {name: …} in the tool's file");
	}
	for (int i = jv_object_iter(d->params); jv_object_iter_valid(d->params, i);
	     i = jv_object_iter_next(d->params, i)) {
		auto_jv key = jv_object_iter_key(d->params, i), value = jv_object_iter_value(d->params, i);
		auto_jv declaration = json_object(d->declarations, json_text(key));
		if (!param_is_path(declaration))
			continue;
		param_path(json_text(value), other, sizeof other);
		if (strcmp(other, name) != 0)
			return sbx_fail(err, SBX_DENIED, "bad_parameter",
					"the directories and files of one call must lie in one workspace");
	}
	return 0;
}

static jv rule_input(const struct deciding *d)
{
	int64_t destroyed = 0;
	jv plan = jv_null();

	if (jv_is_valid(d->seal)) {
		json_int(d->seal, "data_destroyed", &destroyed);
		plan = json_set_str(jv_object(), "verdict", json_str(d->seal, "verdict"));
		plan = json_set_int(plan, "data_destroyed", destroyed);
		plan = json_set_str(plan, "tool", json_str(d->seal, "tool"));
		auto_jv params = json_object(d->seal, "params");
		if (jv_is_valid(params))
			plan = json_set(plan, "params", jv_copy(params));
	}
	jv principal = json_set_str(jv_object(), "name", d->question->principal);
	jv input = json_set_str(jv_object(), "tool", d->question->tool);
	input = json_set(input, "params", jv_copy(d->params));
	input = json_set(input, "principal", principal);
	input = json_set(input, "taint", jv_copy(d->taint));
	return json_set(input, "plan", plan);
}

static int evaluate_rules(struct deciding *d, struct when_outcome *outcome, struct sbx_error *err)
{
	auto_jv input = rule_input(d);

	if (when_evaluate(d->tool, input, outcome, err) == 0)
		return 0;
	if (err->class == SBX_DENIED)
		set_rule(d, "when", outcome->denied);
	return -1;
}

/* What a plan was made for is where it is applied. */
static int check_plan_target(const struct deciding *d, jv run, struct sbx_error *err)
{
	const char *planned = json_str(d->seal, "target"), *wanted = json_str(run, "target");

	if (!jv_is_valid(d->seal) || (planned == NULL && wanted == NULL) ||
	    (planned != NULL && wanted != NULL && strcmp(planned, wanted) == 0))
		return 0;
	return sbx_fail(err, SBX_DENIED, "plan_target", "the plan was made for another target");
}

/* Untrusted output that was read so long ago that the policy lets it rest is none. */
static int find_taint(struct deciding *d, struct sbx_error *err)
{
	enum tier raise;
	int64_t for_s = 0, age_s = 0;
	jv last = jv_null();

	root_taint(d->policy->root, &raise, &for_s);
	if (d->world->taint(d->world->context, d->question->principal, &last, err) < 0)
		return -1;
	jv_free(d->taint);
	d->taint = last;
	if (json_int(d->taint, "age_s", &age_s) == 0 && age_s > for_s) {
		jv_free(d->taint);
		d->taint = jv_null();
	}
	return 0;
}

static int decide(struct deciding *d, jv *out, struct sbx_error *err)
{
	auto_jv run = jv_invalid(), credentials = jv_invalid();
	auto_outcome outcome = {.raised = jv_invalid()};

	set_rule(d, "tool", d->question->tool);
	if (take_params(d, err) < 0)
		return -1;
	set_rule(d, "tool", d->question->tool);
	if (find_taint(d, err) < 0 ||
	    run_resolve(d->policy, d->world, d->tool, d->params, d->seal, &run, &credentials, err) < 0 ||
	    check_workspaces(d, run, err) < 0 || check_plan_target(d, run, err) < 0 ||
	    evaluate_rules(d, &outcome, err) < 0)
		return -1;
	return outcome_build(d, &outcome, take_jv(&run), take_jv(&credentials), out, err);
}

/* A refusal is a decision too. */
static jv denied_policy(const struct deciding *d, const struct sbx_error *denial)
{
	jv policy = json_set_str(jv_object(), "effect", "deny");
	jv reasons = json_append(jv_array(), jv_string(denial->message));

	policy = json_set_str(policy, "rule", d->rule);
	policy = json_set(policy, "reasons",
			  *denial->hint == '\0' ? reasons : json_append(reasons, jv_string(denial->hint)));
	return json_set_str(policy, "policy_sha256", d->policy->files.sha256);
}

static void answer_denied(const struct deciding *d, struct policy_answer *answer, struct sbx_error *err)
{
	answer->denial = *err;
	answer->policy = denied_policy(d, err);
	answer->params = jv_copy(d->question->params);
	sbx_error_clear(err);
}

static void deciding_clear(struct deciding *d)
{
	jv_free(d->tool);
	jv_free(d->declarations);
	jv_free(d->params);
	jv_free(d->seal);
	jv_free(d->taint);
}
#define auto_deciding __attribute__((cleanup(deciding_clear))) struct deciding

int policy_decide(struct policy *policy, const struct policy_world *world, const struct policy_question *question,
		  struct policy_answer *answer, struct sbx_error *err)
{
	auto_deciding d = {
		.policy = policy,
		.world = world,
		.question = question,
		.tool = jv_invalid(),
		.params = jv_object(),
		.seal = jv_invalid(),
		.taint = jv_null(),
		.rule = "default",
	};

	char quoted[SBX_QUOTE_SIZE];

	*answer = (struct policy_answer){.params = jv_invalid(), .policy = jv_invalid()};
	int found = policy_tool(policy, question->tool, &d.tool, err);
	d.declarations = json_object(d.tool, "params");
	if (found < 0)
		return -1;
	if (found == 0) {
		sbx_fail(err, SBX_DENIED, "unknown_tool", "there is no tool %s",
			 sbx_quote(quoted, question->tool, strlen(question->tool)));
		sbx_hint(err, "sbx-policy list shows the tools");
		answer_denied(&d, answer, err);
		return 0;
	}
	if (decide(&d, &answer->policy, err) == 0)
		answer->params = jv_copy(d.params);
	else if (err->class == SBX_DENIED)
		answer_denied(&d, answer, err);
	else
		return -1;
	return 0;
}

void policy_answer_clear(struct policy_answer *answer)
{
	jv_free(answer->params);
	jv_free(answer->policy);
	*answer = (struct policy_answer){.params = jv_invalid(), .policy = jv_invalid()};
}
