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

/* Behind the quote that ends the text from P on, which has JSON_STEP bytes; NULL: as above, or it
 * may be longer than MOST, or nothing is behind it in the block. */
JSON_INLINE const unsigned char *behind_text(const unsigned char *p, const unsigned char *end,
					     uint64_t most)
{
	const unsigned char *from = p;

	do {
		unsigned count = json_lex_plain(p);
		p += count;
		if (count == JSON_STEP)
			continue;
		if (*p == '"')
			return (uint64_t)(p - from) <= most && p + 1 < end ? p + 1 : NULL;
		if ((p = behind_special(p, end)) == NULL)
			return NULL;
	} while (end - p >= JSON_STEP);
	return NULL;
}

/* Behind the number or word at P; NULL: left to the slow reader. */
JSON_INLINE const unsigned char *behind_scalar(const unsigned char *p)
{
	return *p >= 'a' ? json_lex_behind_word(p) : json_lex_behind_integer(p);
}

/* Behind the key at P and its colon; NULL: left to the slow reader, to which *ADDED, what
 * json_keys_add said, is no news if it is 0. */
JSON_INLINE const unsigned char *behind_key(struct json_lex *lex, const unsigned char *p,
					    uint64_t most, int *added, struct sbx_error *err)
{
	const unsigned char *quote = *p == '"' ? json_lex_quote(p + 1, lex->end) : NULL;

	if (quote == NULL || quote + 1 == lex->end || quote[1] != ':')
		return NULL;
	size_t len = (size_t)(quote - p) - 1;
	if (len > most)
		return NULL;
	*added = json_lex_add_key(lex, (const char *)p + 1, len, err);
	return *added == 1 ? quote + 2 : NULL;
}

/* Where passing over stands: what LEX says of itself is old meanwhile. */
struct passing {
	const unsigned char *p, *last; /* the next byte; and the last token */
	enum json_expect expect;
};

/* A value ends at AT->p: close the brackets that follow, until the innermost one is OUTER, and take
 * the comma behind them. 1 when OUTER was reached. */
JSON_INLINE int end_value(struct json_lex *lex, struct passing *at, const struct json_level *outer)
{
	at->expect = EXPECT_COMMA_OR_CLOSE;
	while (lex->level != outer && at->p < lex->end) {
		if (*at->p == ',') {
			at->expect = json_lex_behind_comma(lex);
			at->p++;
			return 0;
		}
		if (*at->p != lex->level->closes)
			return 0;
		json_lex_pop(lex);
		at->last = at->p++;
	}
	return lex->level == outer;
}

/* As far as the block at hand and the common forms go: 1 when a value is complete and OUTER is the
 * innermost bracket, 0, -1. */
static int skip_in_block(struct json_lex *lex, unsigned depth, struct sbx_error *err)
{
	struct passing at = {.p = lex->p, .last = lex->p, .expect = lex->expect};
	const struct json_level *outer = lex->levels + depth;
	const unsigned char *const end = lex->end, *next;
	const uint64_t most = lex->limits.string;
	int added = 1, done = 0;

	while (!done && at.expect <= EXPECT_KEY && end - at.p >= JSON_AHEAD) {
		if (at.expect >= EXPECT_KEY_OR_CLOSE) {
			next = behind_key(lex, at.p, most, &added, err);
			if (next == NULL)
				break;
			at.p = next;
			at.expect = EXPECT_VALUE;
			if (end - next < JSON_AHEAD)
				break;
		}
		at.last = at.p;
		if (*at.p != '"' && json_lex_opens(*at.p)) {
			if (!json_lex_push(lex, *at.p))
				break;
			at.expect = *at.p == '{' ? EXPECT_KEY_OR_CLOSE : EXPECT_VALUE_OR_CLOSE;
			if (*++at.p != lex->level->closes)
				continue;
		} else {
			next = *at.p == '"' ? behind_text(at.p + 1, end, most)
					    : behind_scalar(at.p);
			if (next == NULL)
				break;
			at.p = next;
		}
		done = end_value(lex, &at, outer);
	}
	lex->p = at.p;
	lex->expect = at.expect;
	if (done) {
		lex->token.at = at.last;
		json_lex_value_done(lex);
	}
	return added < 0 ? -1 : done;
}

/* Until only DEPTH brackets are open: one value, or what is left of those that are open. */
static int skip(struct json_lex *lex, unsigned depth, struct sbx_error *err)
{
	enum json_token token;
	int done;

	while ((done = skip_in_block(lex, depth, err)) == 0) {
		if ((done = json_lex_slow(lex, &token, err)) < 0 || json_lex_depth(lex) == depth)
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
	return json_lex_depth(lex) > depth ? skip(lex, depth, err) : 0;
}

int json_lex_skip_value(struct json_lex *lex, struct sbx_error *err)
{
	enum json_token token;
	unsigned depth = json_lex_depth(lex);

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
	while (json_lex_depth(lex) > depth)
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
