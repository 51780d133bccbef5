/* From policy.run to the step table. What comes in was sealed by sbx-policy, so a wrong kind is an error and no more.
 */
#include "sandbox_table.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "io.h"
#include "isolation.h"
#include "lock_file.h"
#include "sandbox_places.h"

static const int programs_max = 64; /* of one run; policy.yaml itself rarely names ten */
static const int env_max = 128;
static const uint64_t default_grace_ms = 10000;
static const uint64_t default_output = (uint64_t)256 << 10;

static int bad_run(struct sbx_error *err, const char *what)
{
	return sbx_fail(err, SBX_PROTOCOL, "bad_call", "policy.run is not what sbx-policy writes: %s", what);
}

static int no_memory(struct sbx_error *err)
{
	return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
}

static int copy_str(char **to, const char *text, const char *what, struct sbx_error *err)
{
	if (text == NULL)
		return bad_run(err, what);
	*to = strdup(text);
	return *to != NULL ? 0 : no_memory(err);
}

static int fill_argv(jv argv, struct step *step, struct sbx_error *err)
{
	int n = json_length(argv);

	if (n < 1 || n > LIMIT_ARGV)
		return bad_run(err, "argv");
	step->argv = calloc((size_t)n, sizeof *step->argv);
	if (step->argv == NULL)
		return no_memory(err);
	for (int i = 0; i < n; i++) {
		auto_jv word = json_at(argv, i);
		const char *artifact = json_str(word, "artifact"), *text = artifact != NULL ? artifact : json_text(word);
		int is_lock = json_has(word, "lock");
		step->argc = (uint32_t)i + 1;
		step->argv[i].kind = artifact != NULL ? SLOT_ARTIFACT : is_lock ? SLOT_LOCK : SLOT_TEXT;
		if (copy_str(&step->argv[i].text, is_lock ? "" : text, "argv", err) < 0)
			return -1;
	}
	return 0;
}

/* The artefacts that step NUMBER (from 1) makes. */
static int fill_produces(jv run, int64_t number, struct step *step, struct sbx_error *err)
{
	auto_jv produces = json_array(run, "produces");
	int n = json_length(produces);
	int64_t maker;

	step->produces = calloc((size_t)n + 1, sizeof *step->produces);
	if (step->produces == NULL)
		return no_memory(err);
	for (int i = 0; i < n; i++) {
		auto_jv entry = json_at(produces, i);
		if (json_int(entry, "step", &maker) < 0 || maker != number)
			continue;
		struct produce *made = &step->produces[step->produce_count++];
		if (copy_str(&made->name, json_str(entry, "name"), "produces", err) < 0 ||
		    copy_str(&made->path, json_str(entry, "path"), "produces", err) < 0)
			return -1;
	}
	return 0;
}

static int fill_step(jv run, int number, jv entry, struct step *step, struct sbx_error *err)
{
	auto_jv argv = json_array(entry, "argv");
	const char *program = json_str(entry, "program");

	if (program == NULL)
		return bad_run(err, "program");
	step->program = sandbox_program_path(run, program);
	if (step->program == NULL)
		return bad_run(err, "program");
	if (json_str(entry, "analyse") != NULL)
		step->flags |= STEP_ANALYSE;
	else if (json_bool(entry, "credentials") == 1)
		step->flags |= STEP_CREDENTIALS;
	if (json_bool(entry, "check") == 1)
		step->flags |= STEP_CHECK;
	if (json_str(entry, "seals") != NULL)
		step->flags |= STEP_SEALS_STATE;
	if (json_str(entry, "keeps") != NULL)
		step->flags |= strcmp(json_str(entry, "keeps"), SANDBOX_KEPT_MODULES) == 0 ? STEP_KEEPS_MODULES : STEP_KEEPS_PROVIDERS;
	return fill_argv(argv, step, err) < 0 ? -1 : fill_produces(run, number, step, err);
}

static int fill_steps(jv run, struct steps *steps, struct sbx_error *err)
{
	auto_jv list = json_array(run, "steps");
	int n = json_length(list);

	if (n < 1 || n > LIMIT_STEPS)
		return bad_run(err, "steps");
	steps->steps = calloc((size_t)n, sizeof *steps->steps);
	if (steps->steps == NULL)
		return no_memory(err);
	for (int i = 0; i < n; i++) {
		auto_jv entry = json_at(list, i);
		steps->step_count = (uint32_t)i + 1;
		if (fill_step(run, i + 1, entry, &steps->steps[i], err) < 0)
			return -1;
	}
	return 0;
}

