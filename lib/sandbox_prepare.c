/* Getting ready. Nothing here starts anything, so a failure is a refusal. */
#include "sandbox_prepare.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backend.h"
#include "call.h"
#include "hostcheck.h"
#include "io.h"
#include "plan_format.h"
#include "plan_room.h"
#include "programs.h"
#include "providers.h"
#include "result.h"
#include "sandbox_driver.h"
#include "sandbox_fetch.h"
#include "sandbox_keep.h"
#include "sandbox_signed.h"
#include "sandbox_unlock.h"
#include "signal_format.h"
#include "tf_run.h"
#include "unshown.h"
#include "wire.h"

void prepared_init(struct prepared *p)
{
	*p = (struct prepared){.run = jv_invalid(),
			       .seal = jv_invalid(),
			       .programs = jv_invalid(),
			       .mounts = jv_invalid(),
			       .providers = jv_invalid(),
			       .backend = jv_invalid(),
			       .unshown = jv_invalid(),
			       .dead = jv_invalid(),
			       .state_facts = jv_invalid(),
			       .ws = WS_STATE_NONE,
			       .need = FETCH_NEED_NONE,
			       .fetched = FETCHED_NONE,
			       .job = {.seal = jv_invalid(),
				       .programs = jv_invalid(),
				       .mounts = jv_invalid(),
				       .providers = jv_invalid(),
				       .dead = jv_invalid(),
				       .tree = SANDBOX_NO_FILE,
				       .modules = SANDBOX_NO_FILE,
				       .plan = SANDBOX_NO_FILE,
				       .state = SANDBOX_NO_FILE,
				       .signed_text = SANDBOX_NO_FILE,
				       .credentials_fd = -1,
				       .run_fd = -1,
				       .signal_fd = -1,
				       .reader_fd = -1}};
}

void prepared_clear(struct prepared *p)
{
	jv_free(take_jv(&p->run));
	jv_free(take_jv(&p->seal));
	jv_free(take_jv(&p->programs));
	jv_free(take_jv(&p->mounts));
	jv_free(take_jv(&p->providers));
	jv_free(take_jv(&p->backend));
	jv_free(take_jv(&p->unshown));
	jv_free(take_jv(&p->dead));
	jv_free(take_jv(&p->state_facts));
	egress_pins_clear(&p->pins);
	fetch_need_clear(&p->need);
	fetched_clear(&p->fetched);
	ws_state_close(&p->ws);
	scrub_free(take_ptr(&p->scrub));
	free(take_ptr(&p->state_file));
	free(take_ptr(&p->rc));
	free(take_ptr(&p->signals));
	base_close_fd(&p->job.tree.fd);
	base_close_fd(&p->job.plan.fd);
	base_close_fd(&p->job.state.fd);
	base_close_fd(&p->job.signed_text.fd);
}

/* SECRETS_FD holds one wire field for each secret value: the scrubber's alone, wiped here. */
static int learn_secrets(struct scrub *scrub, int secrets_fd, struct sbx_error *err)
{
	auto_secret all = SECRET_INIT;

	if (secrets_fd < 0)
		return 0;
	if (!io_is_sealed(secrets_fd))
		return sbx_fail(err, SBX_PROTOCOL, "bad_secrets", "the secrets are not in sealed memory");
	if (secret_read_fd(&all, secrets_fd, 4 * LIMIT_CREDENTIALS * LIMIT_SECRET, err) < 0)
		return -1;
	struct wire wire = {.p = all.data, .left = all.len};
	while (wire.left > 0) {
		const unsigned char *bytes;
		size_t len;
		auto_secret one = SECRET_INIT;
		if (wire_get_bytes(&wire, LIMIT_SECRET, &bytes, &len, err) < 0 ||
		    secret_alloc(&one, len + 1, err) < 0 || secret_append(&one, bytes, len, err) < 0 ||
		    scrub_add(scrub, &one, err) < 0)
			return -1;
	}
	return 0;
}

static int take_credentials(struct prepared *p, jv call, int credentials_fd, int secrets_fd, struct sbx_error *err)
{
	auto_jv policy = json_object(call, "policy"), wanted = json_array(policy, "credentials");

	p->scrub = scrub_new(err);
	if (p->scrub == NULL || learn_secrets(p->scrub, secrets_fd, err) < 0)
		return -1;
	p->job.scrub = p->scrub;
	p->job.credentials_fd = credentials_fd;
	if (credentials_fd >= 0 && !io_is_sealed(credentials_fd))
		return sbx_fail(err, SBX_PROTOCOL, "bad_secrets", "the credentials are not in sealed memory");
	if (json_length(wanted) > 0 && (credentials_fd < 0 || secrets_fd < 0)) {
		sbx_fail(err, SBX_PROTOCOL, "no_credentials", "the call needs credentials and came without");
		return sbx_hint(err, "start it as: sbx-cred sbx-run");
	}
	return 0;
}

