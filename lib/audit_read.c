/* Reading the record from its first line: checking the chain, and handing the events out. */
#include "audit.h"

#include <errno.h>
#include <string.h>

#include "audit_file.h"
#include "audit_line.h"

#define READ_BLOCK ((size_t)256 << 10)
/* Longer than any record with a torn one before it: whatever it is, it is not ours. */
#define LINE_LONGEST (2 * LIMIT_EVENT)

struct reader {
	int fd;
	off_t at;   /* of the next byte to read */
	off_t size; /* what is behind it was written later: not looked at */
	struct buf block;
	size_t used;
};

struct raw_line {
	const char *bytes; /* without the line feed; valid until the next one */
	size_t len;
	off_t start;
};

static int fill(struct reader *r, struct sbx_error *err)
{
	size_t left = r->block.len - r->used, want = READ_BLOCK;

	if (r->used > 0) {
		memmove(r->block.data, r->block.data + r->used, left);
		r->block.len = left;
		r->used = 0;
	}
	if ((off_t)want > r->size - r->at)
		want = (size_t)(r->size - r->at);
	auto_free char *bytes = malloc(want);
	if (bytes == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	ssize_t n;
	do
		n = pread(r->fd, bytes, want, r->at);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? sbx_fail_errno(err, SBX_IO, "audit_unavailable", "cannot read the record")
			     : sbx_fail(err, SBX_COMMAND_FAILED, "audit_broken",
					"the record became shorter while it was read");
	r->at += n;
	return buf_add(&r->block, bytes, (size_t)n, err);
}

/* 1: *LINE is the next line; 0: the end, *LEFT bytes have no line feed; -1: an error, or a line that is too long. */
static int next_line(struct reader *r, struct raw_line *line, size_t *left, struct sbx_error *err)
{
	size_t looked = 0;

	for (;;) {
		size_t have = r->block.len - r->used;
		const char *start = buf_str(&r->block) + r->used;
		const char *end = have > looked ? memchr(start + looked, '\n', have - looked) : NULL;
		if (end != NULL) {
			*line = (struct raw_line){start, (size_t)(end - start), r->at - (off_t)have};
			r->used += line->len + 1;
			return 1;
		}
		if (have > LINE_LONGEST)
			return sbx_fail(err, SBX_COMMAND_FAILED, "audit_broken", "a line is longer than any record");
		if (r->at >= r->size) {
			*left = have;
			return 0;
		}
		looked = have;
		if (fill(r, err) < 0)
			return -1;
	}
}

static int reader_open(const struct state *state, struct audit_file *file, struct reader *r, struct sbx_error *err)
{
	if (audit_file_open(state, AUDIT_READ, file, err) < 0)
		return -1;
	audit_file_unlock(file); /* whole lines up to this size; a checker must not keep the writers waiting */
	*r = (struct reader){.fd = file->fd, .size = file->size, .block = BUF_INIT(LINE_LONGEST + 2 * READ_BLOCK)};
	return 0;
}

/* Where a record ended that a later one may follow. */
struct place {
	int64_t seq;
	char head[DIGEST_HEX_SIZE];
	off_t end;
	int64_t parsed; /* lines up to here that were whole records by themselves */
};

/* A crash can leave a whole record without its line feed, and another one while that is being declared. Each
 * declaration names the place from which it goes on, one of the last few. */
#define PLACES 4

struct check {
	int fd;
	struct place places[PLACES]; /* newest first */
	int64_t parsed;
	int last_parsed; /* the line before was a whole record by itself */
	int bad;	 /* lines behind places[0] that are no records */
	struct audit_verdict *verdict;
};

static void accept(struct check *c, const struct audit_line *line, const struct raw_line *raw)
{
	memmove(c->places + 1, c->places, (PLACES - 1) * sizeof *c->places);
	c->places[0].seq = line->seq;
	digest_sha256_hex(raw->bytes, raw->len, c->places[0].head);
	c->places[0].end = raw->start + (off_t)raw->len + 1;
	c->places[0].parsed = c->parsed;
	c->bad = 0;
}

static int follows(const struct place *place, const struct audit_line *line)
{
	return line->seq == place->seq + 1 && strcmp(line->prev, place->head) == 0;
}

static int region_matches(const struct check *c, off_t start, const struct audit_line *line)
{
	char sha256[DIGEST_HEX_SIZE];
	auto_free char *bytes = malloc((size_t)line->torn_bytes + 1);

	if (bytes == NULL || pread(c->fd, bytes, (size_t)line->torn_bytes, start) != (ssize_t)line->torn_bytes)
		return 0;
	digest_sha256_hex(bytes, (size_t)line->torn_bytes, sha256);
	return strcmp(sha256, line->torn_sha256) == 0;
}

/* A declaration must cover exactly what stands between the record that it follows and itself. Only the last line of
 * that may be a whole record: one that lacked its line feed. Anything else would let a declaration take records back.
 */
static int declares(const struct check *c, const struct audit_line *line, const struct raw_line *raw)
{
	for (size_t i = 0; i < PLACES; i++) {
		const struct place *place = &c->places[i];
		int64_t whole = c->parsed - 1 - place->parsed; /* without the declaration itself */
		if (raw->start <= place->end || !follows(place, line) ||
		    line->torn_bytes != raw->start - 1 - place->end)
			continue;
		if ((whole == 0 || (whole == 1 && c->last_parsed)) && region_matches(c, place->end, line))
			return 1;
	}
	return 0;
}

/* NULL, or what is wrong with the line. */
static const char *check_line(struct check *c, const struct raw_line *raw)
{
	struct audit_line line;
	int parsed = audit_line_read(raw->bytes, raw->len, &line) == 0;
	const char *fault = NULL;

	if (audit_line_glued(raw->bytes, raw->len))
		return "half a line has another one written on to it";
	c->parsed += parsed;
	if (!parsed) {
		c->bad++;
	} else if (strcmp(line.event, AUDIT_TORN_EVENT) == 0) {
		if (line.torn_bytes < 0 || line.torn_bytes > (int64_t)(4 * LIMIT_EVENT) || !declares(c, &line, raw))
			return "it declares torn bytes that are not there";
		accept(c, &line, raw);
		c->verdict->torn++;
	} else if (c->bad > 0) {
		fault = "the line before it is no record, and it does not declare it";
	} else if (!follows(&c->places[0], &line)) {
		fault = "it does not follow the line before it";
	} else {
		accept(c, &line, raw);
	}
	c->last_parsed = parsed;
	return fault;
}

static int check_all(struct reader *r, struct check *c, struct sbx_error *err)
{
	struct raw_line raw;
	size_t left = 0;
	int64_t number = 0;

	for (;;) {
		int found = next_line(r, &raw, &left, err);
		if (found < 0)
			return sbx_wrap(err, "behind line %lld", (long long)number);
		if (found == 0)
			break;
		number++;
		const char *fault = check_line(c, &raw);
		if (fault != NULL)
			return sbx_fail(err, SBX_COMMAND_FAILED, "audit_broken",
					"the record is broken at line %lld: %s", (long long)number, fault);
	}
	if (c->bad > 0)
		return sbx_fail(err, SBX_COMMAND_FAILED, "audit_broken",
				"the record is broken at line %lld: it is no record", (long long)number);
	c->verdict->torn_tail = (int64_t)left;
	return 0;
}

int audit_verify(const struct state *state, struct audit_verdict *verdict, struct sbx_error *err)
{
	auto_audit_file file = AUDIT_FILE_NONE;
	struct reader r;

	*verdict = (struct audit_verdict){.head = AUDIT_FIRST_PREV};
	if (reader_open(state, &file, &r, err) < 0)
		return -1;
	struct check c = {.fd = file.fd, .verdict = verdict};
	for (size_t i = 0; i < PLACES; i++) {
		/* Only the first is real: the others can be followed by nothing. */
		c.places[i] = (struct place){.seq = i == 0 ? 0 : INT64_MAX - 1, .head = AUDIT_FIRST_PREV};
	}
	int result = file.fd < 0 ? 0 : check_all(&r, &c, err);
	buf_clear(&r.block);
	verdict->records = c.places[0].seq;
	memcpy(verdict->head, c.places[0].head, sizeof verdict->head);
	return result;
}

struct walk {
	const char *id;
	int (*each)(jv event, void *context, struct sbx_error *err);
	void *context;
	struct buf held; /* a record whose next line may still declare it as torn */
	int holds;
};

static int of_call(const struct walk *walk)
{
	char wanted[sizeof "\"request_id\":\"\"" + STATE_ID_SIZE];

	if (walk->id == NULL)
		return 1;
	int len = snprintf(wanted, sizeof wanted, "\"request_id\":\"%s\"", walk->id);
	return len > 0 && (size_t)len < sizeof wanted &&
	       memmem(walk->held.data, walk->held.len, wanted, (size_t)len) != NULL;
}

static int deliver(struct walk *walk, struct sbx_error *err)
{
	auto_jv event = jv_invalid();
	struct sbx_error ignored = SBX_ERROR_INIT;

	if (!walk->holds)
		return 0;
	walk->holds = 0;
	if (!of_call(walk) || json_parse(buf_str(&walk->held), walk->held.len, LIMIT_EVENT, &event, &ignored) < 0)
		return 0;
	const char *id = json_str(event, "request_id");
	if (walk->id != NULL && (id == NULL || strcmp(id, walk->id) != 0))
		return 0;
	return walk->each(event, walk->context, err);
}

/* 1 when the line declares the held record as torn: it was never acknowledged. */
static int takes_back(const struct walk *walk, const struct audit_line *line)
{
	char sha256[DIGEST_HEX_SIZE];

	if (!walk->holds || strcmp(line->event, AUDIT_TORN_EVENT) != 0 || line->torn_bytes != (int64_t)walk->held.len)
		return 0;
	digest_sha256_hex(walk->held.data, walk->held.len, sha256);
	return strcmp(sha256, line->torn_sha256) == 0;
}

static int walk_line(struct walk *walk, const struct raw_line *raw, struct sbx_error *err)
{
	struct audit_line line;

	if (audit_line_read(raw->bytes, raw->len, &line) < 0)
		return 0; /* sbx-audit verify says what it is; a reader shows what can be shown */
	if (takes_back(walk, &line))
		walk->holds = 0;
	int result = deliver(walk, err);
	if (result != 0)
		return result;
	buf_reset(&walk->held);
	if (buf_add(&walk->held, raw->bytes, raw->len, err) < 0)
		return -1;
	walk->holds = 1;
	return 0;
}

int audit_each(const struct state *state, const char *id, int (*each)(jv event, void *context, struct sbx_error *err),
	       void *context, struct sbx_error *err)
{
	auto_audit_file file = AUDIT_FILE_NONE;
	struct walk walk = {.id = id, .each = each, .context = context, .held = BUF_INIT(LINE_LONGEST)};
	struct raw_line raw;
	struct reader r;
	size_t left;
	int result = 0;

	if (reader_open(state, &file, &r, err) < 0)
		return -1;
	while (file.fd >= 0 && result == 0) {
		int found = next_line(&r, &raw, &left, err);
		if (found == 0)
			break;
		result = found < 0 ? -1 : walk_line(&walk, &raw, err);
	}
	if (result == 0)
		result = deliver(&walk, err);
	buf_clear(&r.block);
	buf_clear(&walk.held);
	return result < 0 ? -1 : 0;
}
