/* The last look before a claim and before a run. */
#include "hostcheck.h"

#include <string.h>

#include "backend.h"
#include "call.h"
#include "lock_file.h"
#include "plan.h"
#include "plan_format.h"
#include "plan_part.h"
#include "programs.h"
#include "providers.h"
#include "tree.h"
#include "workspace.h"

void checked_plan_clear(struct checked_plan *plan)
{
	jv_free(plan->seal);
	jv_free(plan->programs);
	jv_free(plan->mounts);
	jv_free(plan->providers);
	fetched_clear(&plan->fetched);
	base_close_fd(&plan->plan_fd);
	base_close_fd(&plan->tree_fd);
	*plan = (struct checked_plan)CHECKED_PLAN_NONE;
}

/* A missing string counts as "". */
static int same_text(const char *a, const char *b)
{
	return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static int same_value(jv a, const char *a_key, jv b, const char *b_key)
{
	auto_jv left = json_get(a, a_key), right = json_get(b, b_key);

	if (!jv_is_valid(left))
		left = jv_null();
	if (!jv_is_valid(right))
		right = jv_null();
	return json_same(left, right);
}

/* The decision that was sealed is the one that this call's terms make. */
static int check_decision(jv policy, struct sbx_error *err)
{
	static const char *const covered[] = {"tier", "rule", "approval", "run", "credentials"};
	auto_jv decision = jv_object();
	char digest[65];

	for (size_t i = 0; i < ARRAY_LEN(covered); i++) {
		jv value = json_get(policy, covered[i]);
		decision = json_set(take_jv(&decision), covered[i], jv_is_valid(value) ? value : jv_null());
	}
	if (json_digest(decision, digest, err) < 0)
		return -1;
	if (same_text(digest, json_str(policy, "decision_sha256")))
		return 0;
	return sbx_fail(err, SBX_DENIED, "decision_changed", "the decision is not the one that was made for this call");
}

int hostcheck_target(const struct config *config, const char *name, char sha256[65], struct sbx_error *err)
{
	auto_jv settings = name != NULL ? json_object(config->targets, name) : jv_invalid();

	sha256[0] = '\0';
	return jv_is_valid(settings) ? json_digest(settings, sha256, err) : 0;
}

static int check_target(const struct config *config, jv run, jv seal, struct sbx_error *err)
{
	const char *name = json_str(run, "target");
	char sha256[65];

	if (!same_text(json_str(seal, "target"), name))
		return plan_part_differs(PLAN_PART_TARGET, NULL, err);
	if (hostcheck_target(config, name, sha256, err) < 0)
		return -1;
	return same_text(json_str(seal, "target_sha256"), sha256)
		       ? 0
		       : plan_part_differs(PLAN_PART_TARGET, "its settings", err);
}

/* The seal against the call: who, where, and with what it was planned. */
static int check_terms(const struct config *config, jv call, jv run, jv seal, struct sbx_error *err)
{
	auto_jv workspace = json_object(run, "workspace"), state = json_object(workspace, "state");
	auto_jv at = json_object(seal, "workspace_at");

	if (!same_text(json_str(seal, "principal"), call_principal(call)))
		return sbx_fail(err, SBX_DENIED, "plan_unknown", "the plan belongs to another principal");
	if (!same_text(json_str(at, "name"), json_str(workspace, "name")) ||
	    !same_text(json_str(at, "tree"), json_str(workspace, "tree")) ||
	    !same_text(json_str(at, "cwd"), json_str(workspace, "cwd")) ||
	    !same_text(json_str(at, "state_path"), json_str(state, "path")))
		return plan_part_differs(PLAN_PART_WORKSPACE, NULL, err);
	if (!same_text(json_str(seal, "driver"), json_str(run, "driver")))
		return plan_part_differs(PLAN_PART_DRIVER, NULL, err);
	if (!same_value(seal, "image", run, "image"))
		return plan_part_differs(PLAN_PART_IMAGE, NULL, err);
	return check_target(config, run, seal, err);
}

/* The backend that TREE names for RUN, against the sealed one. */
static int check_backend(jv run, jv seal, int tree_fd, uint64_t size, struct sbx_error *err)
{
	auto_jv found = jv_invalid(), sealed = json_object(seal, "backend");

	if (plan_format_of(seal) != PLAN_FORMAT_TERRAFORM)
		return 0;
	if (backend_of(run, tree_fd, size, &found, err) < 0)
		return -1;
	if (!same_value(sealed, "type", found, "type") || !same_value(sealed, "config_sha256", found, "config_sha256"))
		return plan_part_differs(PLAN_PART_BACKEND, NULL, err);
	return same_value(sealed, "workspace", found, "workspace")
		       ? 0
		       : plan_part_differs(PLAN_PART_WORKSPACE, "Terraform's own", err);
}

/* The live directory is another one than the copy: say what of it, its most telling parts first. */
static int name_difference(const struct config *config, jv run, jv seal, const char *name, const char *tree,
			   struct sbx_error *err)
{
	auto_jv workspace = json_object(run, "workspace");
	char sha256[DIGEST_HEX_SIZE], lock_sha256[DIGEST_HEX_SIZE];
	uint64_t size;
	auto_fd copy = workspace_copy(config, name, tree, sha256, &size, err);

	if (copy < 0 || check_backend(run, seal, copy, size, err) < 0 ||
	    lock_file_digest(copy, size, json_str(workspace, "cwd"), lock_sha256, err) < 0)
		return -1;
	if (!same_text(json_str(seal, "lock_sha256"), lock_sha256))
		return plan_part_differs(PLAN_PART_LOCK, NULL, err);
	return plan_part_differs(PLAN_PART_TREE, NULL, err);
}

static int check_live_tree(const struct config *config, jv run, jv seal, struct sbx_error *err)
{
	auto_jv at = json_object(seal, "workspace_at");
	const char *name = json_str(at, "name"), *tree = json_str(at, "tree");
	char digest[DIGEST_HEX_SIZE];

	if (name == NULL)
		name = "";
	if (tree == NULL)
		return same_text(json_str(seal, "tree_sha256"), NULL) ? 0
								      : plan_part_differs(PLAN_PART_TREE, NULL, err);
	auto_fd fd = workspace_open(config, name, tree, err);
	if (fd < 0 || tree_digest(fd, digest, err) < 0)
		return -1;
	return same_text(json_str(seal, "tree_sha256"), digest) ? 0
								: name_difference(config, run, seal, name, tree, err);
}

static int check_state(const struct state *state, jv seal, const struct ws_state *locked, struct sbx_error *err)
{
	auto_jv sealed = json_object(seal, "state");
	const char *name = json_str(sealed, "workspace"), *path = json_str(sealed, "path");
	auto_ws_state looked = WS_STATE_NONE;
	int64_t serial;

	if (path == NULL)
		return 0;
	if (locked == NULL) {
		if (ws_state_look(state, name != NULL ? name : "", path, &looked, err) < 0)
			return -1;
		locked = &looked;
	}
	if (!same_text(json_str(sealed, "lineage"), locked->lineage))
		return plan_part_differs(PLAN_PART_LINEAGE, NULL, err);
	if (json_int(sealed, "serial", &serial) < 0 || serial != locked->serial)
		return plan_part_differs(PLAN_PART_SERIAL, NULL, err);
	return same_text(json_str(sealed, "sha256"), locked->sha256) ? 0
								     : plan_part_differs(PLAN_PART_STATE, NULL, err);
}

/* Each of SEALED that this run has too is the same in FOUND. The program of a step that only the plan had is not
 * started any more. */
static int check_digests(jv sealed, jv found, struct sbx_error *err)
{
	if (!jv_is_valid(sealed))
		return plan_part_differs(PLAN_PART_PROGRAM, "the seal names none", err);
	for (int i = jv_object_iter(sealed); jv_object_iter_valid(sealed, i); i = jv_object_iter_next(sealed, i)) {
		auto_jv key = jv_object_iter_key(sealed, i);
		const char *name = json_text(key);
		if (name != NULL && json_has(found, name) && !same_text(json_str(sealed, name), json_str(found, name)))
			return plan_part_differs(PLAN_PART_PROGRAM, name, err);
	}
	return 0;
}

static int check_programs(const struct state *state, jv run, struct checked_plan *plan, struct sbx_error *err)
{
	auto_jv programs = json_object(plan->seal, "programs"), mounts = json_object(plan->seal, "mounts");

	if (programs_digest(state, run, &plan->programs, &plan->mounts, err) < 0 ||
	    check_digests(programs, plan->programs, err) < 0)
		return -1;
	return check_digests(mounts, plan->mounts, err);
}

/* The packages that the kept tree's lock file names, as the mirror and what was fetched have them now; the modules. */
static int check_providers(const struct state *state, jv run, struct checked_plan *plan, struct sbx_error *err)
{
	auto_jv sealed = json_array(plan->seal, "providers");
	const char *mirror = json_str(run, "mirror");

	if (fetched_find(state, run, plan->seal, plan->tree_fd, plan->tree_size, &plan->providers, &plan->fetched, err) < 0 ||
	    (jv_is_valid(plan->providers) && providers_digest(state, mirror, PROVIDERS_MIRRORED, &plan->providers, err) < 0) ||
	    fetched_digest(state, &plan->fetched, err) < 0)
		return -1;
	if (!jv_is_valid(plan->providers))
		plan->providers = jv_array();
	if (!same_text(json_str(plan->seal, "modules_sha256"), plan->fetched.modules_sha256))
		return plan_part_differs(PLAN_PART_MODULE, NULL, err);
	auto_jv all = jv_is_valid(plan->fetched.providers)
			      ? jv_array_concat(jv_copy(plan->providers), jv_copy(plan->fetched.providers))
			      : jv_copy(plan->providers);
	const char *which = providers_differ(sealed, all);
	return which == NULL ? 0 : plan_part_differs(PLAN_PART_PROVIDER, which, err);
}

static int open_kept(const struct state *state, struct checked_plan *plan, struct sbx_error *err)
{
	return plan_open_file(state, plan->seal, &plan->plan_fd, &plan->plan_size, err) < 0
		       ? -1
		       : plan_open_tree(state, plan->seal, &plan->tree_fd, &plan->tree_size, err);
}

static int bad_call(struct sbx_error *err)
{
	return sbx_fail(err, SBX_PROTOCOL, "bad_call", "the call runs a plan and names none");
}

static int find_plan(const struct state *state, const struct secret *key, jv named, struct checked_plan *plan,
		     struct sbx_error *err)
{
	const char *id = json_str(named, "id");
	char seal_sha256[65];

	if (id == NULL)
		return bad_call(err);
	if (plan_find(state, key, id, &plan->seal, seal_sha256, err) < 0)
		return -1;
	return same_text(json_str(named, "seal_sha256"), seal_sha256)
		       ? 0
		       : sbx_fail(err, SBX_DENIED, "plan_changed",
				  "the plan is not the one that the decision was made about");
}

int hostcheck(const struct config *config, const struct state *state, const struct secret *key, jv call,
	      const struct ws_state *locked, struct checked_plan *plan, struct sbx_error *err)
{
	auto_jv policy = json_object(call, "policy"), run = json_object(policy, "run");
	auto_jv named = json_object(policy, "plan");

	if (check_decision(policy, err) < 0)
		return -1;
	if (!jv_is_valid(named))
		return json_bool(run, "plan") == 1 ? bad_call(err) : 0;
	if (find_plan(state, key, named, plan, err) < 0 || check_terms(config, call, run, plan->seal, err) < 0 ||
	    open_kept(state, plan, err) < 0 || check_live_tree(config, run, plan->seal, err) < 0 ||
	    check_backend(run, plan->seal, plan->tree_fd, plan->tree_size, err) < 0 ||
	    check_state(state, plan->seal, locked, err) < 0)
		return -1;
	return check_programs(state, run, plan, err) < 0 ? -1 : check_providers(state, run, plan, err);
}
