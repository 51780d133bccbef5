/* Whole, bounded and checked reads and writes. */
#include "io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static const size_t block = 64 * 1024;
static const int write_poll_ms = 60 * 1000; /* a reader that takes nothing for a minute has gone */

static ssize_t read_some(int fd, void *out, size_t len)
{
	ssize_t n;

	do
		n = read(fd, out, len);
	while (n < 0 && errno == EINTR);
	return n;
}

int io_read_all(int fd, size_t max, char **out, size_t *len, struct sbx_error *err)
{
	size_t cap = max < block ? max + 1 : block, used = 0;
	char *data = malloc(cap + 1);

	*out = NULL;
	*len = 0;
	for (;;) {
		if (data == NULL)
			return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		ssize_t n = read_some(fd, data + used, cap - used);
		if (n < 0) {
			sbx_fail_errno(err, SBX_IO, "io_error", "cannot read");
			break;
		}
		used += (size_t)n;
		if (used > max) {
			sbx_fail(err, SBX_BAD_REQUEST, "too_large", "more than %zu bytes", max);
			break;
		}
		if (n == 0) {
			data[used] = '\0';
			*out = data;
			*len = used;
			return 0;
		}
		if (used == cap) {
			cap = cap > max / 2 ? max + 1 : cap * 2;
			char *grown = realloc(data, cap + 1);
			if (grown == NULL)
				free(data);
			data = grown;
		}
	}
	free(data);
	return -1;
}

int io_write_all(int fd, const void *bytes, size_t len, struct sbx_error *err)
{
	const char *p = bytes;

	while (len > 0) {
		ssize_t n = write(fd, p, len);
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			struct pollfd wait = {.fd = fd, .events = POLLOUT};
			if (poll(&wait, 1, write_poll_ms) == 0)
				return sbx_fail(err, SBX_IO, "io_error", "the reader takes nothing");
		} else if (n < 0 && errno != EINTR) {
			return sbx_fail_errno(err, SBX_IO, "io_error", "cannot write");
		}
	}
	return 0;
}

int io_check_trust(int fd, const char *what, unsigned flags, struct sbx_error *err)
{
	struct stat st;
	mode_t bad = (flags & IO_PRIVATE) ? 077 : 022;

	if (fstat(fd, &st) < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot look at %s", what);
	if (st.st_uid != 0 && st.st_uid != geteuid()) {
		sbx_fail(err, SBX_CONFIG, "unsafe_file", "%s belongs to another user", what);
		return sbx_hint(err, "chown it to root or to the account that runs sbx");
	}
	if (st.st_mode & bad) {
		sbx_fail(err, SBX_CONFIG, "unsafe_file", "%s may be %s by others (mode %04o)", what,
			 (flags & IO_PRIVATE) ? "read or written" : "written", st.st_mode & 07777);
		return sbx_hint(err, "chmod %s %s", (flags & IO_PRIVATE) ? "go-rwx" : "go-w", what);
	}
	return 0;
}

int io_open_file_as(int dirfd, const char *name, const char *what, unsigned flags, struct sbx_error *err)
{
	auto_fd fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return sbx_fail(err, SBX_NO_INPUT, "missing_file", "there is no file %s", what);
	if (fd < 0)
		return sbx_fail_errno(err, SBX_NO_INPUT, "unreadable_file", "cannot open %s", what);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return sbx_fail(err, SBX_CONFIG, "unsafe_file", "%s is not a regular file", what);
	if (flags != 0 && io_check_trust(fd, what, flags, err) < 0)
		return -1;
	return take_fd(&fd);
}

int io_open_file(int dirfd, const char *name, unsigned flags, struct sbx_error *err)
{
	return io_open_file_as(dirfd, name, name, flags, err);
}

int io_read_file(int dirfd, const char *name, size_t max, unsigned flags, char **out, size_t *len,
		 struct sbx_error *err)
{
	*out = NULL;
	*len = 0;
	auto_fd fd = io_open_file(dirfd, name, flags, err);
	if (fd < 0)
		return -1;
	if (io_read_all(fd, max, out, len, err) < 0)
		return sbx_wrap(err, "%s", name);
	return 0;
}

static int sync_dir(int dirfd, struct sbx_error *err)
{
	auto_fd fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot sync a directory");
	return 0;
}

enum put { PUT_REPLACE, PUT_CREATE };

static int put_file(int dirfd, const char *name, const void *bytes, size_t len, enum put how,
		    struct sbx_error *err)
{
	char temp[64], random[17];

	io_random_hex(random, 8);
	snprintf(temp, sizeof temp, ".tmp-%s", random);
	auto_fd fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot create %s", name);
	int result = io_write_all(fd, bytes, len, err);
	if (result == 0 && fsync(fd) < 0)
		result = sbx_fail_errno(err, SBX_IO, "io_error", "cannot sync %s", name);
	if (result == 0 && how == PUT_REPLACE && renameat(dirfd, temp, dirfd, name) < 0)
		result = sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot replace %s", name);
	if (result == 0 && how == PUT_CREATE && linkat(dirfd, temp, dirfd, name, 0) < 0)
		result = errno == EEXIST ? sbx_fail(err, SBX_CANNOT_CREATE, "exists", "%s exists", name)
					 : sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create",
							  "cannot create %s", name);
	if (result < 0 || how == PUT_CREATE)
		unlinkat(dirfd, temp, 0);
	return result < 0 ? -1 : sync_dir(dirfd, err);
}

