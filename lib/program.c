/* Program digests with a cache. */
#include "program.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "io.h"
#include "limit.h"

static const size_t entry_max = 512;
/* A file changed this recently may change again within the resolution of its time stamps, unseen. */
static const int64_t settle_s = 3;

/* What must be the same for the remembered digest to count. ctime cannot be set back by anyone but root. */
static void describe(const struct stat *st, char *out, size_t size)
{
	snprintf(out, size, "%llu %llu %lld %lld.%09ld %lld.%09ld ", (unsigned long long)st->st_dev,
		 (unsigned long long)st->st_ino, (long long)st->st_size, (long long)st->st_mtim.tv_sec,
		 st->st_mtim.tv_nsec, (long long)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
}

static int open_cache(const struct state *state)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_fd cache = state_dir(state, "cache", &ignored);

	return cache < 0 ? -1 : io_open_dir(cache, "programs", IO_CREATE, &ignored);
}

static int remembered(int cache, const char *name, const char *key, char sha256[DIGEST_HEX_SIZE])
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	unsigned char bytes[DIGEST_SIZE];
	auto_free char *text = NULL;
	size_t len = 0, key_len = strlen(key);

	if (cache < 0 || io_read_file(cache, name, entry_max, IO_PRIVATE, &text, &len, &ignored) < 0)
		return 0;
	if (len != key_len + DIGEST_HEX_SIZE - 1 || memcmp(text, key, key_len) != 0 ||
	    digest_from_hex(text + key_len, bytes, sizeof bytes) < 0)
		return 0;
	memcpy(sha256, text + key_len, DIGEST_HEX_SIZE);
	return 1;
}

static void remember(int cache, const char *name, const char *key, const struct stat *st, const char *sha256)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	char line[512];

	if (cache < 0 || st->st_ctim.tv_sec + settle_s > clock_seconds())
		return;
	int len = snprintf(line, sizeof line, "%s%s", key, sha256);
	if (len > 0 && (size_t)len < sizeof line)
		io_replace_file(cache, name, line, (size_t)len, &ignored);
}

/* The file, if it is one that may be started. */
static int open_program(const char *path, struct stat *st, struct sbx_error *err)
{
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0 || fstat(fd, st) < 0 || !S_ISREG(st->st_mode)) {
		sbx_fail(err, SBX_CONFIG, "missing_program", "there is no program file %s on this host", path);
		return sbx_hint(err, "install it, or correct its path under programs: in policy.yaml");
	}
	return io_check_trust(fd, path, IO_TRUSTED, err) < 0 ? -1 : take_fd(&fd);
}

int program_check(const char *path, struct sbx_error *err)
{
	struct stat st;
	auto_fd fd = open_program(path, &st, err);

	return fd < 0 ? -1 : 0;
}

int program_digest_fd(const struct state *state, int fd, const char *path, char sha256[DIGEST_HEX_SIZE],
		      struct sbx_error *err)
{
	struct stat before, after;
	auto_fd cache = -1;
	char key[256], name[DIGEST_HEX_SIZE];
	uint64_t size = 0;

	if (fstat(fd, &before) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot look at %s", path);
	describe(&before, key, sizeof key);
	digest_sha256_hex(path, strlen(path), name);
	cache = open_cache(state);
	if (remembered(cache, name, key, sha256))
		return 0;
	if (digest_fd_hex(fd, LIMIT_PROGRAM, sha256, &size, err) < 0)
		return sbx_wrap(err, "%s", path);
	if (fstat(fd, &after) == 0 && after.st_ctim.tv_sec == before.st_ctim.tv_sec &&
	    after.st_ctim.tv_nsec == before.st_ctim.tv_nsec)
		remember(cache, name, key, &before, sha256);
	return 0;
}

int program_digest(const struct state *state, const char *path, char sha256[DIGEST_HEX_SIZE], struct sbx_error *err)
{
	struct stat st;
	auto_fd fd = open_program(path, &st, err);

	return fd < 0 ? -1 : program_digest_fd(state, fd, path, sha256, err);
}
