/* Lines of the record as text. */
#include "audit_line.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>

#include "io.h"
#include "json_lex.h"
#include "json_out.h"

static const char head_begin[] = "{\"seq\":";
static const char head_prev[] = ",\"prev\":\"";
static const char *const head_names[] = {"seq", "prev", "time", "boot", "event", "request_id", NULL};

#define BOOT_ID_SIZE 37 /* a UUID and a NUL */

static const struct json_lex_limits line_limits = {
	.bytes = LIMIT_EVENT,
	.depth = LIMIT_CALL_DEPTH,
	.string = LIMIT_EVENT,
	.integers = JSON_INTEGERS_ONLY,
};

/* What a member of the head was read into: bits of a set, so that a missing one is seen. */
enum { HAVE_SEQ = 1, HAVE_PREV = 2, HAVE_EVENT = 4, HAVE_ALL = 7 };

static int read_hex(const char *text, char out[DIGEST_HEX_SIZE])
{
	unsigned char bytes[DIGEST_SIZE];

	if (digest_from_hex(text, bytes, sizeof bytes) < 0)
		return -1;
	memcpy(out, text, DIGEST_HEX_SIZE);
	return 0;
}

static int read_number(const char *text, int64_t *out)
{
	uint64_t number;

	if (io_parse_u64(text, 0, (uint64_t)LIMIT_INTEGER, &number) < 0)
		return -1;
	*out = (int64_t)number;
	return 0;
}

static int take_member(const char *name, enum json_token token, const char *text, size_t len, struct audit_line *line,
		       unsigned *have)
{
	if (strcmp(name, "seq") == 0) {
		*have |= HAVE_SEQ;
		return token == JSON_NUMBER ? read_number(text, &line->seq) : -1;
	}
	if (strcmp(name, "prev") == 0) {
		*have |= HAVE_PREV;
		return token == JSON_STRING ? read_hex(text, line->prev) : -1;
	}
	if (strcmp(name, "event") == 0) {
		*have |= HAVE_EVENT;
		if (token != JSON_STRING || len == 0 || len >= sizeof line->event || strlen(text) != len)
			return -1;
		memcpy(line->event, text, len + 1);
		return 0;
	}
	if (strcmp(name, "time") == 0 && token == JSON_STRING && len < sizeof line->time)
		memcpy(line->time, text, len + 1);
	if (strcmp(name, "torn_bytes") == 0 && token == JSON_NUMBER)
		return read_number(text, &line->torn_bytes);
	if (strcmp(name, "torn_sha256") == 0 && token == JSON_STRING)
		return read_hex(text, line->torn_sha256);
	return 0;
}

/* A member's name is only kept when take_member might want it. */
static int read_member(struct json_lex *lex, const char *key, size_t key_len, struct audit_line *line, unsigned *have,
		       struct sbx_error *err)
{
	static const char *const wanted[] = {"seq", "prev", "time", "event", "torn_bytes", "torn_sha256"};
	enum json_token token;
	const char *text;
	size_t len;

	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		if (strlen(wanted[i]) != key_len || memcmp(wanted[i], key, key_len) != 0)
			continue;
		if (json_lex_next(lex, &token, &text, &len, err) < 0 || token == JSON_OBJECT_OPEN ||
		    token == JSON_ARRAY_OPEN)
			return -1;
		return take_member(wanted[i], token, text, len, line, have);
	}
	return json_lex_skip_value(lex, err);
}