int io_replace_file(int dirfd, const char *name, const void *bytes, size_t len, struct sbx_error *err)
{
	return put_file(dirfd, name, bytes, len, PUT_REPLACE, err);
}

int io_create_file(int dirfd, const char *name, const void *bytes, size_t len, struct sbx_error *err)
{
	return put_file(dirfd, name, bytes, len, PUT_CREATE, err);
}

int io_exists(int dirfd, const char *name)
{
	return faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int io_open_beneath(int dirfd, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC | ((flags & O_PATH) ? 0 : O_NOCTTY)), /* strict about O_PATH */
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve,
	};

	return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof how);
}

int io_open_dir(int dirfd, const char *name, enum io_create create, struct sbx_error *err)
{
	if (create == IO_CREATE && mkdirat(dirfd, name, 0700) < 0 && errno != EEXIST)
		return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create",
				      "cannot create directory %s", name);
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return sbx_fail_errno(err, SBX_NO_INPUT, "missing_file", "cannot open directory %s", name);
	return fd;
}

int io_memfd(const char *name, struct sbx_error *err)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		sbx_fail_errno(err, SBX_OS, "os_error", "cannot make a memory file");
	return fd;
}

static const int all_seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

int io_seal(int fd, struct sbx_error *err)
{
	if (lseek(fd, 0, SEEK_SET) < 0 || fcntl(fd, F_ADD_SEALS, all_seals) < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot seal a memory file");
	return 0;
}

int io_is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & all_seals) == all_seals;
}

int io_sealed_memfd(const char *name, const void *bytes, size_t len, struct sbx_error *err)
{
	auto_fd fd = io_memfd(name, err);

	if (fd < 0 || io_write_all(fd, bytes, len, err) < 0 || io_seal(fd, err) < 0)
		return -1;
	return take_fd(&fd);
}

int io_copy(int from, int to, uint64_t max, uint64_t *copied, struct sbx_error *err)
{
	auto_free char *data = malloc(block);
	uint64_t total = 0;

	if (data == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	for (;;) {
		ssize_t n = read_some(from, data, block);
		if (n < 0)
			return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read");
		if (n == 0)
			break;
		total += (uint64_t)n;
		if (total > max)
			return sbx_fail(err, SBX_BAD_REQUEST, "too_large", "more than %llu bytes",
					(unsigned long long)max);
		if (io_write_all(to, data, (size_t)n, err) < 0)
			return -1;
	}
	if (copied != NULL)
		*copied = total;
	return 0;
}

void io_random(void *out, size_t n)
{
	char *p = out;

	while (n > 0) {
		ssize_t got = getrandom(p, n, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			abort();
		p += got;
		n -= (size_t)got;
	}
}

void io_random_hex(char *out, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	/* The bytes stand in the second half of what becomes their digits, and each is read before it is written over. */
	unsigned char *bytes = (unsigned char *)out + n;
	io_random(bytes, n);
	for (size_t i = 0; i < n; i++) {
		const unsigned char byte = bytes[i];
		out[2 * i] = digits[byte >> 4];
		out[2 * i + 1] = digits[byte & 15];
	}
	out[2 * n] = '\0';
}

static int remove_entries(int fd, struct sbx_error *err)
{
	DIR *dir = fdopendir(fd);
	int result = 0;

	if (dir == NULL) {
		close(fd);
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot list a directory");
	}
	for (struct dirent *entry; result == 0 && (entry = readdir(dir)) != NULL;)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			result = io_remove_tree(fd, entry->d_name, err);
	closedir(dir);
	return result;
}

int io_remove_tree(int dirfd, const char *name, struct sbx_error *err)
{
	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot remove %s", name);
	if (remove_entries(fd, err) < 0)
		return -1;
	if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot remove %s", name);
	return 0;
}

int io_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t value = 0;

	if (text[0] < '0' || text[0] > '9' || (text[0] == '0' && text[1] != '\0'))
		return -1;
	for (const char *p = text; *p != '\0'; p++) {
		if (*p < '0' || *p > '9')
			return -1;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return -1;
	}
	if (value < min || value > max)
		return -1;
	*out = value;
	return 0;
}
