/* The locks are the kernel's: whoever dies leaves none behind. */
#include "slot.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "digest.h"
#include "io.h"

enum { PRINCIPAL_MAX = 64 /* longer names are hashed for their slots */ };

/* A principal's name becomes the name of a directory: as it is when it cannot be anything else, else hashed. */
static void slot_name(const char *principal, char out[PRINCIPAL_MAX + 1])
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.@";

	if (principal[0] != '.' && strlen(principal) < PRINCIPAL_MAX && strspn(principal, safe) == strlen(principal))
		snprintf(out, PRINCIPAL_MAX + 1, "%s", principal);
	else
		digest_sha256_hex(principal, strlen(principal), out);
}

int slot_take(const struct state *state, const char *principal, const char *kind, int count, struct sbx_error *err)
{
	char directory[PRINCIPAL_MAX + 1], name[32];

	if (principal == NULL || principal[0] == '\0')
		return sbx_fail(err, SBX_PROTOCOL, "bad_call", "the call names no principal");
	slot_name(principal, directory);
	auto_fd slots = state_dir(state, "slots", err);
	if (slots < 0)
		return -1;
	auto_fd mine = io_open_dir(slots, directory, IO_CREATE, err);
	if (mine < 0)
		return -1;
	for (int i = 1; i <= count; i++) {
		snprintf(name, sizeof name, "%s%d", kind, i);
		auto_fd fd = openat(mine, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot make a slot");
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return take_fd(&fd);
	}
	sbx_fail(err, SBX_UNAVAILABLE, "too_many_calls", "this principal has %d calls %s", count,
		 *kind == '\0' ? "running" : "at work");
	return sbx_hint(err, "wait until one has ended");
}
