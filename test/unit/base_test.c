/* error, buf, clock, io, json_out, wire, secret, digest: the modules that everything stands on. */
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "clock.h"
#include "digest.h"
#include "io.h"
#include "json_out.h"
#include "secret.h"
#include "wire.h"

static char dir[] = "/tmp/sbx-unit-XXXXXX";
static int dirfd_of_test;

static void test_error(void)
{
	struct sbx_error e = SBX_ERROR_INIT;

	CHECK(sbx_hint(&e, "nothing yet") == -1 && e.hint[0] == '\0');
	CHECK(sbx_fail(&e, SBX_CONFIG, "first", "the %s one", "first") == -1);
	sbx_fail(&e, SBX_BUG, "second", "another");
	CHECK_STR(e.code, "first");
	sbx_wrap(&e, "context");
	CHECK_STR(e.message, "context: the first one");
	sbx_hint(&e, "do this");
	sbx_hint(&e, "do that");
	CHECK_STR(e.hint, "do this");
	sbx_error_clear(&e);
	CHECK(e.class == SBX_OK);
}

static void test_buf(void)
{
	struct sbx_error e = SBX_ERROR_INIT;
	auto_buf b = BUF_INIT(10);

	CHECK_STR(buf_str(&b), "");
	CHECK(buf_add_str(&b, "12345", &e) == 0 && buf_addf(&b, &e, "%d", 67890) == 0);
	CHECK_STR(buf_str(&b), "1234567890");
	CHECK(buf_add(&b, "x", 1, &e) == -1);
	CHECK_STR(e.code, "too_large");
	CHECK_STR(buf_str(&b), "1234567890");
	CHECK(buf_add(&b, "", 0, &e) == 0);
	buf_reset(&b);
	CHECK(b.len == 0);
	struct buf huge = BUF_INIT((size_t)-1);
	huge.len = 5;
	sbx_error_clear(&e);
	CHECK(buf_add(&huge, "x", (size_t)-3, &e) == -1); /* no overflow of the sum */
	auto_free char *taken = buf_take(&b);
	CHECK_STR(taken, "");
}

static void test_clock(void)
{
	char text[CLOCK_RFC3339_SIZE];
	int64_t s = 0;

	clock_format(1796000000, text);
	CHECK(clock_parse(text, &s) == 0 && s == 1796000000);
	clock_now(text);
	CHECK(strlen(text) == 27 && clock_parse(text, &s) == 0 && s >= 1700000000);
	CHECK(clock_parse("2026-11-29T21:50:04", &s) == -1);
	CHECK(clock_parse("2026-11-29T21:50:04.Z", &s) == -1);
	CHECK(clock_parse("2026-11-29T21:50:04Zx", &s) == -1);
	CHECK(clock_left_ms(clock_mono_ms() - 5) == 0 && clock_left_ms(clock_mono_ms() + 5000) > 4000);
}

