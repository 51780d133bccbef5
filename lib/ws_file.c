/* Lineage, serial and digest of a Terraform state file. */
#include "ws_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "io.h"
#include "json_lex.h"
#include "limit.h"

/* One attribute of a resource: a generated document or an encoded archive may be large, a state of nothing else is not
 * one. */
static const uint64_t string_max = (uint64_t)64 << 20;
static const char version_4[] = "4";

enum member { MEMBER_VERSION = 1, MEMBER_LINEAGE = 2, MEMBER_SERIAL = 4, MEMBER_ALL = 7 };

static int unreadable(enum sbx_class class, const char *what, struct sbx_error *err)
{
	return sbx_fail(err, class, "state_unreadable", "the Terraform state %s", what);
}

static unsigned member_of(const char *key, size_t len)
{
	static const char *const names[] = {"version", "lineage", "serial"};

	for (unsigned i = 0; i < ARRAY_LEN(names); i++)
		if (len == strlen(names[i]) && memcmp(key, names[i], len) == 0)
			return 1u << i;
	return 0;
}

/* The value of one of the three; 0, or -1 when it is of a wrong kind or out of range. */
static int take_member(struct ws_file *file, unsigned member, enum json_token token, const char *text, size_t len)
{
	uint64_t number;

	if (member == MEMBER_LINEAGE) {
		if (token != JSON_STRING || len >= sizeof file->lineage || memchr(text, '\0', len) != NULL)
			return -1;
		memcpy(file->lineage, text, len + 1);
		return 0;
	}
	if (token != JSON_NUMBER)
		return -1;
	if (member == MEMBER_VERSION)
		return strcmp(text, version_4) == 0 ? 0 : -1;
	if (io_parse_u64(text, 0, LIMIT_INTEGER, &number) < 0)
		return -1;
	file->serial = (int64_t)number;
	return 0;
}

static int read_members(struct json_lex *lex, enum ws_file_from from, enum sbx_class class, struct ws_file *file, struct sbx_error *err)
{
	enum json_token token;
	const char *text;
	size_t len;
	unsigned seen = 0;

	if (json_lex_next(lex, &token, &text, &len, err) < 0)
		return -1;
	if (token != JSON_OBJECT_OPEN)
		return unreadable(class, "is no object", err);
	for (;;) {
		if (json_lex_next(lex, &token, &text, &len, err) < 0)
			return -1;
		if (token == JSON_OBJECT_CLOSE)
			break;
		unsigned member = member_of(text, len);
		if (member == 0) {
			if (json_lex_skip_value(lex, err) < 0)
				return -1;
			continue;
		}
		if (json_lex_next(lex, &token, &text, &len, err) < 0)
			return -1;
		if (take_member(file, member, token, text, len) < 0)
			return unreadable(class, "has a version, lineage or serial that is not understood", err);
		seen |= member;
	}
	if (seen != MEMBER_ALL || (file->lineage[0] == '\0' && (from == WS_FILE_STORED || file->serial != 0)))
		return unreadable(class, "has no version, lineage or serial", err);
	return json_lex_next(lex, &token, &text, &len, err); /* nothing may follow */
}

int ws_file_read(int fd, enum ws_file_from from, enum sbx_class class, struct ws_file *file, struct sbx_error *err)
{
	static const struct json_lex_limits limits = {.bytes = LIMIT_STATE_FILE,
						      .depth = LIMIT_PLAN_DEPTH,
						      .string = string_max,
						      .integers = JSON_ANY_NUMBER};
	struct sbx_error found = SBX_ERROR_INIT;

	*file = (struct ws_file){.serial = -1};
	if (digest_fd_hex(fd, LIMIT_STATE_FILE, file->sha256, &file->size, err) < 0)
		return -1;
	if (file->size == 0)
		return 0;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read the Terraform state");
	auto_json_lex *lex = json_lex_fd(fd, &limits, err);
	if (lex == NULL)
		return -1;
	if (read_members(lex, from, class, file, &found) < 0) {
		if (found.class != SBX_BAD_REQUEST && found.class != class)
			return *err = found, -1;
		return sbx_fail(err, class, "state_unreadable", "%s",
				found.class == class ? found.message : "the Terraform state is no strict JSON");
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read the Terraform state");
	file->present = 1;
	return 0;
}

int ws_file_open(int dirfd, const char *name, enum sbx_class class, struct ws_file *file, int *fd,
		 struct sbx_error *err)
{
	auto_fd opened = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd != NULL)
		*fd = -1;
	if (opened < 0 && errno == ENOENT) {
		*file = (struct ws_file){.serial = -1};
		digest_sha256_hex("", 0, file->sha256);
		return 0;
	}
	if (opened < 0 || fstat(opened, &st) < 0)
		return sbx_fail_errno(err, SBX_CONFIG, "unsafe_file", "cannot open %s", name);
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return sbx_fail(err, SBX_CONFIG, "unsafe_file", "%s is not a regular file with one link", name);
	if (ws_file_read(opened, WS_FILE_STORED, class, file, err) < 0)
		return -1;
	if (fd != NULL)
		*fd = take_fd(&opened);
	return 0;
}
