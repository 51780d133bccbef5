/* Walks over settings and tools, and looks whether what they name is there. */
#include "policy_survey.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "approvers.h"
#include "clock.h"
#include "io.h"
#include "policy_impl.h"
#include "process.h"
#include "spawn.h"

static const size_t trust_file_max = (size_t)1 << 20;
static const int64_t sandbox_wait_ms = 20 * 1000;

struct survey {
	const struct policy *policy;
	const struct config *config;
	jv failed, list; /* borrowed */
	jv entries;	 /* owned */
	int missing;
};

enum found { FOUND_OK, FOUND_NOTE, FOUND_MISSING };

static void SBX_PRINTF(4, 5) say(struct survey *s, const char *topic, enum found found, const char *format, ...)
{
	static const char *const states[] = {"ok", "note", "missing"};
	char text[600];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	jv entry = json_set_str(json_set_str(jv_object(), "topic", topic), "state", states[found]);
	s->entries = json_append(take_jv(&s->entries), json_set_str(entry, "text", text));
	s->missing += found == FOUND_MISSING;
}

/* --- who approves --- */

/* The names in the trust file, as they stand before each key; who they are to the filter is decided there. */
static jv names_in(const char *text)
{
	auto_jv seen = jv_object();

	while (*text != '\0') {
		size_t line = strcspn(text, "\n"), word = strcspn(text, " \t\n");
		if (*text != '#' && word > 0) {
			auto_free char *names = strndup(text, word);
			char *rest = names;
			for (char *name; names != NULL && (name = strsep(&rest, ",")) != NULL;)
				if (*name != '\0')
					seen = json_set(take_jv(&seen), name, jv_true());
		}
		text += line + (text[line] == '\n');
	}
	return jv_keys(take_jv(&seen));
}

/* As people: those of approvers.yaml whose keys are there, else the names themselves. */
static jv people_of(const struct approvers *approvers, jv names)
{
	auto_jv people = jv_object();

	for (int i = 0, n = json_length(names); i < n; i++) {
		auto_jv name = json_at(names, i);
		struct sbx_error nobody = SBX_ERROR_INIT;
		char person[SIGNER_SIZE];
		if (json_text(name) != NULL && approvers_person(approvers, json_text(name), person, &nobody) == 0)
			people = json_set(take_jv(&people), person, jv_true());
	}
	return jv_keys(take_jv(&people));
}

static void join(jv texts, char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	for (int i = 0, n = json_length(texts); i < n && used < size; i++) {
		auto_jv text = json_at(texts, i);
		used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "", json_text(text));
	}
}

/* The highest tier that some served tool can come to without a rule: its own, or what the plan that it takes makes of
 * it. */
static enum tier highest_tier(const struct survey *s)
{
	enum tier highest = TIER_LOW, tier = TIER_LOW;

	for (int i = jv_object_iter(s->policy->tools); jv_object_iter_valid(s->policy->tools, i);
	     i = jv_object_iter_next(s->policy->tools, i)) {
		auto_jv name = jv_object_iter_key(s->policy->tools, i),
			tool = jv_object_iter_value(s->policy->tools, i);
		auto_free char *plan = tool_param_of(tool, PARAM_PLAN);
		if (json_has(s->failed, json_text(name)) || tier_parse(json_str(tool, "tier"), &tier) < 0)
			continue;
		if (plan != NULL && tier >= TIER_MEDIUM)
			tier = TIER_CRITICAL;
		highest = tier > highest ? tier : highest;
	}
	return highest;
}

