/* Old products. */
#include "fetched_room.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "fetched.h"
#include "io.h"
#include "limit.h"
#include "plan_kept.h"

enum { PRODUCTS_MAX = 1024, NAME_SIZE = 80 };
static const int64_t half_made_age_s = 15 * 60; /* no call unpacks for this long */

struct product {
	char key[65];
	int64_t used; /* seconds */
	uint64_t bytes;
	size_t owner; /* index of struct look's */
	int stays;
};

/* A principal; the first one of the list is the one who asks, the second stands for people. */
struct owner {
	char *name; /* owned; NULL: people */
	uint64_t bytes;
	size_t products;
};
enum { ASKS, PEOPLE, FIRST_OTHER };

struct look {
	const char *key;
	struct product *list; /* owned */
	struct owner *owners; /* owned */
	size_t count, owner_count;
	uint64_t bytes; /* of all */
	int is_full; /* of the list: there are more */
};

static int is_key(const char *name)
{
	return strlen(name) == 64 && strspn(name, "0123456789abcdef") == 64;
}

/* The bytes below DIR_FD/NAME; symlinks are not followed. */
static uint64_t bytes_below(int dir_fd, const char *name, unsigned depth)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	uint64_t bytes = 0;
	struct stat st;

	if (dir == NULL) {
		base_close_fd(&fd);
		return 0;
	}
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size;
		else if (S_ISDIR(st.st_mode) && depth < LIMIT_TREE_DEPTH)
			bytes += bytes_below(fd, entry->d_name, depth + 1);
	}
	closedir(dir);
	return bytes;
}

/* Who fetched it; invalid where a person has put it there. */
static jv read_note(int dir_fd)
{
	struct sbx_error none = SBX_ERROR_INIT;
	auto_free char *text = NULL;
	auto_jv note = jv_invalid();
	size_t len;

	if (io_read_file(dir_fd, FETCHED_MADE, LIMIT_PARAMETER, IO_PRIVATE, &text, &len, &none) < 0 ||
	    json_parse(text, len, LIMIT_PARAMETER, &note, &none) < 0)
		return jv_invalid();
	return take_jv(&note);
}

/* Where PRINCIPAL stands; nobody's memory is no reason to take one for another, so it counts as the one who asks. */
static size_t owner_of(struct look *look, const char *principal)
{
	if (principal == NULL)
		return PEOPLE;
	for (size_t i = 0; i < look->owner_count; i++)
		if (i != PEOPLE && strcmp(look->owners[i].name, principal) == 0)
			return i;
	char *name = strdup(principal);
	if (name == NULL)
		return ASKS;
	look->owners[look->owner_count] = (struct owner){.name = name};
	return look->owner_count++;
}

