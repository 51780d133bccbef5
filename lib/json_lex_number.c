/* Numbers and words, byte by byte. */
#include "json_lex_impl.h"

#include <string.h>

#include "io.h"
#include "limit.h"

static int digits(struct json_lex *lex, struct sbx_error *err)
{
	int c, count = 0;

	while ((c = json_lex_peek(lex, err)) >= '0' && c <= '9') {
		const unsigned char *from = lex->p;
		while (lex->p < lex->end && *lex->p >= '0' && *lex->p <= '9')
			lex->p++;
		if (buf_add(&lex->buffer, from, (size_t)(lex->p - from), err) < 0)
			return -1;
		count = 1;
	}
	return c == JSON_FAILED ? -1 : count;
}

static int take_if(struct json_lex *lex, const char *set, struct sbx_error *err)
{
	int c = json_lex_peek(lex, err);

	if (c == JSON_FAILED)
		return -1;
	if (c <= 0 || strchr(set, c) == NULL)
		return 0;
	if (buf_add(&lex->buffer, lex->p, 1, err) < 0)
		return -1;
	lex->p++;
	return 1;
}

static int check_integer(struct json_lex *lex, struct sbx_error *err)
{
	uint64_t value;

	if (io_parse_u64(lex->text + (lex->text[0] == '-'), 0, LIMIT_INTEGER, &value) < 0)
		return json_lex_bad(lex, "json_number", "a number that is no integer within 2^53-1",
				    err);
	return 0;
}

static int malformed(struct json_lex *lex, struct sbx_error *err)
{
	return json_lex_bad(lex, "json_number", "a malformed number", err);
}

static int read_number(struct json_lex *lex, struct sbx_error *err)
{
	if (take_if(lex, "-", err) < 0)
		return -1;
	size_t sign = lex->buffer.len;
	int some = digits(lex, err);
	if (some < 0)
		return -1;
	if (!some || (lex->buffer.len - sign > 1 && lex->buffer.data[sign] == '0'))
		return malformed(lex, err);
	int part = take_if(lex, ".", err);
	if (part < 0 || (part > 0 && (some = digits(lex, err)) < 0))
		return -1;
	if (!some)
		return malformed(lex, err);
	part = take_if(lex, "eE", err);
	if (part <= 0)
		return part;
	if (take_if(lex, "+-", err) < 0 || (some = digits(lex, err)) < 0)
		return -1;
	return some ? 0 : malformed(lex, err);
}

int json_lex_number(struct json_lex *lex, struct sbx_error *err)
{
	buf_reset(&lex->buffer);
	if (read_number(lex, err) < 0)
		return -1;
	lex->text = buf_str(&lex->buffer);
	lex->len = lex->buffer.len;
	return lex->limits.integers == JSON_INTEGERS_ONLY ? check_integer(lex, err) : 0;
}

int json_lex_word(struct json_lex *lex, const char *word, struct sbx_error *err)
{
	for (const char *want = word; *want != '\0'; want++) {
		int c = json_lex_peek(lex, err);
		if (c == JSON_FAILED)
			return -1;
		if (c != *want)
			return json_lex_bad(lex, c == JSON_NONE ? "json_truncated" : "json_syntax",
					    "an unknown word", err);
		lex->p++;
	}
	return 0;
}
