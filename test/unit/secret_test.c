/* secret: a large place costs what is written to it, and all of that is wiped, wherever it stands. */
#include "secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io.h"
#include "unit.h"

enum { PLACE = 1 << 20, SPREAD = 40000 };

static int is_blind;	/* the kernel does not say what is in use */
static size_t unwiped;	/* bytes that were given back with something in them */
static size_t released; /* bytes that were given back at all */

/* secret's own calls of these come here. */
int munmap(void *map, size_t size)
{
	const unsigned char *bytes = map;

	released += size;
	for (size_t i = 0; i < size; i++)
		unwiped += bytes[i] != 0;
	return (int)syscall(SYS_munmap, map, size);
}

int mincore(void *map, size_t size, unsigned char *in_use)
{
	if (is_blind) {
		errno = EPERM;
		return -1;
	}
	return (int)syscall(SYS_mincore, map, size, in_use);
}

static long resident_kib(void)
{
	auto_free char *text = NULL;
	struct sbx_error err = SBX_ERROR_INIT;
	size_t len;

	CHECK(io_read_file(AT_FDCWD, "/proc/self/status", 1 << 16, 0, &text, &len, &err) == 0);
	const char *line = strstr(text, "VmRSS:");
	return line != NULL ? strtol(line + 6, NULL, 10) : -1;
}

static void check_wiped(int blind)
{
	struct secret s = SECRET_INIT;
	struct sbx_error err = SBX_ERROR_INIT;

	is_blind = blind;
	unwiped = released = 0;
	CHECK(secret_alloc(&s, PLACE, &err) == 0 && s.cap >= PLACE);
	CHECK(secret_append(&s, "hunter2", 7, &err) == 0);
	/* Written without a word to the module, up to the last byte. */
	for (size_t at = SPREAD; at < s.cap; at += SPREAD)
		s.data[at] = 'x';
	s.data[s.cap - 1] = 'x';
	size_t cap = s.cap;
	secret_clear(&s);
	CHECK(s.data == NULL && released == cap && unwiped == 0);
	is_blind = 0;
}

/* The other way round: what is not wiped is seen here. */
static void check_seen(void)
{
	unsigned char *map = mmap(NULL, PLACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	unwiped = 0;
	CHECK(map != MAP_FAILED);
	map[PLACE / 2] = 'x';
	munmap(map, PLACE);
	CHECK(unwiped == 1);
}

static void check_cost(void)
{
	struct secret s[16];
	struct sbx_error err = SBX_ERROR_INIT;
	long before = resident_kib();

	for (size_t i = 0; i < ARRAY_LEN(s); i++) {
		s[i] = (struct secret)SECRET_INIT;
		CHECK(secret_alloc(&s[i], PLACE, &err) == 0 && secret_append(&s[i], "hunter2", 7, &err) == 0);
	}
	CHECK(before > 0 && resident_kib() - before < PLACE / 1024);
	for (size_t i = 0; i < ARRAY_LEN(s); i++)
		secret_clear(&s[i]);
}

int main(void)
{
	check_wiped(0);
	check_wiped(1);
	check_seen();
	check_cost();
	return unit_done();
}