static int fill_dead(const struct sandbox_job *job, struct steps *steps, struct sbx_error *err)
{
	int n = json_length(job->dead);

	steps->dead = calloc((size_t)n + 1, sizeof *steps->dead);
	if (steps->dead == NULL)
		return no_memory(err);
	for (int i = 0; i < n; i++) {
		auto_jv call = json_at(job->dead, i);
		const char *id = json_text(call);
		struct dead_call *dead = &steps->dead[steps->dead_count++];
		if (id == NULL || strlen(id) >= sizeof dead->id)
			return bad_run(err, "dead calls");
		memcpy(dead->id, id, strlen(id) + 1);
	}
	return 0;
}

static int add_env(struct steps *steps, int *count, const char *name, const char *value, struct sbx_error *err)
{
	if (name == NULL || value == NULL || name[0] == '\0' || strchr(name, '=') != NULL || *count >= env_max)
		return bad_run(err, "env");
	if (asprintf(&steps->env[*count], "%s=%s", name, value) < 0) {
		steps->env[*count] = NULL;
		return no_memory(err);
	}
	++*count;
	return 0;
}

/* HOME, TMPDIR, PATH, LC_ALL and TZ are sbx-entry's own. */
static int fill_env(const struct sandbox_job *job, struct steps *steps, struct sbx_error *err)
{
	auto_jv env = json_object(job->run, "env"), credentials = json_array(job->run, "credentials_env");
	int count = 0;

	steps->env = calloc((size_t)env_max + 1, sizeof *steps->env);
	if (steps->env == NULL)
		return no_memory(err);
	if (!jv_is_valid(env))
		env = jv_object();
	if (job->rc != NULL)
		env = json_set_str(take_jv(&env), "TF_CLI_CONFIG_FILE", SANDBOX_RC);
	for (int i = jv_object_iter(env); jv_object_iter_valid(env, i); i = jv_object_iter_next(env, i)) {
		auto_jv name = jv_object_iter_key(env, i), value = jv_object_iter_value(env, i);
		if (add_env(steps, &count, json_text(name), json_text(value), err) < 0)
			return -1;
	}
	for (int i = 0, n = json_length(credentials); i < n; i++) {
		auto_jv entry = json_at(credentials, i);
		char file[64];
		int64_t index;
		if (json_int(entry, "index", &index) < 0 || index < 0 || index >= LIMIT_CREDENTIALS)
			return bad_run(err, "credentials_env");
		snprintf(file, sizeof file, SANDBOX_CREDENTIALS "/%lld", (long long)index);
		if (add_env(steps, &count, json_str(entry, "env"), file, err) < 0)
			return -1;
	}
	return 0;
}

static int add_input(struct steps *steps, enum input_kind kind, const struct sandbox_file *file, const char *name,
		     const char *path, struct sbx_error *err)
{
	struct input *input = &steps->inputs[steps->input_count++];

	input->kind = kind;
	input->size = kind == INPUT_STATE_WRITE ? 0 : file->size;
	memcpy(input->sha256, file->sha256, sizeof input->sha256);
	return copy_str(&input->name, name, "name", err) < 0 ? -1 : copy_str(&input->path, path, "state", err);
}

/* The same order as sandbox_inputs writes their bytes. */
static int fill_inputs(const struct sandbox_job *job, struct steps *steps, struct sbx_error *err)
{
	auto_free char *state_path = sandbox_state_path(job->run), *modules_path = sandbox_modules_path(job->run);

	steps->inputs = calloc(6, sizeof *steps->inputs); /* one of each kind */
	if (steps->inputs == NULL)
		return no_memory(err);
	if (job->tree.fd >= 0 && add_input(steps, INPUT_TREE, &job->tree, "", "", err) < 0)
		return -1;
	if (job->modules.fd >= 0 && add_input(steps, INPUT_MODULES, &job->modules, "", modules_path, err) < 0)
		return -1;
	if (job->plan.fd >= 0 && add_input(steps, INPUT_ARTIFACT, &job->plan, "plan", "", err) < 0)
		return -1;
	if (job->state.fd >= 0 && add_input(steps, INPUT_STATE_READ, &job->state, "", state_path, err) < 0)
		return -1;
	if (job->state_file != NULL && add_input(steps, INPUT_STATE_WRITE, &job->state, "", state_path, err) < 0)
		return -1;
	if (job->signed_text.fd >= 0 && add_input(steps, INPUT_SIGNED, &job->signed_text, "", "", err) < 0)
		return -1;
	return 0;
}

