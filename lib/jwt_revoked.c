/* One small file for each revoked token. */
#include "jwt_revoked.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "io.h"
#include "limit.h"
#include "state.h"

/* An entry outlives its token by an hour: the clock may be set back, and a mint that hangs may sign later than its
 * lease was written. */
static const int64_t kept_longer_s = 60 * 60;
enum { ENTRY_MAX = 32 };

/* Entries are dropped only when they say in digits that they are old; anything else stays. */
static int has_expired(int dirfd, const char *name, int64_t now)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_free char *text = NULL;
	size_t len;
	uint64_t exp;

	if (!state_is_id(name) || io_read_file(dirfd, name, ENTRY_MAX, IO_TRUSTED, &text, &len, &ignored) < 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return io_parse_u64(text, 0, LIMIT_INTEGER, &exp) == 0 && (int64_t)exp + kept_longer_s < now;
}

static void drop_expired(int dirfd)
{
	int64_t now = clock_seconds();
	int copy = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (dir == NULL) {
		if (copy >= 0)
			close(copy);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		if (has_expired(dirfd, entry->d_name, now))
			unlinkat(dirfd, entry->d_name, 0);
	closedir(dir);
}

int jwt_revoke(int dirfd, const char *jti, int64_t exp, struct sbx_error *err)
{
	struct sbx_error failed = SBX_ERROR_INIT;
	char text[ENTRY_MAX];

	int len = snprintf(text, sizeof text, "%lld\n", (long long)(exp < 0 ? 0 : exp));
	if (io_create_file(dirfd, jti, text, (size_t)len, &failed) < 0 && strcmp(failed.code, "exists") != 0) {
		*err = failed;
		return sbx_wrap(err, "the revocation list");
	}
	drop_expired(dirfd);
	return 0;
}

int jwt_is_revoked(int dirfd, const char *jti, struct sbx_error *err)
{
	struct stat st;

	if (fstatat(dirfd, jti, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	if (errno == ENOENT)
		return 0;
	return sbx_fail_errno(err, SBX_IO, "io_error", "the revocation list cannot be read");
}
