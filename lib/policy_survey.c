/* Walks over settings and tools, and looks whether what they name is there. */
#include "policy_survey.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "approvers.h"
#include "clock.h"
#include "policy_impl.h"
#include "process.h"
#include "spawn.h"

static const int64_t sandbox_wait_ms = 20 * 1000;

struct survey {
	const struct policy *policy;
	const struct config *config;
	jv failed, list; /* borrowed */
	jv entries;	 /* owned */
	jv unable;	 /* owned: the served tools that cannot run, as keys */
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

static const char *plural(int64_t count)
{
	return count == 1 ? "" : "s";
}

/* --- who approves --- */

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

static void survey_tier(struct survey *s, enum tier tier, int64_t people, const char *list)
{
	int64_t needed = root_threshold(s->policy->root, tier);
	const char *needs = needed == 1 ? "person" : "people";

	if (people >= needed)
		say(s, "approval", FOUND_OK, "%s calls need %lld %s; %lld can sign (%s)", tier_name(tier),
		    (long long)needed, needs, (long long)people, list);
	else
		say(s, "approval", tier == TIER_HIGH ? FOUND_MISSING : FOUND_NOTE,
		    "%s calls need %lld %s; %lld can sign (%s): they cannot be approved", tier_name(tier),
		    (long long)needed, needs, (long long)people, list);
}

static void survey_approval(struct survey *s)
{
	static const char *const worth[] = {
		[SAME_ACCOUNT_TOUCH] = "in one account only a security key's touch counts",
		[SAME_ACCOUNT_REFUSE] = "nobody approves calls of their own account",
		[SAME_ACCOUNT_FILE] = "key files count even in the agent's own account (L0)",
	};
	auto_approvers approvers = APPROVERS_INIT;
	struct sbx_error nobody = SBX_ERROR_INIT;
	auto_jv people = jv_invalid();
	enum tier highest = highest_tier(s);
	char list[400];

	if (approvers_load(s->config, &approvers, &nobody) == 0 &&
	    approvers_now(s->config, &approvers, &people, &nobody) == 0 && json_length(people) == 0)
		sbx_fail(&nobody, SBX_CONFIG, "signers_invalid", "no key in %s counts now", s->config->allowed_signers);
	if (nobody.class != SBX_OK) {
		say(s, "approval", highest >= TIER_HIGH ? FOUND_MISSING : FOUND_NOTE, "nobody can approve: %s",
		    nobody.message);
		return;
	}
	join(people, list, sizeof list);
	for (enum tier tier = TIER_HIGH; tier <= highest; tier++)
		survey_tier(s, tier, json_length(people), list);
	if (highest < TIER_HIGH)
		say(s, "approval", FOUND_OK, "no tool needs one by itself; who could give one: %s", list);
	say(s, "approval", s->config->same_account == SAME_ACCOUNT_FILE ? FOUND_NOTE : FOUND_OK, "%s",
	    worth[s->config->same_account]);
}

/* --- what tools need --- */

/* Every program that a served tool starts, each told once. */
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
			if (path == NULL)
				continue;
			int there = access(path, X_OK) == 0, told = json_has(seen, path);
			seen = json_set(take_jv(&seen), path, jv_true());
			if (there)
				continue;
			s->unable = json_set(take_jv(&s->unable), json_text(name), jv_true());
			if (!told)
				say(s, "program", FOUND_MISSING, "%s needs %s, which is not at %s", json_text(name),
				    json_text(first), path);
		}
	}
	int count = json_length(seen);
	say(s, "program", FOUND_OK, "the tools name %d program%s", count, plural(count));
}

static int needs_credentials(jv tool)
{
	auto_jv credentials = json_array(tool, "credentials");

	return json_length(credentials) > 0;
}

static int needs_workspace(jv tool)
{
	auto_jv workspace = json_object(tool, "workspace");

	return json_length(workspace) > 0;
}

/* Whether no call of TOOL can do without a target. */
static int needs_target(jv tool)
{
	auto_free char *name = tool_param_of(tool, PARAM_TARGET);
	auto_jv params = json_object(tool, "params"), declaration = json_object(params, name ? name : "");

	return name != NULL && param_is_required(declaration);
}

/* The names of the served tools that NEED something, the caller's. */
static jv tools_that(const struct survey *s, int (*need)(jv tool))
{
	jv names = jv_array();

	for (int i = jv_object_iter(s->policy->tools); jv_object_iter_valid(s->policy->tools, i);
	     i = jv_object_iter_next(s->policy->tools, i)) {
		auto_jv name = jv_object_iter_key(s->policy->tools, i),
			tool = jv_object_iter_value(s->policy->tools, i);
		if (!json_has(s->failed, json_text(name)) && need(tool))
			names = json_append(names, jv_copy(name));
	}
	return names;
}

