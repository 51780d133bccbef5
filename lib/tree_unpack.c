/* Unpacking a tree below a directory: the kernel resolves each parent without symlinks. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#include "io.h"
#include "limit.h"
#include "tree.h"
#include "tree_read.h"

/* Where the entries of one directory go; kept from one entry to the next, for they come sorted. */
struct place {
	int root;
	int fd; /* of PARENT; -1: none yet */
	char parent[PATH_MAX];
	const char *name; /* last part of the path at hand */
};

static int cannot_create(const struct tree_head *head, struct sbx_error *err)
{
	return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot create \"%.120s\"", head->path);
}

static int find_place(struct place *place, const struct tree_head *head, struct sbx_error *err)
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

static int make_file(struct tree_reader *r, const struct place *place, const struct tree_head *head, struct sbx_error *err)
{
	auto_fd fd = openat(place->fd, place->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    head->kind == TREE_PROGRAM ? 0755 : 0644);

	if (fd < 0)
		return cannot_create(head, err);
	for (uint64_t left = head->size; left > 0;) {
		const unsigned char *piece;
		size_t got;
		if (tree_read_piece(r, left, &piece, &got, err) < 0 || io_write_all(fd, piece, got, err) < 0)
			return -1;
		left -= got;
	}
	return 0;
}

static int make_dir(const struct place *place, const struct tree_head *head, struct sbx_error *err)
{
	struct stat st;

	if (mkdirat(place->fd, place->name, 0755) == 0)
		return 0;
	/* The way to a mounted state file is there before us. */
	if (errno == EEXIST && fstatat(place->fd, place->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		return 0;
	return cannot_create(head, err);
}

static int make_symlink(struct tree_reader *r, const struct place *place, const struct tree_head *head, struct sbx_error *err)
{
	char target[PATH_MAX];

	if (tree_read_text(r, target, err) < 0)
		return -1;
	if (!tree_target_stays(head->path, target))
		return tree_malformed(err);
	return symlinkat(target, place->fd, place->name) == 0 ? 0 : cannot_create(head, err);
}

static int unpack_entries(struct tree_reader *r, struct place *place, struct tree_head *head, struct sbx_error *err)
{
	for (unsigned count = 0;; count++) {
		if (tree_read_head(r, head, err) < 0)
			return -1;
		if (head->kind == TREE_END)
			return 0;
		if (count >= LIMIT_TREE_FILES)
			return tree_malformed(err);
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
		struct tree_reader reader;
		struct place place;
		struct tree_head head;
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
	int result = tree_read_begin(&work->reader, fd, (uint64_t)at, size, err);
	if (result == 0)
		result = unpack_entries(&work->reader, &work->place, &work->head, err);
	umask(old);
	base_close_fd(&work->place.fd);
	if (result == 0 && lseek(fd, at + (off_t)size, SEEK_SET) < 0)
		result = sbx_fail_errno(err, SBX_IO, "io_error", "cannot read a packed tree");
	return result;
}
