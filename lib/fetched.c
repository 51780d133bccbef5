/* What a directory needs, and what is there. */
#include "fetched.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "fetch_list.h"
#include "io.h"
#include "limit.h"
#include "lock_file.h"
#include "module_calls.h"
#include "providers.h"
#include "steps.h"
#include "tf_run.h"
#include "tree.h"

static const char manifest_name[] = "modules.json";
static const size_t manifest_max = (size_t)1 << 20;

/* --- what is needed --- */

void fetch_need_clear(struct fetch_need *need)
{
	jv_free(take_jv(&need->calls));
	jv_free(take_jv(&need->locked));
}

/* What the lock file names, and its digest; nothing and "" without one. */
static int read_lock(int tree_fd, uint64_t size, const char *dir, struct fetch_need *need, char sha256[DIGEST_HEX_SIZE],
		     struct sbx_error *err)
{
	auto_free char *lock = NULL;
	size_t len;

	sha256[0] = '\0';
	need->locked = jv_array();
	if (lock_file_find(tree_fd, size, dir, &lock, &len, err) < 0)
		return -1;
	if (lock == NULL)
		return 0;
	digest_sha256_hex(lock, len, sha256);
	jv_free(take_jv(&need->locked));
	return lock_file_read(lock, len, &need->locked, err);
}

static int read_calls(int tree_fd, uint64_t size, const char *dir, struct fetch_need *need, const char *lock_sha256,
		      struct sbx_error *err)
{
	if (module_calls(tree_fd, size, dir, &need->calls, err) < 0)
		return -1;
	auto_jv key = json_set_str(json_set_str(jv_object(), "is", "sbx-fetched/1"), "lock", lock_sha256);
	key = json_set(take_jv(&key), "calls", jv_copy(need->calls));
	return json_digest(key, need->key, err);
}

int fetch_need_of(int tree_fd, uint64_t size, const char *dir, struct fetch_need *need, struct sbx_error *err)
{
	char lock_sha256[DIGEST_HEX_SIZE];

	if (dir == NULL)
		dir = ".";
	return read_lock(tree_fd, size, dir, need, lock_sha256, err) < 0
		       ? -1
		       : read_calls(tree_fd, size, dir, need, lock_sha256, err);
}

static int providers_allowed(jv locked, jv fetch, struct sbx_error *err)
{
	auto_jv list = json_array(fetch, "providers");

	for (int i = 0, n = json_length(locked); i < n; i++) {
		auto_jv one = json_at(locked, i);
		const char *source = json_str(one, "source");
		if (!fetch_list_has_provider(list, source))
			return fetch_list_refuse_provider(source, err);
	}
	return 0;
}

static int modules_allowed(jv calls, jv fetch, struct sbx_error *err)
{
	auto_jv list = json_array(fetch, "modules");

	for (int i = 0, n = json_length(calls); i < n; i++) {
		auto_jv one = json_at(calls, i);
		const char *source = json_str(one, "source");
		if (!fetch_list_has_module(list, source))
			return fetch_list_refuse_module(source, err);
	}
	return 0;
}

int fetch_need_allowed(const struct fetch_need *need, jv fetch, struct sbx_error *err)
{
	return providers_allowed(need->locked, fetch, err) < 0 ? -1 : modules_allowed(need->calls, fetch, err);
}

/* --- modules.json --- */

static int incomplete(struct sbx_error *err, const char *why)
{
	return sbx_fail(err, SBX_PROTOCOL, "fetch_incomplete", "what was fetched is not whole: %s", why);
}

/* Below the directory of modules, without "..". */
static int is_fetched_dir(const char *dir)
{
	size_t len = sizeof SANDBOX_MODULES - 1;

	if (dir == NULL || strncmp(dir, SANDBOX_MODULES, len) != 0 || dir[len] != '/' || dir[len + 1] == '\0')
		return 0;
	for (const char *p = dir + len; p != NULL; p = strchr(p + 1, '/'))
		if (strncmp(p, "/..", 3) == 0 && (p[3] == '/' || p[3] == '\0'))
			return 0;
	return 1;
}