/* TOOLS cannot run: they NEED (in the third person) what is not there. */
static void say_unable(struct survey *s, const char *topic, jv tools, const char *needs, const char *rest)
{
	int many = json_length(tools) > 1;
	char list[300];

	for (int i = 0, n = json_length(tools); i < n; i++) {
		auto_jv name = json_at(tools, i);
		s->unable = json_set(take_jv(&s->unable), json_text(name), jv_true());
	}
	join(tools, list, sizeof list);
	say(s, topic, FOUND_MISSING, "%s %s%s %s, or remove %s", list, needs, many ? "" : "s", rest,
	    many ? "these tools" : "that tool");
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
		say(s, topic, FOUND_OK, "%s serves %d tool%s", program, needed, plural(needed));
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

/* What the plans of the served tools are judged by, and made with. */
static void survey_plans(struct survey *s)
{
	auto_jv analyse = tools_that(s, steps_analyse);
	const char *mirror = json_str(s->policy->root, "mirror");
	struct stat st;

	if (json_length(analyse) > 0 && s->policy->files.signal_count == 0)
		say(s, "signals", FOUND_MISSING,
		    "no rules: a plan that opens, widens or unprotects something counts as safe");
	if (mirror != NULL && (stat(mirror, &st) < 0 || !S_ISDIR(st.st_mode)))
		say(s, "mirror", FOUND_MISSING, "there is no directory %s (mirror: in policy.yaml)", mirror);
}

static void survey_needs(struct survey *s)
{
	auto_jv credentials = tools_that(s, needs_credentials), targets = tools_that(s, needs_target),
		workspaces = tools_that(s, needs_workspace);

	if (json_length(credentials) > 0 && strcmp(s->config->provider, "none") == 0)
		say_unable(s, "credential", credentials, "need",
			   "credentials, and sbx.yaml names no provider: set provider:");
	else if (json_length(credentials) > 0)
		survey_helper(s, "credential", "sbx-cred-", s->config->provider, json_length(credentials));
	if (json_length(targets) > 0 && json_length(s->config->targets) == 0)
		say_unable(s, "target", targets, "take", "a target, and sbx.yaml names none: add targets:");
	for (int i = jv_object_iter(s->config->workspaces);
	     json_length(workspaces) > 0 && jv_object_iter_valid(s->config->workspaces, i);
	     i = jv_object_iter_next(s->config->workspaces, i)) {
		auto_jv path = jv_object_iter_value(s->config->workspaces, i);
		if (access(json_text(path), R_OK | X_OK) != 0)
			say(s, "workspace", FOUND_MISSING, "there is no directory %s", json_text(path));
	}
}

static void survey_policy(struct survey *s)
{
	char list[400];

	say(s, "policy", json_length(s->list) > 0 ? FOUND_OK : FOUND_MISSING, "%s serves %d tool%s", s->config->policy,
	    json_length(s->list), plural(json_length(s->list)));
	if (json_length(s->failed) == 0)
		return;
	auto_jv names = jv_keys(jv_copy(s->failed));
	join(names, list, sizeof list);
	say(s, "policy", FOUND_MISSING, "not served, because their own tests fail (sbx-policy test): %s", list);
}

/* LIST, and in each tool whether it could run; the caller's. */
static jv mark_tools(const struct survey *s)
{
	jv marked = jv_array();

	for (int i = 0, n = json_length(s->list); i < n; i++) {
		auto_jv tool = json_at(s->list, i);
		int unable = json_has(s->unable, json_str(tool, "name"));
		marked = json_append(marked, unable ? json_set_bool(jv_copy(tool), "usable", 0) : jv_copy(tool));
	}
	return marked;
}

jv policy_survey(const struct policy *policy, const struct config *config, const struct state *state,
		 const char *principal, jv failed, jv list)
{
	auto_jv tools = json_array(list, "tools");
	struct survey s = {.policy = policy,
			   .config = config,
			   .failed = failed,
			   .list = tools,
			   .entries = jv_array(),
			   .unable = jv_object()};

	say(&s, "principal", FOUND_OK, "calls are made by %s", principal);
	survey_policy(&s);
	say(&s, "state", FOUND_OK, "%s, installation %s", state->path, state->installation);
	survey_approval(&s);
	survey_programs(&s);
	survey_sandbox(&s);
	survey_plans(&s);
	survey_needs(&s);
	jv made = json_set(json_set(jv_object(), "check", take_jv(&s.entries)), "tools", mark_tools(&s));
	jv_free(s.unable);
	return json_set_bool(made, "usable", s.missing == 0);
}