int audit_line_read(const char *bytes, size_t len, struct audit_line *line)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_json_lex *lex = NULL;
	enum json_token token;
	const char *text;
	size_t text_len;
	unsigned have = 0;

	*line = (struct audit_line){.torn_bytes = -1};
	if (len < sizeof head_begin || memcmp(bytes, head_begin, sizeof head_begin - 1) != 0)
		return -1;
	lex = json_lex_memory(bytes, len, &line_limits, &ignored);
	if (lex == NULL || json_lex_next(lex, &token, &text, &text_len, &ignored) < 0 || token != JSON_OBJECT_OPEN)
		return -1;
	for (;;) {
		if (json_lex_next(lex, &token, &text, &text_len, &ignored) < 0)
			return -1;
		if (token == JSON_OBJECT_CLOSE)
			break;
		if (token != JSON_KEY || read_member(lex, text, text_len, line, &have, &ignored) < 0)
			return -1;
	}
	if (json_lex_next(lex, &token, &text, &text_len, &ignored) < 0 || token != JSON_END)
		return -1;
	return have == HAVE_ALL && line->seq > 0 ? 0 : -1;
}

int audit_line_glued(const char *bytes, size_t len)
{
	const char *end = bytes + len, *p = bytes;

	/* Members of details stand in byte order, so "prev" never follows "seq" there: this is the head of a record or
	 * a copy made by hand. */
	while (p < end && (p = memmem(p, (size_t)(end - p), head_begin, sizeof head_begin - 1)) != NULL) {
		const char *q = p + sizeof head_begin - 1;
		while (q < end && isdigit((unsigned char)*q))
			q++;
		if (p > bytes && (size_t)(end - q) >= sizeof head_prev - 1 &&
		    memcmp(q, head_prev, sizeof head_prev - 1) == 0)
			return 1;
		p++;
	}
	return 0;
}

/* The kernel's name for this boot: times of two boots cannot be compared. "" where /proc does not say. */
static const char *boot_id(void)
{
	static char id[BOOT_ID_SIZE];

	if (id[0] != '\0')
		return id;
	auto_fd fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, id, sizeof id - 1) != (ssize_t)sizeof id - 1)
		id[0] = '\0';
	return id;
}

static int write_head(struct buf *out, int64_t seq, const char *prev, const char *event, const char *id,
		      struct sbx_error *err)
{
	char now[CLOCK_RFC3339_SIZE];

	clock_now(now);
	if (buf_addf(out, err, "%s%lld%s%s\"", head_begin, (long long)seq, head_prev, prev) < 0 ||
	    json_out_member(out, "time", now, err) < 0 || json_out_member(out, "boot", boot_id(), err) < 0 ||
	    json_out_member(out, "event", event, err) < 0 || json_out_member(out, "request_id", id, err) < 0)
		return -1;
	return 0;
}

/* The members of DETAILS behind the head: its canonical form without the opening bracket. */
static int write_details(struct buf *out, jv details, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(LIMIT_EVENT);

	for (size_t i = 0; head_names[i] != NULL; i++)
		if (json_has(details, head_names[i]))
			return sbx_fail(err, SBX_BUG, "bug", "an event has a member with the name \"%s\" of the head",
					head_names[i]);
	if (json_length(details) == 0)
		return buf_add_str(out, "}\n", err);
	if (json_write(details, &text, err) < 0 || buf_add_str(out, ",", err) < 0)
		return -1;
	return buf_add(out, text.data + 1, text.len - 1, err) < 0 ? -1 : buf_add_str(out, "\n", err);
}

int audit_line_write(struct buf *out, int64_t seq, const char *prev, const char *event, const char *id, jv details,
		     struct sbx_error *err)
{
	size_t start = out->len;
	struct audit_line again;

	if (jv_get_kind(details) != JV_KIND_OBJECT)
		return sbx_fail(err, SBX_BUG, "bug", "the details of an event are no object");
	if (write_head(out, seq, prev, event, id, err) < 0 || write_details(out, details, err) < 0)
		return -1;
	/* A line that our own reader refuses would stop every later append. */
	if (audit_line_read(out->data + start, out->len - start - 1, &again) < 0)
		return sbx_fail(err, SBX_BAD_REQUEST, "too_large",
				"the event has more than %zu bytes or is nested too deeply", LIMIT_EVENT);
	return 0;
}