/* One entry: allowed, and where it says. Where that is among what was fetched it goes to DIRS. */
static int check_record(jv record, jv list, jv *dirs, struct sbx_error *err)
{
	const char *key = json_str(record, "Key"), *dir = json_str(record, "Dir"), *source;
	auto_jv written = json_get(record, "Source");
	char place[MODULE_PLACE_SIZE];

	if (key == NULL || json_text(written) == NULL)
		return incomplete(err, "modules.json has an entry that is none");
	source = json_text(written);
	if (is_fetched_dir(dir))
		*dirs = json_append(take_jv(dirs), jv_string(dir + sizeof SANDBOX_MODULES));
	/* The directory itself, and what stands beside its configuration. */
	if (source[0] == '\0' || module_source(source, place) == MODULE_LOCAL)
		return 0;
	if (!fetch_list_has_module(list, source))
		return fetch_list_refuse_module(source, err);
	return is_fetched_dir(dir) ? 0 : incomplete(err, "modules.json names a directory elsewhere");
}

/* The entry of CALL is there, once, and from where CALL says. */
static int has_record(jv records, jv call)
{
	const char *key = json_str(call, "key"), *wanted = json_str(call, "source");
	int found = 0;

	for (int i = 0, n = json_length(records); i < n; i++) {
		auto_jv record = json_at(records, i);
		const char *its = json_str(record, "Key"), *source = json_str(record, "Source");
		if (its == NULL || source == NULL || strcmp(its, key) != 0)
			continue;
		if (found || !module_source_is_same(wanted, source))
			return 0;
		found = 1;
	}
	return found;
}

/* Those of all CALLS that PROGRAM reads. */
static int has_records(jv records, jv calls, const char *program)
{
	for (int i = 0, n = json_length(calls); i < n; i++) {
		auto_jv call = json_at(calls, i);
		const char *only = json_str(call, "only");
		if ((only == NULL || strcmp(only, program) == 0) && !has_record(records, call))
			return 0;
	}
	return 1;
}

/* Every module that one of the two programs would look for. */
static int is_whole(jv records, jv calls)
{
	return has_records(records, calls, MODULE_ONLY_TERRAFORM) || has_records(records, calls, MODULE_ONLY_TOFU);
}

static int check_manifest(const char *text, size_t len, const struct fetch_need *need, jv fetch, jv *dirs,
			  struct sbx_error *err)
{
	struct sbx_error no_json = SBX_ERROR_INIT;
	auto_jv file = jv_invalid(), list = json_array(fetch, "modules");

	if (json_parse(text, len, manifest_max, &file, &no_json) < 0)
		return incomplete(err, "modules.json cannot be read");
	auto_jv records = json_array(file, "Modules");
	if (!jv_is_valid(records))
		return incomplete(err, "modules.json lists nothing");
	for (int i = 0, n = json_length(records); i < n; i++) {
		auto_jv record = json_at(records, i);
		if (jv_get_kind(record) != JV_KIND_OBJECT)
			return incomplete(err, "modules.json has an entry that is none");
		if (check_record(record, list, dirs, err) < 0)
			return -1;
	}
	if (!is_whole(records, need->calls))
		return incomplete(err, "a module that is called is missing, or is another one");
	return 0;
}

