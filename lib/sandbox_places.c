/* Paths inside, and what is mounted there. What comes in was sealed by sbx-policy, so a wrong kind is an error and no
 * more. */
#include "sandbox_places.h"

#include <stdio.h>
#include <string.h>

#include "fetched.h"
#include "process.h"

static const int mounts_max = 64; /* what the local driver takes */

static int bad_run(struct sbx_error *err, const char *what)
{
	return sbx_fail(err, SBX_PROTOCOL, "bad_call", "policy.run is not what sbx-policy writes: %s", what);
}

static int no_memory(struct sbx_error *err)
{
	return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
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

char *sandbox_provider_path(jv provider)
{
	const char *path = json_str(provider, "path");
	char *inside = NULL;

	return path == NULL || asprintf(&inside, SANDBOX_MIRROR "/%s", path) < 0 ? NULL : inside;
}

char *sandbox_modules_path(jv run)
{
	auto_jv workspace = json_object(run, "workspace");
	const char *cwd = json_str(workspace, "cwd");
	char *path = NULL;

	if (cwd == NULL || strcmp(cwd, ".") == 0)
		return strdup(SANDBOX_MODULES);
	return asprintf(&path, "%s/" SANDBOX_MODULES, cwd) < 0 ? NULL : path;
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

static int add_mount(struct sandbox_mounts *mounts, const char *source, const char *target, struct sbx_error *err)
{
	if (source == NULL || source[0] != '/' || target == NULL || strchr(source, ':') != NULL ||
	    mounts->count >= (size_t)mounts_max)
		return bad_run(err, "a mount");
	for (size_t i = 0; i < mounts->count; i++)
		if (strcmp(mounts->list[i].target, target) == 0)
			return 0; /* two programs need the same library */
	struct sandbox_mount *mount = &mounts->list[mounts->count++];
	mount->source = strdup(source);
	mount->target = strdup(target);
	return mount->source != NULL && mount->target != NULL ? 0 : no_memory(err);
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

/* One package, where terraform looks for those of a mirror. */
static int add_provider(const struct sandbox_job *job, jv provider, struct sandbox_mounts *mounts, struct sbx_error *err)
{
	const char *mirror = json_str(job->run, "mirror"), *path = json_str(provider, "path");
	int is_fetched = json_str(provider, "from") != NULL;
	const char *place = is_fetched ? job->fetched : mirror;
	auto_free char *inside = sandbox_provider_path(provider), *source = NULL;

	if (place == NULL || path == NULL || inside == NULL)
		return bad_run(err, "providers");
	if (asprintf(&source, "%s/%s%s", place, is_fetched ? FETCHED_PROVIDERS "/" : "", path) < 0) {
		source = NULL;
		return no_memory(err);
	}
	return add_mount(mounts, source, inside, err);
}

/* terraform starts git by itself: ours, which starts the true one. */
static int add_git(jv run, struct sandbox_mounts *mounts, struct sbx_error *err)
{
	auto_jv programs = json_object(run, "programs");

	if (!json_has(programs, "git"))
		return 0;
	auto_free char *ours = process_helper("sbx-git", err);
	return ours == NULL ? -1 : add_mount(mounts, ours, SANDBOX_GIT, err);
}

int sandbox_mounts(const struct sandbox_job *job, struct sandbox_mounts *mounts, struct sbx_error *err)
{
	auto_jv programs = json_object(job->run, "programs");

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
	if (job->fetches && add_git(job->run, mounts, err) < 0)
		return -1;
	if (job->rc == NULL)
		return 0;
	for (int i = 0, n = json_length(job->providers); i < n; i++) {
		auto_jv provider = json_at(job->providers, i);
		if (add_provider(job, provider, mounts, err) < 0)
			return -1;
	}
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