static void test_io_files(void)
{
	struct sbx_error e = SBX_ERROR_INIT;
	char *text = NULL;
	size_t len = 0;

	CHECK(io_create_file(dirfd_of_test, "a", "hello", 5, &e) == 0);
	CHECK(io_create_file(dirfd_of_test, "a", "other", 5, &e) == -1);
	CHECK_STR(e.code, "exists");
	sbx_error_clear(&e);
	CHECK(io_read_file(dirfd_of_test, "a", 5, IO_PRIVATE, &text, &len, &e) == 0 && len == 5);
	CHECK_STR(text, "hello");
	free(text);
	CHECK(io_read_file(dirfd_of_test, "a", 4, 0, &text, &len, &e) == -1);
	CHECK_STR(e.code, "too_large");
	sbx_error_clear(&e);
	CHECK(io_replace_file(dirfd_of_test, "a", "new", 3, &e) == 0);
	CHECK(fchmodat(dirfd_of_test, "a", 0644, 0) == 0);
	CHECK(io_read_file(dirfd_of_test, "a", 9, IO_PRIVATE, &text, &len, &e) == -1);
	CHECK_STR(e.code, "unsafe_file");
	sbx_error_clear(&e);
	CHECK(io_read_file(dirfd_of_test, "a", 9, IO_TRUSTED, &text, &len, &e) == 0);
	CHECK_STR(text, "new");
	free(text);
	CHECK(fchmodat(dirfd_of_test, "a", 0666, 0) == 0);
	CHECK(io_read_file(dirfd_of_test, "a", 9, IO_TRUSTED, &text, &len, &e) == -1);
	sbx_error_clear(&e);
	CHECK(symlinkat("a", dirfd_of_test, "link") == 0);
	CHECK(io_read_file(dirfd_of_test, "link", 9, 0, &text, &len, &e) == -1);
	sbx_error_clear(&e);
	CHECK(io_read_file(dirfd_of_test, "none", 9, 0, &text, &len, &e) == -1);
	CHECK_STR(e.code, "missing_file");
	CHECK(io_open_beneath(dirfd_of_test, "../etc", O_RDONLY, 0) == -1);
	CHECK(io_open_beneath(dirfd_of_test, "/etc", O_RDONLY, 0) == -1);
	auto_fd inside = io_open_beneath(dirfd_of_test, "a", O_RDONLY, 0);
	CHECK(inside >= 0);
}

