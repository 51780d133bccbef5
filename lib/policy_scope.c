/* What a credential may do, as it is written down: scopes of policy.yaml, and the credentials of a tool. */
#include <string.h>

#include "permission.h"
#include "plan_format.h"
#include "policy_impl.h"

enum { NAMESPACES_MAX = 64, PERMISSIONS_MAX = 64 };

/* --- policy.yaml --- */

static int check_namespaces(const struct schema *s, const struct yaml_at *up, jv scope)
{
	auto_jv list = json_get(scope, "namespaces");
	struct yaml_at at = {.up = up, .key = "namespaces"};

	if (!jv_is_valid(list))
		return 0;
	if (schema_kind(s, &at, list, FIELD_TEXTS) < 0)
		return -1;
	if (json_length(list) < 1 || json_length(list) > NAMESPACES_MAX)
		return schema_fail(s, &at, "name each: there is no wildcard", "must name 1 to %d namespaces",
				   NAMESPACES_MAX);
	for (int i = 0, n = json_length(list); i < n; i++) {
		auto_jv name = json_at(list, i);
		struct yaml_at here = {.up = &at, .index = i};
		if (!param_is_label(json_text(name)))
			return schema_fail(s, &here, NULL, "is no DNS label");
	}
	return 0;
}

static int check_permissions(const struct schema *s, const struct yaml_at *up, jv scope)
{
	auto_jv list = json_get(scope, "permissions");
	struct yaml_at at = {.up = up, .key = "permissions"};

	if (!jv_is_valid(list))
		return 0;
	if (schema_kind(s, &at, list, FIELD_TEXTS) < 0)
		return -1;
	if (json_length(list) < 1 || json_length(list) > PERMISSIONS_MAX)
		return schema_fail(s, &at, NULL, "must be 1 to %d permissions", PERMISSIONS_MAX);
	for (int i = 0, n = json_length(list); i < n; i++) {
		auto_jv word = json_at(list, i);
		struct yaml_at here = {.up = &at, .index = i};
		struct permission permission;
		if (permission_parse(json_text(word), &permission) < 0)
			return schema_fail(
				s, &here,
				"such as pods:get, pods/log:get or deployments.apps:patch; there is no wildcard",
				"is no permission");
		if (permission_reads_secrets(&permission) && json_bool(scope, "reads_secrets") == 0)
			return schema_fail(s, &here, "say reads_secrets: true, or leave it out",
					   "lets its bearer read secrets, and the scope says that it cannot");
		if (!permission_only_reads(&permission) && json_bool(scope, "only_reads") == 1)
			return schema_fail(s, &here, "leave out only_reads: true, or this",
					   "lets its bearer change something, and the scope says that it only reads");
	}
	return 0;
}

static int uses_namespace(jv value)
{
	if (json_text(value) != NULL)
		return strstr(json_text(value), SCOPE_NAMESPACE_SLOT) != NULL;
	for (int i = 0, n = jv_get_kind(value) == JV_KIND_ARRAY ? json_length(value) : 0; i < n; i++) {
		auto_jv element = json_at(value, i);
		if (uses_namespace(element))
			return 1;
	}
	return 0;
}

/* Settings that only the provider understands are texts, numbers, booleans or lists of texts; it refuses what it does
 * not know. */
static int check_setting(const struct schema *s, const struct yaml_at *at, jv scope, jv value)
{
	jv_kind kind = jv_get_kind(value);

	if (!schema_is_name(at->key))
		return schema_fail(s, at, "a lower-case letter, then letters, digits, . _ -", "is no name");
	if (strcmp(at->key, "lifetime") == 0 && schema_kind(s, at, value, FIELD_DURATION) < 0)
		return -1;
	if (strcmp(at->key, "provider") == 0 && !schema_is_name(json_text(value)))
		return schema_fail(s, at, "jwt, vault, kubernetes or the NAME of a program sbx-cred-NAME",
				   "must be the name of a provider");
	if (kind == JV_KIND_OBJECT || (kind == JV_KIND_ARRAY && schema_kind(s, at, value, FIELD_TEXTS) < 0))
		return schema_fail(s, at, NULL, "must be a text, a number, a boolean or a list of texts");
	if (uses_namespace(value) && !json_has(scope, "namespaces"))
		return schema_fail(s, at, "add namespaces: to the scope",
				   "takes a namespace, and the scope names none");
	return 0;
}