static void look_at(struct look *look, int all, const char *name)
{
	auto_fd dir = openat(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const size_t len = strlen(name);
	struct stat st;

	/* The one in whose place the new one comes is no more. */
	if (dir < 0 || fstat(dir, &st) < 0 || strcmp(name, look->key) == 0 || len >= sizeof look->list->key)
		return;
	if (look->count == PRODUCTS_MAX) {
		look->is_full = 1;
		return;
	}
	struct product *product = &look->list[look->count++];
	auto_jv note = read_note(dir);
	const char *principal = json_str(note, "principal");
	memcpy(product->key, name, len + 1);
	product->used = st.st_mtim.tv_sec;
	product->bytes = bytes_below(all, name, 0);
	product->owner = owner_of(look, principal);
	product->stays = product->owner == PEOPLE;
	look->bytes += product->bytes;
	look->owners[product->owner].bytes += product->bytes;
	look->owners[product->owner].products++;
}

static void mark_planned(int dir_fd, jv seal, void *context)
{
	struct look *look = context;
	const char *key = json_str(seal, "fetched");

	(void)dir_fd;
	for (size_t i = 0; key != NULL && i < look->count; i++)
		look->list[i].stays |= strcmp(look->list[i].key, key) == 0;
}

int fetched_drop(int all, const char *name, struct sbx_error *err)
{
	auto_fd dir = openat(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char old[sizeof FETCHED_OLD + 16], random[17];

	if (dir < 0)
		return errno == ENOENT ? 0 : sbx_fail_errno(err, SBX_IO, "io_error", "cannot open what was fetched");
	io_random_hex(random, 8);
	snprintf(old, sizeof old, FETCHED_OLD "%s", random);
	if (renameat(all, name, all, old) < 0)
		return errno == ENOENT ? 0 : sbx_fail_errno(err, SBX_IO, "io_error", "cannot remove what was fetched");
	return flock(dir, LOCK_EX | LOCK_NB) < 0 ? 0 : io_remove_tree(all, old, err);
}

int fetched_forget(const struct state *state, const char *call, struct sbx_error *err)
{
	char name[sizeof FETCHED_HALF_MADE + STATE_ID_SIZE];
	struct stat st;

	if (fstatat(state->fd, FETCHED_DIR, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return 0;
	auto_fd all = state_dir(state, FETCHED_DIR, err);
	snprintf(name, sizeof name, FETCHED_HALF_MADE "%.32s", call);
	return all < 0 ? -1 : io_remove_tree(all, name, err);
}

/* Half-made ones that are too old to be at work, and what was in use when it was dropped. */
static int sweep(int all, const char *name, struct sbx_error *err)
{
	auto_fd dir = openat(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (dir < 0 || fstat(dir, &st) < 0)
		return 0;
	if (strncmp(name, FETCHED_HALF_MADE, strlen(FETCHED_HALF_MADE)) == 0)
		return clock_seconds() - st.st_mtim.tv_sec > half_made_age_s ? io_remove_tree(all, name, err) : 0;
	if (strncmp(name, FETCHED_OLD, strlen(FETCHED_OLD)) == 0 && flock(dir, LOCK_EX | LOCK_NB) == 0)
		return io_remove_tree(all, name, err);
	return 0;
}

static int look_at_all(struct look *look, int all, struct sbx_error *err)
{
	int listed = openat(all, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), result = 0;
	DIR *dir = listed < 0 ? NULL : fdopendir(listed);

	if (dir == NULL) {
		base_close_fd(&listed);
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot list what was fetched");
	}
	for (struct dirent *entry; result == 0 && (entry = readdir(dir)) != NULL;) {
		if (is_key(entry->d_name))
			look_at(look, all, entry->d_name);
		else
			result = sweep(all, entry->d_name, err);
	}
	closedir(dir);
	return result;
}

static int by_use(const void *a, const void *b)
{
	const struct product *one = a, *other = b;

	return one->used < other->used ? -1 : one->used > other->used;
}

/* 1 when nobody works with it. */
static int is_idle(int all, const char *key)
{
	auto_fd dir = openat(all, key, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) == 0;
}

enum want { ENOUGH, OF_THEIRS, OF_ALL };

/* What has to go for BYTES more. */
static enum want wanted(const struct look *look, uint64_t bytes)
{
	const struct owner *asks = &look->owners[ASKS];

	if (asks->products >= LIMIT_FETCHED || asks->bytes + bytes > LIMIT_FETCHED_SHARE)
		return OF_THEIRS;
	return look->bytes + bytes > LIMIT_FETCHED_TOTAL ? OF_ALL : ENOUGH;
}

/* The longest unused of the principal who has most, so that nobody loses anything to one who keeps more; NULL: none. */
static struct product *next_to_go(const struct look *look, enum want want)
{
	struct product *found = NULL;

	for (size_t i = 0; i < look->count; i++) {
		struct product *product = &look->list[i];
		if (product->stays || (want == OF_THEIRS && product->owner != ASKS))
			continue;
		if (found == NULL || look->owners[product->owner].bytes > look->owners[found->owner].bytes)
			found = product;
	}
	return found;
}

static int refuse_for_lack(const struct look *look, enum want want, struct sbx_error *err)
{
	const struct owner *asks = &look->owners[ASKS];

	if (want == OF_THEIRS)
		sbx_fail(err, SBX_UNAVAILABLE, "fetched_full",
			 "%zu products of this principal's fetches, with %llu MiB, are kept, and all of them are needed",
			 asks->products, (unsigned long long)(asks->bytes >> 20));
	else
		sbx_fail(err, SBX_UNAVAILABLE, "fetched_full",
			 "%zu products of fetches, with %llu MiB, are kept, and all of them are needed", look->count,
			 (unsigned long long)(look->bytes >> 20));
	return sbx_hint(
		err,
		"at most %d with %llu MiB of one principal, and %llu MiB of all, are kept: apply the plans that were made with "
		"them, or wait until they expire; what a person has put into %s/ in the state directory stays until a person "
		"removes it",
		LIMIT_FETCHED, (unsigned long long)(LIMIT_FETCHED_SHARE >> 20), (unsigned long long)(LIMIT_FETCHED_TOTAL >> 20),
		FETCHED_DIR);
}

static int make_room(struct look *look, int all, uint64_t bytes, struct sbx_error *err)
{
	enum want want;

	/* Fetches alone never come there. */
	if (look->is_full) {
		sbx_fail(err, SBX_UNAVAILABLE, "fetched_full", "more than %d products of fetches are kept",
			 PRODUCTS_MAX);
		return sbx_hint(err, "what a person has put into %s/ in the state directory, a person removes",
				FETCHED_DIR);
	}
	while ((want = wanted(look, bytes)) != ENOUGH) {
		struct product *product = next_to_go(look, want);
		if (product == NULL)
			return refuse_for_lack(look, want, err);
		product->stays = 1; /* for one that is in use; the others are no more */
		if (!is_idle(all, product->key))
			continue;
		if (fetched_drop(all, product->key, err) < 0)
			return -1;
		look->bytes -= product->bytes;
		look->owners[product->owner].bytes -= product->bytes;
		look->owners[product->owner].products--;
	}
	return 0;
}

static int look_begin(struct look *look, const char *principal, struct sbx_error *err)
{
	look->list = calloc(PRODUCTS_MAX, sizeof *look->list);
	look->owners = calloc(PRODUCTS_MAX + FIRST_OTHER, sizeof *look->owners);
	char *name = strdup(principal);

	if (look->list == NULL || look->owners == NULL || name == NULL) {
		free(name);
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	}
	look->owners[ASKS].name = name;
	look->owner_count = FIRST_OTHER;
	return 0;
}

static void look_end(struct look *look)
{
	for (size_t i = 0; i < look->owner_count; i++)
		free(look->owners[i].name);
	free(look->owners);
	free(look->list);
}

int fetched_make_room(const struct state *state, const char *principal, uint64_t bytes, const char *key,
		      struct sbx_error *err)
{
	struct look look = {.key = key};
	auto_fd all = state_dir(state, FETCHED_DIR, err);
	int result = all < 0 ? -1 : look_begin(&look, principal, err);

	if (result == 0)
		result = look_at_all(&look, all, err);
	if (result == 0)
		result = plan_drop_expired_of(state, mark_planned, &look, err);
	if (result == 0) {
		qsort(look.list, look.count, sizeof *look.list, by_use);
		result = make_room(&look, all, bytes, err);
	}
	look_end(&look);
	return result;
}
