/* Each line follows the one before it. */
#include "audit_chain.h"

#include <string.h>

#include "limit.h"

void audit_chain_begin(struct audit_chain *chain, int fd, int64_t seq, const char *head, off_t end)
{
	*chain = (struct audit_chain){.fd = fd};
	for (size_t i = 0; i < AUDIT_PLACES; i++) {
		/* Only the first is real: the others can be followed by nothing. */
		chain->places[i] = (struct audit_place){.seq = i == 0 ? seq : INT64_MAX - 1, .end = end};
		memcpy(chain->places[i].head, i == 0 ? head : AUDIT_FIRST_PREV, DIGEST_HEX_SIZE);
	}
}

static void accept(struct audit_chain *c, const struct audit_line *line, const struct audit_raw *raw)
{
	memmove(c->places + 1, c->places, (AUDIT_PLACES - 1) * sizeof *c->places);
	c->places[0].seq = line->seq;
	digest_sha256_hex(raw->bytes, raw->len, c->places[0].head);
	c->places[0].end = raw->start + (off_t)raw->len + 1;
	c->places[0].parsed = c->parsed;
	c->bad = 0;
}

static int follows(const struct audit_place *place, const struct audit_line *line)
{
	return line->seq == place->seq + 1 && strcmp(line->prev, place->head) == 0;
}

static int region_matches(const struct audit_chain *c, off_t start, const struct audit_line *line)
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
static int declares(const struct audit_chain *c, const struct audit_line *line, const struct audit_raw *raw)
{
	for (size_t i = 0; i < AUDIT_PLACES; i++) {
		const struct audit_place *place = &c->places[i];
		int64_t whole = c->parsed - 1 - place->parsed; /* without the declaration itself */
		if (raw->start <= place->end || !follows(place, line) ||
		    line->torn_bytes != raw->start - 1 - place->end)
			continue;
		if ((whole == 0 || (whole == 1 && c->last_parsed)) && region_matches(c, place->end, line))
			return 1;
	}
	return 0;
}

static const char *check(struct audit_chain *c, const struct audit_raw *raw, const struct audit_line *line, int parsed)
{
	if (!parsed) {
		c->bad++;
		return NULL;
	}
	if (strcmp(line->event, AUDIT_TORN_EVENT) == 0) {
		if (line->torn_bytes < 0 || line->torn_bytes > (int64_t)(4 * LIMIT_EVENT) || !declares(c, line, raw))
			return "it declares torn bytes that are not there";
		c->torn++;
	} else if (c->bad > 0) {
		return "the line before it is no record, and it does not declare it";
	} else if (!follows(&c->places[0], line)) {
		return "it does not follow the line before it";
	}
	accept(c, line, raw);
	return NULL;
}

const char *audit_chain_take(struct audit_chain *c, const struct audit_raw *raw, struct audit_line *line,
			     int *is_record)
{
	int parsed = audit_line_read(raw->bytes, raw->len, line) == 0;

	*is_record = parsed;
	if (audit_line_glued(raw->bytes, raw->len))
		return "half a line has another one written on to it";
	c->parsed += parsed;
	const char *fault = check(c, raw, line, parsed);
	c->last_parsed = parsed;
	return fault;
}