int scope_check(const struct schema *s, const struct yaml_at *at, const char *name, jv scope)
{
	if (!schema_is_name(name))
		return schema_fail(s, at, "a lower-case letter, then letters, digits, . _ -", "is no name");
	if (schema_kind(s, at, scope, FIELD_MAP) < 0)
		return -1;
	/* Required, so that a misspelt one cannot make a scope that reads Secrets look harmless. */
	if (json_bool(scope, "reads_secrets") < 0)
		return schema_fail(s, at, "say reads_secrets: true or false",
				   "must say whether its bearer can read secrets");
	if (json_has(scope, "only_reads") && json_bool(scope, "only_reads") < 0)
		return schema_fail(s, at, "only_reads: true or false", "must say whether its bearer can only read");
	for (int i = jv_object_iter(scope); jv_object_iter_valid(scope, i); i = jv_object_iter_next(scope, i)) {
		auto_jv key = jv_object_iter_key(scope, i), value = jv_object_iter_value(scope, i);
		struct yaml_at here = {.up = at, .key = json_text(key)};
		if (check_setting(s, &here, scope, value) < 0)
			return -1;
	}
	return check_namespaces(s, at, scope) < 0 ? -1 : check_permissions(s, at, scope);
}

/* --- tools/NAME.yaml --- */

/* The credentials of a tool under check. */
struct scope_check {
	const struct schema *s;
	jv root, tool, params; /* borrowed */
	enum tier tier;
	int has_plan;
};

/* TEMPLATE, which stands for one of ALLOWED: checked here and now where it names no parameter. */
static int check_choice(const struct scope_check *c, const struct yaml_at *at, const char *template, jv allowed,
			const char *says)
{
	if (slots_check_template(c->s, at, c->params, template) < 0)
		return -1;
	if (strpbrk(template, "{}") == NULL && !scope_lists(allowed, template))
		return schema_fail(c->s, at, "widen the scope in policy.yaml, or take another", "%s", says);
	return 0;
}

static int check_namespace(const struct scope_check *c, const struct yaml_at *up, jv credential, jv scope)
{
	auto_jv allowed = json_array(scope, "namespaces");
	const char *template = json_str(credential, "namespace");
	struct yaml_at at = {.up = up, .key = "namespace"};

	if (template == NULL && json_has(scope, "namespaces"))
		return schema_fail(c->s, up, "add namespace: \"{PARAMETER}\", or one by name",
				   "the scope is given for one namespace at a time");
	if (template == NULL)
		return 0;
	if (!json_has(scope, "namespaces"))
		return schema_fail(c->s, &at, "add namespaces: to the scope in policy.yaml", "the scope names none");
	return check_choice(c, &at, template, allowed, "the scope is not given for this namespace");
}

/* The program that previews a change to a cluster, and does nothing else with what it is given. */
static const char previewer[] = "sbx-change-kubernetes";

/* 1 when no step of TOOL starts another program than that. */
static int starts_previewer_alone(jv root, jv tool)
{
	auto_jv programs = json_object(root, "programs"), steps = json_array(tool, "steps");
	int alone = 1;

	for (int i = 0, n = json_length(steps); i < n; i++) {
		auto_jv step = json_at(steps, i), argv = step_argv(step), first = json_at(argv, 0);
		auto_jv program = json_object(programs, json_text(first) ? json_text(first) : "");
		const char *path = json_str(program, "path"), *slash = path != NULL ? strrchr(path, '/') : NULL;
		alone = alone && slash != NULL && strcmp(slash + 1, previewer) == 0;
	}
	return alone;
}

/* A plan of Terraform gets a credential that can only read, as far as the scope says: whoever wrote the configuration can use
 * it. An API server asks for the right to write also of who wants a preview, and what is previewed is data: a program
 * of ours alone sees the credential. */
static int check_only_reads(const struct scope_check *c, const struct yaml_at *at, jv scope)
{
	auto_jv list = json_array(scope, "permissions");
	struct permission permission;

	if (!steps_analyse(c->tool))
		return 0;
	/* Not said is not harmless: a scope that is only a role's name may do whatever that role may. */
	if (!jv_is_valid(list) && json_bool(scope, "only_reads") != 1)
		return schema_fail(
			c->s, at,
			"add permissions: to the scope, or only_reads: true where its provider has no such words",
			"a tool that makes a plan gets a credential that can only read, and this scope does not say "
			"so");
	for (int i = 0, n = json_length(list); i < n; i++) {
		auto_jv word = json_at(list, i);
		if (permission_parse(json_text(word), &permission) == 0 && permission_only_reads(&permission))
			continue;
		if (plan_format_of_run(c->tool) != PLAN_FORMAT_KUBERNETES)
			return schema_fail(c->s, at, "a scope of its own, with get, list and watch",
					   "a tool that makes a plan gets a credential that can only read");
		if (!starts_previewer_alone(c->root, c->tool))
			return schema_fail(c->s, at, "start sbx-change-kubernetes in each step, or use a scope that only reads",
					   "a credential that can write goes to the program that previews alone");
		if (c->tier < TIER_MEDIUM)
			return schema_fail(c->s, at, "set tier: medium",
					   "this scope can write, though a preview does not, so the tool is not low");
		return 0;
	}
	return 0;
}

