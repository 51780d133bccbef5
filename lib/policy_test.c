/* Inline tests of tools: the decision of each described call, in a described world, by the same code as a real one. */
#include <stdio.h>
#include <string.h>

#include "io.h"
#include "policy_impl.h"
#include "signal_compile.h"
#include "signal_format.h"

static const size_t cache_max = 64 * 1024;
static const char cache_name[] = "tests";
static const char tester[] = "tester";

/* The world of one test: its given: mapping. */
struct given {
	jv given; /* borrowed; any kind */
};

static int given_has_path(void *context, const char *workspace, const char *tree, const char *path,
			  enum policy_path kind, struct sbx_error *err)
{
	const struct given *g = context;
	auto_jv paths = json_array(g->given, kind == POLICY_FILE ? "files" : "dirs");
	char full[2 * LIMIT_PARAMETER];

	(void)tree;
	(void)err;
	snprintf(full, sizeof full, "%s%s%s", workspace, *workspace == '\0' ? "" : ":", path);
	return scope_lists(paths, full);
}

/* plans: {ID: {verdict: …, data_destroyed: …, principal: …, target: …, dir: …, tool: …, params: …}} as if it had been sealed. */
static int given_plan(void *context, const char *id, jv *seal, char seal_sha256[65], struct sbx_error *err)
{
	const struct given *g = context;
	auto_jv plans = json_object(g->given, "plans"), plan = json_object(plans, id);
	static const char *const place[] = {"cwd", "state_path"};

	if (!jv_is_valid(plan))
		return sbx_fail(err, SBX_DENIED, "plan_unknown", "there is no such plan");
	const char *dir = json_str(plan, "dir");
	char workspace[80] = "";
	const char *path = dir != NULL ? param_path(dir, workspace, sizeof workspace) : NULL;
	jv at = json_set_str(json_set_str(jv_object(), "name", workspace), "tree", ".");
	for (size_t i = 0; i < ARRAY_LEN(place); i++)
		at = json_set_str(at, place[i], path != NULL ? path : ".");
	if (!json_has(plan, "principal"))
		plan = json_set_str(take_jv(&plan), "principal", tester);
	if (!json_has(plan, "data_destroyed"))
		plan = json_set_int(take_jv(&plan), "data_destroyed", 0);
	memset(seal_sha256, '0', 64);
	seal_sha256[64] = '\0';
	*seal = json_set(take_jv(&plan), "workspace_at", at);
	return 0;
}

/* tainted: the tool whose untrusted output the principal has just read. */
static int given_taint(void *context, const char *principal, jv *last, struct sbx_error *err)
{
	const struct given *g = context;
	const char *tool = json_str(g->given, "tainted");

	(void)principal;
	(void)err;
	*last = tool == NULL ? jv_null() : json_set_int(json_set_str(jv_object(), "tool", tool), "age_s", 0);
	return 0;
}

/* An object with the texts of LIST as keys. */
static jv as_keys(jv list)
{
	jv keys = jv_object();

	for (int i = 0, n = json_length(list); i < n; i++) {
		auto_jv text = json_at(list, i);
		keys = json_set(keys, json_text(text), jv_true());
	}
	return keys;
}

/* 0: the test holds; 1: it does not, and WHY says in what; -1. */
static int run_test(struct policy *policy, const char *tool, jv test, char *why, size_t size, struct sbx_error *err)
{
	auto_jv given = json_object(test, "given"), params = json_object(test, "params");
	auto_jv names = json_array(given, "workspaces"), targets = json_array(given, "targets");
	auto_jv workspaces = jv_is_valid(names) ? as_keys(names) : json_set(jv_object(), "", jv_true()),
		target_keys = as_keys(targets);
	auto_jv no_params = jv_object();
	struct given context = {.given = given};
	const struct policy_world world = {
		.context = &context,
		.path = given_has_path,
		.plan = given_plan,
		.taint = given_taint,
		.workspaces = workspaces,
		.targets = target_keys,
		.driver = "local",
		.provider = "none",
		.installation = "test",
	};
	const char *principal = json_str(given, "principal");
	const struct policy_question question = {
		.tool = tool,
		.params = jv_is_valid(params) ? params : no_params,
		.typing = POLICY_TYPED,
		.principal = principal ? principal : tester,
	};
	auto_answer answer = {.params = jv_invalid(), .policy = jv_invalid()};
	if (policy_decide(policy, &world, &question, &answer, err) < 0)
		return -1;
	const char *effect = json_str(answer.policy, "effect"), *tier = json_str(answer.policy, "tier");
	const char *expect = json_str(test, "expect"), *want_tier = json_str(test, "tier"),
		   *want_code = json_str(test, "code");
	if (strcmp(effect, expect) != 0)
		snprintf(why, size, "expected %s, got %s%s%s", expect, effect, *answer.denial.code ? ": " : "",
			 answer.denial.message);
	else if (want_tier != NULL && (tier == NULL || strcmp(tier, want_tier) != 0))
		snprintf(why, size, "expected the tier %s, got %s", want_tier, tier ? tier : "none");
	else if (want_code != NULL && strcmp(answer.denial.code, want_code) != 0)
		snprintf(why, size, "expected the code %s, got %s", want_code,
			 *answer.denial.code ? answer.denial.code : "none");
	else
		return 0;
	return 1;
}

