/* Walk, sort, hash. */
#include "package.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base64.h"
#include "io.h"
#include "limit.h"

enum { DEPTH_MAX = 16 };

struct line {
	char *name; /* owned; relative to the package */
	char sha256[DIGEST_HEX_SIZE];
};

struct walk {
	const struct package_reader *reader;
	struct line *lines; /* owned */
	size_t count;
	char path[PATH_MAX]; /* of what is at hand */
	size_t root_len;     /* of the package's own path in it */
};

static int unsafe(const char *path, const char *why, struct sbx_error *err)
{
	sbx_fail(err, SBX_CONFIG, "provider_unsafe", "the provider %.200s %s", path, why);
	return sbx_hint(err, "a package holds regular files and directories, as terraform providers mirror and unzip "
			     "leave them");
}

static int read_file(const struct package_reader *reader, int fd, const char *path, char sha256[DIGEST_HEX_SIZE],
		     struct sbx_error *err)
{
	if (reader != NULL)
		return reader->read(reader->context, fd, path, sha256, err);
	return digest_fd_hex(fd, LIMIT_PROGRAM, sha256, NULL, err);
}

static int add_line(struct walk *w, int fd, struct sbx_error *err)
{
	if (w->count >= LIMIT_PROVIDER_FILES)
		return unsafe(w->path, "has too many files", err);
	if (strchr(w->path + w->root_len, '\n') != NULL)
		return unsafe(w->path, "has a file whose name is no line", err);
	struct line *line = &w->lines[w->count];
	line->name = strdup(w->path + w->root_len + 1);
	if (line->name == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	w->count++;
	return read_file(w->reader, fd, w->path, line->sha256, err);
}

static int walk_dir(struct walk *w, int fd, unsigned depth, struct sbx_error *err);

static int walk_entry(struct walk *w, int dir_fd, const char *name, unsigned depth, struct sbx_error *err)
{
	auto_fd fd = io_open_beneath(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, RESOLVE_NO_SYMLINKS);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return unsafe(w->path, "cannot be opened, or is a symlink", err);
	if (S_ISREG(st.st_mode))
		return add_line(w, fd, err);
	if (!S_ISDIR(st.st_mode) || depth >= DEPTH_MAX)
		return unsafe(w->path, "is neither file nor directory, or too deep", err);
	return walk_dir(w, fd, depth + 1, err);
}

static int walk_dir(struct walk *w, int fd, unsigned depth, struct sbx_error *err)
{
	size_t before = strlen(w->path);

	if (w->reader != NULL && w->reader->enter != NULL && w->reader->enter(w->reader->context, fd, w->path, err) < 0)
		return -1;
	int listed = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = listed < 0 ? NULL : fdopendir(listed);
	if (dir == NULL) {
		base_close_fd(&listed);
		return unsafe(w->path, "cannot be listed", err);
	}
	int result = 0;
	for (struct dirent *entry; result == 0 && (entry = readdir(dir)) != NULL;) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		int len = snprintf(w->path + before, sizeof w->path - before, "/%s", entry->d_name);
		result = before + (size_t)len < sizeof w->path ? walk_entry(w, fd, entry->d_name, depth, err)
							       : unsafe(w->path, "has too long a name", err);
		w->path[before] = '\0';
	}
	closedir(dir);
	return result;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->name, ((const struct line *)b)->name);
}

static void hash_lines(const struct walk *w, char hash[PACKAGE_HASH_SIZE])
{
	unsigned char bytes[DIGEST_SIZE];
	struct digest digest;

	digest_init(&digest);
	for (size_t i = 0; i < w->count; i++) {
		digest_add(&digest, w->lines[i].sha256, strlen(w->lines[i].sha256));
		digest_add(&digest, "  ", 2);
		digest_add(&digest, w->lines[i].name, strlen(w->lines[i].name));
		digest_add(&digest, "\n", 1);
	}
	digest_finish(&digest, bytes);
	memcpy(hash, "h1:", 3); /* and the first of the two forms of base64 (RFC 4648 section 4) */
	hash += 3;
	for (size_t i = 0; i < DIGEST_SIZE; i += 3, hash += 4)
		base64_group(bytes + i, DIGEST_SIZE - i, hash);
	*hash = '\0';
}

static int hash_dir(int fd, const char *path, const struct package_reader *reader, char hash[PACKAGE_HASH_SIZE],
		    struct sbx_error *err)
{
	auto_free struct walk *w = calloc(1, sizeof *w);
	auto_free struct line *lines = calloc(LIMIT_PROVIDER_FILES, sizeof *lines);

	if (w == NULL || lines == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	*w = (struct walk){.reader = reader, .lines = lines, .root_len = strlen(path)};
	if (w->root_len >= sizeof w->path)
		return unsafe("", "has too long a name", err);
	memcpy(w->path, path, w->root_len + 1);
	int result = walk_dir(w, fd, 0, err);
	if (result == 0 && w->count == 0)
		result = unsafe(w->path, "has no file", err);
	if (result == 0) {
		qsort(lines, w->count, sizeof *lines, by_name);
		hash_lines(w, hash);
	}
	for (size_t i = 0; i < w->count; i++)
		free(lines[i].name);
	return result;
}

int package_hash(int fd, const char *path, const struct package_reader *reader, char hash[PACKAGE_HASH_SIZE],
		 struct sbx_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot look at a provider");
	if (S_ISDIR(st.st_mode))
		return hash_dir(fd, path, reader, hash, err);
	if (!S_ISREG(st.st_mode))
		return unsafe(path, "is neither file nor directory", err);
	memcpy(hash, "zh:", 3);
	return read_file(reader, fd, path, hash + 3, err);
}
