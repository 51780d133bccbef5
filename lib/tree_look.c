/* Looking into a packed tree without unpacking it. */
#include <string.h>

#include "base.h"
#include "tree.h"
#include "tree_read.h"

static int take(struct tree_reader *r, uint64_t size, size_t max, char **out, size_t *len, struct sbx_error *err)
{
	if (size > max)
		return sbx_fail(err, SBX_BAD_REQUEST, "too_large", "more than %zu bytes", max);
	char *data = malloc((size_t)size + 1);
	if (data == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (tree_read_bytes(r, data, (size_t)size, err) < 0) {
		free(data);
		return -1;
	}
	data[size] = '\0';
	*out = data;
	*len = (size_t)size;
	return 1;
}

/* What is done at a head: it takes or skips what follows it; 1 ends the walk. */
typedef int visit_fn(struct tree_reader *r, const struct tree_head *head, void *context, struct sbx_error *err);

/* 1 when a visit ended it, 0 at the end of the tree. */
static int walk(int fd, uint64_t size, visit_fn *visit, void *context, struct sbx_error *err)
{
	struct work {
		struct tree_reader reader;
		struct tree_head head;
	};
	auto_free struct work *work = malloc(sizeof *work);

	if (work == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (tree_read_begin(&work->reader, fd, 0, size, err) < 0)
		return -1;
	for (int result = 0;;) {
		if (tree_read_head(&work->reader, &work->head, err) < 0)
			return -1;
		if (work->head.kind == TREE_END)
			return 0;
		result = visit(&work->reader, &work->head, context, err);
		if (result != 0)
			return result;
	}
}

struct sought {
	const char *path;
	size_t max;
	char **out;
	size_t *len;
};

static int find_here(struct tree_reader *r, const struct tree_head *head, void *context, struct sbx_error *err)
{
	const struct sought *sought = context;
	int is_file = head->kind == TREE_FILE || head->kind == TREE_PROGRAM;

	if (is_file && strcmp(head->path, sought->path) == 0)
		return take(r, head->size, sought->max, sought->out, sought->len, err);
	return tree_read_skip(r, head, err) < 0 ? -1 : 0;
}

int tree_find(int fd, uint64_t size, const char *path, size_t max, char **out, size_t *len, struct sbx_error *err)
{
	struct sought sought = {path, max, out, len};

	*out = NULL;
	*len = 0;
	return walk(fd, size, find_here, &sought, err);
}

struct sought_link {
	const char *path;
	char *target;
};

static int find_link(struct tree_reader *r, const struct tree_head *head, void *context, struct sbx_error *err)
{
	const struct sought_link *sought = context;

	if (strcmp(head->path, sought->path) != 0 || head->kind != TREE_SYMLINK)
		return tree_read_skip(r, head, err) < 0 ? -1 : 0;
	return tree_read_text(r, sought->target, err) < 0 ? -1 : 1;
}

int tree_link(int fd, uint64_t size, const char *path, char target[PATH_MAX], struct sbx_error *err)
{
	struct sought_link sought = {path, target};

	return walk(fd, size, find_link, &sought, err);
}

/* The name of PATH in DIR; NULL when it is not right in it. */
static const char *name_in(const char *path, const char *dir)
{
	size_t len = strcmp(dir, ".") == 0 ? 0 : strlen(dir);
	const char *name = path + len;

	if (len > 0 && (strncmp(path, dir, len) != 0 || *name++ != '/'))
		return NULL;
	return strchr(name, '/') == NULL ? name : NULL;
}

static int give(struct tree_reader *r, const struct tree_head *head, const char *name, const struct tree_taker *taker,
		struct sbx_error *err)
{
	auto_free char *bytes = NULL;
	size_t len = 0;

	if (head->kind == TREE_SYMLINK || head->size > taker->max)
		return tree_read_skip(r, head, err) < 0 ? -1 : taker->take(taker->context, name, NULL, 0, err);
	if (take(r, head->size, taker->max, &bytes, &len, err) < 0)
		return -1;
	return taker->take(taker->context, name, bytes, len, err);
}

struct listing {
	const char *dir;
	const struct tree_taker *taker;
};

static int list_here(struct tree_reader *r, const struct tree_head *head, void *context, struct sbx_error *err)
{
	const struct listing *listing = context;
	const char *name = head->kind != TREE_DIR ? name_in(head->path, listing->dir) : NULL;

	int result = name != NULL && listing->taker->wanted(name) ? give(r, head, name, listing->taker, err)
								  : tree_read_skip(r, head, err);

	return result < 0 ? -1 : 0;
}

int tree_each(int fd, uint64_t size, const char *dir, const struct tree_taker *taker, struct sbx_error *err)
{
	struct listing listing = {dir, taker};

	return walk(fd, size, list_here, &listing, err);
}
