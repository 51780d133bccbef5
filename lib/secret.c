/* Locked, wiped memory for secrets. */
#include "secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

enum { WIPE_PAGES = 64 }; /* asked about at once */

/* Page by page, as they come into use: a place is as large as a secret may be, and most secrets are not. */
static void lock(void *map, size_t size)
{
#ifdef MLOCK_ONFAULT
	if (mlock2(map, size, MLOCK_ONFAULT) == 0)
		return;
#endif
	(void)mlock(map, size);
}

/* What was never in use has nothing to wipe, and would come into use by that. */
static void wipe(const struct secret *s)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char in_use[WIPE_PAGES];

	for (size_t at = 0; at < s->cap; at += WIPE_PAGES * page) {
		size_t size = s->cap - at < WIPE_PAGES * page ? s->cap - at : WIPE_PAGES * page;
		int is_told = mincore(s->data + at, size, in_use) == 0;
		for (size_t i = 0; i < size / page; i++)
			if (!is_told || in_use[i] & 1)
				explicit_bzero(s->data + at + i * page, page);
	}
}

int secret_alloc(struct secret *s, size_t cap, struct sbx_error *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (cap + page) / page * page;
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return sbx_fail_errno(err, SBX_OS, "no_memory", "cannot get memory for a secret");
	lock(map, size);
	(void)madvise(map, size, MADV_DONTDUMP);
	(void)madvise(map, size, MADV_WIPEONFORK);
	*s = (struct secret){.data = map, .len = 0, .cap = size};
	return 0;
}

int secret_append(struct secret *s, const void *bytes, size_t len, struct sbx_error *err)
{
	if (len > s->cap - s->len)
		return sbx_fail(err, SBX_BAD_REQUEST, "too_large", "a secret is larger than its place");
	memcpy(s->data + s->len, bytes, len);
	s->len += len;
	return 0;
}

int secret_read_fd(struct secret *s, int fd, size_t max, struct sbx_error *err)
{
	if (secret_alloc(s, max + 1, err) < 0)
		return -1;
	while (s->len <= max) {
		ssize_t n = read(fd, s->data + s->len, max + 1 - s->len);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR) {
			sbx_fail_errno(err, SBX_IO, "io_error", "cannot read a secret");
			break;
		}
		if (n > 0)
			s->len += (size_t)n;
	}
	if (s->len > max)
		sbx_fail(err, SBX_BAD_REQUEST, "too_large", "a secret has more than %zu bytes", max);
	secret_clear(s);
	return -1;
}

int secret_memfd(const struct secret *s, const char *name, struct sbx_error *err)
{
	auto_fd fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot make a memory file");
	for (size_t done = 0; done < s->len;) {
		ssize_t n = write(fd, s->data + done, s->len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return sbx_fail_errno(err, SBX_IO, "io_error", "cannot write a memory file");
		done += (size_t)n;
	}
	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot seal a memory file");
	return take_fd(&fd);
}

int secret_equal(const struct secret *a, const struct secret *b)
{
	unsigned char difference = 0;

	if (a->len != b->len)
		return 0;
	for (size_t i = 0; i < a->len; i++)
		difference |= a->data[i] ^ b->data[i];
	return difference == 0;
}

void secret_clear(struct secret *s)
{
	if (s->data != NULL) {
		wipe(s);
		munmap(s->data, s->cap);
	}
	*s = (struct secret)SECRET_INIT;
}
