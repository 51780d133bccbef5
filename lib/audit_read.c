/* Reading the record: checking the chain, and handing the events out. */
#include "audit.h"

#include <stdio.h>
#include <string.h>

#include "audit_chain.h"
#include "audit_line.h"
#include "audit_reader.h"

static int fail_line(int64_t number, const char *fault, struct sbx_error *err)
{
	return sbx_fail(err, SBX_COMMAND_FAILED, "audit_broken", "the record is broken at line %lld: %s",
			(long long)number, fault);
}

static int check_all(struct audit_reader *r, struct audit_chain *chain, struct audit_verdict *verdict,
		     struct sbx_error *err)
{
	struct audit_line line;
	struct audit_raw raw;
	size_t left = 0;
	int64_t number = 0;
	int is_record;

	for (;;) {
		int found = audit_reader_next(r, &raw, &left, err);
		if (found < 0)
			return sbx_wrap(err, "behind line %lld", (long long)number);
		if (found == 0)
			break;
		number++;
		const char *fault = audit_chain_take(chain, &raw, &line, &is_record);
		if (fault != NULL)
			return fail_line(number, fault, err);
	}
	if (chain->bad > 0)
		return fail_line(number, "it is no record", err);
	verdict->torn_tail = (int64_t)left;
	return 0;
}

int audit_verify(const struct state *state, struct audit_verdict *verdict, struct sbx_error *err)
{
	auto_audit_file file = AUDIT_FILE_NONE;
	struct audit_reader r;
	struct audit_chain chain;

	*verdict = (struct audit_verdict){.head = AUDIT_FIRST_PREV};
	if (audit_reader_open(state, &file, &r, err) < 0)
		return -1;
	audit_chain_begin(&chain, file.fd, 0, AUDIT_FIRST_PREV, 0);
	int result = file.fd < 0 ? 0 : check_all(&r, &chain, verdict, err);
	audit_reader_clear(&r);
	verdict->records = chain.places[0].seq;
	verdict->torn = chain.torn;
	memcpy(verdict->head, chain.places[0].head, sizeof verdict->head);
	return result;
}

struct walk {
	const char *id;	  /* of a call, whose records alone are wanted; may be NULL */
	const char *word; /* stands in the lines that are wanted: only they are parsed; may be NULL */
	audit_each_fn *each;
	void *context;
	struct buf held; /* a record whose next line may still declare it as torn */
	int holds;
};

static int is_wanted(const struct walk *walk)
{
	return walk->word == NULL || memmem(walk->held.data, walk->held.len, walk->word, strlen(walk->word)) != NULL;
}

static int deliver(struct walk *walk, struct sbx_error *err)
{
	auto_jv event = jv_invalid();

	if (!walk->holds)
		return 0;
	walk->holds = 0;
	if (!is_wanted(walk))
		return 0;
	struct sbx_error ignored = SBX_ERROR_INIT;
	if (json_parse(buf_str(&walk->held), walk->held.len, LIMIT_EVENT, &event, &ignored) < 0)
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

static int walk_line(struct walk *walk, const struct audit_raw *raw, const struct audit_line *line,
		     struct sbx_error *err)
{
	if (takes_back(walk, line))
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

static int walk_all(struct audit_reader *r, struct walk *walk, struct sbx_error *err)
{
	struct audit_line line;
	struct audit_raw raw;
	size_t left;
	int found, result = 0;

	while (result == 0 && (found = audit_reader_next(r, &raw, &left, err)) != 0) {
		if (found < 0)
			return -1;
		/* sbx-audit verify says what it is; a reader shows what can be shown. */
		if (audit_line_read(raw.bytes, raw.len, &line) == 0)
			result = walk_line(walk, &raw, &line, err);
	}
	return result == 0 ? deliver(walk, err) : result;
}

static int each_wanted(const struct state *state, struct walk *walk, struct sbx_error *err)
{
	auto_audit_file file = AUDIT_FILE_NONE;
	struct audit_reader r;

	walk->held = (struct buf)BUF_INIT(AUDIT_LINE_LONGEST);
	if (audit_reader_open(state, &file, &r, err) < 0)
		return -1;
	int result = file.fd < 0 ? 0 : walk_all(&r, walk, err);
	audit_reader_clear(&r);
	buf_clear(&walk->held);
	return result < 0 ? -1 : 0;
}

int audit_each(const struct state *state, const char *id, audit_each_fn *each, void *context, struct sbx_error *err)
{
	char word[sizeof "\"request_id\":\"\"" + STATE_ID_SIZE];
	struct walk walk = {.id = id, .word = id != NULL ? word : NULL, .each = each, .context = context};

	if (id != NULL)
		snprintf(word, sizeof word, "\"request_id\":\"%s\"", id);
	return each_wanted(state, &walk, err);
}

int audit_each_word(const struct state *state, const char *word, audit_each_fn *each, void *context,
		    struct sbx_error *err)
{
	struct walk walk = {.word = word, .each = each, .context = context};

	return each_wanted(state, &walk, err);
}

static int walk_chain(struct audit_reader *r, struct audit_chain *chain, struct walk *walk, char latest[CLOCK_RFC3339_SIZE],
		      struct sbx_error *err)
{
	struct audit_line line;
	struct audit_raw raw;
	size_t left;
	int found, is_record;

	while ((found = audit_reader_next(r, &raw, &left, err)) != 0) {
		if (found < 0)
			return -1;
		const char *fault = audit_chain_take(chain, &raw, &line, &is_record);
		if (fault != NULL)
			return sbx_fail(err, SBX_COMMAND_FAILED, "audit_broken",
					"the record is broken behind its number %lld: %s",
					(long long)chain->places[0].seq, fault);
		if (!is_record)
			continue;
		/* In one form, so that the order of the texts is that of the times. */
		if (strcmp(line.time, latest) > 0)
			memcpy(latest, line.time, CLOCK_RFC3339_SIZE);
		if (walk_line(walk, &raw, &line, err) < 0)
			return -1;
	}
	if (chain->bad > 0)
		return sbx_fail(err, SBX_COMMAND_FAILED, "audit_broken",
				"the record is broken behind its number %lld", (long long)chain->places[0].seq);
	return deliver(walk, err) < 0 ? -1 : 0;
}

int audit_since(const struct state *state, const char *head, const char *word, audit_each_fn *each, void *context,
		int64_t *latest, struct sbx_error *err)
{
	auto_audit_file file = AUDIT_FILE_NONE;
	struct walk walk = {.word = word, .each = each, .context = context, .held = BUF_INIT(AUDIT_LINE_LONGEST)};
	struct audit_chain chain;
	struct audit_reader r;
	char time[CLOCK_RFC3339_SIZE] = "";
	int64_t seq = 0;

	*latest = 0;
	if (audit_reader_open(state, &file, &r, err) < 0)
		return -1;
	int result = file.fd < 0 ? 0 : audit_reader_seek(&r, head, &seq, err);
	if (result == 0)
		result = sbx_fail(err, SBX_COMMAND_FAILED, "audit_head_missing",
				  "the record does not hold the place from which it was to be read");
	if (result > 0) {
		audit_chain_begin(&chain, file.fd, seq, head, audit_reader_place(&r));
		result = walk_chain(&r, &chain, &walk, time, err);
	}
	audit_reader_clear(&r);
	buf_clear(&walk.held);
	if (result >= 0 && time[0] != '\0' && clock_parse(time, latest) < 0)
		*latest = 0;
	return result < 0 ? -1 : 0;
}
