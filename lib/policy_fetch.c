/* Fetching Terraform's providers and modules: the lists of policy.yaml, and the steps of a tool that keep what they fetch. */
#include <string.h>

#include "fetch_list.h"
#include "policy_impl.h"
#include "steps.h"
#include "tf_run.h"

static const char git_program[] = "git";

/* --- policy.yaml --- */

static int check_list(const struct schema *s, jv root, const char *key, int (*is_pattern)(const char *text), const char *example)
{
	auto_jv list = json_array(root, key);
	struct yaml_at at = {.key = key};

	for (int i = 0, n = json_length(list); i < n; i++) {
		auto_jv pattern = json_at(list, i);
		struct yaml_at here = {.up = &at, .index = i};
		if (!is_pattern(json_text(pattern)))
			return schema_fail(s, &here, example, "is nothing that can be fetched");
	}
	return 0;
}

int fetch_check(const struct schema *s, jv root)
{
	if (check_list(s, root, "providers", fetch_list_is_provider,
		       "HOST/NAMESPACE/TYPE, such as registry.terraform.io/hashicorp/aws, with * for a part or some of it") < 0)
		return -1;
	return check_list(s, root, "modules", fetch_list_is_module,
			  "such as git::https://git.example.com/infra/* or registry.terraform.io/terraform-aws-modules/*/aws");
}

/* --- a tool --- */

int fetch_check_tool(const struct schema *s, jv tool)
{
	static const char *const without[] = {"credentials", "produces"};
	auto_jv workspace = json_object(tool, "workspace");
	struct yaml_at at = {.key = "steps"}, at_workspace = {.key = "workspace"};

	if (tf_run_keeps(tool, NULL) == 0)
		return 0;
	if (tf_run_keeps(tool, SANDBOX_KEPT_MODULES) > 1 || tf_run_keeps(tool, SANDBOX_KEPT_PROVIDERS) > 1)
		return schema_fail(s, &at, NULL, "two steps keep the same");
	if (steps_analyse(tool))
		return schema_fail(s, &at, NULL, "a tool that fetches makes no plan");
	if (!json_has(workspace, "cwd") || json_has(workspace, "state"))
		return schema_fail(s, &at_workspace, "workspace: {tree: ., cwd: \"{dir}\"}",
				   "a tool that fetches has a directory, and no state");
	for (size_t i = 0; i < ARRAY_LEN(without); i++) {
		struct yaml_at here = {.key = without[i]};
		if (json_has(tool, without[i]))
			return schema_fail(s, &here, NULL, "a tool that fetches has none");
	}
	return 0;
}

int fetch_check_keeps(const struct schema *s, const struct yaml_at *up, jv step)
{
	const char *keeps = json_str(step, "keeps");
	struct yaml_at at = {.up = up, .key = "keeps"};

	if (keeps == NULL || strcmp(keeps, SANDBOX_KEPT_MODULES) == 0 || strcmp(keeps, SANDBOX_KEPT_PROVIDERS) == 0)
		return 0;
	return schema_fail(s, &at, SANDBOX_KEPT_MODULES " or " SANDBOX_KEPT_PROVIDERS, "nothing of this name is kept");
}

const char *fetch_program(jv root, jv tool)
{
	auto_jv programs = json_object(root, "programs");

	return tf_run_keeps(tool, SANDBOX_KEPT_MODULES) > 0 && json_has(programs, git_program) ? git_program : NULL;
}

jv fetch_resolve(jv root, jv tool)
{
	auto_jv providers = json_array(root, "providers"), modules = json_array(root, "modules");

	if ((!jv_is_valid(providers) && !jv_is_valid(modules)) || !json_has(tool, "workspace"))
		return jv_null();
	jv out = json_set(jv_object(), "providers", jv_is_valid(providers) ? jv_copy(providers) : jv_array());
	return json_set(out, "modules", jv_is_valid(modules) ? jv_copy(modules) : jv_array());
}