static jv describe_state(const struct ws_state *ws, const char *name, const char *path)
{
	jv facts = json_set_str(json_set_str(jv_object(), "workspace", name), "path", path);

	facts = json_set_int(json_set_str(facts, "lineage", ws->lineage), "serial", ws->serial);
	return json_set_str(facts, "sha256", ws->sha256);
}

/* For reading: a copy is enough, and the lock is free again. */
static int read_state(struct prepared *p, const struct state *state, const char *name, const char *path,
		      struct sbx_error *err)
{
	auto_ws_state ws = WS_STATE_NONE;

	if (ws_state_open(state, name, path, WS_READ, &ws, err) < 0)
		return -1;
	p->state_facts = describe_state(&ws, name, path);
	if (!ws.present)
		return 0;
	auto_fd from = ws_state_content(&ws, err), copy = from >= 0 ? io_memfd("sbx-state", err) : -1;
	if (copy < 0 || io_copy(from, copy, LIMIT_STATE_FILE, NULL, err) < 0 || io_seal(copy, err) < 0)
		return -1;
	p->job.state.size = ws.size;
	memcpy(p->job.state.sha256, ws.sha256, sizeof ws.sha256);
	p->job.state.fd = take_fd(&copy);
	return 0;
}

/* For writing: the exclusive lock now, the working copy when all else is known to be right. */
static int lock_state(struct prepared *p, const struct state *state, const char *name, const char *path,
		      struct sbx_error *err)
{
	if (ws_state_open(state, name, path, WS_WRITE, &p->ws, err) < 0)
		return -1;
	p->writes = 1;
	p->state_facts = describe_state(&p->ws, name, path);
	p->job.state.size = p->ws.size;
	memcpy(p->job.state.sha256, p->ws.sha256, sizeof p->ws.sha256);
	return 0;
}

static int take_state(struct prepared *p, const struct state *state, struct sbx_error *err)
{
	auto_jv workspace = json_object(p->run, "workspace"), wanted = json_object(workspace, "state");
	const char *name = json_str(workspace, "name"), *path = json_str(wanted, "path");
	const char *access = json_str(wanted, "access");

	if (!jv_is_valid(wanted))
		return 0;
	if (name == NULL || path == NULL || access == NULL)
		return sbx_fail(err, SBX_PROTOCOL, "bad_call", "policy.run names no state");
	if (strcmp(access, "read") == 0)
		return read_state(p, state, name, path, err);
	if (strcmp(access, "write") != 0)
		return sbx_fail(err, SBX_PROTOCOL, "bad_call", "policy.run wants an unknown access to the state");
	return lock_state(p, state, name, path, err);
}

/* The kept plan and the copy of the workspace that it was made on, as hostcheck has found them. */
static int use_plan(struct prepared *p, struct checked_plan *plan, struct sbx_error *err)
{
	const char *tree_sha256 = json_str(plan->seal, "tree_sha256"), *plan_sha256 = json_str(plan->seal, "plan_sha256");

	if (tree_sha256 == NULL || plan_sha256 == NULL || sandbox_makes_plan(p->run))
		return sbx_fail(err, SBX_PROTOCOL, "bad_call", "the call runs a plan that is none, or makes another");
	p->job.tree = (struct sandbox_file){.fd = take_fd(&plan->tree_fd), .size = plan->tree_size};
	p->job.plan = (struct sandbox_file){.fd = take_fd(&plan->plan_fd), .size = plan->plan_size};
	snprintf(p->job.tree.sha256, sizeof p->job.tree.sha256, "%s", tree_sha256);
	snprintf(p->job.plan.sha256, sizeof p->job.plan.sha256, "%s", plan_sha256);
	p->seal = take_jv(&plan->seal);
	p->programs = take_jv(&plan->programs);
	p->mounts = take_jv(&plan->mounts);
	p->providers = take_jv(&plan->providers);
	p->fetched = plan->fetched;
	plan->fetched = (struct fetched)FETCHED_NONE;
	return 0;
}

