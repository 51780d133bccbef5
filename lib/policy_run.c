/* A tool and its parameters made concrete: exact arguments, mounts, limits, credentials. Names roles instead of paths
 * under the state directory, so that the same question gives the same bytes each time. */
#include <string.h>

#include "isolation.h"
#include "limit.h"
#include "policy_impl.h"

/* A tool that says nothing: enough for a provider that opens one for each object of a big plan. */
enum { CONNECTIONS = 1024 };

/* An interrupted apply needs time to write its state. */
static const int64_t grace_write_ms = 60 * 1000;

static const struct {
	const char *key;    /* in limits: */
	const char *member; /* in run.limits */
	int64_t fallback;
	int of_relay; /* only where the driver's relay counts it */
} limits[] = {
	{"deadline", "deadline_ms", 300 * 1000, 0},
	{"grace", "grace_ms", 10 * 1000, 0},
	{"memory", "memory", (int64_t)1 << 30, 0},
	{"cpu", "cpu", 1, 0},
	{"pids", "pids", 256, 0},
	{"output", "output", (int64_t)256 << 10, 0},
	{"files", "files", 1024, 0},
	{"workdir", "workdir", (int64_t)512 << 20, 0},
	{"connections", "connections", CONNECTIONS, 1},
	{"traffic", "traffic", LIMIT_EGRESS_BYTES, 1},
};

/* The value of limit KEY in MAP: 1 when it is there. */
static int limit_in(jv map, const char *key, enum field_kind kind, int64_t *out)
{
	auto_jv value = json_get(map, key);

	if (kind == FIELD_DURATION)
		return schema_duration(value, out) == 0;
	if (kind == FIELD_SIZE)
		return schema_size(value, out) == 0;
	return json_number(value, out) == 0;
}

static int state_is_written(jv tool)
{
	auto_jv workspace = json_object(tool, "workspace"), state = json_object(workspace, "state");
	const char *access = json_str(state, "access");

	return access != NULL && strcmp(access, "write") == 0;
}

static jv resolve_limits(const struct policy_world *world, jv root, jv tool)
{
	auto_jv own = json_object(tool, "limits"), defaults = json_object(root, "defaults"),
		shared = json_object(defaults, "limits");
	int is_relayed = egress_is_relayed(world, tool);
	jv out = jv_object();

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		int64_t number = limits[i].fallback;
		if (limits[i].of_relay && !is_relayed)
			continue;
		enum field_kind kind = limit_fields[i].kind;
		int is_own = limit_in(own, limits[i].key, kind, &number);
		if (!is_own)
			limit_in(shared, limits[i].key, kind, &number);
		if (!is_own && strcmp(limits[i].key, "grace") == 0 && state_is_written(tool) && number < grace_write_ms)
			number = grace_write_ms;
		out = json_set_int(out, limits[i].member, number);
	}
	return out;
}

/* The stronger of what the tool (or the defaults) and its tier require. */
const char *run_require(jv root, jv tool, enum tier tier)
{
	auto_jv tiers = json_object(root, "tiers"), of_tier = json_object(tiers, tier_name(tier)),
		tier_require = json_object(of_tier, "require");
	auto_jv defaults = json_object(root, "defaults"), shared = json_object(defaults, "require"),
		own = json_object(tool, "require");
	enum isolation of_tool = isolation_parse(json_str(jv_is_valid(own) ? own : shared, "isolation"));
	enum isolation least = isolation_parse(json_str(tier_require, "isolation"));

	if (least < ISOLATION_LOCAL)
		least = ISOLATION_LOCAL;
	return isolation_name(of_tool > least ? of_tool : least);
}

static const char *step_program(jv step)
{
	auto_jv argv = step_argv(step), first = json_at(argv, 0);

	return json_text(first); /* STEP keeps the string */
}

/* Programs that the steps start, and the settings of all of them. */
static jv used_programs(jv root, jv tool)
{
	auto_jv all = json_object(root, "programs"), steps = json_array(tool, "steps");
	jv used = jv_object();

	for (int i = 0, n = json_length(steps); i < n; i++) {
		auto_jv step = json_at(steps, i);
		const char *name = step_program(step);
		used = json_set(used, name, json_object(all, name));
	}
	const char *beside = fetch_program(root, tool);
	if (beside != NULL)
		used = json_set(used, beside, json_object(all, beside));
	return used;
}

