/* Passing over values: as strict as reading them, but without their texts. As in json_lex.c the
 * most common forms of tokens are taken here, and all others are left to json_lex_slow. */
#include "json_lex_impl.h"
#include "json_out.h"

static int hex_digit(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Behind an escape or a character above ASCII that begins at P; NULL: it is another one, or not
 * whole in the block, or wrong. */
static const unsigned char *behind_special(const unsigned char *p, const unsigned char *end)
{
	if (*p >= 0x80) {
		size_t len = json_out_utf8((const char *)p, (size_t)(end - p), NULL);
		return len > 0 ? p + len : NULL;
	}
	if (*p != '\\' || end - p < 6)
		return NULL;
	if (json_lex_escapes[p[1]] != 0)
		return p + 2;
	if (p[1] != 'u' || !hex_digit(p[2]) || !hex_digit(p[3]) || !hex_digit(p[4]) ||
	    !hex_digit(p[5]))
		return NULL;
	/* Surrogates come in pairs. */
	return (p[2] | 0x20) == 'd' && p[3] >= '8' ? NULL : p + 6;
}

/* The quote behind the text that begins at P; NULL: as above, or it may be too long. */
JSON_INLINE const unsigned char *behind_text(const struct json_lex *lex, const unsigned char *p)
{
	const unsigned char *from = p, *end = lex->end;

	while (end - p >= JSON_STEP) {
		unsigned count = json_lex_plain(p);
		p += count;
		if (count == JSON_STEP)
			continue;
		if (*p == '"')
			return (uint64_t)(p - from) <= lex->limits.string ? p : NULL;
		if ((p = behind_special(p, end)) == NULL)
			return NULL;
	}
	return NULL;
}

/* Behind the key and its colon; NULL: left to the slow reader. *RESULT is as of json_keys_add, 1 if
 * that was not asked. */
JSON_INLINE const unsigned char *behind_key(struct json_lex *lex, const unsigned char *p,
					    int *result, struct sbx_error *err)
{
	const unsigned char *quote = json_lex_quote(p + 1, lex->end);

	*result = 1;
	if (quote == NULL || quote + 1 == lex->end || quote[1] != ':' ||
	    (uint64_t)(quote - p - 1) > lex->limits.string)
		return NULL;
	*result = json_lex_add_key(lex, (const char *)p + 1, (size_t)(quote - p - 1), err);
	return *result == 1 ? quote + 2 : NULL;
}

/* Behind the number, word or string at P; NULL: left to the slow reader. */
JSON_INLINE const unsigned char *behind_scalar(const struct json_lex *lex, const unsigned char *p)
{
	if (*p == '"') {
		const unsigned char *quote = behind_text(lex, p + 1);
		return quote == NULL ? NULL : quote + 1;
	}
	return *p == 't' || *p == 'f' || *p == 'n' ? json_lex_behind_word(p)
						   : json_lex_behind_integer(p);
}

/* An opening bracket at P and, where nothing is in it, the closing one: behind what was taken.
 * *EXPECT says what comes then. NULL: left to the slow reader. */
JSON_INLINE const unsigned char *behind_open(struct json_lex *lex, const unsigned char *p,
					     enum json_expect *expect)
{
	int is_object = *p == '{';

	if (!json_lex_push(lex, (char)*p))
		return NULL;
	*expect = is_object ? EXPECT_KEY_OR_CLOSE : EXPECT_VALUE_OR_CLOSE;
	if (p[1] != (is_object ? '}' : ']'))
		return p + 1;
	json_lex_pop(lex);
	*expect = EXPECT_COMMA_OR_CLOSE;
	return p + 2;
}

/* Close the brackets that stand at P, until TARGET are open. */
JSON_INLINE const unsigned char *behind_closing(struct json_lex *lex, const unsigned char *p,
						unsigned target)
{
	for (; lex->depth > target && p < lex->end && json_lex_closes(lex, *p); p++) {
		json_lex_pop(lex);
		lex->token.at = p;
	}
	return p;
}

/* As far as the block at hand and the common forms go: 1 when a value is complete and TARGET
 * brackets are open, 0, -1. */
static int skip_in_block(struct json_lex *lex, unsigned target, struct sbx_error *err)
{
	const unsigned char *p = lex->p, *next = p;
	enum json_expect expect = lex->expect;
	int added = 1, done = 0;

	while (expect != EXPECT_NOTHING && lex->end - p >= JSON_AHEAD) {
		if (expect == EXPECT_KEY || expect == EXPECT_KEY_OR_CLOSE) {
			if (*p != '"' || (next = behind_key(lex, p, &added, err)) == NULL)
				break;
			p = next;
			expect = EXPECT_VALUE;
			if (lex->end - p < JSON_AHEAD)
				break;
		}
		if (expect != EXPECT_COMMA_OR_CLOSE) {
			enum json_expect behind = EXPECT_COMMA_OR_CLOSE;
			lex->token.at = p;
			next = *p == '{' || *p == '[' ? behind_open(lex, p, &behind)
						      : behind_scalar(lex, p);
			if (next == NULL)
				break;
			p = next;
			expect = behind;
			if (expect != EXPECT_COMMA_OR_CLOSE)
				continue;
		}
		p = behind_closing(lex, p, target);
		if ((done = lex->depth == target) || p == lex->end || *p != ',')
			break;
		p++;
		expect = lex->levels[lex->depth - 1].kind == '{' ? EXPECT_KEY : EXPECT_VALUE;
	}
	lex->p = p;
	lex->expect = expect;
	if (done)
		json_lex_value_done(lex);
	return added < 0 ? -1 : done;
}

/* One value; or, when TARGET is below the depth, what is left of the open ones. */
static int skip(struct json_lex *lex, unsigned target, struct sbx_error *err)
{
	enum json_token token;
	int done;

	while ((done = skip_in_block(lex, target, err)) == 0) {
		if ((done = json_lex_slow(lex, &token, err)) < 0 || lex->depth == target)
			break;
	}
	lex->text = "";
	lex->len = 0;
	if (done < 0)
		lex->state = JSON_STOPPED;
	return done < 0 ? -1 : 0;
}

int json_lex_skip_to(struct json_lex *lex, unsigned depth, struct sbx_error *err)
{
	if (lex->state != JSON_READING)
		return json_lex_stopped(lex, err);
	return lex->depth > depth ? skip(lex, depth, err) : 0;
}

int json_lex_skip_value(struct json_lex *lex, struct sbx_error *err)
{
	enum json_token token;
	unsigned depth = lex->depth;

	if (lex->state != JSON_READING)
		return json_lex_stopped(lex, err);
	if (lex->expect == EXPECT_VALUE)
		return skip(lex, depth, err);
	if (json_lex_slow(lex, &token, err) < 0) {
		lex->state = JSON_STOPPED;
		return -1;
	}
	return json_lex_skip_to(lex, depth, err);
}

int json_lex_jump(struct json_lex *lex, uint64_t offset, unsigned depth, struct sbx_error *err)
{
	if (lex->state != JSON_READING)
		return json_lex_stopped(lex, err);
	while (json_lex_offset(lex) < offset) {
		int c = json_lex_peek(lex, err);
		if (c < 0) {
			lex->state = JSON_STOPPED;
			return c == JSON_FAILED ? -1
						: json_lex_bad(lex, "json_truncated",
							       "the text is cut off", err);
		}
		uint64_t want = offset - json_lex_offset(lex), left = (uint64_t)(lex->end - lex->p);
		lex->p += want < left ? want : left;
	}
	while (lex->depth > depth)
		json_lex_pop(lex);
	json_lex_value_done(lex);
	return 0;
}

int json_lex_check(const void *bytes, size_t len, const struct json_lex_limits *limits,
		   struct sbx_error *err)
{
	auto_json_lex *lex = json_lex_memory(bytes, len, limits, err);
	enum json_token token;

	if (lex == NULL || json_lex_skip_value(lex, err) < 0)
		return -1;
	return json_lex_slow(lex, &token, err);
}
