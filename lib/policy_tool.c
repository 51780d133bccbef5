/* tools/NAME.yaml: the shape of a tool, and the rules that keep a tool from being less strict than its parts. */
#include <stdio.h>
#include <string.h>

#include "policy_impl.h"

enum { PARAMS_MAX = 32, RULES_MAX = 16, TESTS_MAX = 256 };
static const size_t description_max = 4096;

/* The parts of one tool under check. */
struct tool_check {
	const struct schema *s;
	jv root, tool; /* borrowed */
	enum tier tier;
	int has_plan;
};

char *tool_param_of(jv tool, enum param_type type)
{
	auto_jv params = json_object(tool, "params");

	if (!jv_is_valid(params))
		return NULL;
	auto_jv names = jv_keys(jv_copy(params));
	for (int i = 0, n = json_length(names); i < n; i++) {
		auto_jv name = json_at(names, i);
		auto_jv declaration = json_object(params, json_text(name));
		if (param_type(declaration) == type)
			return strdup(json_text(name));
	}
	return NULL;
}

static int check_params(const struct tool_check *c)
{
	auto_jv params = json_object(c->tool, "params");
	struct yaml_at at = {.key = "params"};
	int plans = 0, targets = 0;

	if (!jv_is_valid(params))
		return 0;
	if (json_length(params) > PARAMS_MAX)
		return schema_fail(c->s, &at, NULL, "more than %d parameters", PARAMS_MAX);
	for (int i = jv_object_iter(params); jv_object_iter_valid(params, i); i = jv_object_iter_next(params, i)) {
		auto_jv name = jv_object_iter_key(params, i), declaration = jv_object_iter_value(params, i);
		struct yaml_at here = {.up = &at, .key = json_text(name)};
		if (!schema_is_param(here.key))
			return schema_fail(c->s, &here, "a lower-case letter, then letters, digits and _",
					   "is no name of a parameter");
		if (param_check(c->s, &here, declaration) < 0)
			return -1;
		plans += param_type(declaration) == PARAM_PLAN;
		targets += param_type(declaration) == PARAM_TARGET;
		if (param_type(declaration) == PARAM_PLAN && !param_is_required(declaration))
			return schema_fail(c->s, &here, "remove default and optional",
					   "a plan is always named by the caller");
	}
	if (plans > 1 || targets > 1)
		return schema_fail(c->s, &at, NULL, "more than one parameter of the type %s",
				   plans > 1 ? "plan" : "target");
	return 0;
}

/* A file is named by its place in the tree, and that is where the steps find it. */
static int check_files(const struct tool_check *c)
{
	auto_jv workspace = json_object(c->tool, "workspace");
	auto_free char *name = tool_param_of(c->tool, PARAM_FILE);
	const char *cwd = json_str(workspace, "cwd");
	struct yaml_at at = {.key = "params"}, here = {.up = &at, .key = name};

	if (name == NULL)
		return 0;
	if (c->has_plan)
		return schema_fail(c->s, &here, NULL, "the tool is given a plan, and runs on what that was made of");
	if (!jv_is_valid(workspace) || (cwd != NULL && strcmp(cwd, ".") != 0))
		return schema_fail(c->s, &here, "such as workspace: {tree: manifests}",
				   "a file needs a workspace: in whose tree the steps stand at the top");
	return 0;
}

/* "{name}" of a directory parameter, or a literal path. */
static int check_place(const struct tool_check *c, const struct yaml_at *up, jv parent, const char *key)
{
	const char *place = json_str(parent, key);
	struct yaml_at at = {.up = up, .key = key};
	char name[80];

	if (place == NULL)
		return 0;
	if (slot_whole(place, name, sizeof name) == 0) {
		auto_jv params = json_object(c->tool, "params"), declaration = json_object(params, name);
		if (param_type(declaration) == PARAM_DIRECTORY && !param_may_be_absent(declaration))
			return 0;
		return schema_fail(c->s, &at, NULL, "names no parameter of the type directory that every call has");
	}
	if (strpbrk(place, "{}") != NULL || !schema_is_path(place))
		return schema_fail(c->s, &at, "such as ., envs/staging or \"{dir}\"",
				   "must be a relative path without . and .., or one whole parameter");
	return 0;
}

