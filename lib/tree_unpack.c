/* Reading a packed tree: unpacking it below a directory, or finding one file in it. The bytes are not trusted: every
 * name is checked, and the kernel resolves each parent without symlinks below the directory. */
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#include "io.h"
#include "limit.h"
#include "tree.h"
#include "tree_wire.h"

enum { BLOCK = 32768 };

struct reader {
	int fd;
	uint64_t at;   /* offset of the next byte to fetch */
	uint64_t left; /* bytes not yet fetched */
	size_t used, filled;
	unsigned char block[BLOCK];
};

static int malformed(struct sbx_error *err)
{
	return sbx_fail(err, SBX_PROTOCOL, "bad_tree", "a packed tree is malformed or cut off");
}

/* Up to LEN bytes that are in memory, in place; at least one, or -1. */
static int next_piece(struct reader *r, uint64_t len, const unsigned char **bytes, size_t *got, struct sbx_error *err)
{
	if (r->used == r->filled) {
		ssize_t n;
		do
			n = pread(r->fd, r->block, r->left < BLOCK ? (size_t)r->left : (size_t)BLOCK, (off_t)r->at);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read a packed tree");
		if (n == 0)
			return malformed(err);
		r->at += (uint64_t)n;
		r->left -= (uint64_t)n;
		r->used = 0;
		r->filled = (size_t)n;
	}
	*got = r->filled - r->used;
	if (*got > len)
		*got = (size_t)len;
	*bytes = r->block + r->used;
	r->used += *got;
	return 0;
}

static int get(struct reader *r, void *out, size_t len, struct sbx_error *err)
{
	unsigned char *to = out;

	while (len > 0) {
		const unsigned char *piece;
		size_t got;
		if (next_piece(r, len, &piece, &got, err) < 0)
			return -1;
		memcpy(to, piece, got);
		to += got;
		len -= got;
	}
	return 0;
}

static int get_number(struct reader *r, size_t bytes, uint64_t *value, struct sbx_error *err)
{
	unsigned char in[8];

	if (get(r, in, bytes, err) < 0)
		return -1;
	*value = 0;
	for (size_t i = 0; i < bytes; i++)
		*value = *value << 8 | in[i];
	return 0;
}

static int get_text(struct reader *r, char out[PATH_MAX], struct sbx_error *err)
{
	uint64_t len;

	if (get_number(r, 4, &len, err) < 0)
		return -1;
	if (len == 0 || len >= PATH_MAX || get(r, out, (size_t)len, err) < 0)
		return malformed(err);
	out[len] = '\0';
	return memchr(out, '\0', (size_t)len) == NULL ? 0 : malformed(err);
}

