/* boot, entry_boot: what goes in comes out, and no cut or lengthened text does; files that are not there. */
#include "entry_boot.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"
#include "unit.h"

static const unsigned char table[] = "table", inputs[] = "in\0puts";

static int decodes(const char *bytes, size_t len)
{
	struct boot boot = {.limits = NULL};
	struct sbx_error err = SBX_ERROR_INIT;
	int result = boot_decode(bytes, len, &boot, &err);

	boot_clear(&boot);
	return result == 0;
}

static void check_cuts(const struct buf *text)
{
	int accepted = 0;

	for (size_t len = 0; len < text->len; len++) {
		/* A copy of its own size, so that a read past its end is seen. */
		char *cut = malloc(len + 1);
		memcpy(cut, text->data, len);
		accepted += decodes(cut, len);
		free(cut);
	}
	CHECK(accepted == 0);
}

static void put_file(const char *directory, const char *name, const void *bytes, size_t len)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_fd dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_fd fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(io_write_all(fd, bytes, len, &err) == 0);
}

static const char *read_directory(const char *directory, struct entry_boot *boot)
{
	static struct sbx_error err;

	err = (struct sbx_error)SBX_ERROR_INIT;
	CHECK((entry_boot_read(directory, boot, &err) == 0) == (err.class == SBX_OK));
	return err.code;
}

static void check_refused(const char *directory, const char *code)
{
	struct entry_boot boot = ENTRY_BOOT_INIT;

	CHECK_STR(read_directory(directory, &boot), code);
	entry_boot_clear(&boot);
}

/* As a cluster mounts it, file by file. */
static void check_files(const struct buf *text)
{
	static const char secret[] = "a secret";
	const char *base = getenv("TMPDIR");
	char directory[4096], bytes[sizeof secret] = "";
	struct entry_boot boot = ENTRY_BOOT_INIT;

	snprintf(directory, sizeof directory, "%s/sbx-boot.XXXXXX", base != NULL ? base : "/tmp");
	CHECK(mkdtemp(directory) != NULL);
	check_refused(directory, "boot_missing");
	put_file(directory, "boot.00", text->data, text->len / 2);
	check_refused(directory, "wire_malformed");
	/* The pieces are there, the credentials that they speak of are not. */
	put_file(directory, "boot.01", text->data + text->len / 2, text->len - text->len / 2);
	check_refused(directory, "boot_missing");
	put_file(directory, BOOT_CREDENTIALS, secret, sizeof secret);
	CHECK_STR(read_directory(directory, &boot), "");
	CHECK(boot.boot.pids == 6 && boot.control_fd >= 0);
	CHECK(pread(boot.credentials_fd, bytes, sizeof bytes, 0) == sizeof bytes);
	CHECK_STR(bytes, secret);
	CHECK(pread(boot.entry_fd, bytes, sizeof bytes, 0) == sizeof table && memcmp(bytes, table, sizeof table) == 0);
	CHECK(pread(boot.inputs_fd, bytes, sizeof bytes, 0) == sizeof inputs &&
	      memcmp(bytes, inputs, sizeof inputs) == 0);
	entry_boot_clear(&boot);

	auto_fd dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unlinkat(dir, "boot.00", 0);
	unlinkat(dir, "boot.01", 0);
	unlinkat(dir, BOOT_CREDENTIALS, 0);
	CHECK(rmdir(directory) == 0);
	check_refused(directory, "boot_missing");
}

int main(void)
{
	struct boot given = {.limits = (char *)"{}",
			     .artifact_max = 5,
			     .pids = 6,
			     .files = 7,
			     .probe_ms = 8,
			     .credentials = 1,
			     .allowed = {.list = {(char *)"192.0.2.1:443"}, .count = 1},
			     .forbidden = {.list = {(char *)"192.0.2.2:1", (char *)"[2001:db8::1]:2"}, .count = 2},
			     .table = table,
			     .table_len = sizeof table,
			     .inputs = inputs,
			     .inputs_len = sizeof inputs};
	struct boot got = {.limits = NULL};
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf text = BUF_INIT(BOOT_MAX + 1);

	CHECK(boot_encode(&given, &text, &err) == 0);
	CHECK(boot_decode(text.data, text.len, &got, &err) == 0);
	CHECK_STR(got.limits, "{}");
	CHECK(got.artifact_max == 5 && got.pids == 6 && got.files == 7 && got.probe_ms == 8 && got.credentials == 1);
	CHECK(got.allowed.count == 1 && got.forbidden.count == 2);
	CHECK_STR(got.allowed.list[0], "192.0.2.1:443");
	CHECK_STR(got.forbidden.list[1], "[2001:db8::1]:2");
	CHECK(got.table_len == sizeof table && memcmp(got.table, table, sizeof table) == 0);
	CHECK(got.inputs_len == sizeof inputs && memcmp(got.inputs, inputs, sizeof inputs) == 0);
	boot_clear(&got);

	check_files(&text);
	check_cuts(&text);
	CHECK(buf_add(&text, "x", 1, &err) == 0 && !decodes(text.data, text.len));
	text.data[3] = 2; /* the version */
	CHECK(!decodes(text.data, text.len - 1));

	char *large = calloc(1, BOOT_MAX);
	auto_buf more = BUF_INIT(BOOT_MAX + 1);
	given.inputs = (unsigned char *)large;
	given.inputs_len = BOOT_MAX;
	CHECK(boot_encode(&given, &more, &err) < 0);
	CHECK_STR(err.code, "inputs_too_large");
	free(large);
	return unit_done();
}
