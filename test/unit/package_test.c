/* Digests of provider packages: those that terraform writes into a lock file, and nothing for what is no package. */
#include "package.h"

#include "files.h"

static int hash_of(const char *name, const struct package_reader *reader, char hash[PACKAGE_HASH_SIZE])
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", place, name);
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	return package_hash(fd, path, reader, hash, &err);
}

/* The first is what `terraform init` of 1.11.4 wrote for exactly this package. */
static void test_known(void)
{
	char hash[PACKAGE_HASH_SIZE];

	make_dir("one");
	put("one/terraform-provider-fake_v1.2.3", "#!/bin/sh\nexit 1\n");
	CHECK(hash_of("one", NULL, hash) == 0);
	CHECK_STR(hash, "h1:6Z2/qo7+ohCc5eIVM9W8s9vSeqatTE2+VStBcZCuV78=");
	put("packed.zip", "abc");
	CHECK(hash_of("packed.zip", NULL, hash) == 0);
	CHECK_STR(hash, "zh:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/* Sorted by the whole path, as bytes: "a-b" stands before "a/b". */
static void test_order(void)
{
	static const char names[][8] = {"a-b", "a/b", "b"};
	char lines[512] = "", digest[DIGEST_HEX_SIZE], hash[PACKAGE_HASH_SIZE], again[PACKAGE_HASH_SIZE];

	make_dir("many");
	make_dir("many/a");
	put("many/b", "3");
	put("many/a/b", "2");
	put("many/a-b", "1");
	CHECK(hash_of("many", NULL, hash) == 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char byte = (char)('1' + i);
		digest_sha256_hex(&byte, 1, digest);
		size_t used = strlen(lines);
		snprintf(lines + used, sizeof lines - used, "%s  %s\n", digest, names[i]);
	}
	/* The same lines as one file, and base64 of its digest by hand: the first three bytes are enough to tell. */
	unsigned char bytes[DIGEST_SIZE];
	digest_sha256(lines, strlen(lines), bytes);
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char expected[5] = {digits[bytes[0] >> 2], digits[(bytes[0] & 3) << 4 | bytes[1] >> 4],
			    digits[(bytes[1] & 15) << 2 | bytes[2] >> 6], digits[bytes[2] & 63], '\0'};
	CHECK(strncmp(hash + 3, expected, 4) == 0 && strlen(hash) == 47);
	put("many/b", "4");
	CHECK(hash_of("many", NULL, again) == 0 && strcmp(hash, again) != 0);
	put("many/b", "3");
	CHECK(hash_of("many", NULL, again) == 0 && strcmp(hash, again) == 0);
}

static void refused(const char *name)
{
	char hash[PACKAGE_HASH_SIZE];

	CHECK(hash_of(name, NULL, hash) < 0 && err.class == SBX_CONFIG);
	CHECK_STR(err.code, "provider_unsafe");
	sbx_error_clear(&err);
}

static void test_refused(void)
{
	char path[256];

	make_dir("empty");
	refused("empty");
	make_dir("linked");
	put("linked/real", "x");
	snprintf(path, sizeof path, "%s/linked/link", place);
	CHECK(symlink("real", path) == 0);
	refused("linked");
	CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0);
	refused("linked");
	CHECK(unlink(path) == 0);
	put("linked/two\nlines", "x");
	refused("linked");
	refused("../../dev/null");
}

struct seen {
	int files, dirs;
};

static int read_file(void *context, int fd, const char *path, char sha256[DIGEST_HEX_SIZE], struct sbx_error *error)
{
	struct seen *seen = context;

	(void)fd;
	seen->files++;
	if (strstr(path, "/many/a/b") != NULL)
		return sbx_fail(error, SBX_CONFIG, "unsafe_file", "no");
	digest_sha256_hex("x", 1, sha256);
	return 0;
}

static int enter(void *context, int fd, const char *path, struct sbx_error *error)
{
	struct seen *seen = context;

	(void)fd;
	(void)path;
	(void)error;
	seen->dirs++;
	return 0;
}

static void test_reader(void)
{
	struct seen seen = {0, 0};
	const struct package_reader reader = {.read = read_file, .enter = enter, .context = &seen};
	char hash[PACKAGE_HASH_SIZE];

	CHECK(hash_of("one", &reader, hash) == 0 && seen.files == 1 && seen.dirs == 1);
	CHECK(hash_of("many", &reader, hash) < 0);
	CHECK_STR(err.code, "unsafe_file");
	sbx_error_clear(&err);
}

int main(void)
{
	if (mkdtemp(place) == NULL)
		return 1;
	test_known();
	test_order();
	test_refused();
	test_reader();
	io_remove_tree(AT_FDCWD, place, &err);
	return unit_done();
}