static int check_access(const struct tool_check *c, const struct yaml_at *up, jv state)
{
	const char *access = json_str(state, "access");
	struct yaml_at at = {.up = up, .key = "access"};

	if (access != NULL && strcmp(access, "read") != 0 && strcmp(access, "write") != 0)
		return schema_fail(c->s, &at, "read or write", "no such access");
	if (access != NULL && strcmp(access, "write") == 0 && c->tier < TIER_HIGH && !c->has_plan)
		return schema_fail(c->s, &at, "set tier: high, or take a parameter of the type plan",
				   "a tool that writes state must be high or apply a sealed plan");
	/* Else what was judged and what is done would be one run, with nobody in between. */
	if (access != NULL && strcmp(access, "write") == 0 && steps_analyse(c->tool))
		return schema_fail(c->s, &at, "make two tools of it", "a tool may not both analyse and change");
	return 0;
}

static int check_workspace(const struct tool_check *c)
{
	static const struct field fields[] = {
		{"name", FIELD_TEXT, FIELD_OPTIONAL},
		{"tree", FIELD_TEXT, FIELD_OPTIONAL},
		{"cwd", FIELD_TEXT, FIELD_OPTIONAL},
		{"state", FIELD_MAP, FIELD_OPTIONAL},
	};
	static const struct field state_fields[] = {
		{"path", FIELD_TEXT, FIELD_OPTIONAL},
		{"access", FIELD_TEXT, FIELD_OPTIONAL},
	};
	auto_jv workspace = json_get(c->tool, "workspace"), state = json_get(workspace, "state");
	struct yaml_at at = {.key = "workspace"}, at_state = {.up = &at, .key = "state"},
		       at_tree = {.up = &at, .key = "tree"};

	if (!jv_is_valid(workspace))
		return 0;
	if (schema_fields(c->s, &at, workspace, fields, ARRAY_LEN(fields)) < 0)
		return -1;
	const char *tree = json_str(workspace, "tree");
	if (tree != NULL && !schema_is_path(tree))
		return schema_fail(c->s, &at_tree, NULL, "must be a relative path without . and ..");
	if (jv_is_valid(state) && schema_fields(c->s, &at_state, state, state_fields, ARRAY_LEN(state_fields)) < 0)
		return -1;
	if (c->has_plan &&
	    (tree != NULL || json_has(workspace, "cwd") || json_has(workspace, "name") || json_has(state, "path")))
		return schema_fail(c->s, &at, "leave only state: {access: …} here", "the plan says where it runs");
	if (jv_is_valid(state) && !c->has_plan && !json_has(state, "path"))
		return schema_fail(c->s, &at_state, NULL, "the key \"path\" is missing");
	if (check_place(c, &at, workspace, "cwd") < 0 || check_place(c, &at_state, state, "path") < 0)
		return -1;
	return check_access(c, &at_state, state);
}

/* All steps of a call run with one environment. */
static int check_environment(const struct tool_check *c)
{
	auto_free char *conflict = NULL;
	auto_jv env = run_environment(c->root, c->tool, &conflict), credentials = json_array(c->tool, "credentials");
	struct yaml_at at = {.key = "steps"}, at_credentials = {.key = "credentials"};

	if (conflict != NULL)
		return schema_fail(c->s, &at, "give them the same value in policy.yaml",
				   "two programs set %s differently", conflict);
	for (int i = 0, n = json_length(credentials); i < n; i++) {
		auto_jv credential = json_at(credentials, i);
		struct yaml_at here = {.up = &at_credentials, .index = i};
		if (json_has(env, json_str(credential, "env")))
			return schema_fail(c->s, &here, NULL, "a program of the tool has a fixed value of this name");
	}
	return 0;
}

