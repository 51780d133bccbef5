/* The last look before a claim and before a run. */
#include "hostcheck.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "digest.h"
#include "io.h"
#include "plan.h"
#include "program.h"
#include "tree.h"
#include "workspace.h"

static int stale(struct sbx_error *err, const char *what)
{
	sbx_fail(err, SBX_DENIED, "plan_stale", "%s", what);
	return sbx_hint(err, "make a new plan and use that");
}

/* A missing string counts as "". */
static int same_text(const char *a, const char *b)
{
	return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

/* SHA-256 of the lock file in DIR (relative; "." allowed) below the directory TREE_FD; "" when there is none. */
static int lock_digest(int tree_fd, const char *dir, char sha256[DIGEST_HEX_SIZE], struct sbx_error *err)
{
	char path[LIMIT_PARAMETER + sizeof HOSTCHECK_LOCK_FILE + 1];

	sha256[0] = '\0';
	if (snprintf(path, sizeof path, "%s/%s", dir, HOSTCHECK_LOCK_FILE) >= (int)sizeof path)
		return sbx_fail(err, SBX_BAD_REQUEST, "unsafe_tree", "the directory's name is too long");
	auto_fd fd = io_open_beneath(tree_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return sbx_fail_errno(err, SBX_BAD_REQUEST, "unsafe_tree", "cannot open the lock file");
	uint64_t size;
	return digest_fd_hex(fd, HOSTCHECK_LOCK_MAX, sha256, &size, err);
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
	return same_text(digest, json_str(policy, "decision_sha256"))
		       ? 0
		       : stale(err, "the decision is not the one that was made for this call");
}

/* The seal against the call: who, where, and with what it was planned. */
static int check_terms(jv call, jv run, jv seal, struct sbx_error *err)
{
	auto_jv workspace = json_object(run, "workspace"), state = json_object(workspace, "state");
	auto_jv at = json_object(seal, "workspace_at");

	if (!same_text(json_str(seal, "principal"), call_principal(call)))
		return sbx_fail(err, SBX_DENIED, "plan_unknown", "the plan belongs to another principal");
	if (!same_text(json_str(at, "name"), json_str(workspace, "name")) ||
	    !same_text(json_str(at, "tree"), json_str(workspace, "tree")) ||
	    !same_text(json_str(at, "cwd"), json_str(workspace, "cwd")) ||
	    !same_text(json_str(at, "state_path"), json_str(state, "path")))
		return stale(err, "the workspace is not the one that was planned");
	if (!same_text(json_str(seal, "driver"), json_str(run, "driver")))
		return stale(err, "the sandbox driver changed since the plan was made");
	if (!same_text(json_str(seal, "target"), json_str(run, "target")))
		return stale(err, "the target is not the one that was planned for");
	return 0;
}

/* Lock file before tree: it is part of the tree, and deserves its own words. */
static int check_tree(const struct config *config, jv seal, struct sbx_error *err)
{
	auto_jv at = json_object(seal, "workspace_at");
	const char *name = json_str(at, "name"), *tree = json_str(at, "tree"), *cwd = json_str(at, "cwd");
	char digest[DIGEST_HEX_SIZE];

	if (tree == NULL)
		return same_text(json_str(seal, "tree_sha256"), NULL) ? 0
								      : stale(err, "the plan's directory is not known");
	auto_fd fd = workspace_open(config, name != NULL ? name : "", tree, err);
	if (fd < 0)
		return -1;
	if (lock_digest(fd, cwd != NULL ? cwd : ".", digest, err) < 0)
		return -1;
	if (!same_text(json_str(seal, "lock_sha256"), digest))
		return stale(err, "the provider lock file changed since the plan was made");
	if (tree_digest(fd, digest, err) < 0)
		return -1;
	return same_text(json_str(seal, "tree_sha256"), digest)
		       ? 0
		       : stale(err, "the directory changed since the plan was made");
}

static int check_kept_files(const struct state *state, jv seal, struct sbx_error *err)
{
	auto_fd plan = -1, tree = -1;
	uint64_t size;

	if (plan_open_file(state, seal, &plan, err) < 0 || plan_open_tree(state, seal, &tree, &size, err) < 0)
		return -1;
	return 0;
}

static int check_state(const struct state *state, jv seal, struct sbx_error *err)
{
	auto_jv sealed = json_object(seal, "state");
	const char *name = json_str(sealed, "workspace"), *path = json_str(sealed, "path");
	auto_ws_state ws = WS_STATE_NONE;
	int64_t serial;

	if (path == NULL)
		return 0;
	if (ws_state_look(state, name != NULL ? name : "", path, &ws, err) < 0)
		return -1;
	if (!same_text(json_str(sealed, "lineage"), ws.lineage))
		return stale(err, "the state has another lineage than the one that was planned against");
	if (json_int(sealed, "serial", &serial) < 0 || serial != ws.serial)
		return stale(err, "the state moved on since the plan was made");
	return same_text(json_str(sealed, "sha256"), ws.sha256)
		       ? 0
		       : stale(err, "the state's content changed under the same serial since the plan was made");
}

/* Each program that the plan was made with, and that this call starts under the same name. */
static int check_programs(const struct state *state, jv run, jv seal, struct sbx_error *err)
{
	auto_jv sealed = json_object(seal, "programs"), programs = json_object(run, "programs");
	char digest[DIGEST_HEX_SIZE];

	if (!jv_is_valid(sealed))
		return stale(err, "the plan does not say which programs made it");
	for (int i = jv_object_iter(sealed); jv_object_iter_valid(sealed, i); i = jv_object_iter_next(sealed, i)) {
		auto_jv key = jv_object_iter_key(sealed, i);
		const char *name = json_text(key);
		auto_jv program = name != NULL ? json_object(programs, name) : jv_invalid();
		const char *path = json_str(program, "path");
		if (path == NULL)
			continue;
		if (program_digest(state, path, digest, err) < 0)
			return -1;
		if (!same_text(json_str(sealed, name), digest))
			return stale(err, "a program is not the one that made the plan");
	}
	return 0;
}

int hostcheck(const struct config *config, const struct state *state, const struct secret *key, jv call,
	      struct sbx_error *err)
{
	auto_jv policy = json_object(call, "policy"), run = json_object(policy, "run");
	auto_jv named = json_object(policy, "plan"), seal = jv_invalid();
	const char *id = json_str(named, "id");
	char seal_sha256[65];

	if (check_decision(policy, err) < 0)
		return -1;
	if (!jv_is_valid(named))
		return json_bool(run, "plan") == 1 ? stale(err, "the call runs a plan and names none") : 0;
	if (id == NULL || plan_find(state, key, id, &seal, seal_sha256, err) < 0)
		return id == NULL ? stale(err, "the call names no plan id") : -1;
	if (!same_text(json_str(named, "seal_sha256"), seal_sha256))
		return stale(err, "the plan's seal is not the one that was decided about");
	if (check_terms(call, run, seal, err) < 0 || check_kept_files(state, seal, err) < 0 ||
	    check_tree(config, seal, err) < 0 || check_state(state, seal, err) < 0)
		return -1;
	return check_programs(state, run, seal, err);
}
