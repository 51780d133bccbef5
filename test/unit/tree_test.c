/* Packing and unpacking a tree: the same digest for the same content, nothing from outside, nothing to the outside. */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "io.h"
#include "unit.h"
#include "wire.h"

static char root[] = "/tmp/sbx-tree-XXXXXX";
static int root_fd;

static int fresh(const char *name)
{
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK(io_remove_tree(root_fd, name, &err) == 0);
	CHECK(mkdirat(root_fd, name, 0755) == 0);
	return openat(root_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void put(int dir, const char *name, const char *text, mode_t mode)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static int fill(const char *name)
{
	int dir = fresh(name);

	mkdirat(dir, "envs", 0755);
	mkdirat(dir, "envs/staging", 0700);
	mkdirat(dir, "empty", 0755);
	put(dir, "envs/staging/main.tf", "resource\n", 0600);
	put(dir, "run.sh", "#!/bin/sh\n", 0755);
	put(dir, "zero", "", 0644);
	CHECK(symlinkat("envs/staging", dir, "link") == 0);
	CHECK(symlinkat("../../run.sh", dir, "envs/staging/up") == 0);
	CHECK(symlinkat("nowhere", dir, "dangling") == 0);
	return dir;
}

/* Pack into a memory file; -1 with err. */
static int pack(int dir, char sha256[DIGEST_HEX_SIZE], uint64_t *size, struct sbx_error *err)
{
	auto_fd fd = io_memfd("tree", err);

	return tree_pack(dir, fd, sha256, size, err) == 0 ? take_fd(&fd) : -1;
}

static void test_round(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	char one[DIGEST_HEX_SIZE], two[DIGEST_HEX_SIZE], other[DIGEST_HEX_SIZE], text[32] = "";
	uint64_t size;
	auto_fd dir = fill("a"), again = fill("b"), out = fresh("c");
	struct stat st;

	auto_fd fd = pack(dir, one, &size, &err);
	CHECK(fd >= 0 && lseek(fd, 0, SEEK_CUR) == (off_t)size);
	CHECK(tree_digest(again, two, &err) == 0);
	CHECK_STR(one, two); /* times and inode numbers are not part of it */
	CHECK(digest_fd_hex(fd, 1 << 20, two, NULL, &err) == 0);
	CHECK_STR(one, two);
	lseek(fd, 0, SEEK_SET);
	umask(077);
	CHECK(tree_unpack(fd, size, out, &err) == 0);
	CHECK(lseek(fd, 0, SEEK_CUR) == (off_t)size);
	CHECK(tree_digest(out, other, &err) == 0);
	CHECK_STR(one, other);
	CHECK(fstatat(out, "run.sh", &st, 0) == 0 && (st.st_mode & 07777) == 0755);
	CHECK(fstatat(out, "envs/staging/main.tf", &st, 0) == 0 && (st.st_mode & 07777) == 0644);
	CHECK(fstatat(out, "envs/staging", &st, 0) == 0 && (st.st_mode & 07777) == 0755);
	CHECK(readlinkat(out, "envs/staging/up", text, sizeof text) == 12);
	put(again, "zero", "1", 0644);
	CHECK(tree_digest(again, two, &err) == 0 && strcmp(one, two) != 0);
	put(again, "zero", "", 0644);
	CHECK(fchmodat(again, "zero", 0755, 0) == 0);
	CHECK(tree_digest(again, two, &err) == 0 && strcmp(one, two) != 0);
}

static void test_left_out(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	char one[DIGEST_HEX_SIZE], two[DIGEST_HEX_SIZE];
	auto_fd dir = fill("a");

	CHECK(tree_digest(dir, one, &err) == 0);
	put(dir, "terraform.tfstate", "secret", 0644);
	put(dir, "terraform.tfstate.backup", "secret", 0644);
	put(dir, "envs/x.tfstate.1234.backup", "secret", 0644);
	put(dir, "envs/.terraform.tfstate.lock.info", "secret", 0644);
	mkdirat(dir, ".git", 0755);
	put(dir, ".git/config", "secret", 0644);
	mkdirat(dir, "envs/.terraform", 0755);
	put(dir, "envs/.terraform/x", "secret", 0644);
	CHECK(tree_digest(dir, two, &err) == 0);
	CHECK_STR(one, two);
	put(dir, ".terraform.lock.hcl", "lock", 0644);
	CHECK(tree_digest(dir, two, &err) == 0 && strcmp(one, two) != 0);
}

/* The tree "a" with something in it is refused, with the path in the message. */
static void refused(int dir, const char *path)
{
	struct sbx_error err = SBX_ERROR_INIT;
	char sha256[DIGEST_HEX_SIZE];

	CHECK(tree_digest(dir, sha256, &err) == -1);
	CHECK_STR(err.code, "unsafe_tree");
	CHECK(err.class == SBX_BAD_REQUEST && strstr(err.message, path) != NULL);
}

static void test_links(void)
{
	static const char *const out[] = {"/etc/passwd",	   "../outside", "envs/../../outside",
					  "envs/staging/../../..", "deep/../..", "here/../outside",
					  "/proc/self/root",	   "loop"};
	struct sbx_error err = SBX_ERROR_INIT;
	char sha256[DIGEST_HEX_SIZE];

	auto_fd outside = fresh("outside");
	put(outside, "secret", "x", 0644);
	for (size_t i = 0; i < ARRAY_LEN(out); i++) {
		auto_fd dir = fill("a");
		mkdirat(dir, "deep", 0755);
		CHECK(symlinkat(".", dir, "here") == 0); /* deeper as text than in truth */
		CHECK(tree_digest(dir, sha256, &err) == 0);
		CHECK(symlinkat(out[i], dir, "loop") == 0);
		refused(dir, "loop");
	}
}

static void test_kinds(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	auto_fd dir = fill("a");

	CHECK(linkat(dir, "run.sh", dir, "second", 0) == 0);
	refused(dir, "run.sh");
	auto_fd pipe_dir = fill("a");
	CHECK(mkfifoat(pipe_dir, "envs/pipe", 0600) == 0);
	refused(pipe_dir, "envs/pipe");
	auto_fd socket_dir = fill("a");
	snprintf(address.sun_path, sizeof address.sun_path, "%s/a/sock", root);
	auto_fd s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(bind(s, (struct sockaddr *)&address, sizeof address) == 0);
	refused(socket_dir, "sock");
	if (geteuid() == 0) {
		auto_fd device_dir = fill("a");
		if (mknodat(device_dir, "null", S_IFCHR | 0600, 0x103) == 0)
			refused(device_dir, "null");
	}
}

static void test_limits(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	char sha256[DIGEST_HEX_SIZE], name[32];
	auto_fd dir = fresh("a");

	auto_fd at = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 64; i++) {
		CHECK(mkdirat(at, "d", 0755) == 0);
		int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = next;
	}
	CHECK(tree_digest(dir, sha256, &err) == 0);
	CHECK(mkdirat(at, "d", 0755) == 0);
	CHECK(tree_digest(dir, sha256, &err) == -1);
	CHECK_STR(err.code, "tree_too_large");

	sbx_error_clear(&err);
	auto_fd big = fresh("a");
	put(big, "f", "", 0644);
	CHECK(truncate("/nonexistent", 0) == -1);
	auto_fd file = openat(big, "f", O_WRONLY | O_CLOEXEC);
	CHECK(ftruncate(file, ((off_t)256 << 20) + 1) == 0);
	CHECK(tree_digest(big, sha256, &err) == -1);
	CHECK_STR(err.code, "tree_too_large");

	/* What is no workspace has a limit of its own. */
	sbx_error_clear(&err);
	uint64_t size;
	CHECK(ftruncate(file, 100) == 0 && tree_pack_up_to(big, -1, 99, sha256, &size, &err) == -1);
	CHECK_STR(err.code, "tree_too_large");
	CHECK(tree_pack_up_to(big, -1, 100, sha256, &size, &err) == 0);
	sbx_error_clear(&err);
	auto_fd many = fresh("a");
	/* Links, which cost a disk much less than files. */
	put(many, "0", "", 0644);
	for (int i = 1; i < 20001; i++) {
		snprintf(name, sizeof name, "%d", i);
		symlinkat("0", many, name);
	}
	CHECK(tree_digest(many, sha256, &err) == -1);
	CHECK_STR(err.code, "tree_too_large");
	unlinkat(many, "1", 0);
	sbx_error_clear(&err);
	CHECK(tree_digest(many, sha256, &err) == 0);
}

/* A packed tree with one entry of KIND at PATH. */
static int forged(uint32_t kind, const char *path, const char *content, struct buf *b)
{
	struct sbx_error err = SBX_ERROR_INIT;

	buf_reset(b);
	buf_add_str(b, "sbx-tree/1\n", &err);
	wire_put_u32(b, kind, &err);
	wire_put_str(b, path, &err);
	if (kind == 2 || kind == 3) {
		wire_put_u64(b, strlen(content), &err);
		buf_add_str(b, content, &err);
	} else if (kind == 4) {
		wire_put_str(b, content, &err);
	}
	return wire_put_u32(b, 0, &err);
}

static int unpack(const struct buf *b, size_t len)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_fd fd = io_memfd("tree", &err), out = fresh("c");

	CHECK(io_write_all(fd, b->data, len, &err) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	return tree_unpack(fd, len, out, &err);
}

static void test_forged(void)
{
	static const char *const paths[] = {"../x", "/tmp/x", "a/../../x", "", ".", "..", "a//b", "a/"};
	auto_buf b = BUF_INIT(1 << 20);
	struct sbx_error err = SBX_ERROR_INIT;

	forged(2, "fine", "content", &b);
	CHECK(unpack(&b, b.len) == 0);
	for (size_t len = 0; len < b.len; len++)
		CHECK(unpack(&b, len) == -1);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		for (uint32_t kind = 1; kind <= 4; kind++) {
			forged(kind, paths[i], "target", &b);
			CHECK(unpack(&b, b.len) == -1);
		}
	forged(5, "fine", "", &b);
	CHECK(unpack(&b, b.len) == -1);
	forged(4, "link", "/etc", &b);
	CHECK(unpack(&b, b.len) == -1);
	forged(4, "link", "../x", &b);
	CHECK(unpack(&b, b.len) == -1);
	/* A directory that turns out to be a symlink of the same archive is not walked through. */
	forged(4, "d", "e", &b);
	b.len -= 4;
	wire_put_u32(&b, 2, &err);
	wire_put_str(&b, "d/file", &err);
	wire_put_u64(&b, 0, &err);
	wire_put_u32(&b, 0, &err);
	CHECK(unpack(&b, b.len) == -1);
	/* The same file twice. */
	forged(2, "f", "1", &b);
	b.len -= 4;
	wire_put_u32(&b, 2, &err);
	wire_put_str(&b, "f", &err);
	wire_put_u64(&b, 0, &err);
	wire_put_u32(&b, 0, &err);
	CHECK(unpack(&b, b.len) == -1);
}

static void test_find(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	char sha256[DIGEST_HEX_SIZE], *text;
	uint64_t size;
	size_t len;
	auto_fd dir = fill("a");
	auto_fd fd = pack(dir, sha256, &size, &err);

	CHECK(tree_find(fd, size, "envs/staging/main.tf", 100, &text, &len, &err) == 1);
	CHECK_STR(text, "resource\n");
	CHECK(len == 9);
	free(text);
	CHECK(tree_find(fd, size, "zero", 100, &text, &len, &err) == 1 && len == 0);
	free(text);
	CHECK(tree_find(fd, size, "link", 100, &text, &len, &err) == 0 && text == NULL);
	CHECK(tree_find(fd, size, "envs", 100, &text, &len, &err) == 0);
	CHECK(tree_find(fd, size, "absent", 100, &text, &len, &err) == 0);
	CHECK(tree_find(fd, size, "envs/staging/main.tf", 8, &text, &len, &err) == -1);
	CHECK_STR(err.code, "too_large");
}

struct taken {
	char names[256];
};

static int wants(const char *name)
{
	return strcmp(name, "zero") != 0;
}

static int take(void *context, const char *name, const char *bytes, size_t len, struct sbx_error *err)
{
	struct taken *taken = context;
	size_t used = strlen(taken->names);

	if (bytes != NULL && strlen(bytes) != len)
		return sbx_fail(err, SBX_BUG, "bug", "cut");
	snprintf(taken->names + used, sizeof taken->names - used, "%s:%s ", name, bytes != NULL ? bytes : "-");
	return 0;
}

/* The files of one directory, in order, and nothing of those below or beside it. */
static void test_each(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct taken taken = {.names = ""};
	struct tree_taker taker = {.wanted = wants, .take = take, .context = &taken, .max = 8};
	char sha256[DIGEST_HEX_SIZE];
	uint64_t size;
	auto_fd dir = fresh("each");

	CHECK(mkdirat(dir, "d", 0755) == 0 && mkdirat(dir, "d/e", 0755) == 0);
	static const char *const files[] = {"b", "a", "zero", "d/x", "d/y", "dd", "d/e/z"};
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		put(dir, files[i], files[i], 0644);
	put(dir, "large", "nine char", 0644);
	CHECK(symlinkat("a", dir, "link") == 0);
	auto_fd fd = pack(dir, sha256, &size, &err);
	CHECK(tree_each(fd, size, ".", &taker, &err) == 0);
	CHECK_STR(taken.names, "a:a b:b dd:dd large:- link:- ");
	taken.names[0] = '\0';
	CHECK(tree_each(fd, size, "d", &taker, &err) == 0);
	CHECK_STR(taken.names, "x:d/x y:d/y ");
	taken.names[0] = '\0';
	CHECK(tree_each(fd, size, "none", &taker, &err) == 0);
	CHECK_STR(taken.names, "");
	CHECK(tree_each(fd, size - 1, ".", &taker, &err) == -1);
	CHECK_STR(err.code, "bad_tree");
}

/* A symlink of a tree that nobody has packed: what came from elsewhere may hold any. */
static void add_link(struct buf *b, const char *path, const char *target)
{
	struct sbx_error err = SBX_ERROR_INIT;

	wire_put_u32(b, 4, &err);
	wire_put_str(b, path, &err);
	wire_put_str(b, target, &err);
}

static void test_follow(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf b = BUF_INIT(4096);
	static const struct {
		const char *path, *real; /* "-": nowhere */
		int followed;
	} cases[] = {
		{"a/b", "a/b", 0},	   {".", "", 0},	{"to/x", "far/away/x", 1}, {"./a//../to", "far/away", 1},
		{"in/y", "far/away/y", 1}, {"to/../z", "far/z", 1}, {"top", "", 1},	   {"top/to/q", "far/away/q", 1},
		{"circle", "-", 0},	   {"circle/x", "-", 0}, {"..", "-", 0},	   {"a/../../b", "-", 0},
		{"out", "-", 0},	   {"out/x", "-", 0},	{"absolute", "-", 0},
	};
	char real[PATH_MAX];

	buf_add_str(&b, "sbx-tree/1\n", &err);
	add_link(&b, "absolute", "/etc");
	add_link(&b, "circle", "there");
	add_link(&b, "in", "to");
	add_link(&b, "out", "../x");
	add_link(&b, "there", "circle");
	add_link(&b, "to", "far/away");
	add_link(&b, "top", ".");
	wire_put_u32(&b, 0, &err);
	auto_fd fd = io_sealed_memfd("tree", b.data, b.len, &err);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int followed = tree_follow(fd, b.len, cases[i].path, real, &err);
		printf("# %s\n", cases[i].path);
		if (strcmp(cases[i].real, "-") == 0) {
			CHECK(followed == -1);
			CHECK_STR(err.code, "unsafe_tree");
			sbx_error_clear(&err);
		} else {
			CHECK(followed == cases[i].followed);
			CHECK_STR(real, cases[i].real);
		}
	}
	CHECK(tree_follow(fd, b.len - 1, "a", real, &err) == -1);
	CHECK_STR(err.code, "bad_tree");
}

int main(void)
{
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK(mkdtemp(root) != NULL);
	root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_round();
	test_left_out();
	test_links();
	test_kinds();
	test_limits();
	test_forged();
	test_find();
	test_each();
	test_follow();
	close(root_fd);
	io_remove_tree(AT_FDCWD, root, &err);
	return unit_done();
}