static int check_asked(const struct scope_check *c, const struct yaml_at *up, jv credential, jv scope)
{
	auto_jv asked = json_array(credential, "permissions"), allowed = json_array(scope, "permissions");
	struct yaml_at at = {.up = up, .key = "permissions"};

	if (jv_is_valid(asked) && (json_length(asked) < 1 || json_length(asked) > PERMISSIONS_MAX))
		return schema_fail(c->s, &at, "leave it out for all of the scope's", "must be 1 to %d permissions",
				   PERMISSIONS_MAX);
	for (int i = 0, n = json_length(asked); i < n; i++) {
		auto_jv word = json_at(asked, i);
		struct yaml_at here = {.up = &at, .index = i};
		if (check_choice(c, &here, json_text(word), allowed, "the scope does not grant this") < 0)
			return -1;
	}
	return 0;
}

/* A credential's file is named to the programs of the tool; one of them must be allowed that name. */
static int env_is_allowed(jv root, jv tool, const char *env)
{
	auto_jv programs = json_object(root, "programs"), steps = json_array(tool, "steps");

	for (int i = 0, n = json_length(steps); i < n; i++) {
		auto_jv step = json_at(steps, i), argv = step_argv(step), first = json_at(argv, 0);
		auto_jv program = json_object(programs, json_text(first) ? json_text(first) : "");
		auto_jv allowed = json_array(program, "env_allowed");
		if (scope_lists(allowed, env))
			return 1;
	}
	return 0;
}

static int check_credential(const struct scope_check *c, const struct yaml_at *at, jv credential)
{
	static const struct field fields[] = {
		{"scope", FIELD_TEXT, FIELD_REQUIRED},	      {"as", FIELD_TEXT, FIELD_REQUIRED},
		{"env", FIELD_TEXT, FIELD_REQUIRED},	      {"namespace", FIELD_TEXT, FIELD_OPTIONAL},
		{"permissions", FIELD_TEXTS, FIELD_OPTIONAL},
	};
	struct yaml_at at_scope = {.up = at, .key = "scope"}, at_as = {.up = at, .key = "as"},
		       at_env = {.up = at, .key = "env"};

	if (schema_fields(c->s, at, credential, fields, ARRAY_LEN(fields)) < 0)
		return -1;
	auto_jv scopes = json_object(c->root, "scopes"), scope = json_object(scopes, json_str(credential, "scope"));
	const char *as = json_str(credential, "as");
	if (!jv_is_valid(scope))
		return schema_fail(c->s, &at_scope, "add it to scopes: in policy.yaml", "no such scope");
	if (json_bool(scope, "reads_secrets") == 1 && c->tier < TIER_HIGH)
		return schema_fail(c->s, &at_scope, "set tier: high, or use a scope that cannot read secrets",
				   "this scope reads secrets, so the tool must be high");
	if (strcmp(as, "kubeconfig") != 0 && strcmp(as, "token") != 0 && strcmp(as, "aws-credentials") != 0)
		return schema_fail(c->s, &at_as, "kubeconfig, token or aws-credentials", "no such form");
	auto_free char *target = tool_param_of(c->tool, PARAM_TARGET);
	if (strcmp(as, "kubeconfig") == 0 && target == NULL && !c->has_plan)
		return schema_fail(c->s, &at_as, "add a parameter of the type target",
				   "a kubeconfig needs to know which cluster");
	if (!env_is_allowed(c->root, c->tool, json_str(credential, "env")))
		return schema_fail(c->s, &at_env, "add it to env_allowed of the program in policy.yaml",
				   "no program of this tool may be given this name");
	return check_only_reads(c, &at_scope, scope) < 0 || check_namespace(c, at, credential, scope) < 0
		       ? -1
		       : check_asked(c, at, credential, scope);
}

int scope_check_credentials(const struct schema *s, jv root, jv tool, enum tier tier)
{
	auto_jv credentials = json_array(tool, "credentials"), params = json_object(tool, "params"), seen = jv_object();
	auto_free char *plan = tool_param_of(tool, PARAM_PLAN);
	const struct scope_check c = {
		.s = s, .root = root, .tool = tool, .params = params, .tier = tier, .has_plan = plan != NULL};
	struct yaml_at at = {.key = "credentials"};

	if (json_length(credentials) > LIMIT_CREDENTIALS)
		return schema_fail(s, &at, NULL, "more than %d credentials", LIMIT_CREDENTIALS);
	for (int i = 0, n = json_length(credentials); i < n; i++) {
		auto_jv credential = json_at(credentials, i);
		struct yaml_at here = {.up = &at, .index = i};
		if (check_credential(&c, &here, credential) < 0)
			return -1;
		const char *env = json_str(credential, "env");
		if (json_has(seen, env))
			return schema_fail(s, &here, NULL, "another credential has this name in the environment");
		seen = json_set(take_jv(&seen), env, jv_true());
	}
	return 0;
}
