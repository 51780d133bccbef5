/* From packed trees to a product. */
#include "fetched_keep.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "fetched_room.h"
#include "io.h"
#include "log.h"
#include "providers.h"
#include "tree.h"

static int put_tree(int dir_fd, const char *name, int fd, uint64_t size, struct sbx_error *err)
{
	if (mkdirat(dir_fd, name, 0755) < 0)
		return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create",
				      "cannot make the directory of what was fetched");
	if (fd < 0)
		return 0;
	auto_fd dir = io_open_dir(dir_fd, name, IO_MUST_EXIST, err);
	if (dir < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read what was fetched");
	return tree_unpack(fd, size, dir, err);
}

/* The packages in the product: {source, version, package} of each that is locked. */
static int look_at_providers(const struct state *state, const char *path, const struct fetch_need *need, jv *providers,
			     struct sbx_error *err)
{
	auto_free char *place = NULL;
	auto_jv found = jv_invalid();

	*providers = jv_array();
	if (json_length(need->locked) == 0)
		return 0;
	place = fetched_providers(path, err);
	if (place == NULL || providers_find(place, need->locked, &found, err) < 0)
		return -1;
	if (json_length(found) != json_length(need->locked))
		return sbx_fail(err, SBX_PROTOCOL, "fetch_incomplete",
				"what was fetched is not whole: a provider is missing");
	if (providers_digest(state, place, PROVIDERS_FETCHED, &found, err) < 0)
		return -1;
	for (int i = 0, n = json_length(found); i < n; i++) {
		auto_jv one = json_at(found, i);
		*providers = json_append(take_jv(providers), json_delete(take_jv(&one), "path"));
	}
	return 0;
}

/* All that is to be said of the product in DIR_FD, at PATH. */
static int look_at(const struct state *state, int dir_fd, const char *path, const struct fetch_need *need, jv fetch,
		   jv *facts, struct sbx_error *err)
{
	auto_jv providers = jv_invalid();
	auto_fetched fetched = FETCHED_NONE;

	if (fetched_modules(dir_fd, need, fetch, &fetched, err) < 0 ||
	    look_at_providers(state, path, need, &providers, err) < 0)
		return -1;
	jv made = json_set_str(jv_object(), "key", need->key);
	made = json_set_str(made, "modules_sha256", fetched.modules_sha256[0] != '\0' ? fetched.modules_sha256 : NULL);
	*facts = json_set(made, "providers", take_jv(&providers));
	return 0;
}

static int put_note(int dir_fd, const struct fetched_keeper *keeper, struct sbx_error *err)
{
	char now[CLOCK_RFC3339_SIZE];
	auto_buf text = BUF_INIT(LIMIT_PARAMETER);
	auto_jv note = json_set_str(json_set_str(jv_object(), "call", keeper->call), "principal", keeper->principal);

	clock_format(clock_seconds(), now);
	note = json_set_str(take_jv(&note), "at", now);
	return json_write(note, &text, err) < 0 ? -1 : io_create_file(dir_fd, FETCHED_MADE, text.data, text.len, err);
}

/* The product that is there is left: it says the same as FACTS, or a person has put it there; FACTS are its own then.
 */
static int is_left(const struct state *state, int all, const struct fetch_need *need, jv fetch, jv *facts)
{
	struct sbx_error unusable = SBX_ERROR_INIT;
	auto_fd dir = io_open_beneath(all, need->key, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
	auto_free char *path = fetched_path(state, need->key, &unusable);
	auto_jv theirs = jv_invalid();

	if (dir < 0 || path == NULL || look_at(state, dir, path, need, fetch, &theirs, &unusable) < 0 ||
	    (io_exists(dir, FETCHED_MADE) && !json_same(theirs, *facts)))
		return 0;
	jv_free(*facts);
	*facts = take_jv(&theirs);
	return 1;
}

/* The product KEY is there for good; or it is not there, and the call fails. */
static int stays(int all, const char *key, struct sbx_error *err)
{
	struct sbx_error late = SBX_ERROR_INIT;

	if (fsync(all) == 0)
		return 0;
	sbx_fail_errno(err, SBX_IO, "io_error", "cannot keep what was fetched");
	if (fetched_drop(all, key, &late) < 0)
		log_error(&late);
	return -1;
}

/* Put NEW in the place of KEY; what was there goes. Two at once: each finds the other's, or none. */
static int put_in_place(int all, const char *new, const char *key, struct sbx_error *err)
{
	struct sbx_error late = SBX_ERROR_INIT;

	for (int tries = 0; tries < 100; tries++) {
		if (syscall(SYS_renameat2, all, new, all, key, RENAME_NOREPLACE) == 0)
			return stays(all, key, err);
		if (errno == EEXIST && syscall(SYS_renameat2, all, new, all, key, RENAME_EXCHANGE) == 0) {
			/* Under NEW is what was there. What cannot be removed now, a later look removes. */
			if (fetched_drop(all, new, &late) < 0)
				log_error(&late);
			return stays(all, key, err);
		}
		if (errno != EEXIST && errno != ENOENT)
			break;
	}
	return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot keep what was fetched");
}

static int fill(const struct state *state, int dir_fd, const char *path, const struct fetched_keeper *keeper,
		const struct fetch_need *need, jv fetch, const struct fetched_trees *trees, jv *facts,
		struct sbx_error *err)
{
	if (put_tree(dir_fd, FETCHED_MODULES, trees->modules_fd, trees->modules_size, err) < 0 ||
	    put_tree(dir_fd, FETCHED_PROVIDERS, trees->providers_fd, trees->providers_size, err) < 0 ||
	    put_note(dir_fd, keeper, err) < 0 || look_at(state, dir_fd, path, need, fetch, facts, err) < 0)
		return -1;
	return syncfs(dir_fd) == 0 ? 0 : sbx_fail_errno(err, SBX_IO, "io_error", "cannot write what was fetched");
}

int fetched_keep(const struct state *state, const struct fetched_keeper *keeper, const struct fetch_need *need,
		 jv fetch, const struct fetched_trees *trees, jv *kept, struct sbx_error *err)
{
	char name[sizeof FETCHED_HALF_MADE + STATE_ID_SIZE];
	struct sbx_error late = SBX_ERROR_INIT;
	auto_fd all = state_dir(state, FETCHED_DIR, err);
	auto_jv facts = jv_invalid();

	snprintf(name, sizeof name, FETCHED_HALF_MADE "%.32s", keeper->call);
	auto_free char *path = all < 0 ? NULL : fetched_path(state, name, err);
	if (path == NULL || fetched_make_room(state, keeper->principal, trees->modules_size + trees->providers_size,
					      need->key, err) < 0)
		return -1;
	auto_fd dir = io_open_dir(all, name, IO_CREATE, err);
	int result = dir < 0 ? -1 : fill(state, dir, path, keeper, need, fetch, trees, &facts, err);
	int left = result == 0 && is_left(state, all, need, fetch, &facts);
	if (result == 0) {
		jv said = json_set_str(jv_copy(facts), "state", left ? "unchanged" : "kept");
		result = keeper->know(keeper->context, said, err);
		*kept = said;
		if (result == 0 && !left)
			result = put_in_place(all, name, need->key, err);
		if (result < 0)
			jv_free(take_jv(kept));
	}
	if ((result < 0 || left) && dir >= 0)
		io_remove_tree(all, name, &late);
	return result;
}