static void survey_approval(struct survey *s)
{
	static const char *const worth[] = {
		[SAME_ACCOUNT_TOUCH] = "in one account only a security key's touch counts",
		[SAME_ACCOUNT_REFUSE] = "nobody approves calls of their own account",
		[SAME_ACCOUNT_FILE] = "key files count even in the agent's own account (L0)",
	};
	struct sbx_error unread = SBX_ERROR_INIT;
	auto_approvers approvers = APPROVERS_INIT;
	auto_free char *text = NULL;
	enum tier highest = highest_tier(s);
	char list[400];
	size_t len;

	if (io_read_file(AT_FDCWD, s->config->allowed_signers, trust_file_max, IO_TRUSTED, &text, &len, &unread) < 0 ||
	    approvers_load(s->config, &approvers, &unread) < 0) {
		say(s, "approval", highest >= TIER_HIGH ? FOUND_MISSING : FOUND_NOTE, "nobody can approve: %s",
		    unread.message);
		return;
	}
	auto_jv names = names_in(text), people = people_of(&approvers, names);
	join(people, list, sizeof list);
	for (enum tier tier = TIER_HIGH; tier <= highest; tier++) {
		int64_t needed = root_threshold(s->policy->root, tier);
		say(s, "approval",
		    json_length(people) >= needed ? FOUND_OK
		    : tier == TIER_HIGH		  ? FOUND_MISSING
						  : FOUND_NOTE,
		    "calls that are %s need %lld of %d people%s%s", tier_name(tier), (long long)needed,
		    json_length(people), *list == '\0' ? "" : ": ", list);
	}
	if (highest < TIER_HIGH)
		say(s, "approval", FOUND_OK, "no tool needs one by itself; people who could give one: %d%s%s",
		    json_length(people), *list == '\0' ? "" : ": ", list);
	say(s, "approval", s->config->same_account == SAME_ACCOUNT_FILE ? FOUND_NOTE : FOUND_OK, "%s",
	    worth[s->config->same_account]);
}

/* --- what tools need --- */

/* Every program that a served tool starts, each once. */
static void survey_programs(struct survey *s)
{
	auto_jv programs = json_object(s->policy->root, "programs"), seen = jv_object();

	for (int i = jv_object_iter(s->policy->tools); jv_object_iter_valid(s->policy->tools, i);
	     i = jv_object_iter_next(s->policy->tools, i)) {
		auto_jv name = jv_object_iter_key(s->policy->tools, i),
			tool = jv_object_iter_value(s->policy->tools, i);
		auto_jv steps = json_array(tool, "steps");
		int count = json_has(s->failed, json_text(name)) ? 0 : json_length(steps);
		for (int k = 0; k < count; k++) {
			auto_jv step = json_at(steps, k), argv = step_argv(step), first = json_at(argv, 0);
			auto_jv program = json_object(programs, json_text(first) ? json_text(first) : "");
			const char *path = json_str(program, "path");
			if (path == NULL || json_has(seen, path))
				continue;
			seen = json_set(take_jv(&seen), path, jv_true());
			if (access(path, X_OK) != 0)
				say(s, "program", FOUND_MISSING, "%s needs %s, which is not at %s", json_text(name),
				    json_text(first), path);
		}
	}
	say(s, "program", FOUND_OK, "%d programs are named by the tools", json_length(seen));
}

/* Whether no call of TOOL can do without a target. */
static int needs_target(jv tool)
{
	auto_free char *name = tool_param_of(tool, PARAM_TARGET);
	auto_jv params = json_object(tool, "params"), declaration = json_object(params, name ? name : "");

	return name != NULL && param_is_required(declaration);
}

/* How many served tools have something under KEY; with NULL, how many need a target. */
static int tools_with(const struct survey *s, const char *key)
{
	int count = 0;

	for (int i = jv_object_iter(s->policy->tools); jv_object_iter_valid(s->policy->tools, i);
	     i = jv_object_iter_next(s->policy->tools, i)) {
		auto_jv name = jv_object_iter_key(s->policy->tools, i),
			tool = jv_object_iter_value(s->policy->tools, i);
		auto_jv member = key != NULL ? json_get(tool, key) : jv_invalid();
		if (!json_has(s->failed, json_text(name)))
			count += key != NULL ? json_length(member) > 0 : needs_target(tool);
	}
	return count;
}