static int check_rule(const struct tool_check *c, const struct yaml_at *at, jv rule)
{
	static const struct field fields[] = {
		{"name", FIELD_TEXT, FIELD_REQUIRED},
		{"if", FIELD_TEXT, FIELD_REQUIRED},
		{"raise", FIELD_TEXT, FIELD_OPTIONAL},
		{"deny", FIELD_TEXT, FIELD_OPTIONAL},
	};
	struct yaml_at at_name = {.up = at, .key = "name"}, at_if = {.up = at, .key = "if"},
		       at_raise = {.up = at, .key = "raise"};
	enum tier tier = TIER_HIGH;

	if (schema_fields(c->s, at, rule, fields, ARRAY_LEN(fields)) < 0)
		return -1;
	if (!schema_is_name(json_str(rule, "name")))
		return schema_fail(c->s, &at_name, "a lower-case letter, then letters, digits, . _ -", "is no name");
	if (json_has(rule, "raise") == json_has(rule, "deny"))
		return schema_fail(c->s, at, "a rule either raises the tier or denies",
				   "needs one of \"raise\" and \"deny\"");
	if (json_has(rule, "raise") && (tier_parse(json_str(rule, "raise"), &tier) < 0 || tier == TIER_LOW))
		return schema_fail(c->s, &at_raise, "medium, high or critical; nothing lowers a tier",
				   "no tier to raise to");
	return when_check_text(c->s, &at_if, json_str(rule, "if"));
}

static int check_rules(const struct tool_check *c)
{
	auto_jv rules = json_array(c->tool, "when");
	struct yaml_at at = {.key = "when"};

	if (json_length(rules) > RULES_MAX)
		return schema_fail(c->s, &at, NULL, "more than %d rules", RULES_MAX);
	for (int i = 0, n = json_length(rules); i < n; i++) {
		auto_jv rule = json_at(rules, i);
		struct yaml_at here = {.up = &at, .index = i};
		if (check_rule(c, &here, rule) < 0)
			return -1;
	}
	return 0;
}

static int check_test(const struct tool_check *c, const struct yaml_at *at, jv test)
{
	static const struct field fields[] = {
		{"name", FIELD_TEXT, FIELD_OPTIONAL},  {"given", FIELD_MAP, FIELD_OPTIONAL},
		{"params", FIELD_MAP, FIELD_OPTIONAL}, {"expect", FIELD_TEXT, FIELD_REQUIRED},
		{"tier", FIELD_TEXT, FIELD_OPTIONAL},  {"code", FIELD_TEXT, FIELD_OPTIONAL},
	};
	static const struct field given_fields[] = {
		{"dirs", FIELD_TEXTS, FIELD_OPTIONAL},	     {"files", FIELD_TEXTS, FIELD_OPTIONAL},
		{"targets", FIELD_TEXTS, FIELD_OPTIONAL},
		{"workspaces", FIELD_TEXTS, FIELD_OPTIONAL}, {"plans", FIELD_MAP, FIELD_OPTIONAL},
		{"principal", FIELD_TEXT, FIELD_OPTIONAL},   {"tainted", FIELD_TEXT, FIELD_OPTIONAL},
	};
	struct yaml_at at_given = {.up = at, .key = "given"}, at_expect = {.up = at, .key = "expect"};

	if (schema_fields(c->s, at, test, fields, ARRAY_LEN(fields)) < 0)
		return -1;
	auto_jv given = json_get(test, "given");
	if (jv_is_valid(given) && schema_fields(c->s, &at_given, given, given_fields, ARRAY_LEN(given_fields)) < 0)
		return -1;
	const char *expect = json_str(test, "expect");
	if (strcmp(expect, "allow") != 0 && strcmp(expect, "approve") != 0 && strcmp(expect, "deny") != 0)
		return schema_fail(c->s, &at_expect, "allow, approve or deny", "no such effect");
	return 0;
}