static int add_program_digest(struct steps *steps, char *path, const char *sha256, struct sbx_error *err)
{
	struct program_digest *program = &steps->programs[steps->program_count++];

	program->path = path;
	if (path == NULL || sha256 == NULL || strlen(sha256) >= sizeof program->sha256)
		return bad_run(err, "programs");
	memcpy(program->sha256, sha256, strlen(sha256) + 1);
	return 0;
}

static int fill_programs(const struct sandbox_job *job, struct steps *steps, struct sbx_error *err)
{
	jv programs = job->programs, mounts = job->mounts;
	int count = jv_is_valid(job->seal) ? json_length(programs) + json_length(mounts) : 0;

	if (count > programs_max)
		return bad_run(err, "programs");
	steps->programs = calloc((size_t)count + 1, sizeof *steps->programs);
	if (steps->programs == NULL)
		return no_memory(err);
	if (count == 0)
		return 0;
	for (int i = jv_object_iter(programs); jv_object_iter_valid(programs, i);
	     i = jv_object_iter_next(programs, i)) {
		auto_jv name = jv_object_iter_key(programs, i), sha256 = jv_object_iter_value(programs, i);
		char *path = sandbox_program_path(job->run, json_text(name));
		if (add_program_digest(steps, path, json_text(sha256), err) < 0)
			return -1;
	}
	for (int i = jv_object_iter(mounts); jv_object_iter_valid(mounts, i); i = jv_object_iter_next(mounts, i)) {
		auto_jv path = jv_object_iter_key(mounts, i), sha256 = jv_object_iter_value(mounts, i);
		const char *text = json_text(path);
		if (add_program_digest(steps, text != NULL ? strdup(text) : NULL, json_text(sha256), err) < 0)
			return -1;
	}
	return 0;
}

static int fill_packages(const struct sandbox_job *job, struct sealed_parts *sealed, struct sbx_error *err)
{
	int n = json_length(job->providers);

	sealed->packages = calloc((size_t)n + 1, sizeof *sealed->packages);
	if (sealed->packages == NULL)
		return no_memory(err);
	for (int i = 0; i < n; i++) {
		auto_jv provider = json_at(job->providers, i);
		struct package_digest *package = &sealed->packages[sealed->package_count++];
		const char *hash = json_str(provider, "package");
		package->path = sandbox_provider_path(provider);
		if (package->path == NULL || hash == NULL || strlen(hash) >= sizeof package->hash ||
		    copy_str(&package->source, json_str(provider, "source"), "providers", err) < 0)
			return bad_run(err, "providers");
		memcpy(package->hash, hash, strlen(hash) + 1);
	}
	return 0;
}

/* A step is to print the state that was planned against. */
static int compares_state(jv run)
{
	auto_jv list = json_array(run, "steps");

	for (int i = 0, n = json_length(list); i < n; i++) {
		auto_jv step = json_at(list, i);
		if (json_str(step, "seals") != NULL)
			return 1;
	}
	return 0;
}

static int no_state_sealed(struct sbx_error *err)
{
	sbx_fail(err, SBX_CONFIG, "state_not_sealed",
		 "this tool compares the state with the one that was planned against, and the plan's seal names none");
	return sbx_hint(err, "give the tool that plans a step with seals: state, too");
}

