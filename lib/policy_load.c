/* Reading the policy directory: every file is read and hashed, so that the digest in the call covers what decided; only
 * what a call needs is parsed. */
#include "policy.h"

#include <stdio.h>
#include <string.h>

#include "policy_impl.h"
#include "yaml_jv.h"

static const char suffix[] = POLICY_FILE_SUFFIX;

void policy_clear(struct policy *policy)
{
	policy_files_clear(&policy->files);
	jv_free(policy->root);
	jv_free(policy->tools);
	*policy = (struct policy){.root = jv_invalid(), .tools = jv_invalid()};
}

int policy_load(const char *dir, struct policy *policy, struct sbx_error *err)
{
	*policy = (struct policy){.root = jv_invalid(), .tools = jv_object()};
	if (policy_files_read(dir, POLICY_WHOLE, &policy->files, err) < 0)
		return -1;
	const struct policy_file *file = policy_files_find(&policy->files, "policy.yaml");
	auto_jv root = jv_invalid();
	if (yaml_jv_parse(file->text, file->len, file->path, &root, err) < 0)
		return -1;
	const struct schema s = {.file = file->path, .text = file->text, .len = file->len, .err = err};
	if (root_check(&s, root) < 0)
		return -1;
	policy->root = take_jv(&root);
	return 0;
}

/* Without rules a plan that opens, widens or unprotects something counts as safe: whoever wants that says so with an
 * empty directory, so that one which was forgotten is not taken for it. */
static int check_signals(const struct policy *policy, const char *name, jv tool, struct sbx_error *err)
{
	if (policy->files.has_signals || !steps_analyse(tool))
		return 0;
	sbx_fail(err, SBX_CONFIG, "signals_missing", "there is no directory %s/signals, by which %s judges its plans",
		 policy->files.dir, name);
	return sbx_hint(err, "copy PREFIX/share/sbx/policy/signals there; to judge by structure alone make an empty one");
}

int policy_tool(struct policy *policy, const char *name, jv *tool, struct sbx_error *err)
{
	char path[128];

	*tool = json_object(policy->tools, name);
	if (jv_is_valid(*tool))
		return 1;
	if (!schema_is_word(name))
		return 0;
	snprintf(path, sizeof path, "tools/%s%s", name, suffix);
	const struct policy_file *file = policy_files_find(&policy->files, path);
	if (file == NULL)
		return 0;
	auto_jv value = jv_invalid();
	if (yaml_jv_parse(file->text, file->len, file->path, &value, err) < 0)
		return -1;
	const struct schema s = {.file = file->path, .text = file->text, .len = file->len, .err = err};
	if (tool_check(&s, policy->root, name, value) < 0 || check_signals(policy, name, value, err) < 0)
		return -1;
	policy->tools = json_set(take_jv(&policy->tools), name, jv_copy(value));
	*tool = take_jv(&value);
	return 1;
}

/* Compiling costs some 20 ms for each expression, so it is done with the tests and not for each call. */
static int compile_rules(const struct policy_file *file, jv tool, struct sbx_error *err)
{
	const struct schema s = {.file = file->path, .text = file->text, .len = file->len, .err = err};
	auto_jv rules = json_array(tool, "when");
	struct yaml_at at = {.key = "when"};

	for (int i = 0, n = json_length(rules); i < n; i++) {
		auto_jv rule = json_at(rules, i);
		struct yaml_at here = {.up = &at, .index = i}, at_if = {.up = &here, .key = "if"};
		struct sbx_error refused = SBX_ERROR_INIT;
		if (when_compiles(json_str(rule, "if"), &refused) == 0)
			continue;
		if (refused.class != SBX_CONFIG) {
			*err = refused;
			return -1;
		}
		return schema_fail(&s, &at_if, "see the section on when: in sbx-policy(5)",
				   "this jq expression does not compile");
	}
	return 0;
}

int policy_load_tools(struct policy *policy, enum policy_depth depth, struct sbx_error *err)
{
	for (size_t i = 0; i < policy->files.count; i++) {
		const struct policy_file *file = &policy->files.file[i];
		char name[128];
		if (strncmp(file->name, "tools/", 6) != 0)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)(strlen(file->name) - 6 - (sizeof suffix - 1)),
			 file->name + 6);
		auto_jv tool = jv_invalid();
		int found = policy_tool(policy, name, &tool, err);
		if (found < 0)
			return -1;
		if (found == 0) {
			sbx_fail(err, SBX_CONFIG, "policy_invalid", "%s: the file's name is no name of a tool",
				 file->path);
			return sbx_hint(err, "a tool's name is a lower-case letter, then letters, digits and _");
		}
		if (depth == POLICY_WITH_RULES && compile_rules(file, tool, err) < 0)
			return -1;
	}
	return 0;
}
