/* Packing a tree by descriptors. The directory belongs to somebody who may swap names while it is read: every object is
 * opened below its parent's descriptor without following anything, and what was opened is what is judged. */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "io.h"
#include "limit.h"
#include "tree_wire.h"
#include "wire.h"

static const size_t block_size = 64 * 1024;

struct packer {
	int root;
	int out; /* -1: the digest alone */
	struct digest digest;
	struct buf block; /* not yet written */
	uint64_t written;
	uint64_t content; /* bytes of files so far */
	uint64_t max;	  /* of them */
	unsigned entries;
	char path[PATH_MAX]; /* of the entry at hand, relative to the root */
	size_t path_len;
};

static int unsafe(const struct packer *p, struct sbx_error *err, const char *why)
{
	sbx_fail(err, SBX_BAD_REQUEST, "unsafe_tree", "\"%.120s\" %s", p->path, why);
	return sbx_hint(err,
			"a tree may hold directories, regular files with one link, and symlinks that stay inside it");
}

static int too_large(struct sbx_error *err, const char *what)
{
	return sbx_fail(err, SBX_BAD_REQUEST, "tree_too_large", "the tree has %s than one may have", what);
}

static int flush(struct packer *p, struct sbx_error *err)
{
	if (p->block.len == 0)
		return 0;
	digest_add(&p->digest, p->block.data, p->block.len);
	if (p->out >= 0 && io_write_all(p->out, p->block.data, p->block.len, err) < 0)
		return -1;
	p->written += p->block.len;
	buf_reset(&p->block);
	return 0;
}

static int put_head(struct packer *p, enum tree_kind kind, struct sbx_error *err)
{
	if (p->block.len > block_size && flush(p, err) < 0)
		return -1;
	if (wire_put_u32(&p->block, (uint32_t)kind, err) < 0)
		return -1;
	return wire_put_bytes(&p->block, p->path, p->path_len, err);
}

/* Never part of a copy: state and its backups hold secrets and have their own way in; the other two are caches and
 * history. */
static int is_left_out(const char *name)
{
	static const char state[] = ".tfstate";
	size_t len = strlen(name), state_len = sizeof state - 1;

	/* terraform.d/plugins is where terraform looks for providers when nothing tells it otherwise: programs of the workspace's author. */
	if (strcmp(name, ".terraform") == 0 || strcmp(name, "terraform.d") == 0 || strcmp(name, ".git") == 0)
		return 1;
	if (len >= state_len && strcmp(name + len - state_len, state) == 0)
		return 1;
	return strstr(name, ".tfstate.") != NULL;
}

int tree_target_stays(const char *path, const char *target)
{
	int depth = 0;

	if (target[0] == '/' || target[0] == '\0')
		return 0;
	for (const char *p = strchr(path, '/'); p != NULL; p = strchr(p + 1, '/'))
		depth++;
	for (const char *p = target; *p != '\0';) {
		size_t len = strcspn(p, "/");
		if (len == 2 && p[0] == '.' && p[1] == '.')
			depth--;
		else if (len > 0 && !(len == 1 && p[0] == '.'))
			depth++;
		if (depth < 0)
			return 0;
		p += len;
		p += strspn(p, "/");
	}
	return 1;
}

static int pack_symlink(struct packer *p, int dirfd, const char *name, struct sbx_error *err)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(dirfd, name, target, sizeof target - 1);

	if (len <= 0)
		return unsafe(p, err, "changed while it was read");
	target[len] = '\0';
	/* Text alone cannot tell where a link through another link leads: let the kernel walk it, too. A dangling one
	 * is fine. */
	auto_fd end = io_open_beneath(p->root, p->path, O_PATH, 0);
	if (!tree_target_stays(p->path, target) || (end < 0 && errno != ENOENT && errno != ENOTDIR))
		return unsafe(p, err, "is a symlink that leads out of the tree");
	if (put_head(p, TREE_SYMLINK, err) < 0)
		return -1;
	return wire_put_bytes(&p->block, target, (size_t)len, err);
}

static int pack_content(struct packer *p, int fd, uint64_t size, struct sbx_error *err)
{
	char data[16384];

	while (size > 0) {
		ssize_t n = read(fd, data, size < sizeof data ? (size_t)size : sizeof data);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read \"%.120s\"", p->path);
		if (n == 0)
			return unsafe(p, err, "changed while it was read");
		if (buf_add(&p->block, data, (size_t)n, err) < 0 || (p->block.len > block_size && flush(p, err) < 0))
			return -1;
		size -= (uint64_t)n;
	}
	ssize_t more;
	do
		more = read(fd, data, 1);
	while (more < 0 && errno == EINTR);
	return more == 0 ? 0 : unsafe(p, err, "changed while it was read");
}

