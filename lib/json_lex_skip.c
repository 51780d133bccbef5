/* Passing over values: as strict as reading them, but without their texts. */
#include "json_lex_pass.h"
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

/* Until only DEPTH brackets are open: one value, or what is left of those that are open. V is told
 * of scalars alone. */
JSON_INLINE int skip(struct json_lex *lex, unsigned depth, const struct json_lex_visitor *v,
		     unsigned *kinds, struct sbx_error *err)
{
	enum json_token token;
	int done;

	while ((done = json_lex_pass(lex, depth, v, kinds, err)) == 0) {
		if ((done = json_lex_slow(lex, &token, err)) < 0)
			break;
		*kinds |= JSON_KIND(token);
		if (json_lex_depth(lex) == depth)
			break;
	}
	lex->text = "";
	lex->len = 0;
	if (done < 0)
		lex->state = JSON_STOPPED;
	return done < 0 ? -1 : 0;
}

static int skip_unseen(struct json_lex *lex, unsigned depth, struct sbx_error *err)
{
	static const struct json_lex_visitor nobody = {.behind_special = behind_special};
	unsigned kinds = 0;

	return skip(lex, depth, &nobody, &kinds, err);
}

static inline int see_string(void *kinds, const char *text, size_t len, struct sbx_error *err)
{
	(void)text;
	(void)len;
	(void)err;
	*(unsigned *)kinds |= JSON_KIND(JSON_STRING);
	return 0;
}

static inline int see_number(void *kinds, const char *text, size_t len, struct sbx_error *err)
{
	(void)text;
	(void)len;
	(void)err;
	*(unsigned *)kinds |= JSON_KIND(JSON_NUMBER);
	return 0;
}

static inline int see_word(void *kinds, enum json_token token, struct sbx_error *err)
{
	(void)err;
	*(unsigned *)kinds |= JSON_KIND(token);
	return 0;
}

static int skip_seen(struct json_lex *lex, unsigned depth, unsigned *kinds, struct sbx_error *err)
{
	static const struct json_lex_visitor see = {.string = see_string,
						    .number = see_number,
						    .word = see_word,
						    .behind_special = behind_special};

	return skip(lex, depth, &see, kinds, err);
}

int json_lex_skip_to(struct json_lex *lex, unsigned depth, struct sbx_error *err)
{
	if (lex->state != JSON_READING)
		return json_lex_stopped(lex, err);
	return json_lex_depth(lex) > depth ? skip_unseen(lex, depth, err) : 0;
}

/* A short text without anything special, as many single values are; 0: something else. */
static int skip_text(struct json_lex *lex)
{
	const unsigned char *p = lex->p, *quote;

	if (lex->end - p < JSON_AHEAD || *p != '"' ||
	    (quote = json_lex_quote(p + 1, lex->end)) == NULL ||
	    (uint64_t)(quote - p - 1) > lex->limits.string)
		return 0;
	lex->token.at = p;
	lex->p = quote + 1;
	json_lex_value_done(lex);
	return 1;
}

int json_lex_skip_value(struct json_lex *lex, struct sbx_error *err)
{
	enum json_token token;
	unsigned depth = json_lex_depth(lex);

	if (lex->state != JSON_READING)
		return json_lex_stopped(lex, err);
	if (lex->expect == EXPECT_VALUE)
		return skip_text(lex) ? 0 : skip_unseen(lex, depth, err);
	if (json_lex_slow(lex, &token, err) < 0) {
		lex->state = JSON_STOPPED;
		return -1;
	}
	return json_lex_skip_to(lex, depth, err);
}

int json_lex_skip_kinds(struct json_lex *lex, unsigned *kinds, struct sbx_error *err)
{
	*kinds = 0;
	if (lex->state != JSON_READING)
		return json_lex_stopped(lex, err);
	return skip_seen(lex, json_lex_depth(lex), kinds, err);
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
