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

static int read_hex(const char *text, size_t len, char out[DIGEST_HEX_SIZE])
{
	if (len != DIGEST_HEX_SIZE - 1 || !digest_is_hex(text, len))
		return -1;
	memcpy(out, text, len);
	out[len] = '\0';
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

enum member { MEMBER_SEQ, MEMBER_PREV, MEMBER_TIME, MEMBER_EVENT, MEMBER_TORN_BYTES, MEMBER_TORN_SHA256, MEMBERS };

#define MEMBER(name)                                                                                                   \
	{                                                                                                              \
		name, sizeof name - 1                                                                                  \
	}
static const struct {
	const char *name;
	size_t len;
} members[MEMBERS] = {
	[MEMBER_SEQ] = MEMBER("seq"),
	[MEMBER_PREV] = MEMBER("prev"),
	[MEMBER_TIME] = MEMBER("time"),
	[MEMBER_EVENT] = MEMBER("event"),
	[MEMBER_TORN_BYTES] = MEMBER("torn_bytes"),
	[MEMBER_TORN_SHA256] = MEMBER("torn_sha256"),
};
#undef MEMBER

static enum member find_member(const char *key, size_t len)
{
	for (size_t i = 0; i < MEMBERS; i++)
		if (members[i].len == len && memcmp(members[i].name, key, len) == 0)
			return (enum member)i;
	return MEMBERS;
}

static int take_member(enum member member, enum json_token token, const char *text, size_t len, struct audit_line *line,
		       unsigned *have)
{
	switch (member) {
	case MEMBER_SEQ:
		*have |= HAVE_SEQ;
		return token == JSON_NUMBER ? read_number(text, &line->seq) : -1;
	case MEMBER_PREV:
		*have |= HAVE_PREV;
		return token == JSON_STRING ? read_hex(text, len, line->prev) : -1;
	case MEMBER_EVENT:
		*have |= HAVE_EVENT;
		if (token != JSON_STRING || len == 0 || len >= sizeof line->event || strlen(text) != len)
			return -1;
		memcpy(line->event, text, len + 1);
		return 0;
	case MEMBER_TIME:
		if (token == JSON_STRING && len < sizeof line->time)
			memcpy(line->time, text, len + 1);
		return 0;
	case MEMBER_TORN_BYTES:
		return token == JSON_NUMBER ? read_number(text, &line->torn_bytes) : 0;
	case MEMBER_TORN_SHA256:
		return token == JSON_STRING ? read_hex(text, len, line->torn_sha256) : 0;
	case MEMBERS:
		break;
	}
	return 0;
}

static int read_member(struct json_lex *lex, enum member member, struct audit_line *line, unsigned *have,
		       struct sbx_error *err)
{
	enum json_token token;
	const char *text;
	size_t len;

	/* The others are checked, and not kept. */
	if (member == MEMBERS)
		return json_lex_skip_value(lex, err);
	if (json_lex_next(lex, &token, &text, &len, err) < 0 || token == JSON_OBJECT_OPEN || token == JSON_ARRAY_OPEN)
		return -1;
	return take_member(member, token, text, len, line, have);
}

/* One lexer for the process: a record is thousands of lines. */
static struct json_lex *lex_line(const char *bytes, size_t len, struct sbx_error *err)
{
	static struct json_lex *kept;

	if (kept == NULL)
		kept = json_lex_memory(bytes, len, &line_limits, err);
	else
		json_lex_again(kept, bytes, len);
	return kept;
}

int audit_line_read(const char *bytes, size_t len, struct audit_line *line)
{
	/* Full, so that it takes nothing: nobody asks why. */
	static struct sbx_error ignored = {.class = SBX_BAD_REQUEST};
	enum json_token token;
	const char *text;
	size_t text_len;
	unsigned have = 0;

	*line = (struct audit_line){.torn_bytes = -1};
	if (len < sizeof head_begin || memcmp(bytes, head_begin, sizeof head_begin - 1) != 0)
		return -1;
	struct json_lex *lex = lex_line(bytes, len, &ignored);
	if (lex == NULL || json_lex_next(lex, &token, &text, &text_len, &ignored) < 0 || token != JSON_OBJECT_OPEN)
		return -1;
	for (;;) {
		if (json_lex_next(lex, &token, &text, &text_len, &ignored) < 0)
			return -1;
		if (token == JSON_OBJECT_CLOSE)
			break;
		if (token != JSON_KEY || read_member(lex, find_member(text, text_len), line, &have, &ignored) < 0)
			return -1;
	}
	if (json_lex_next(lex, &token, &text, &text_len, &ignored) < 0 || token != JSON_END)
		return -1;
	return have == HAVE_ALL && line->seq > 0 ? 0 : -1;
}

/* The text of PREV's digest where a head begins at P; NULL where there is none. */
static const char *head_at(const char *p, const char *end)
{
	if ((size_t)(end - p) < sizeof head_begin - 1 || memcmp(p, head_begin, sizeof head_begin - 1) != 0)
		return NULL;
	p += sizeof head_begin - 1;
	while (p < end && isdigit((unsigned char)*p))
		p++;
	return (size_t)(end - p) >= sizeof head_prev - 1 && memcmp(p, head_prev, sizeof head_prev - 1) == 0
		       ? p + sizeof head_prev - 1
		       : NULL;
}

int audit_line_names_another(const char *bytes, size_t len, const char head[DIGEST_HEX_SIZE])
{
	const size_t hex = DIGEST_HEX_SIZE - 1;
	const char *end = bytes + len, *prev = head_at(bytes, end);

	return prev != NULL && (size_t)(end - prev) > hex && prev[hex] == '"' && memcmp(prev, head, hex) != 0;
}

int audit_line_glued(const char *bytes, size_t len)
{
	const char *end = bytes + len, *p = bytes;

	/* Members of details stand in byte order, so "prev" never follows "seq" there: this is the head of a record or
	 * a copy made by hand. */
	while (p < end && (p = memchr(p + 1, head_begin[0], (size_t)(end - p) - 1)) != NULL)
		if (head_at(p, end) != NULL)
			return 1;
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
