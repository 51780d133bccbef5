/* From lock file and mirror to the packages of a run. */
#include "providers.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "io.h"
#include "lock_file.h"
#include "unit.h"

#if defined(__x86_64__)
#define PLATFORM "linux_amd64"
#elif defined(__aarch64__)
#define PLATFORM "linux_arm64"
#else
#error "say here how terraform calls this platform"
#endif

static char place[] = "/tmp/sbx-providers-XXXXXX";
static char mirror[64];
static struct state state = STATE_NONE;
static struct sbx_error err;

/* The digest of a package that holds the file "p" with the bytes "one". */
static const char one[] = "h1:npC1DXK6rpAvz0TEWJpEVJEGI9iW0ITC9duBv+BPO3c=";

static void make_dirs(const char *path)
{
	char part[256];

	for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
		mkdir(part, 0755);
	}
}

static void put(const char *name, const char *bytes)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", mirror, name);
	make_dirs(path);
	auto_fd fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	CHECK(fd >= 0 && io_write_all(fd, bytes, strlen(bytes), &err) == 0);
}

static const char *code(void)
{
	static char last[sizeof err.code];

	memcpy(last, err.code, sizeof last);
	sbx_error_clear(&err);
	return last;
}

/* What a lock file with this body of one provider finds, digested; invalid with ERR. */
static jv found_from(enum providers_from from, const char *source, const char *body)
{
	char lock[512];
	auto_jv locked = jv_invalid();
	jv list = jv_invalid();

	snprintf(lock, sizeof lock, "provider \"%s\" {\n  version = \"1.2.3\"\n%s}\n", source, body);
	if (lock_file_read(lock, strlen(lock), &locked, &err) < 0 || providers_find(mirror, locked, &list, &err) < 0)
		return jv_invalid();
	if (providers_digest(&state, mirror, from, &list, &err) < 0) {
		jv_free(list);
		return jv_invalid();
	}
	return list;
}

static jv found(const char *source, const char *body)
{
	return found_from(PROVIDERS_MIRRORED, source, body);
}

static void test_found(void)
{
	char body[200];

	put("a.b/c/d/1.2.3/" PLATFORM "/p", "one");
	auto_jv list = found("a.b/c/d", ""), first = json_at(list, 0);
	CHECK(json_length(list) == 1 && !json_has(first, "hashes"));
	CHECK_STR(json_str(first, "source"), "a.b/c/d");
	CHECK_STR(json_str(first, "version"), "1.2.3");
	CHECK_STR(json_str(first, "path"), "a.b/c/d/1.2.3/" PLATFORM);
	CHECK_STR(json_str(first, "package"), one);
	snprintf(body, sizeof body, "hashes = [\"h1:other\", \"%s\", \"zh:00\"]\n", one);
	auto_jv again = found("a.b/c/d", body);
	CHECK(json_same(list, again));
	/* Another platform's, another version's, and what nobody locked, are not there for the run. */
	put("a.b/c/e/1.2.3/plan9_amd64/p", "one");
	put("a.b/c/e/1.2.4/" PLATFORM "/p", "one");
	auto_jv none = found("a.b/c/e", "");
	CHECK(json_length(none) == 0);
	auto_jv nothing = jv_array();
	jv empty = jv_invalid();
	CHECK(providers_find(mirror, nothing, &empty, &err) == 0 && json_length(empty) == 0);
	jv_free(empty);
}

