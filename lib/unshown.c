/* The files of a configuration and of the modules that it calls. */
#include "unshown.h"

#include <stdio.h>
#include <string.h>

#include "steps.h"
#include "tf_file.h"
#include "tree.h"
#include "unshown_impl.h"

enum { MODULES_MAX = 64, PATH_BYTES = 1024, PLACE_BYTES = 512 };

static int has(jv texts, const char *text)
{
	for (int i = 0, n = json_length(texts); i < n; i++) {
		auto_jv element = json_at(texts, i);
		if (strcmp(json_text(element), text) == 0)
			return 1;
	}
	return 0;
}

void unshown_add(struct unshown *u, const char *what)
{
	char place[PLACE_BYTES];
	int len = snprintf(place, sizeof place, "%s/%s: %s", u->dir, u->file, what);
	int count = json_length(u->places);

	/* What it is stands last, and is worth more than the whole of a long path. */
	if (len >= (int)sizeof place)
		snprintf(place, sizeof place, "%.300s...: %s", u->file, what);
	if (count > UNSHOWN_PLACES || has(u->places, place))
		return;
	u->places = json_append(u->places, jv_string(count < UNSHOWN_PLACES ? place : "more places, which are not shown"));
}

/* One part more of the directory OUT. -1: it is outside of the tree, or too long. */
static int step(char out[PATH_BYTES], const char *part, size_t len)
{
	size_t used = strlen(out);

	if (len == 0 || (len == 1 && part[0] == '.'))
		return 0;
	if (len == 2 && memcmp(part, "..", 2) == 0) {
		char *slash = strrchr(out, '/');
		if (used == 0)
			return -1;
		*(slash == NULL ? out : slash) = '\0';
		return 0;
	}
	if (used + len + 2 > PATH_BYTES)
		return -1;
	snprintf(out + used, PATH_BYTES - used, "%s%.*s", used > 0 ? "/" : "", (int)len, part);
	return 0;
}

static int append(char out[PATH_BYTES], const char *path, size_t len)
{
	for (size_t from = 0, i = 0; i <= len; i++) {
		if (i < len && path[i] != '/')
			continue;
		if (step(out, path + from, i - from) < 0)
			return -1;
		from = i + 1;
	}
	return 0;
}

/* DIR, a directory of the tree, and then SOURCE, without "." and "..". -1: as step. */
static int resolve(const char *dir, const char *source, size_t len, char out[PATH_BYTES])
{
	out[0] = '\0';
	if (append(out, dir, strlen(dir)) < 0 || append(out, source, len) < 0)
		return -1;
	if (out[0] == '\0')
		snprintf(out, PATH_BYTES, ".");
	return 0;
}

void unshown_module(struct unshown *u, const char *source, size_t len)
{
	char dir[PATH_BYTES];
	int relative = source != NULL && ((len >= 2 && memcmp(source, "./", 2) == 0) ||
					  (len >= 3 && memcmp(source, "../", 3) == 0));

	/* All of them are looked at, whoever calls them. */
	if (source != NULL && (u->fetched == UNSHOWN_IN_FETCHED || (u->fetched == UNSHOWN_FETCHED && !relative)))
		return;
	if (!relative || memchr(source, '\0', len) != NULL || resolve(u->dir, source, len, dir) < 0 ||
	    (!has(u->modules, dir) && json_length(u->modules) == MODULES_MAX)) {
		unshown_add(u, UNSHOWN_MODULE);
		return;
	}
	if (!has(u->modules, dir))
		u->modules = json_append(u->modules, jv_string(dir));
}

struct looking {
	struct unshown u;
	unsigned files; /* of the directory at hand */
};

/* Without bytes it is a symlink, or too large to be any. */
static int take_file(void *context, const char *name, const char *bytes, size_t len, struct sbx_error *err)
{
	struct looking *looking = context;
	struct unshown *u = &looking->u;

	(void)err;
	u->file = name;
	looking->files++;
	if (bytes == NULL ||
	    (tf_file_is_json(name) ? unshown_json(u, bytes, len) : unshown_native(u, bytes, len)) < 0)
		unshown_add(u, "a file that cannot be read");
	return 0;
}

static int look_into_fetched(struct looking *looking, const struct unshown_fetched *fetched, const struct tree_taker *taker,
			     struct sbx_error *err)
{
	char shown[PATH_BYTES];

	looking->u.fetched = UNSHOWN_IN_FETCHED;
	for (int i = 0, n = json_length(fetched->dirs); i < n; i++) {
		auto_jv dir = json_at(fetched->dirs, i);
		snprintf(shown, sizeof shown, SANDBOX_MODULES "/%s", json_text(dir));
		looking->u.dir = shown;
		looking->files = 0;
		if (tree_each(fetched->fd, fetched->size, json_text(dir), taker, err) < 0)
			return -1;
		looking->u.file = "";
		if (looking->files == 0)
			unshown_add(&looking->u, UNSHOWN_MODULE);
	}
	return 0;
}

int unshown_find(int tree_fd, uint64_t size, const char *cwd, const struct unshown_fetched *fetched, jv *places,
		 struct sbx_error *err)
{
	char top[PATH_BYTES];
	struct looking looking = {.u = {.places = jv_array(), .modules = jv_array()}};
	const struct tree_taker taker = {
		.wanted = tf_file_is, .take = take_file, .context = &looking, .max = TF_FILE_MAX};
	int result = 0;

	looking.u.dir = ".";
	looking.u.file = "";
	looking.u.fetched = fetched != NULL ? UNSHOWN_FETCHED : UNSHOWN_NOT_FETCHED;
	if (resolve(".", cwd, strlen(cwd), top) < 0)
		unshown_add(&looking.u, UNSHOWN_MODULE);
	else
		looking.u.modules = json_append(looking.u.modules, jv_string(top));
	for (int i = 0; result == 0 && i < json_length(looking.u.modules); i++) {
		auto_jv dir = json_at(looking.u.modules, i);
		looking.u.dir = json_text(dir);
		looking.files = 0;
		result = tree_each(tree_fd, size, looking.u.dir, &taker, err);
		/* A directory without configuration is a symlink to one, or none. */
		looking.u.file = "";
		if (result == 0 && looking.files == 0 && i > 0)
			unshown_add(&looking.u, UNSHOWN_MODULE);
		looking.u.dir = ".";
	}
	if (result == 0 && fetched != NULL)
		result = look_into_fetched(&looking, fetched, &taker, err);
	jv_free(looking.u.modules);
	if (result == 0)
		*places = looking.u.places;
	else
		jv_free(looking.u.places);
	return result;
}