static int is_safe_path(const char *path)
{
	for (const char *p = path; p != NULL; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL) {
		size_t len = strcspn(p, "/");
		if (len == 0 || (len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.'))
			return 0;
	}
	return 1;
}

struct head {
	enum tree_kind kind;
	char path[PATH_MAX];
	uint64_t size; /* of a file */
};

static int get_head(struct reader *r, struct head *head, struct sbx_error *err)
{
	uint64_t kind;

	if (get_number(r, 4, &kind, err) < 0)
		return -1;
	if (kind > TREE_SYMLINK)
		return malformed(err);
	head->kind = (enum tree_kind)kind;
	head->size = 0;
	if (head->kind == TREE_END)
		return r->left == 0 && r->used == r->filled ? 0 : malformed(err);
	if (get_text(r, head->path, err) < 0)
		return -1;
	if (!is_safe_path(head->path))
		return malformed(err);
	if (head->kind != TREE_FILE && head->kind != TREE_PROGRAM)
		return 0;
	if (get_number(r, 8, &head->size, err) < 0)
		return -1;
	return head->size <= LIMIT_FETCHED_BYTES ? 0 : malformed(err);
}

static int begin(struct reader *r, int fd, uint64_t at, uint64_t size, struct sbx_error *err)
{
	char magic[sizeof TREE_MAGIC - 1];

	r->fd = fd;
	r->at = at;
	r->left = size;
	r->used = r->filled = 0;
	if (get(r, magic, sizeof magic, err) < 0)
		return -1;
	return memcmp(magic, TREE_MAGIC, sizeof magic) == 0 ? 0 : malformed(err);
}

/* Where the entries of one directory go; kept from one entry to the next, for they come sorted. */
struct place {
	int root;
	int fd; /* of PARENT; -1: none yet */
	char parent[PATH_MAX];
	const char *name; /* last part of the path at hand */
};

static int cannot_create(const struct head *head, struct sbx_error *err)
{
	return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot create \"%.120s\"", head->path);
}

static int find_place(struct place *place, const struct head *head, struct sbx_error *err)
{
	const char *slash = strrchr(head->path, '/');
	size_t len = slash ? (size_t)(slash - head->path) : 0;

	place->name = slash ? slash + 1 : head->path;
	if (place->fd >= 0 && strncmp(place->parent, head->path, len) == 0 && place->parent[len] == '\0')
		return 0;
	base_close_fd(&place->fd);
	memcpy(place->parent, head->path, len);
	place->parent[len] = '\0';
	place->fd = io_open_beneath(place->root, len > 0 ? place->parent : ".", O_RDONLY | O_DIRECTORY,
				    RESOLVE_NO_SYMLINKS);
	return place->fd >= 0 ? 0 : cannot_create(head, err);
}

static int make_file(struct reader *r, const struct place *place, const struct head *head, struct sbx_error *err)
{
	auto_fd fd = openat(place->fd, place->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    head->kind == TREE_PROGRAM ? 0755 : 0644);

	if (fd < 0)
		return cannot_create(head, err);
	for (uint64_t left = head->size; left > 0;) {
		const unsigned char *piece;
		size_t got;
		if (next_piece(r, left, &piece, &got, err) < 0 || io_write_all(fd, piece, got, err) < 0)
			return -1;
		left -= got;
	}
	return 0;
}

static int make_dir(const struct place *place, const struct head *head, struct sbx_error *err)
{
	struct stat st;

	if (mkdirat(place->fd, place->name, 0755) == 0)
		return 0;
	/* The way to a mounted state file is there before us. */
	if (errno == EEXIST && fstatat(place->fd, place->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		return 0;
	return cannot_create(head, err);
}

static int make_symlink(struct reader *r, const struct place *place, const struct head *head, struct sbx_error *err)
{
	char target[PATH_MAX];

	if (get_text(r, target, err) < 0)
		return -1;
	if (!tree_target_stays(head->path, target))
		return malformed(err);
	return symlinkat(target, place->fd, place->name) == 0 ? 0 : cannot_create(head, err);
}

static int unpack_entries(struct reader *r, struct place *place, struct head *head, struct sbx_error *err)
{
	for (unsigned count = 0;; count++) {
		if (get_head(r, head, err) < 0)
			return -1;
		if (head->kind == TREE_END)
			return 0;
		if (count >= LIMIT_TREE_FILES)
			return malformed(err);
		int result = find_place(place, head, err);
		if (result == 0)
			result = head->kind == TREE_DIR	      ? make_dir(place, head, err)
				 : head->kind == TREE_SYMLINK ? make_symlink(r, place, head, err)
							      : make_file(r, place, head, err);
		if (result < 0)
			return -1;
	}
}

int tree_unpack(int fd, uint64_t size, int dirfd, struct sbx_error *err)
{
	struct work {
		struct reader reader;
		struct place place;
		struct head head;
	};
	auto_free struct work *work = malloc(sizeof *work);
	off_t at = lseek(fd, 0, SEEK_CUR);

	if (work == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (at < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read a packed tree");
	work->place.root = dirfd;
	work->place.fd = -1;
	mode_t old = umask(0); /* modes are part of the tree */
	int result = begin(&work->reader, fd, (uint64_t)at, size, err);
	if (result == 0)
		result = unpack_entries(&work->reader, &work->place, &work->head, err);
	umask(old);
	base_close_fd(&work->place.fd);
	if (result == 0 && lseek(fd, at + (off_t)size, SEEK_SET) < 0)
		result = sbx_fail_errno(err, SBX_IO, "io_error", "cannot read a packed tree");
	return result;
}

static int take(struct reader *r, uint64_t size, size_t max, char **out, size_t *len, struct sbx_error *err)
{
	if (size > max)
		return sbx_fail(err, SBX_BAD_REQUEST, "too_large", "more than %zu bytes", max);
	char *data = malloc((size_t)size + 1);
	if (data == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (get(r, data, (size_t)size, err) < 0) {
		free(data);
		return -1;
	}
	data[size] = '\0';
	*out = data;
	*len = (size_t)size;
	return 1;
}

/* Past the content of a file: what is not in memory is not read for that. */
static int skip(struct reader *r, const struct head *head, struct sbx_error *err)
{
	char target[PATH_MAX];
	uint64_t left = head->size, here = r->filled - r->used;

	if (head->kind == TREE_SYMLINK)
		return get_text(r, target, err);
	if (left <= here) {
		r->used += (size_t)left;
		return 0;
	}
	left -= here;
	if (left > r->left)
		return malformed(err);
	r->at += left;
	r->left -= left;
	r->used = r->filled = 0;
	return 0;
}

/* What is done at a head: it takes or skips what follows it; 1 ends the walk. */
typedef int visit_fn(struct reader *r, const struct head *head, void *context, struct sbx_error *err);

/* 1 when a visit ended it, 0 at the end of the tree. */
static int walk(int fd, uint64_t size, visit_fn *visit, void *context, struct sbx_error *err)
{
	struct work {
		struct reader reader;
		struct head head;
	};
	auto_free struct work *work = malloc(sizeof *work);

	if (work == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (begin(&work->reader, fd, 0, size, err) < 0)
		return -1;
	for (int result = 0;;) {
		if (get_head(&work->reader, &work->head, err) < 0)
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

static int find_here(struct reader *r, const struct head *head, void *context, struct sbx_error *err)
{
	const struct sought *sought = context;
	int is_file = head->kind == TREE_FILE || head->kind == TREE_PROGRAM;

	if (is_file && strcmp(head->path, sought->path) == 0)
		return take(r, head->size, sought->max, sought->out, sought->len, err);
	return skip(r, head, err) < 0 ? -1 : 0;
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

static int find_link(struct reader *r, const struct head *head, void *context, struct sbx_error *err)
{
	const struct sought_link *sought = context;

	if (strcmp(head->path, sought->path) != 0 || head->kind != TREE_SYMLINK)
		return skip(r, head, err) < 0 ? -1 : 0;
	return get_text(r, sought->target, err) < 0 ? -1 : 1;
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

static int give(struct reader *r, const struct head *head, const char *name, const struct tree_taker *taker,
		struct sbx_error *err)
{
	auto_free char *bytes = NULL;
	size_t len = 0;

	if (head->kind == TREE_SYMLINK || head->size > taker->max)
		return skip(r, head, err) < 0 ? -1 : taker->take(taker->context, name, NULL, 0, err);
	if (take(r, head->size, taker->max, &bytes, &len, err) < 0)
		return -1;
	return taker->take(taker->context, name, bytes, len, err);
}

struct listing {
	const char *dir;
	const struct tree_taker *taker;
};

static int list_here(struct reader *r, const struct head *head, void *context, struct sbx_error *err)
{
	const struct listing *listing = context;
	const char *name = head->kind != TREE_DIR ? name_in(head->path, listing->dir) : NULL;

	int result = name != NULL && listing->taker->wanted(name) ? give(r, head, name, listing->taker, err)
								  : skip(r, head, err);

	return result < 0 ? -1 : 0;
}

int tree_each(int fd, uint64_t size, const char *dir, const struct tree_taker *taker, struct sbx_error *err)
{
	struct listing listing = {dir, taker};

	return walk(fd, size, list_here, &listing, err);
}