static int pack_file(struct packer *p, int dirfd, const char *name, struct sbx_error *err)
{
	auto_fd fd = io_open_beneath(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, RESOLVE_NO_SYMLINKS);
	struct stat st;

	if (fd < 0)
		return sbx_fail_errno(err, SBX_BAD_REQUEST, "unsafe_tree", "cannot open \"%.120s\"", p->path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return unsafe(p, err, "is not a regular file");
	/* A second link may be a file from elsewhere that its maker cannot read, but we can. */
	if (st.st_nlink != 1)
		return unsafe(p, err, "has more than one link");
	uint64_t size = (uint64_t)st.st_size;
	if (size > p->max - p->content)
		return too_large(err, "more bytes");
	p->content += size;
	if (put_head(p, (st.st_mode & S_IXUSR) ? TREE_PROGRAM : TREE_FILE, err) < 0 ||
	    wire_put_u64(&p->block, size, err) < 0)
		return -1;
	return pack_content(p, fd, size, err);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct names {
	char **list; /* owned, sorted */
	size_t count;
};

static void names_clear(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names->list);
}

static int names_add(struct names *names, const char *name, struct sbx_error *err)
{
	if ((names->count & (names->count - 1)) == 0) { /* a power of two: full */
		char **grown = realloc(names->list, (names->count ? names->count * 2 : 1) * sizeof *grown);
		if (grown == NULL)
			return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		names->list = grown;
	}
	names->list[names->count] = strdup(name);
	if (names->list[names->count] == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	names->count++;
	return 0;
}

/* Takes DIRFD's place in the stream, not the descriptor. */
static int read_names(int dirfd, struct names *names, struct sbx_error *err)
{
	int copy = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	int result = 0;

	if (dir == NULL) {
		sbx_fail_errno(err, SBX_BAD_REQUEST, "unsafe_tree", "cannot list a directory");
		base_close_fd(&copy);
		return -1;
	}
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(dir);
		if (entry == NULL || result < 0)
			break;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || is_left_out(entry->d_name))
			continue;
		result = names->count >= LIMIT_TREE_FILES ? too_large(err, "more files")
							  : names_add(names, entry->d_name, err);
	}
	if (result == 0 && errno != 0)
		result = sbx_fail_errno(err, SBX_IO, "io_error", "cannot list a directory");
	closedir(dir);
	if (names->count > 1)
		qsort(names->list, names->count, sizeof *names->list, by_name);
	return result;
}

static int pack_dir(struct packer *p, int dirfd, unsigned depth, struct sbx_error *err);

static int pack_entry(struct packer *p, int dirfd, const char *name, unsigned depth, struct sbx_error *err)
{
	struct stat st;

	if (++p->entries > LIMIT_TREE_FILES)
		return too_large(err, "more files");
	/* A look first: opening a device or a FIFO would already be an act. */
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return unsafe(p, err, "changed while it was read");
	if (S_ISLNK(st.st_mode))
		return pack_symlink(p, dirfd, name, err);
	if (S_ISREG(st.st_mode))
		return pack_file(p, dirfd, name, err);
	if (!S_ISDIR(st.st_mode))
		return unsafe(p, err, "is neither file, directory nor symlink");
	if (depth >= LIMIT_TREE_DEPTH)
		return too_large(err, "deeper directories");
	auto_fd child = io_open_beneath(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
	if (child < 0)
		return sbx_fail_errno(err, SBX_BAD_REQUEST, "unsafe_tree", "cannot open \"%.120s\"", p->path);
	if (put_head(p, TREE_DIR, err) < 0)
		return -1;
	return pack_dir(p, child, depth + 1, err);
}

static int pack_dir(struct packer *p, int dirfd, unsigned depth, struct sbx_error *err)
{
	struct names names = {.list = NULL};
	size_t before = p->path_len;
	int result = read_names(dirfd, &names, err);

	for (size_t i = 0; result == 0 && i < names.count; i++) {
		int len = snprintf(p->path + before, sizeof p->path - before, "%s%s", before > 0 ? "/" : "",
				   names.list[i]);
		if (before + (size_t)len >= sizeof p->path) {
			result = too_large(err, "longer paths");
			break;
		}
		p->path_len = before + (size_t)len;
		result = pack_entry(p, dirfd, names.list[i], depth, err);
	}
	p->path_len = before;
	p->path[before] = '\0';
	names_clear(&names);
	return result;
}

static int pack(int dirfd, int out, uint64_t max, char sha256[DIGEST_HEX_SIZE], uint64_t *size, struct sbx_error *err)
{
	struct packer p = {.root = dirfd, .out = out, .max = max, .block = BUF_INIT(3 * block_size)};
	unsigned char digest[DIGEST_SIZE];

	digest_init(&p.digest);
	int result = buf_add_str(&p.block, TREE_MAGIC, err);
	if (result == 0)
		result = pack_dir(&p, dirfd, 0, err);
	if (result == 0)
		result = wire_put_u32(&p.block, TREE_END, err);
	if (result == 0)
		result = flush(&p, err);
	if (result == 0) {
		digest_finish(&p.digest, digest);
		digest_to_hex(digest, sizeof digest, sha256);
		*size = p.written;
	} else {
		digest_clear(&p.digest);
	}
	buf_clear(&p.block);
	return result;
}

int tree_pack(int dirfd, int fd, char sha256[DIGEST_HEX_SIZE], uint64_t *size, struct sbx_error *err)
{
	return pack(dirfd, fd, LIMIT_TREE_BYTES, sha256, size, err);
}

int tree_pack_up_to(int dirfd, int fd, uint64_t max, char sha256[DIGEST_HEX_SIZE], uint64_t *size, struct sbx_error *err)
{
	return pack(dirfd, fd, max, sha256, size, err);
}

int tree_digest(int dirfd, char sha256[DIGEST_HEX_SIZE], struct sbx_error *err)
{
	uint64_t size;

	return pack(dirfd, -1, LIMIT_TREE_BYTES, sha256, &size, err);
}