/* What the seal says, for sbx-entry to find again. */
static int fill_sealed(const struct sandbox_job *job, struct steps *steps, struct sbx_error *err)
{
	auto_jv state = json_object(job->seal, "state");
	const char *lock = json_str(job->seal, "lock_sha256"), *lineage = json_str(state, "lineage");
	const char *content = json_str(state, "sha256");
	struct sealed_parts *sealed = &steps->sealed;

	if (!jv_is_valid(job->seal))
		return 0;
	if (content == NULL && compares_state(job->run))
		return no_state_sealed(err);
	steps->plan = STEPS_SEALED_PLAN;
	sealed->serial = -1;
	json_int(state, "serial", &sealed->serial);
	snprintf(sealed->lock_sha256, sizeof sealed->lock_sha256, "%s", lock != NULL ? lock : "");
	snprintf(sealed->lineage, sizeof sealed->lineage, "%s", lineage != NULL ? lineage : "");
	snprintf(sealed->state_sha256, sizeof sealed->state_sha256, "%s", content != NULL ? content : "");
	sealed->lock_path = lock_file_path(steps->cwd, err);
	return sealed->lock_path != NULL ? fill_packages(job, sealed, err) : -1;
}

/* The tool's own requirement, or what the plan was made in when that was more. */
static int fill_require(const struct sandbox_job *job, struct steps *steps, struct sbx_error *err)
{
	const char *require = json_str(job->run, "require"), *planned = json_str(job->seal, "isolation");

	if (isolation_parse(require) != ISOLATION_NONE && isolation_parse(planned) > isolation_parse(require))
		require = planned;
	if (require == NULL || strlen(require) >= sizeof steps->require)
		return bad_run(err, "require");
	memcpy(steps->require, require, strlen(require) + 1);
	return 0;
}

/* So that sbx-entry can tell the sandbox's namespaces from the host's. */
static int look_at_namespaces(struct steps *steps, struct sbx_error *err)
{
	static const char *const names[STEPS_NAMESPACES] = {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"};
	char path[32];
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof path, "/proc/self/ns/%s", names[i]);
		if (stat(path, &st) < 0)
			return sbx_fail_errno(err, SBX_OS, "os_error", "cannot look at %s", path);
		steps->host_namespaces[i] = st.st_ino;
	}
	return 0;
}

static uint64_t limit_or(jv limits, const char *name, uint64_t otherwise)
{
	int64_t value;

	return json_int(limits, name, &value) == 0 && value > 0 ? (uint64_t)value : otherwise;
}

int sandbox_table(const struct sandbox_job *job, struct steps *steps, struct sbx_error *err)
{
	auto_jv workspace = json_object(job->run, "workspace"), limits = json_object(job->run, "limits");
	const char *cwd = json_str(workspace, "cwd");

	*steps = (struct steps){.output_max = limit_or(limits, "output", default_output),
				.artifact_max = LIMIT_ARTIFACT,
				.grace_ms = limit_or(limits, "grace_ms", default_grace_ms)};
	if (fill_require(job, steps, err) < 0 || look_at_namespaces(steps, err) < 0 ||
	    copy_str(&steps->cwd, cwd != NULL ? cwd : ".", "cwd", err) < 0 || fill_env(job, steps, err) < 0 ||
	    fill_inputs(job, steps, err) < 0 || fill_programs(job, steps, err) < 0 || fill_sealed(job, steps, err) < 0)
		return -1;
	return fill_dead(job, steps, err) < 0 ? -1 : fill_steps(job->run, steps, err);
}

/* Append FILE, read from offset 0, to OUT. */
static int append_file(int out, const struct sandbox_file *file, struct sbx_error *err)
{
	uint64_t copied = 0;

	if (file->fd < 0)
		return 0;
	if (lseek(file->fd, 0, SEEK_SET) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read an input");
	if (io_copy(file->fd, out, file->size, &copied, err) < 0)
		return -1;
	return copied == file->size ? 0 : sbx_fail(err, SBX_IO, "io_error", "an input changed while it was read");
}

int sandbox_inputs(const struct sandbox_job *job, struct sbx_error *err)
{
	auto_fd fd = io_memfd("sbx-inputs", err);

	if (fd < 0 || append_file(fd, &job->tree, err) < 0 || append_file(fd, &job->modules, err) < 0 ||
	    append_file(fd, &job->plan, err) < 0 ||
	    append_file(fd, &job->state, err) < 0 || append_file(fd, &job->signed_text, err) < 0 ||
	    io_seal(fd, err) < 0)
		return -1;
	return take_fd(&fd);
}