static void test_packed(void)
{
	put("a.b/c/z/terraform-provider-z_1.2.3_" PLATFORM ".zip", "abc");
	auto_jv list = found("a.b/c/z", "hashes = [\"h1:OfItsContent=\"]\n"), first = json_at(list, 0);
	CHECK_STR(json_str(first, "package"), "zh:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	CHECK_STR(json_str(first, "path"), "a.b/c/z/terraform-provider-z_1.2.3_" PLATFORM ".zip");
	/* Unpacked beside it: that is the one. */
	put("a.b/c/z/1.2.3/" PLATFORM "/p", "one");
	auto_jv unpacked = found("a.b/c/z", ""), other = json_at(unpacked, 0);
	CHECK_STR(json_str(other, "package"), one);
}

static void test_refused(void)
{
	char path[256], saved[64];
	jv none = jv_invalid();

	auto_jv wrong = found("a.b/c/d", "hashes = [\"h1:other\"]\n");
	CHECK(!jv_is_valid(wrong) && err.class == SBX_DENIED && strstr(err.message, "a.b/c/d") != NULL);
	CHECK_STR(code(), "provider_not_locked");
	auto_jv broken = found("a.b/../d", "");
	CHECK(!jv_is_valid(broken));
	CHECK_STR(code(), "lock_invalid");
	snprintf(path, sizeof path, "%s/a.b/c/d/1.2.3/" PLATFORM "/p", mirror);
	CHECK(chmod(path, 0666) == 0);
	auto_jv unsafe = found("a.b/c/d", "");
	CHECK(!jv_is_valid(unsafe));
	CHECK_STR(code(), "unsafe_file");
	CHECK(chmod(path, 0644) == 0);
	*strrchr(path, '/') = '\0';
	CHECK(chmod(path, 0777) == 0);
	auto_jv open_dir = found("a.b/c/d", "");
	CHECK(!jv_is_valid(open_dir));
	CHECK_STR(code(), "unsafe_file");
	CHECK(chmod(path, 0755) == 0);
	snprintf(path, sizeof path, "%s/a.b/c/out", mirror);
	CHECK(symlink("/usr", path) == 0);
	auto_jv outside = found("a.b/c/out", "");
	CHECK(!jv_is_valid(outside));
	CHECK_STR(code(), "provider_unsafe");
	snprintf(saved, sizeof saved, "%s", mirror);
	snprintf(mirror, sizeof mirror, "%s/none", place);
	auto_jv nothing = jv_array();
	CHECK(providers_find(mirror, nothing, &none, &err) < 0 && err.class == SBX_CONFIG);
	CHECK(strstr(err.hint, "policy.yaml") != NULL);
	CHECK_STR(code(), "mirror_missing");
	snprintf(mirror, sizeof mirror, "%s", saved);
}

/* What was fetched is a person's choice by its digest alone, unpacked or packed, whatever else the lock file has. */
static void test_fetched(void)
{
	static const char *const other[] = {"", "hashes = [\"h1:other\"]\n", "hashes = [\"zh:00\"]\n"};
	char body[200];

	put("a.b/c/f/terraform-provider-f_1.2.3_" PLATFORM ".zip", "abc");
	for (size_t i = 0; i < ARRAY_LEN(other); i++) {
		auto_jv unpacked = found_from(PROVIDERS_FETCHED, "a.b/c/d", other[i]);
		CHECK(!jv_is_valid(unpacked) && strstr(err.hint, "fs-mirror") == NULL);
		CHECK_STR(code(), "provider_not_locked");
		auto_jv packed = found_from(PROVIDERS_FETCHED, "a.b/c/f", other[i]);
		CHECK(!jv_is_valid(packed));
		CHECK_STR(code(), "provider_not_locked");
	}
	snprintf(body, sizeof body, "hashes = [\"h1:other\", \"%s\", \"zh:00\"]\n", one);
	auto_jv locked = found_from(PROVIDERS_FETCHED, "a.b/c/d", body);
	CHECK(json_length(locked) == 1);
	auto_jv zip = found_from(PROVIDERS_FETCHED, "a.b/c/f",
				 "hashes = [\"zh:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"]\n");
	CHECK(json_length(zip) == 1);
}

/* One byte of a package: another digest, although one was remembered. */
static void test_changed(void)
{
	auto_jv before = found("a.b/c/d", "");
	CHECK(providers_differ(before, before) == NULL);
	put("a.b/c/d/1.2.3/" PLATFORM "/p", "two");
	auto_jv after = found("a.b/c/d", ""), none = jv_array();
	CHECK_STR(providers_differ(before, after), "a.b/c/d");
	CHECK_STR(providers_differ(before, none), "a.b/c/d");
	CHECK_STR(providers_differ(none, after), "a.b/c/d");
	CHECK(providers_differ(none, none) == NULL);
	CHECK(providers_differ(jv_invalid(), none) == NULL);
}

int main(void)
{
	char path[64];

	if (mkdtemp(place) == NULL)
		return 1;
	snprintf(mirror, sizeof mirror, "%s/mirror", place);
	snprintf(path, sizeof path, "%s/var", place);
	CHECK(mkdir(mirror, 0755) == 0 && state_open(path, &state, &err) == 0);
	test_found();
	test_packed();
	test_refused();
	test_fetched();
	test_changed();
	state_close(&state);
	io_remove_tree(AT_FDCWD, place, &err);
	return unit_done();
}
