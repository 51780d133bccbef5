/* Files of a test, below a directory that its main makes (mkdtemp) and removes. */
#ifndef SBX_TEST_FILES_H
#define SBX_TEST_FILES_H

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"
#include "tree.h"
#include "unit.h"

static char place[] = "/tmp/sbx-files-XXXXXX";
static struct sbx_error err;

static inline void put(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", place, name);
	auto_fd fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	CHECK(fd >= 0 && io_write_all(fd, text, strlen(text), &err) == 0);
}

static inline void make_dir(const char *name)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", place, name);
	CHECK(mkdir(path, 0755) == 0);
}

static inline void make_link(const char *name, const char *target)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", place, name);
	CHECK(symlink(target, path) == 0);
}

static inline void gone(const char *name)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", place, name);
	CHECK(unlink(path) == 0);
}

/* All of them, packed (tree.h): a memfd, the caller's. */
static inline int packed_files(uint64_t *size)
{
	auto_fd dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC), packed = io_memfd("tree", &err);
	char sha256[DIGEST_HEX_SIZE];

	CHECK(tree_pack(dir, packed, sha256, size, &err) == 0);
	return take_fd(&packed);
}

#endif