jv run_environment(jv root, jv tool, char **conflict)
{
	auto_jv programs = used_programs(root, tool), env = jv_object();

	*conflict = NULL;
	for (int i = jv_object_iter(programs); jv_object_iter_valid(programs, i);
	     i = jv_object_iter_next(programs, i)) {
		auto_jv program = jv_object_iter_value(programs, i), own = json_object(program, "env");
		if (!jv_is_valid(own))
			continue;
		for (int k = jv_object_iter(own); jv_object_iter_valid(own, k); k = jv_object_iter_next(own, k)) {
			auto_jv name = jv_object_iter_key(own, k), value = jv_object_iter_value(own, k);
			auto_jv present = json_get(env, json_text(name));
			if (jv_is_valid(present) && !json_same(present, value) && *conflict == NULL)
				*conflict = strdup(json_text(name));
			env = json_set(take_jv(&env), json_text(name), jv_copy(value));
		}
	}
	return take_jv(&env);
}

static jv resolve_programs(jv root, jv tool)
{
	auto_jv programs = used_programs(root, tool);
	jv out = jv_object();

	for (int i = jv_object_iter(programs); jv_object_iter_valid(programs, i);
	     i = jv_object_iter_next(programs, i)) {
		auto_jv name = jv_object_iter_key(programs, i), program = jv_object_iter_value(programs, i),
			mounts = json_array(program, "mounts");
		jv entry = json_set_str(jv_object(), "path", json_str(program, "path"));
		entry = json_set(entry, "mounts", jv_is_valid(mounts) ? jv_copy(mounts) : jv_array());
		out = json_set(out, json_text(name), entry);
	}
	return out;
}

static int resolve_steps(jv tool, jv params, int has_credentials, jv *out, struct sbx_error *err)
{
	auto_jv steps = json_array(tool, "steps"), resolved = jv_array();

	for (int i = 0, n = json_length(steps); i < n; i++) {
		auto_jv step = json_at(steps, i);
		jv argv = jv_invalid();
		if (slots_resolve(tool, step, params, &argv, err) < 0)
			return -1;
		const char *analyse = json_str(step, "analyse");
		jv entry = json_set_str(jv_object(), "program", step_program(step));
		entry = json_set(entry, "argv", argv);
		entry = json_set_str(json_set_str(entry, "analyse", analyse), "seals", json_str(step, "seals"));
		entry = json_set_str(entry, "keeps", json_str(step, "keeps"));
		/* What a step prints for the analyser must not depend on what only a credential can see. */
		entry = json_set_bool(entry, "credentials",
				      has_credentials && analyse == NULL && json_bool(step, "credentials") != 0);
		if (step_checks(step))
			entry = json_set_bool(entry, "check", 1);
		resolved = json_append(take_jv(&resolved), entry);
	}
	*out = take_jv(&resolved);
	return 0;
}

static jv resolve_produces(jv tool)
{
	auto_jv produces = json_object(tool, "produces");
	jv out = jv_array();

	if (!jv_is_valid(produces))
		return out;
	auto_jv names = jv_keys(jv_copy(produces));
	for (int i = 0, n = json_length(names); i < n; i++) {
		auto_jv name = json_at(names, i);
		jv entry = json_set(jv_object(), "name", jv_copy(name));
		entry = json_set_str(entry, "path", json_str(produces, json_text(name)));
		out = json_append(out, json_set_int(entry, "step", steps_producer(tool, json_text(name))));
	}
	return out;
}

/* PLACE ("." when NULL) with its parameter replaced by that directory's path; a name that the value carries goes to
 * WORKSPACE. */
static jv resolve_place(const char *place, jv params, char *workspace, size_t size)
{
	char name[80];

	if (place == NULL)
		return jv_string(".");
	if (slot_whole(place, name, sizeof name) < 0)
		return jv_string(place);
	const char *value = json_str(params, name);
	return jv_string(param_path(value, workspace, size));
}

static jv state_member(const char *path, const char *access)
{
	jv state = json_set_str(jv_object(), "path", path);

	return json_set_str(state, "access", access ? access : "read");
}