static int check_tests(const struct tool_check *c)
{
	auto_jv tests = json_array(c->tool, "tests");
	struct yaml_at at = {.key = "tests"};

	if (json_length(tests) > TESTS_MAX)
		return schema_fail(c->s, &at, NULL, "more than %d tests", TESTS_MAX);
	for (int i = 0, n = json_length(tests); i < n; i++) {
		auto_jv test = json_at(tests, i);
		struct yaml_at here = {.up = &at, .index = i};
		if (check_test(c, &here, test) < 0)
			return -1;
	}
	return 0;
}

static int check_head(struct tool_check *c, const char *name)
{
	struct yaml_at at_name = {.key = "name"}, at_tier = {.key = "tier"}, at_description = {.key = "description"};
	const char *stated = json_str(c->tool, "name");

	/* The words of sbx-policy's own command line, and the dispatcher's own tool. */
	static const char *const taken[] = {"list", "test", "signals", "sbx_result"};
	for (size_t i = 0; i < ARRAY_LEN(taken); i++)
		if (strcmp(name, taken[i]) == 0)
			return schema_fail(c->s, &at_name, "choose another name",
					   "this name is taken by the toolkit itself");
	if (strcmp(stated, name) != 0)
		return schema_fail(c->s, &at_name, "call the file NAME.yaml", "the file is named after another tool");
	if (strlen(json_str(c->tool, "description")) > description_max)
		return schema_fail(c->s, &at_description, NULL, "longer than %zu bytes", description_max);
	if (tier_parse(json_str(c->tool, "tier"), &c->tier) < 0)
		return schema_fail(c->s, &at_tier, "low, medium, high or critical", "no such tier");
	return 0;
}

int tool_check(const struct schema *s, jv root, const char *name, jv tool)
{
	static const struct field fields[] = {
		{"name", FIELD_TEXT, FIELD_REQUIRED},	     {"title", FIELD_TEXT, FIELD_OPTIONAL},
		{"description", FIELD_TEXT, FIELD_REQUIRED}, {"tier", FIELD_TEXT, FIELD_REQUIRED},
		{"params", FIELD_MAP, FIELD_OPTIONAL},	     {"workspace", FIELD_MAP, FIELD_OPTIONAL},
		{"steps", FIELD_LIST, FIELD_REQUIRED},	     {"produces", FIELD_MAP, FIELD_OPTIONAL},
		{"credentials", FIELD_LIST, FIELD_OPTIONAL}, {"egress", FIELD_TEXTS, FIELD_OPTIONAL},
		{"limits", FIELD_MAP, FIELD_OPTIONAL},	     {"require", FIELD_MAP, FIELD_OPTIONAL},
		{"when", FIELD_LIST, FIELD_OPTIONAL},	     {"tests", FIELD_LIST, FIELD_OPTIONAL},
		{"output", FIELD_TEXT, FIELD_OPTIONAL},	     {"show", FIELD_MAP, FIELD_OPTIONAL},
		{"ask", FIELD_LIST, FIELD_OPTIONAL},	     {"untrusted", FIELD_BOOLEAN, FIELD_OPTIONAL},
	};
	struct tool_check c = {.s = s, .root = root, .tool = tool};

	if (schema_fields(s, NULL, tool, fields, ARRAY_LEN(fields)) < 0 || check_head(&c, name) < 0 ||
	    check_params(&c) < 0)
		return -1;
	auto_free char *plan = tool_param_of(tool, PARAM_PLAN);
	c.has_plan = plan != NULL;
	if (steps_check(s, root, tool) < 0 || check_workspace(&c) < 0 || check_files(&c) < 0 || scope_check_credentials(s, root, tool, c.tier) < 0 ||
	    check_environment(&c) < 0 || egress_check_tool(s, tool) < 0 || fetch_check_tool(s, tool) < 0 || root_check_limits(s, NULL, tool) < 0 ||
	    root_check_require(s, NULL, tool) < 0 || check_rules(&c) < 0 || client_check(s, tool) < 0)
		return -1;
	return check_tests(&c);
}