static int take_tree(struct prepared *p, const struct config *config, struct sbx_error *err)
{
	auto_jv workspace = json_object(p->run, "workspace");
	const char *name = json_str(workspace, "name"), *tree = json_str(workspace, "tree");

	if (!jv_is_valid(workspace))
		return 0;
	if (name == NULL || tree == NULL)
		return sbx_fail(err, SBX_PROTOCOL, "bad_call", "policy.run names no workspace");
	p->job.tree.fd = workspace_copy(config, name, tree, p->job.tree.sha256, &p->job.tree.size, err);
	return p->job.tree.fd < 0 ? -1 : 0;
}

/* What of Terraform's configuration a plan does not say. */
static int find_configuration(struct prepared *p, struct sbx_error *err)
{
	auto_jv workspace = json_object(p->run, "workspace");
	const char *cwd = json_str(workspace, "cwd");

	if (backend_of(p->run, p->job.tree.fd, p->job.tree.size, &p->backend, err) < 0)
		return -1;
	if (p->job.tree.fd < 0)
		return 0;
	const struct unshown_fetched fetched = {
		.fd = p->fetched.modules_fd, .size = p->fetched.modules_size, .dirs = p->fetched.module_dirs};
	return unshown_find(p->job.tree.fd, p->job.tree.size, cwd != NULL ? cwd : ".", fetched.fd >= 0 ? &fetched : NULL,
			    &p->unshown, err);
}

/* A plan holds for the programs and the providers that made it, and for its backend. For any other run it is enough
 * that nobody else can write its programs. */
static int take_parts(struct prepared *p, const struct config *config, const struct state *state, struct sbx_error *err)
{
	const char *mirror = json_str(p->run, "mirror");

	if (fetched_find(state, p->run, p->seal, p->job.tree.fd, p->job.tree.size, &p->providers, &p->fetched, err) < 0)
		return -1;
	if (!sandbox_makes_plan(p->run))
		return programs_check(p->run, err);
	if (plan_format_of_run(p->run) == PLAN_FORMAT_TERRAFORM && find_configuration(p, err) < 0)
		return -1;
	if (hostcheck_target(config, json_str(p->run, "target"), p->target_sha256, err) < 0 ||
	    programs_digest(state, p->run, &p->programs, &p->mounts, err) < 0)
		return -1;
	if (jv_is_valid(p->providers) && providers_digest(state, mirror, PROVIDERS_MIRRORED, &p->providers, err) < 0)
		return -1;
	return fetched_digest(state, &p->fetched, err);
}

static int check_out(struct prepared *p, const struct state *state, jv call, int run_fd, struct sbx_error *err)
{
	if (!p->writes)
		return 0;
	if (ws_state_checkout(state, &p->ws, run_fd, call_id(call), json_str(p->state_facts, "workspace"),
			      json_str(p->state_facts, "path"), &p->state_file, err) < 0)
		return -1;
	p->job.state_file = p->state_file;
	return 0;
}

/* The signal rules of the policy that decided about this call, as sbx-policy compiled them. Without them a plan that
 * destroys nothing would look safe whatever it opens. */
static int take_signals(struct prepared *p, const struct state *state, jv policy, struct sbx_error *err)
{
	const char *sha256 = json_str(policy, "policy_sha256");
	unsigned char digest[DIGEST_SIZE];
	char name[sizeof "cache/" + DIGEST_HEX_SIZE + sizeof "/" SIGNAL_CACHE_NAME];
	struct stat st;

	if (json_bool(p->run, "analyse") != 1)
		return 0;
	if (sha256 == NULL || digest_from_hex(sha256, digest, sizeof digest) < 0)
		return sbx_fail(err, SBX_PROTOCOL, "bad_call", "the call names no policy");
	snprintf(name, sizeof name, "cache/%s/" SIGNAL_CACHE_NAME, sha256);
	if (fstatat(state->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode)) {
		sbx_fail(err, SBX_CONFIG, "signals_missing",
			 "the signal rules of the policy that decided about this call are not there");
		return sbx_hint(err, "make the call again: sbx-policy compiles them when it decides; sbx-policy test "
				     "says whether they are good");
	}
	if (asprintf(&p->signals, "%s/%s", state->path, name) < 0) {
		p->signals = NULL;
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	}
	p->job.signals = p->signals;
	return 0;
}

/* sbx-approve has stopped what is not approved, and its seal says that it has looked; this is the second lock. */
static int check_approval(jv call, struct sbx_error *err)
{
	if (call_may_run(call))
		return 0;
	return sbx_fail(err, SBX_DENIED, "not_approved", "the call is neither allowed nor approved");
}

/* What could not be kept is not made; that nothing else was kept meanwhile is seen when it is. */
static int check_room(const struct prepared *p, const struct state *state, jv call,
		      struct sbx_error *err)
{
	const char *principal = call_principal(call);

