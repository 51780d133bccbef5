/* Strict pull lexer for JSON over memory or a descriptor.
 *
 * Error words: json_empty, json_truncated, json_trailing, json_bom, json_utf8, json_control,
 * json_escape, json_surrogate, json_number, json_syntax, json_depth, json_duplicate_key; all class
 * 65.
 *
 * Most tokens of a large text stand whole in the block at hand, without white space, escapes or
 * anything wrong: those are read here. Whatever is not so is left as it is for json_lex_slow, which
 * reads every token, so that nothing depends on which of the two it was. */
#include "json_lex.h"

#include "json_lex_impl.h"

/* Without it some are called, which costs a tenth of the time. */
#define INLINE __attribute__((always_inline)) static inline

/* So many bytes are left in the block: enough for punctuation and words without looking again. */
enum { AHEAD = 32 };

static inline int take_open(struct json_lex *lex, const unsigned char *p, enum json_token *token)
{
	if (lex->depth == lex->levels_cap || lex->depth >= lex->limits.depth)
		return 0;
	lex->levels[lex->depth++] = (struct json_level){
		.kind = (char)*p, .first_key = lex->keys.count, .serial = lex->objects++};
	lex->expect = *p == '{' ? EXPECT_KEY_OR_CLOSE : EXPECT_VALUE_OR_CLOSE;
	lex->p = p + 1;
	*token = *p == '{' ? JSON_OBJECT_OPEN : JSON_ARRAY_OPEN;
	return 1;
}

/* A bracket that does not fit is the slow reader's. */
static inline int take_close(struct json_lex *lex, const unsigned char *p, enum json_token *token)
{
	if (lex->levels[lex->depth - 1].kind != (*p == '}' ? '{' : '['))
		return 0;
	json_keys_drop(&lex->keys, lex->levels[--lex->depth].first_key);
	json_lex_value_done(lex);
	lex->p = p + 1;
	*token = *p == '}' ? JSON_OBJECT_CLOSE : JSON_ARRAY_CLOSE;
	return 1;
}

/* The quote behind the plain text that begins at P; NULL: another byte ends it. */
static inline const unsigned char *closing_quote(const unsigned char *p, const unsigned char *end)
{
	unsigned count = JSON_STEP;

	while (end - p >= JSON_STEP && count == JSON_STEP)
		p += count = json_lex_plain(p);
	return count < JSON_STEP && *p == '"' ? p : NULL;
}

/* The text of a token between FROM and its quote. The quote has done its work, so that a NUL can
 * take its place where the block is ours. */
static inline void set_text(struct json_lex *lex, const unsigned char *from,
			    const unsigned char *quote)
{
	lex->text = (const char *)from;
	lex->len = (size_t)(quote - from);
	if (lex->block != NULL)
		lex->block[quote - lex->block] = '\0';
}

static inline int take_string(struct json_lex *lex, const unsigned char *p, enum json_token *token)
{
	const unsigned char *quote = closing_quote(p + 1, lex->end);

	if (quote == NULL || (size_t)(quote - p - 1) > lex->limits.string)
		return 0;
	set_text(lex, p + 1, quote);
	json_lex_value_done(lex);
	lex->p = quote + 1;
	*token = JSON_STRING;
	return 1;
}

/* 1 when the object has no such key yet; 0, -1. */
INLINE int add_key(struct json_lex *lex, const char *text, size_t len, struct sbx_error *err)
{
	const struct json_level *level = &lex->levels[lex->depth - 1];
	const struct key_seed *seed = &lex->keys.seed;

	if (lex->keys_trusted)
		return 1;
	uint64_t hash = len <= 16 ? key_hash_short(seed, level->serial, text, len)
				  : key_hash(seed, level->serial, text, len);
	return json_keys_add(&lex->keys, level->first_key, hash, err);
}

INLINE int take_key(struct json_lex *lex, const unsigned char *p, enum json_token *token,
		    struct sbx_error *err)
{
	const unsigned char *quote = closing_quote(p + 1, lex->end);

	if (quote == NULL || quote + 1 == lex->end || quote[1] != ':' ||
	    (size_t)(quote - p - 1) > lex->limits.string)
		return 0;
	int added = add_key(lex, (const char *)p + 1, (size_t)(quote - p - 1), err);
	if (added <= 0)
		return added;
	set_text(lex, p + 1, quote);
	lex->expect = EXPECT_VALUE;
	lex->p = quote + 2;
	*token = JSON_KEY;
	return 1;
}

static inline int take_word(struct json_lex *lex, const unsigned char *p, enum json_token *token)
{
	size_t len = *p == 'f' ? 5 : 4;

	if (memcmp(p, *p == 't' ? "true" : *p == 'f' ? "false" : "null", len) != 0)
		return 0;
	json_lex_value_done(lex);
	lex->p = p + len;
	*token = *p == 't' ? JSON_TRUE : *p == 'f' ? JSON_FALSE : JSON_NULL;
	return 1;
}

/* A number as most are: digits alone, and few enough to be an exact integer. */
static inline int take_integer(struct json_lex *lex, const unsigned char *p, enum json_token *token,
			       struct sbx_error *err)
{
	static const ptrdiff_t most = 15;
	const unsigned char *from = p;

