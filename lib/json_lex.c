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

static inline int take_open(struct json_lex *lex, const unsigned char *p, enum json_token *token)
{
	if (!json_lex_push(lex, *p))
		return 0;
	lex->expect = *p == '{' ? EXPECT_KEY_OR_CLOSE : EXPECT_VALUE_OR_CLOSE;
	lex->p = p + 1;
	*token = *p == '{' ? JSON_OBJECT_OPEN : JSON_ARRAY_OPEN;
	return 1;
}

/* A bracket that does not fit is the slow reader's. */
static inline int take_close(struct json_lex *lex, const unsigned char *p, enum json_token *token)
{
	if (*p != lex->level->closes)
		return 0;
	json_lex_pop(lex);
	json_lex_value_done(lex);
	lex->p = p + 1;
	*token = *p == '}' ? JSON_OBJECT_CLOSE : JSON_ARRAY_CLOSE;
	return 1;
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
	const unsigned char *quote = json_lex_quote(p + 1, lex->end);

	if (quote == NULL || (size_t)(quote - p - 1) > lex->limits.string)
		return 0;
	set_text(lex, p + 1, quote);
	json_lex_value_done(lex);
	lex->p = quote + 1;
	*token = JSON_STRING;
	return 1;
}

JSON_INLINE int take_key(struct json_lex *lex, const unsigned char *p, enum json_token *token,
			 struct sbx_error *err)
{
	const unsigned char *quote = json_lex_quote(p + 1, lex->end);

	if (quote == NULL || quote + 1 == lex->end || quote[1] != ':' ||
	    (size_t)(quote - p - 1) > lex->limits.string)
		return 0;
	int added = json_lex_add_key(lex, (const char *)p + 1, (size_t)(quote - p - 1), err);
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
	const unsigned char *behind = json_lex_behind_word(p);

	if (behind == NULL)
		return 0;
	json_lex_value_done(lex);
	lex->p = behind;
	*token = *p == 't' ? JSON_TRUE : *p == 'f' ? JSON_FALSE : JSON_NULL;
	return 1;
}

static inline int take_integer(struct json_lex *lex, const unsigned char *p, enum json_token *token,
			       struct sbx_error *err)
{
	const unsigned char *behind = json_lex_behind_integer(p);

	if (behind == NULL)
		return 0;
	buf_reset(&lex->buffer);
	if (buf_add(&lex->buffer, p, (size_t)(behind - p), err) < 0)
		return -1;
	lex->text = buf_str(&lex->buffer);
	lex->len = lex->buffer.len;
	json_lex_value_done(lex);
	lex->p = behind;
	*token = JSON_NUMBER;
	return 1;
}

JSON_INLINE int take_value(struct json_lex *lex, const unsigned char *p, enum json_token *token,
			   struct sbx_error *err)
{
	if (*p == '"')
		return take_string(lex, p, token);
	if (json_lex_opens(*p))
		return take_open(lex, p, token);
	if (*p == 't' || *p == 'f' || *p == 'n')
		return take_word(lex, p, token);
	return take_integer(lex, p, token, err);
}

/* 1 when the next token was read; 0 when it is left to json_lex_slow, and nothing was done; -1. */
JSON_INLINE int take_token(struct json_lex *lex, enum json_token *token, struct sbx_error *err)
{
	const unsigned char *p = lex->p;
	enum json_expect expect = lex->expect;

	if (lex->end - p < JSON_AHEAD)
		return 0;
	lex->text = "";
	lex->len = 0;
	if (expect == EXPECT_COMMA_OR_CLOSE && *p == ',') {
		p++;
		expect = json_lex_behind_comma(lex);
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

JSON_INLINE int next_token(struct json_lex *lex, enum json_token *token, struct sbx_error *err)
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

int json_lex_stopped(const struct json_lex *lex, struct sbx_error *err)
{
	return lex->state == JSON_OVERSIZE ? json_lex_too_large(lex, err)
					   : sbx_fail(err, SBX_BAD_REQUEST, "json_syntax",
						      "the JSON text is not legal");
}

int json_lex_next(struct json_lex *lex, enum json_token *token, const char **text, size_t *len,
		  struct sbx_error *err)
{
	if (lex->state != JSON_READING)
		return json_lex_stopped(lex, err);
	if (next_token(lex, token, err) < 0 || keep_text(lex, err) < 0) {
		lex->state = JSON_STOPPED;
		return -1;
	}
	*text = lex->len > 0 ? lex->text : "";
	*len = lex->len;
	return 0;
}

unsigned json_lex_depth(const struct json_lex *lex)
{
	return (unsigned)(lex->level - lex->levels);
}