	if (!sandbox_makes_plan(p->run))
		return 0;
	return plan_make_room(state, principal != NULL ? principal : "", 0, err);
}

/* What is to run it, whether it was planned before or plans now. */
static int take_work(struct prepared *p, const struct config *config, const struct state *state, jv call,
		     struct checked_plan *plan, struct sbx_error *err)
{
	if (jv_is_valid(plan->seal))
		return use_plan(p, plan, err);
	if (check_room(p, state, call, err) < 0 || take_tree(p, config, err) < 0 || sandbox_fetch_begin(p, state, call, err) < 0)
		return -1;
	return take_parts(p, config, state, err);
}

/* A step prints the state that a plan is sealed with, or applies one. */
static int works_on_state(jv run)
{
	auto_jv steps = json_array(run, "steps");

	for (int i = 0, n = json_length(steps); i < n; i++) {
		auto_jv step = json_at(steps, i), argv = json_array(step, "argv"), command = json_at(argv, 1);
		const char *text = json_text(command);
		if (json_str(step, "seals") != NULL || (text != NULL && strcmp(text, "apply") == 0))
			return 1;
	}
	return 0;
}

/* A tool that is given no state works on one that lies elsewhere. What Terraform would write beside its configuration
 * goes with the sandbox: after an apply nothing would know what exists. Other drivers look themselves. */
static int check_backend(const struct prepared *p, struct sbx_error *err)
{
	auto_jv workspace = json_object(p->run, "workspace"), state = json_object(workspace, "state");
	enum tf_state_place place = tf_run_state_place(p->job.backend);

	if (place == TF_STATE_ELSEWHERE || !tf_run_is_local(p->run) || jv_is_valid(state) || !works_on_state(p->run))
		return 0;
	if (place == TF_STATE_UNKNOWN)
		sbx_fail(err, SBX_CONFIG, "state_is_local",
			 "nobody can read where this configuration keeps its state, and a file would be gone with the sandbox");
	else
		sbx_fail(err, SBX_CONFIG, "state_is_local",
			 "this configuration keeps its state where it would be gone with the sandbox that writes it");
	return sbx_hint(err, "write a backend block of the type kubernetes, http or s3, or use a tool with workspace: {state: ...}, "
			     "whose state is kept here");
}

/* A cluster's driver knows its destinations itself. */
static int take_egress(struct prepared *p, struct sbx_error *err)
{
	p->job.pins = &p->pins;
	return tf_run_is_local(p->run) ? sandbox_egress(p->run, &p->pins, err) : 0;
}

int sandbox_prepare(struct prepared *p, const struct config *config, const struct state *state,
		    const struct secret *key, jv call, int run_fd, int credentials_fd, int secrets_fd,
		    struct sbx_error *err)
{
	auto_jv policy = json_object(call, "policy");
	auto_checked_plan plan = CHECKED_PLAN_NONE;

	p->run = json_object(policy, "run");
	p->job.run = p->run;
	p->job.run_fd = run_fd;
	if (!jv_is_valid(p->run))
		return sbx_fail(err, SBX_PROTOCOL, "bad_call", "the call has nothing to run");
	if (check_approval(call, err) < 0 || result_fits(call, err) < 0 ||
	    driver_is_there(p->run, err) < 0 || take_egress(p, err) < 0 || take_signals(p, state, policy, err) < 0 ||
	    take_credentials(p, call, credentials_fd, secrets_fd, err) < 0 || take_state(p, state, err) < 0 ||
	    hostcheck(config, state, key, call, p->writes ? &p->ws : NULL, &plan, err) < 0 ||
	    take_work(p, config, state, call, &plan, err) < 0 ||
	    sandbox_signed(call, json_str(p->run, "driver"), run_fd, &p->job.signed_text, err) < 0 ||
	    sandbox_fetch_rc(p, state, call_id(call), run_fd, err) < 0)
		return -1;
	auto_jv sealed_backend = json_object(p->seal, "backend");
	if (!jv_is_valid(p->backend))
		p->backend = take_jv(&sealed_backend);
	p->job.backend = json_str(p->backend, "type");
	if (check_backend(p, err) < 0 || sandbox_unlock_prepare(&p->job, p->backend, state, &p->dead, err) < 0)
		return -1;
	p->job.seal = p->seal;
	p->job.programs = p->programs;
	p->job.mounts = p->mounts;
	sandbox_fetch_show(p);
	return check_out(p, state, call, run_fd, err);
}