	while (*p >= '0' && *p <= '9' && p - from <= most)
		p++;
	if (p - from > most || (*from == '0' && p - from > 1) || *p == '.' || (*p | 0x20) == 'e')
		return 0;
	buf_reset(&lex->buffer);
	if (buf_add(&lex->buffer, from, (size_t)(p - from), err) < 0)
		return -1;
	lex->text = buf_str(&lex->buffer);
	lex->len = lex->buffer.len;
	json_lex_value_done(lex);
	lex->p = p;
	*token = JSON_NUMBER;
	return 1;
}

INLINE int take_value(struct json_lex *lex, const unsigned char *p, enum json_token *token,
		      struct sbx_error *err)
{
	if (*p == '"')
		return take_string(lex, p, token);
	if (*p == '{' || *p == '[')
		return take_open(lex, p, token);
	if (*p == 't' || *p == 'f' || *p == 'n')
		return take_word(lex, p, token);
	return *p >= '0' && *p <= '9' ? take_integer(lex, p, token, err) : 0;
}

/* 1 when the next token was read; 0 when it is left to json_lex_slow, and nothing was done; -1. */
INLINE int take_token(struct json_lex *lex, enum json_token *token, struct sbx_error *err)
{
	const unsigned char *p = lex->p;
	enum json_expect expect = lex->expect;

	if (lex->end - p < AHEAD)
		return 0;
	lex->text = "";
	lex->len = 0;
	if (expect == EXPECT_COMMA_OR_CLOSE && *p == ',') {
		p++;
		expect = lex->levels[lex->depth - 1].kind == '{' ? EXPECT_KEY : EXPECT_VALUE;
	}
	lex->token.at = p;
	if (*p == '"' && (expect == EXPECT_KEY || expect == EXPECT_KEY_OR_CLOSE))
		return take_key(lex, p, token, err);
	if (expect == EXPECT_VALUE)
		return take_value(lex, p, token, err);
	if (expect == EXPECT_KEY || expect == EXPECT_NOTHING)
		return 0;
	if (*p == '}' || *p == ']')
		return take_close(lex, p, token);
	return expect == EXPECT_VALUE_OR_CLOSE ? take_value(lex, p, token, err) : 0;
}

INLINE int next_token(struct json_lex *lex, enum json_token *token, struct sbx_error *err)
{
	int taken = take_token(lex, token, err);

	return taken != 0 ? taken : json_lex_slow(lex, token, err);
}

/* A text in memory of the caller has no NUL behind it: copy it. */
static int keep_text(struct json_lex *lex, struct sbx_error *err)
{
	if (lex->block != NULL || lex->len == 0 || lex->text == lex->buffer.data)
		return 0;
	buf_reset(&lex->buffer);
	if (buf_add(&lex->buffer, lex->text, lex->len, err) < 0)
		return -1;
	lex->text = lex->buffer.data;
	return 0;
}

static int stopped(const struct json_lex *lex, struct sbx_error *err)
{
	return lex->state == JSON_OVERSIZE ? json_lex_too_large(lex, err)
					   : sbx_fail(err, SBX_BAD_REQUEST, "json_syntax",
						      "the JSON text is not legal");
}

int json_lex_next(struct json_lex *lex, enum json_token *token, const char **text, size_t *len,
		  struct sbx_error *err)
{
	if (lex->state != JSON_READING)
		return stopped(lex, err);
	if (next_token(lex, token, err) < 0 || keep_text(lex, err) < 0) {
		lex->state = JSON_STOPPED;
		return -1;
	}
	*text = lex->len > 0 ? lex->text : "";
	*len = lex->len;
	return 0;
}

int json_lex_skip_to(struct json_lex *lex, unsigned depth, struct sbx_error *err)
{
	enum json_token token;

	if (lex->state != JSON_READING)
		return stopped(lex, err);
	while (lex->depth > depth)
		if (next_token(lex, &token, err) < 0) {
			lex->state = JSON_STOPPED;
			return -1;
		}
	return 0;
}

int json_lex_skip_value(struct json_lex *lex, struct sbx_error *err)
{
	enum json_token token;
	const char *text;
	size_t len;
	unsigned depth = lex->depth;

	do
		if (json_lex_next(lex, &token, &text, &len, err) < 0)
			return -1;
	while (token == JSON_KEY);
	return json_lex_skip_to(lex, depth, err);
}

int json_lex_jump(struct json_lex *lex, uint64_t offset, struct sbx_error *err)
{
	if (lex->state != JSON_READING)
		return stopped(lex, err);
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
	json_lex_value_done(lex);
	return 0;
}

unsigned json_lex_depth(const struct json_lex *lex)
{
	return lex->depth;
}

int json_lex_check(const void *bytes, size_t len, const struct json_lex_limits *limits,
		   struct sbx_error *err)
{
	auto_json_lex *lex = json_lex_memory(bytes, len, limits, err);
	enum json_token token = JSON_NULL;

	if (lex == NULL)
		return -1;
	if (lex->state != JSON_READING)
		return stopped(lex, err);
	while (token != JSON_END)
		if (next_token(lex, &token, err) < 0)
			return -1;
	return 0;
}