static void survey_helper(struct survey *s, const char *topic, const char *prefix, const char *name, int needed)
{
	struct sbx_error missing = SBX_ERROR_INIT;
	auto_free char *program = NULL;

	if (asprintf(&program, "%s%s", prefix, name) < 0) {
		program = NULL;
		return;
	}
	auto_free char *path = process_helper(program, &missing);
	if (path == NULL)
		say(s, topic, needed > 0 ? FOUND_MISSING : FOUND_NOTE, "%s is not installed", program);
	else if (needed > 0)
		say(s, topic, FOUND_OK, "%s serves %d tools", program, needed);
}

static void survey_sandbox(struct survey *s)
{
	struct sbx_error failed = SBX_ERROR_INIT;
	auto_buf out = BUF_INIT((size_t)64 << 10);
	auto_free char *path = process_helper("sbx-run", &failed);
	const char *const argv[] = {"sbx-run", "--config", s->config->file, "--check", NULL};
	const struct spawn what = {.path = path, .argv = argv};
	int status = 0;

	survey_helper(s, "sandbox", "sbx-run-", s->config->driver, json_length(s->list));
	if (path == NULL || spawn_capture(&what, "", 0, &out, clock_mono_ms() + sandbox_wait_ms, &status, &failed) < 0)
		say(s, "sandbox", FOUND_MISSING, "it could not be tried: %s", failed.message);
	else if (spawn_exit_code(status) != 0)
		say(s, "sandbox", FOUND_MISSING, "this machine cannot make one; sbx-run --check says why");
	else
		say(s, "sandbox", FOUND_OK, "this machine can make one");
}

static void survey_needs(struct survey *s)
{
	int credentials = tools_with(s, "credentials"), targets = tools_with(s, NULL),
	    workspaces = tools_with(s, "workspace");

	if (credentials > 0 && strcmp(s->config->provider, "none") == 0)
		say(s, "credential", FOUND_MISSING, "%d tools need credentials, and the provider is none", credentials);
	else if (credentials > 0)
		survey_helper(s, "credential", "sbx-cred-", s->config->provider, credentials);
	if (targets > 0 && json_length(s->config->targets) == 0)
		say(s, "target", FOUND_MISSING, "%d tools take a target, and the settings name none", targets);
	for (int i = jv_object_iter(s->config->workspaces);
	     workspaces > 0 && jv_object_iter_valid(s->config->workspaces, i);
	     i = jv_object_iter_next(s->config->workspaces, i)) {
		auto_jv path = jv_object_iter_value(s->config->workspaces, i);
		if (access(json_text(path), R_OK | X_OK) != 0)
			say(s, "workspace", FOUND_MISSING, "there is no directory %s", json_text(path));
	}
}

static void survey_policy(struct survey *s)
{
	char list[400];

	say(s, "policy", json_length(s->list) > 0 ? FOUND_OK : FOUND_MISSING, "%s serves %d tools", s->config->policy,
	    json_length(s->list));
	if (json_length(s->failed) == 0)
		return;
	auto_jv names = jv_keys(jv_copy(s->failed));
	join(names, list, sizeof list);
	say(s, "policy", FOUND_MISSING, "not served, because their own tests fail (sbx-policy test): %s", list);
}

jv policy_survey(const struct policy *policy, const struct config *config, const struct state *state,
		 const char *principal, jv failed, jv list)
{
	auto_jv tools = json_array(list, "tools");
	struct survey s = {.policy = policy, .config = config, .failed = failed, .list = tools, .entries = jv_array()};

	say(&s, "principal", FOUND_OK, "calls are made by %s", principal);
	survey_policy(&s);
	say(&s, "state", FOUND_OK, "%s, installation %s", state->path, state->installation);
	survey_approval(&s);
	survey_programs(&s);
	survey_sandbox(&s);
	survey_needs(&s);
	jv made = json_set(jv_object(), "check", take_jv(&s.entries));
	return json_set_bool(json_set(made, "tools", jv_copy(tools)), "usable", s.missing == 0);
}