int fetched_modules(int dir_fd, const struct fetch_need *need, jv fetch, struct fetched *fetched, struct sbx_error *err)
{
	auto_fd dir =
		io_open_beneath(dir_fd, FETCHED_MODULES, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
	auto_jv dirs = jv_array(), none = jv_array();
	auto_free char *text = NULL;
	size_t len;

	if (dir < 0 && errno == ENOENT)
		return is_whole(none, need->calls) ? 0 : incomplete(err, "there are no modules");
	if (dir < 0)
		return incomplete(err, "the modules cannot be opened");
	if (io_check_trust(dir, "the directory of fetched modules", IO_TRUSTED, err) < 0)
		return -1;
	auto_fd packed = io_memfd("sbx-modules", err);
	if (packed < 0 || tree_pack(dir, packed, fetched->modules_sha256, &fetched->modules_size, err) < 0 ||
	    io_seal(packed, err) < 0)
		return -1;
	int there = tree_find(packed, fetched->modules_size, manifest_name, manifest_max, &text, &len, err);
	if (there < 0 || (there == 0 && !is_whole(none, need->calls)))
		return there < 0 ? -1 : incomplete(err, "modules.json is missing");
	if (there > 0 && check_manifest(text, len, need, fetch, &dirs, err) < 0)
		return -1;
	if (lseek(packed, 0, SEEK_SET) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read the modules");
	fetched->module_dirs = take_jv(&dirs);
	fetched->modules_fd = take_fd(&packed);
	return 0;
}

/* --- what is there --- */

void fetched_clear(struct fetched *fetched)
{
	jv_free(take_jv(&fetched->providers));
	jv_free(take_jv(&fetched->module_dirs));
	free(take_ptr(&fetched->path));
	base_close_fd(&fetched->dir_fd);
	base_close_fd(&fetched->modules_fd);
}

char *fetched_path(const struct state *state, const char *key, struct sbx_error *err)
{
	char *path;

	if (asprintf(&path, "%s/" FETCHED_DIR "/%s", state->path, key) >= 0)
		return path;
	sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	return NULL;
}

char *fetched_providers(const char *product, struct sbx_error *err)
{
	char *path;

	if (asprintf(&path, "%s/" FETCHED_PROVIDERS, product) >= 0)
		return path;
	sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	return NULL;
}

static int not_fetched(jv run, const char *why, struct sbx_error *err)
{
	auto_jv workspace = json_object(run, "workspace");
	const char *name = json_str(workspace, "name"), *cwd = json_str(workspace, "cwd");

	if (name == NULL)
		name = "";
	sbx_fail(err, SBX_NO_INPUT, "not_fetched", "what this directory needs of providers and modules %s", why);
	return sbx_hint(err, "call terraform_fetch {dir: \"%.100s%s%.200s\"} first", name, name[0] != '\0' ? ":" : "",
			cwd != NULL ? cwd : ".");
}

static int has_source(jv list, jv source)
{
	for (int i = 0, n = jv_is_valid(list) ? json_length(list) : 0; i < n; i++) {
		auto_jv one = json_at(list, i), other = json_get(one, "source");
		if (json_same(source, other))
			return 1;
	}
	return 0;
}

/* Those of LOCKED that HAVE does not have; the caller's. */
static jv without(jv locked, jv have)
{
	jv out = jv_array();

	for (int i = 0, n = json_length(locked); i < n; i++) {
		auto_jv one = json_at(locked, i), source = json_get(one, "source");
		if (!has_source(have, source))
			out = json_append(out, jv_copy(one));
	}
	return out;
}

/* Open and lock the product: 1, 0 when there is none. */
static int open_product(const struct state *state, struct fetched *fetched, struct sbx_error *err)
{
	auto_fd all = state_dir(state, FETCHED_DIR, err);

	fetched->path = all < 0 ? NULL : fetched_path(state, fetched->key, err);
	if (fetched->path == NULL)
		return -1;
	fetched->dir_fd = io_open_beneath(all, fetched->key, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
	if (fetched->dir_fd < 0 && errno == ENOENT)
		return 0;
	if (fetched->dir_fd < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot open what was fetched");
	if (io_check_trust(fetched->dir_fd, fetched->path, IO_TRUSTED, err) < 0)
		return -1;
	/* Whoever removes what is old asks for this lock first. */
	if (flock(fetched->dir_fd, LOCK_SH | LOCK_NB) < 0)
		return 0;
	futimens(fetched->dir_fd, NULL); /* used now; a help, and no need */
	return 1;
}

/* The packages of WANTED, all of them. */
static int find_packages(jv run, jv wanted, struct fetched *fetched, struct sbx_error *err)
{
	auto_free char *path = NULL;
	auto_jv found = jv_invalid();

	fetched->providers = jv_array();
	if (json_length(wanted) == 0)
		return 0;
	path = fetched_providers(fetched->path, err);
	if (path == NULL)
		return -1;
	struct stat st;
	if (fstatat(fetched->dir_fd, FETCHED_PROVIDERS, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return not_fetched(run, "was not fetched whole: there are no providers", err);
	if (providers_find(path, wanted, &found, err) < 0)
		return -1;
	for (int i = 0, n = json_length(found); i < n; i++)
		fetched->providers =
			json_append(take_jv(&fetched->providers), json_set_str(json_at(found, i), "from", FETCHED_DIR));
	return json_length(fetched->providers) == json_length(wanted)
		       ? 0
		       : not_fetched(run, "was not fetched whole: a provider is missing", err);
}

static int take_modules(jv run, const struct fetch_need *need, jv fetch, struct fetched *fetched, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;
	char text[sizeof why.message + 32];

	if (json_length(need->calls) == 0)
		return 0;
	if (fetched_modules(fetched->dir_fd, need, fetch, fetched, &why) == 0)
		return 0;
	snprintf(text, sizeof text, "cannot be used: %s", why.message);
	if (why.class == SBX_PROTOCOL || why.class == SBX_BAD_REQUEST)
		return not_fetched(run, text, err);
	*err = why;
	return -1;
}

/* What the mirror does not have. */
static int find_fetched(const struct state *state, jv run, const struct fetch_need *need, jv mirrored,
			struct fetched *fetched, struct sbx_error *err)
{
	auto_jv fetch = json_object(run, "fetch");
	/* A cluster's providers are in its image. */
	auto_jv wanted = tf_run_is_local(run) ? without(need->locked, mirrored) : jv_array();

	if (json_length(wanted) == 0 && json_length(need->calls) == 0)
		return 0;
	if (providers_allowed(wanted, fetch, err) < 0 || modules_allowed(need->calls, fetch, err) < 0)
		return -1;
	memcpy(fetched->key, need->key, sizeof fetched->key);
	int there = open_product(state, fetched, err);
	if (there <= 0)
		return there < 0 ? -1 : not_fetched(run, "was not fetched, or has changed since", err);
	return find_packages(run, wanted, fetched, err) < 0 ? -1 : take_modules(run, need, fetch, fetched, err);
}

int fetched_find(const struct state *state, jv run, jv seal, int tree_fd, uint64_t size, jv *mirrored,
		 struct fetched *fetched, struct sbx_error *err)
{
	auto_jv fetch = json_object(run, "fetch"), workspace = json_object(run, "workspace");
	const char *mirror = json_str(run, "mirror"), *dir = json_str(workspace, "cwd");
	int may_be_fetched = jv_is_valid(fetch) && tf_run_is(run, seal) && !tf_run_keeps(run, NULL);
	struct sbx_error unreadable = SBX_ERROR_INIT;
	auto_need need = FETCH_NEED_NONE;
	char lock_sha256[DIGEST_HEX_SIZE];

	if (tree_fd < 0 || (mirror == NULL && !may_be_fetched))
		return 0;
	if (dir == NULL)
		dir = ".";
	if (read_lock(tree_fd, size, dir, &need, lock_sha256, err) < 0 ||
	    (mirror != NULL && providers_find(mirror, need.locked, mirrored, err) < 0))
		return -1;
	if (!may_be_fetched)
		return 0;
	if (read_calls(tree_fd, size, dir, &need, lock_sha256, &unreadable) == 0)
		return find_fetched(state, run, &need, *mirrored, fetched, err);
	/* What cannot be read terraform itself explains best, and without what it calls. */
	if (strcmp(unreadable.code, "module_unreadable") == 0)
		return 0;
	*err = unreadable;
	return -1;
}

int fetched_digest(const struct state *state, struct fetched *fetched, struct sbx_error *err)
{
	auto_free char *path = NULL;

	if (json_length(fetched->providers) == 0)
		return 0;
	path = fetched_providers(fetched->path, err);
	return path == NULL ? -1 : providers_digest(state, path, PROVIDERS_FETCHED, &fetched->providers, err);
}