/* Where a sealed plan was made is where it runs; one that was made in no workspace runs in none. */
static jv workspace_of_plan(jv tool, jv seal)
{
	auto_jv at = json_object(seal, "workspace_at"), workspace = json_object(tool, "workspace"),
		state = json_object(workspace, "state");
	const char *path = json_str(at, "state_path");
	if (json_str(at, "tree") == NULL)
		return jv_null();
	jv out = json_set_str(jv_object(), "name", json_str(at, "name"));

	out = json_set_str(out, "tree", json_str(at, "tree"));
	out = json_set_str(out, "cwd", json_str(at, "cwd"));
	return json_set(out, "state",
			jv_is_valid(state) && path != NULL ? state_member(path, json_str(state, "access")) : jv_null());
}

/* The workspace that a file among PARAMS names, into NAME. */
static void find_root(jv tool, jv params, char *name, size_t size)
{
	auto_free char *param = tool_param_of(tool, PARAM_FILE);
	const char *value = param != NULL ? json_str(params, param) : NULL;

	if (value != NULL)
		param_path(value, name, size);
}

static jv workspace_of_tool(jv tool, jv params)
{
	auto_jv workspace = json_object(tool, "workspace"), state = json_object(workspace, "state");
	const char *tree = json_str(workspace, "tree"), *named = json_str(workspace, "name");
	char name[80] = "";

	if (!jv_is_valid(workspace))
		return jv_null();
	jv out = json_set_str(jv_object(), "tree", tree ? tree : ".");
	out = json_set(out, "cwd", resolve_place(json_str(workspace, "cwd"), params, name, sizeof name));
	if (!jv_is_valid(state)) {
		out = json_set(out, "state", jv_null());
	} else {
		auto_jv path = resolve_place(json_str(state, "path"), params, name, sizeof name);
		out = json_set(out, "state", state_member(json_text(path), json_str(state, "access")));
	}
	if (*name == '\0' && named == NULL)
		find_root(tool, params, name, sizeof name);
	return json_set_str(out, "name", *name != '\0' || named == NULL ? name : named);
}

static jv resolve_target(jv tool, jv params, jv seal)
{
	auto_free char *name = tool_param_of(tool, PARAM_TARGET);
	const char *target = name != NULL ? json_str(params, name) : json_str(seal, "target");

	return target == NULL ? jv_null() : jv_string(target);
}

int run_resolve(const struct policy *policy, const struct policy_world *world, jv tool, jv params, jv seal, jv *run,
		jv *credentials, struct sbx_error *err)
{
	auto_jv run_limits = resolve_limits(world, policy->root, tool), target = resolve_target(tool, params, seal);
	auto_jv declared = json_array(tool, "credentials"), egress = json_array(tool, "egress"), steps = jv_invalid();
	auto_free char *conflict = NULL;
	int has_plan = jv_is_valid(seal);
	jv credentials_env = jv_invalid();

	if (resolve_steps(tool, params, json_length(declared) > 0, &steps, err) < 0)
		return -1;
	const struct scope_call call = {.tool = tool, .params = params, .target = target, .run_limits = run_limits};
	if (scope_resolve(world, policy->root, &call, credentials, &credentials_env, err) < 0)
		return -1;
	jv out = json_set_str(jv_object(), "driver", world->driver);
	out = json_set(out, "target", jv_copy(target));
	out = json_set(out, "workspace", has_plan ? workspace_of_plan(tool, seal) : workspace_of_tool(tool, params));
	out = json_set(out, "programs", resolve_programs(policy->root, tool));
	out = json_set(out, "steps", take_jv(&steps));
	out = json_set(out, "produces", resolve_produces(tool));
	out = json_set(out, "env", run_environment(policy->root, tool, &conflict));
	out = json_set(out, "credentials_env", credentials_env);
	out = json_set(out, "egress", jv_is_valid(egress) ? jv_copy(egress) : jv_array());
	out = json_set(out, "destinations", egress_resolve(world, policy->root, tool, target));
	out = json_set(out, "limits", jv_copy(run_limits));
	out = json_set_bool(out, "analyse", steps_analyse(tool));
	out = json_set_bool(out, "plan", has_plan);
	out = client_run(out, tool);
	out = json_set(out, "fetch", fetch_resolve(policy->root, tool));
	const char *mirror = json_str(policy->root, "mirror");
	*run = json_set(out, "mirror", mirror == NULL ? jv_null() : jv_string(mirror));
	return 0;
}