static void test_io_rest(void)
{
	struct sbx_error e = SBX_ERROR_INIT;
	uint64_t n = 0;
	char hex[DIGEST_HEX_SIZE];

	CHECK(io_parse_u64("0", 0, 9, &n) == 0 && n == 0);
	CHECK(io_parse_u64("18446744073709551615", 0, UINT64_MAX, &n) == 0 && n == UINT64_MAX);
	CHECK(io_parse_u64("18446744073709551616", 0, UINT64_MAX, &n) == -1);
	CHECK(io_parse_u64("", 0, 9, &n) == -1 && io_parse_u64("01", 0, 9, &n) == -1 && io_parse_u64("-1", 0, 9, &n) == -1);
	CHECK(io_parse_u64("5 ", 0, 9, &n) == -1 && io_parse_u64("10", 0, 9, &n) == -1);
	auto_fd fd = io_sealed_memfd("t", "abc", 3, &e);
	CHECK(fd >= 0 && io_is_sealed(fd) && write(fd, "x", 1) == -1);
	CHECK(digest_fd_hex(fd, 3, hex, &n, &e) == 0 && n == 3);
	CHECK_STR(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	CHECK(digest_fd_hex(fd, 2, hex, &n, &e) == -1);
	auto_fd full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	sbx_error_clear(&e);
	CHECK(io_write_all(full, "x", 1, &e) == -1);
	CHECK_STR(e.code, "io_error");
	CHECK(mkdirat(dirfd_of_test, "tree", 0700) == 0);
	auto_fd sub = openat(dirfd_of_test, "tree", O_RDONLY | O_DIRECTORY);
	CHECK(symlinkat("/etc/passwd", sub, "out") == 0 && io_replace_file(sub, "f", "", 0, &e) == 0);
	sbx_error_clear(&e);
	CHECK(io_remove_tree(dirfd_of_test, "tree", &e) == 0 && faccessat(dirfd_of_test, "tree", F_OK, 0) == -1);
	CHECK(access("/etc/passwd", F_OK) == 0);
}

static void test_json_out(void)
{
	struct sbx_error e = SBX_ERROR_INIT;
	auto_buf b = BUF_INIT(4096);
	static const char all[] = "\x01\x1f\"\\/\b\n\x7f\xc2\x80\xe2\x80\xa8\xf0\x9f\x98\x80\xff\xed\xa0\x80z";

	CHECK(json_out_string(&b, all, sizeof all - 1, &e) == 0);
	CHECK_STR(buf_str(&b), "\"\\u0001\\u001f\\\"\\\\/\\b\\n\\u007f\\u0080\\u2028\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\"");
	CHECK(json_out_string_size(all, sizeof all - 1) == b.len);
	CHECK(json_out_utf8("\xc0\x80", 2, NULL) == 0 && json_out_utf8("\xf4\x90\x80\x80", 4, NULL) == 0);
	CHECK(json_out_utf8("\xe2\x82", 2, NULL) == 0 && json_out_utf8("\xe2\x82\xac", 3, NULL) == 3);
}

static void test_wire(void)
{
	struct sbx_error e = SBX_ERROR_INIT;
	auto_buf b = BUF_INIT(256);
	uint32_t v = 0;
	uint64_t w = 0;
	char *text = NULL;

	CHECK(wire_put_u32(&b, 7, &e) == 0 && wire_put_u64(&b, (uint64_t)1 << 40, &e) == 0 && wire_put_str(&b, "name", &e) == 0);
	struct wire r = {(const unsigned char *)b.data, b.len};
	CHECK(wire_get_u32(&r, 7, &v, &e) == 0 && v == 7);
	CHECK(wire_get_u64(&r, &w, &e) == 0 && w == (uint64_t)1 << 40);
	CHECK(wire_get_str(&r, 4, &text, &e) == 0 && r.left == 0);
	CHECK_STR(text, "name");
	free(text);
	CHECK(wire_get_u32(&r, 7, &v, &e) == -1);
	CHECK_STR(e.code, "wire_malformed");
	for (size_t cut = 0; cut < b.len; cut++) { /* every prefix is refused somewhere, and nothing is read behind it */
		struct wire part = {(const unsigned char *)b.data, cut};
		struct sbx_error ignored = SBX_ERROR_INIT;
		text = NULL;
		int all = wire_get_u32(&part, 7, &v, &ignored) == 0 && wire_get_u64(&part, &w, &ignored) == 0 &&
			  wire_get_str(&part, 4, &text, &ignored) == 0;
		free(text);
		if (all)
			CHECK(!"a cut message was accepted");
	}
	CHECK(b.len == 20);
}

static void test_secret(void)
{
	struct sbx_error e = SBX_ERROR_INIT;
	auto_secret a = SECRET_INIT, b = SECRET_INIT;
	unsigned char mac[DIGEST_SIZE];
	char hex[DIGEST_HEX_SIZE];

	CHECK(secret_alloc(&a, 8, &e) == 0 && secret_append(&a, "Jefe", 4, &e) == 0);
	CHECK(secret_append(&a, mac, a.cap, &e) == -1);
	sbx_error_clear(&e);
	auto_fd fd = secret_memfd(&a, "s", &e);
	CHECK(fd >= 0 && io_is_sealed(fd) && secret_read_fd(&b, fd, 4, &e) == 0 && secret_equal(&a, &b));
	b.data[3] ^= 1;
	CHECK(!secret_equal(&a, &b));
	digest_hmac(&a, "what do ya want for nothing?", 28, mac); /* RFC 4231, test case 2 */
	digest_to_hex(mac, sizeof mac, hex);
	CHECK_STR(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	CHECK(digest_from_hex(hex, mac, DIGEST_SIZE) == 0 && digest_from_hex("5B", mac, 1) == -1 && digest_from_hex("5", mac, 1) == -1);
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	auto_secret c = SECRET_INIT;
	CHECK(secret_read_fd(&c, fd, 3, &e) == -1);
	CHECK_STR(e.code, "too_large");
}

int main(void)
{
	if (mkdtemp(dir) == NULL || (dirfd_of_test = open(dir, O_RDONLY | O_DIRECTORY)) < 0)
		return 1;
	test_error();
	test_buf();
	test_clock();
	test_io_files();
	test_io_rest();
	test_json_out();
	test_wire();
	test_secret();
	struct sbx_error e = SBX_ERROR_INIT;
	io_remove_tree(AT_FDCWD, dir, &e);
	return unit_done();
}
