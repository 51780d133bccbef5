/* From policy.run to the step table. What comes in was sealed by sbx-policy, so a wrong kind is an error and no more.
 */
#include "sandbox_table.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "io.h"

static const int programs_max = 64; /* of one run; policy.yaml itself rarely names ten */
static const int env_max = 128;
static const int mounts_max = 64; /* what the local driver takes */
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

char *sandbox_program_path(jv run, const char *name)
{
	auto_jv programs = json_object(run, "programs"), program = json_object(programs, name != NULL ? name : "");
	const char *path = json_str(program, "path"), *base = path != NULL ? strrchr(path, '/') : NULL;
	char *inside = NULL;

	if (name == NULL || base == NULL || base[1] == '\0' || strchr(name, '/') != NULL || name[0] == '.' ||
	    asprintf(&inside, SANDBOX_PROGRAMS "/%s%s", name, base) < 0)
		return NULL;
	return inside;
}

char *sandbox_state_path(jv run)
{
	auto_jv workspace = json_object(run, "workspace"), state = json_object(workspace, "state");
	const char *dir = json_str(state, "path");
	char *path = NULL;

	if (dir == NULL || asprintf(&path, "%s%sterraform.tfstate", strcmp(dir, ".") == 0 ? "" : dir,
				    strcmp(dir, ".") == 0 ? "" : "/") < 0)
		return NULL;
	return path;
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
		const char *artifact = json_str(word, "artifact");
		step->argc = (uint32_t)i + 1;
		step->argv[i].kind = artifact != NULL ? SLOT_ARTIFACT : SLOT_TEXT;
		if (copy_str(&step->argv[i].text, artifact != NULL ? artifact : json_text(word), "argv", err) < 0)
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
	auto_free char *state_path = sandbox_state_path(job->run);

	steps->inputs = calloc(4, sizeof *steps->inputs); /* one of each kind */
	if (steps->inputs == NULL)
		return no_memory(err);
	if (job->tree.fd >= 0 && add_input(steps, INPUT_TREE, &job->tree, "", "", err) < 0)
		return -1;
	if (job->plan.fd >= 0 && add_input(steps, INPUT_ARTIFACT, &job->plan, "plan", "", err) < 0)
		return -1;
	if (job->state.fd >= 0 && add_input(steps, INPUT_STATE_READ, &job->state, "", state_path, err) < 0)
		return -1;
	if (job->state_file != NULL && add_input(steps, INPUT_STATE_WRITE, &job->state, "", state_path, err) < 0)
		return -1;
	return 0;
}

static int fill_programs(const struct sandbox_job *job, struct steps *steps, struct sbx_error *err)
{
	int n = jv_get_kind(job->digests) == JV_KIND_OBJECT ? json_length(job->digests) : 0;

	if (n > programs_max)
		return bad_run(err, "programs");
	steps->programs = calloc((size_t)n + 1, sizeof *steps->programs);
	if (steps->programs == NULL)
		return no_memory(err);
	for (int i = n > 0 ? jv_object_iter(job->digests) : 0; n > 0 && jv_object_iter_valid(job->digests, i);
	     i = jv_object_iter_next(job->digests, i)) {
		auto_jv name = jv_object_iter_key(job->digests, i);
		const char *digest = json_text(name) != NULL ? json_str(job->digests, json_text(name)) : NULL;
		struct program_digest *program = &steps->programs[steps->program_count++];
		program->path = sandbox_program_path(job->run, json_text(name));
		if (program->path == NULL || digest == NULL || strlen(digest) >= sizeof program->sha256)
			return bad_run(err, "programs");
		memcpy(program->sha256, digest, strlen(digest) + 1);
	}
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
	const char *require = json_str(job->run, "require"), *cwd = json_str(workspace, "cwd");

	*steps = (struct steps){.output_max = limit_or(limits, "output", default_output),
				.artifact_max = LIMIT_ARTIFACT,
				.grace_ms = limit_or(limits, "grace_ms", default_grace_ms)};
	if (require == NULL || strlen(require) >= sizeof steps->require)
		return bad_run(err, "require");
	memcpy(steps->require, require, strlen(require) + 1);
	if (look_at_namespaces(steps, err) < 0 || copy_str(&steps->cwd, cwd != NULL ? cwd : ".", "cwd", err) < 0 ||
	    fill_env(job, steps, err) < 0 || fill_inputs(job, steps, err) < 0 || fill_programs(job, steps, err) < 0)
		return -1;
	return fill_steps(job->run, steps, err);
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

	if (fd < 0 || append_file(fd, &job->tree, err) < 0 || append_file(fd, &job->plan, err) < 0 ||
	    append_file(fd, &job->state, err) < 0 || io_seal(fd, err) < 0)
		return -1;
	return take_fd(&fd);
}

static int add_mount(struct sandbox_mounts *mounts, const char *source, const char *target, struct sbx_error *err)
{
	if (source == NULL || source[0] != '/' || target == NULL || strchr(source, ':') != NULL ||
	    mounts->count >= (size_t)mounts_max)
		return bad_run(err, "a mount");
	for (size_t i = 0; i < mounts->count; i++)
		if (strcmp(mounts->list[i].target, target) == 0)
			return 0; /* two programs need the same library */
	struct sandbox_mount *mount = &mounts->list[mounts->count++];
	return copy_str(&mount->source, source, "a mount", err) < 0 ? -1
								    : copy_str(&mount->target, target, "a mount", err);
}

static int add_program(jv run, const char *name, struct sandbox_mounts *mounts, struct sbx_error *err)
{
	auto_jv programs = json_object(run, "programs"), program = json_object(programs, name != NULL ? name : "");
	auto_jv more = json_array(program, "mounts");
	auto_free char *inside = sandbox_program_path(run, name);

	if (add_mount(mounts, json_str(program, "path"), inside, err) < 0)
		return -1;
	for (int i = 0, n = json_length(more); i < n; i++) {
		auto_jv path = json_at(more, i);
		if (add_mount(mounts, json_text(path), json_text(path), err) < 0)
			return -1;
	}
	return 0;
}

int sandbox_mounts(const struct sandbox_job *job, struct sandbox_mounts *mounts, struct sbx_error *err)
{
	auto_jv programs = json_object(job->run, "programs");
	const char *mirror = json_str(job->run, "mirror");

	*mounts = (struct sandbox_mounts){.list = calloc((size_t)mounts_max, sizeof *mounts->list)};
	if (mounts->list == NULL)
		return no_memory(err);
	if (!jv_is_valid(programs))
		return bad_run(err, "programs");
	for (int i = jv_object_iter(programs); jv_object_iter_valid(programs, i);
	     i = jv_object_iter_next(programs, i)) {
		auto_jv name = jv_object_iter_key(programs, i);
		if (add_program(job->run, json_text(name), mounts, err) < 0)
			return -1;
	}
	if (job->rc == NULL)
		return 0;
	if (mirror != NULL && add_mount(mounts, mirror, SANDBOX_MIRROR, err) < 0)
		return -1;
	return add_mount(mounts, job->rc, SANDBOX_RC, err);
}

void sandbox_mounts_clear(struct sandbox_mounts *mounts)
{
	for (size_t i = 0; i < mounts->count; i++) {
		free(mounts->list[i].source);
		free(mounts->list[i].target);
	}
	free(mounts->list);
	*mounts = (struct sandbox_mounts){.list = NULL};
}