static int run_tool(struct policy *policy, const char *name,
		    void (*each)(void *context, const char *tool, int number, const char *problem), void *context,
		    int *failures, struct sbx_error *err)
{
	auto_jv tool = json_object(policy->tools, name), tests = json_array(tool, "tests");

	for (int i = 0, n = json_length(tests); i < n; i++) {
		auto_jv test = json_at(tests, i);
		struct sbx_error broken = SBX_ERROR_INIT;
		char why[600];
		int outcome = run_test(policy, name, test, why, sizeof why, &broken);
		if (outcome < 0 && broken.class != SBX_CONFIG) {
			*err = broken;
			return -1;
		}
		if (outcome < 0)
			snprintf(why, sizeof why, "%s", broken.message);
		*failures += outcome != 0;
		if (each != NULL)
			each(context, name, i + 1, outcome == 0 ? NULL : why);
	}
	return 0;
}

int policy_run_tests(struct policy *policy,
		     void (*each)(void *context, const char *tool, int number, const char *problem), void *context,
		     jv *failed, struct sbx_error *err)
{
	auto_jv names = jv_invalid(), bad = jv_object();

	if (policy_load_tools(policy, POLICY_WITH_RULES, err) < 0)
		return -1;
	names = jv_keys(jv_copy(policy->tools));
	for (int i = 0, n = json_length(names); i < n; i++) {
		auto_jv name = json_at(names, i);
		int failures = 0;
		if (run_tool(policy, json_text(name), each, context, &failures, err) < 0)
			return -1;
		if (failures > 0)
			bad = json_set_int(take_jv(&bad), json_text(name), failures);
	}
	*failed = take_jv(&bad);
	return 0;
}

/* What an earlier call left: 1 and *FAILED; 0 when there is nothing that this version believes. */
static int read_cache(int dirfd, jv *failed)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_free char *text = NULL;
	auto_jv cached = jv_invalid();
	size_t len;

	if (io_read_file(dirfd, cache_name, cache_max, IO_PRIVATE, &text, &len, &ignored) < 0 ||
	    json_parse(text, len, cache_max, &cached, &ignored) < 0)
		return 0;
	const char *version = json_str(cached, "version");
	auto_jv bad = json_object(cached, "failed");
	int64_t format;
	if (version == NULL || strcmp(version, SBX_VERSION) != 0 || !jv_is_valid(bad) ||
	    json_int(cached, "signals", &format) < 0 || format != SIGNAL_VERSION)
		return 0;
	*failed = take_jv(&bad);
	return 1;
}

static int write_cache(int dirfd, jv failed, struct sbx_error *err)
{
	auto_jv cached = json_set(json_set_str(jv_object(), "version", SBX_VERSION), "failed", jv_copy(failed));
	cached = json_set_int(take_jv(&cached), "signals", SIGNAL_VERSION);
	auto_buf text = BUF_INIT(cache_max);

	if (json_write(cached, &text, err) < 0)
		return -1;
	return io_replace_file(dirfd, cache_name, buf_str(&text), text.len, err);
}

int policy_tested(struct policy *policy, const struct state *state, jv *failed, struct sbx_error *err)
{
	auto_fd cache = state_dir(state, "cache", err);
	auto_fd dir = cache < 0 ? -1 : io_open_dir(cache, policy->files.sha256, IO_CREATE, err);

	if (dir < 0)
		return -1;
	if (read_cache(dir, failed))
		return faccessat(dir, SIGNAL_CACHE_NAME, F_OK, 0) == 0 ? 0 : signal_compile_kept(&policy->files, state, err);
	/* The table of another version goes with the outcome that is not believed. */
	unlinkat(dir, SIGNAL_CACHE_NAME, 0);
	if (signal_compile_kept(&policy->files, state, err) < 0 || policy_run_tests(policy, NULL, NULL, failed, err) < 0)
		return -1;
	return write_cache(dir, *failed, err);
}
