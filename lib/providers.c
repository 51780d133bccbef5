/* From lock file and mirror to packages. */
#include "providers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>

#include "io.h"
#include "package.h"
#include "program.h"

/* This machine's platform in Go's words. */
#if defined(__x86_64__)
#define PLATFORM "linux_amd64"
#elif defined(__aarch64__)
#define PLATFORM "linux_arm64"
#elif defined(__i386__)
#define PLATFORM "linux_386"
#elif defined(__arm__)
#define PLATFORM "linux_arm"
#elif defined(__riscv)
#define PLATFORM "linux_riscv64"
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define PLATFORM "linux_ppc64le"
#elif defined(__s390x__)
#define PLATFORM "linux_s390x"
#else
#define PLATFORM "linux_unknown" /* no package has this name, so no provider is found */
#endif

static int open_mirror(const char *mirror, struct sbx_error *err)
{
	int fd = open(mirror, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	sbx_fail_errno(err, SBX_CONFIG, "mirror_missing", "the mirror of providers %.200s cannot be opened", mirror);
	return sbx_hint(err, "mirror: in policy.yaml names it; make it, and fill it with: terraform providers mirror "
			     "DIRECTORY");
}

/* 1 when PATH is there, 0 when not. */
static int is_there(int mirror_fd, const char *path, int flags, struct sbx_error *err)
{
	auto_fd fd = io_open_beneath(mirror_fd, path, O_PATH | flags, 0);

	if (fd >= 0)
		return 1;
	if (errno == ENOENT || errno == ENOTDIR)
		return 0;
	return sbx_fail_errno(err, SBX_CONFIG, "provider_unsafe", "the provider %.200s of the mirror cannot be reached",
			      path);
}

/* Where terraform looks for a package in a mirror on disk: unpacked, packed. */
static int locate(int mirror_fd, jv locked, char path[PATH_MAX], struct sbx_error *err)
{
	const char *source = json_str(locked, "source"), *version = json_str(locked, "version");
	int there;

	snprintf(path, PATH_MAX, "%s/%s/" PLATFORM, source, version);
	there = is_there(mirror_fd, path, O_DIRECTORY, err);
	if (there != 0)
		return there;
	snprintf(path, PATH_MAX, "%s/terraform-provider-%s_%s_" PLATFORM ".zip", source, strrchr(source, '/') + 1,
		 version);
	return is_there(mirror_fd, path, 0, err);
}

int providers_find(const char *mirror, jv locked, jv *found, struct sbx_error *err)
{
	auto_fd mirror_fd = open_mirror(mirror, err);
	auto_jv list = jv_array();
	char path[PATH_MAX];

	if (mirror_fd < 0)
		return -1;
	for (int i = 0, n = json_length(locked); i < n; i++) {
		auto_jv one = json_at(locked, i);
		int there = locate(mirror_fd, one, path, err);
		if (there < 0)
			return -1;
		if (there > 0)
			list = json_append(take_jv(&list), json_set_str(take_jv(&one), "path", path));
	}
	*found = take_jv(&list);
	return 0;
}

static int read_file(void *context, int fd, const char *path, char sha256[DIGEST_HEX_SIZE], struct sbx_error *err)
{
	if (io_check_trust(fd, path, IO_TRUSTED, err) < 0)
		return -1;
	return program_digest_fd(context, fd, path, sha256, err);
}

static int enter(void *context, int fd, const char *path, struct sbx_error *err)
{
	(void)context;
	return io_check_trust(fd, path, IO_TRUSTED, err);
}

static int is_locked(jv hashes, const char *package, enum providers_from from)
{
	int n = json_length(hashes), comparable = 0;

	for (int i = 0; i < n; i++) {
		auto_jv hash = json_at(hashes, i);
		const char *text = json_text(hash);
		if (text == NULL || strncmp(text, package, 3) != 0)
			continue;
		if (strcmp(text, package) == 0)
			return 1;
		comparable = 1;
	}
	/* A packed one may stand there by the digest of what it unpacks to, which terraform computes. */
	return from == PROVIDERS_MIRRORED && (!comparable || strncmp(package, "zh:", 3) == 0);
}

static int not_locked(const char *source, const char *mirror, enum providers_from from, struct sbx_error *err)
{
	if (from == PROVIDERS_MIRRORED) {
		sbx_fail(err, SBX_DENIED, "provider_not_locked",
			 "the mirror's package of the provider %.200s has none of the digests in the lock file", source);
		return sbx_hint(err,
				"see which of the two is right; terraform providers lock -fs-mirror=%s writes the mirror's",
				mirror);
	}
	sbx_fail(err, SBX_DENIED, "provider_not_locked",
		 "the package of the provider %.200s that was fetched has none of the digests in the lock file", source);
	return sbx_hint(err, "terraform providers lock -platform=linux_amd64 (or what this machine is) adds this platform's, "
			     "where the network is; let a person look at the change");
}

static int digest_one(const struct state *state, int mirror_fd, const char *mirror, enum providers_from from,
		      jv *provider, struct sbx_error *err)
{
	const struct package_reader reader = {.read = read_file, .enter = enter, .context = (void *)state};
	auto_jv hashes = json_array(*provider, "hashes");
	const char *path = json_str(*provider, "path");
	char whole[PATH_MAX], hash[PACKAGE_HASH_SIZE];
	auto_fd fd = io_open_beneath(mirror_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

	if (snprintf(whole, sizeof whole, "%s/%s", mirror, path) >= (int)sizeof whole || fd < 0)
		return sbx_fail_errno(err, SBX_CONFIG, "provider_unsafe",
				      "the provider %.200s of the mirror cannot be opened", path);
	if (package_hash(fd, whole, &reader, hash, err) < 0)
		return -1;
	if (!is_locked(hashes, hash, from))
		return not_locked(json_str(*provider, "source"), mirror, from, err);
	*provider = json_set_str(json_delete(take_jv(provider), "hashes"), "package", hash);
	return 0;
}

int providers_digest(const struct state *state, const char *mirror, enum providers_from from, jv *found,
		     struct sbx_error *err)
{
	auto_fd mirror_fd = open_mirror(mirror, err);
	auto_jv list = jv_array();

	if (mirror_fd < 0)
		return -1;
	for (int i = 0, n = json_length(*found); i < n; i++) {
		auto_jv one = json_at(*found, i);
		if (digest_one(state, mirror_fd, mirror, from, &one, err) < 0)
			return -1;
		list = json_append(take_jv(&list), take_jv(&one));
	}
	jv_free(*found);
	*found = take_jv(&list);
	return 0;
}

/* The source of the first of LIST that OTHERS does not have as it is. */
static const char *first_missing(jv list, jv others)
{
	for (int i = 0, n = json_length(list); i < n; i++) {
		auto_jv one = json_at(list, i);
		const char *source = json_str(one, "source");
		int same = 0;
		for (int j = 0, m = json_length(others); j < m && !same; j++) {
			auto_jv other = json_at(others, j);
			same = json_same(one, other);
		}
		if (!same)
			return source != NULL ? source : "";
	}
	return NULL;
}

const char *providers_differ(jv expected, jv found)
{
	const char *which = first_missing(expected, found);

	return which != NULL ? which : first_missing(found, expected);
}
