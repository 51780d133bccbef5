/* Tokens in all their forms, across blocks, with what is wrong with them. */
#include "json_lex_impl.h"

#include <stdlib.h>

static int skip_space(struct json_lex *lex, struct sbx_error *err)
{
	int c = json_lex_peek(lex, err);

	while (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
		lex->p++;
		while (lex->p < lex->end && *lex->p == ' ')
			lex->p++;
		c = json_lex_peek(lex, err);
	}
	return c;
}

/* Room for twice as many, and not more than may be. */
static int grow_levels(struct json_lex *lex, struct sbx_error *err)
{
	size_t depth = json_lex_depth(lex), cap = 2 * (depth + 1),
	       most = (size_t)lex->limits.depth + 1;

	if (depth == lex->limits.depth)
		return json_lex_bad(lex, "json_depth", "nested too deeply", err);
	if (cap > most)
		cap = most;
	struct json_level *grown = realloc(lex->levels, cap * sizeof *grown);
	if (grown == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	lex->levels = grown;
	lex->level = grown + depth;
	lex->levels_end = grown + cap;
	return 0;
}

static int open_bracket(struct json_lex *lex, char kind, enum json_token *token,
			struct sbx_error *err)
{
	lex->p++;
	if (lex->level + 1 == lex->levels_end && grow_levels(lex, err) < 0)
		return -1;
	json_lex_push(lex, kind);
	*token = kind == '{' ? JSON_OBJECT_OPEN : JSON_ARRAY_OPEN;
	lex->expect = kind == '{' ? EXPECT_KEY_OR_CLOSE : EXPECT_VALUE_OR_CLOSE;
	return 0;
}

static int close_bracket(struct json_lex *lex, int c, enum json_token *token, struct sbx_error *err)
{
	if (c != lex->level->closes)
		return json_lex_bad(lex, "json_syntax", "a closing bracket that does not fit", err);
	lex->p++;
	json_lex_pop(lex);
	*token = c == '}' ? JSON_OBJECT_CLOSE : JSON_ARRAY_CLOSE;
	json_lex_value_done(lex);
	return 0;
}

static int read_word(struct json_lex *lex, int c, enum json_token *token, struct sbx_error *err)
{
	*token = c == 't' ? JSON_TRUE : c == 'f' ? JSON_FALSE : JSON_NULL;
	return json_lex_word(lex, c == 't' ? "true" : c == 'f' ? "false" : "null", err);
}

static int value(struct json_lex *lex, int c, enum json_token *token, struct sbx_error *err)
{
	int result;

	if (c == '{' || c == '[')
		return open_bracket(lex, (char)c, token, err);
	if (c == '"') {
		lex->p++;
		*token = JSON_STRING;
		result = json_lex_string(lex, err);
	} else if (c == '-' || (c >= '0' && c <= '9')) {
		*token = JSON_NUMBER;
		result = json_lex_number(lex, err);
	} else if (c == 't' || c == 'f' || c == 'n') {
		result = read_word(lex, c, token, err);
	} else {
		result = json_lex_bad(lex, c == 0xef ? "json_bom" : "json_syntax", "no JSON value",
				      err);
	}
	json_lex_value_done(lex);
	return result;
}

static int remember_key(struct json_lex *lex, struct sbx_error *err)
{
	struct json_run *run = &lex->level->keys;

	if (lex->keys_trusted)
		return 0;
	int added = json_keys_add(&lex->keys, run, lex->text, lex->len, err);

	if (added != 0)
		return added < 0 ? -1 : 0;
	return json_lex_bad(lex, "json_duplicate_key", "the same key twice in one object", err);
}

static int key(struct json_lex *lex, int c, enum json_token *token, struct sbx_error *err)
{
	if (c != '"')
		return json_lex_bad(lex, "json_syntax", "a key was expected", err);
	lex->p++;
	if (json_lex_string(lex, err) < 0 || remember_key(lex, err) < 0)
		return -1;
	int colon = skip_space(lex, err);
	if (colon == JSON_FAILED)
		return -1;
	if (colon != ':')
		return json_lex_bad(lex, colon == JSON_NONE ? "json_truncated" : "json_syntax",
				    "a colon was expected", err);
	lex->p++;
	*token = JSON_KEY;
	lex->expect = EXPECT_VALUE;
	return 0;
}

/* Nothing follows: right behind the value, wrong anywhere else. */
static int ended(struct json_lex *lex, enum json_token *token, struct sbx_error *err)
{
	if (lex->expect == EXPECT_NOTHING) {
		*token = JSON_END;
		return 0;
	}
	if (lex->taken == 0)
		return json_lex_bad(lex, "json_empty", "there is no input", err);
	return json_lex_bad(lex, "json_truncated", "the text is cut off", err);
}

/* Dispatch on what may come next, which C begins. */
static int read_token(struct json_lex *lex, int c, enum json_token *token, struct sbx_error *err)
{
	lex->token.at = lex->p;
	switch (lex->expect) {
	case EXPECT_VALUE_OR_CLOSE:
	case EXPECT_KEY_OR_CLOSE:
	case EXPECT_COMMA_OR_CLOSE:
		if (c == '}' || c == ']')
			return close_bracket(lex, c, token, err);
		if (lex->expect == EXPECT_COMMA_OR_CLOSE)
			return json_lex_bad(lex, "json_syntax",
					    "a comma or a closing bracket was expected", err);
		return lex->expect == EXPECT_KEY_OR_CLOSE ? key(lex, c, token, err)
							  : value(lex, c, token, err);
	case EXPECT_KEY:
		return key(lex, c, token, err);
	case EXPECT_VALUE:
		return value(lex, c, token, err);
	case EXPECT_NOTHING:
		break;
	}
	return json_lex_bad(lex, "json_trailing", "more than one value", err);
}

int json_lex_slow(struct json_lex *lex, enum json_token *token, struct sbx_error *err)
{
	int c = skip_space(lex, err);

	if (c == ',' && lex->expect == EXPECT_COMMA_OR_CLOSE) {
		lex->token.at = lex->p++;
		lex->expect = json_lex_behind_comma(lex);
		c = skip_space(lex, err);
	}
	if (c == JSON_FAILED)
		return -1;
	lex->text = "";
	lex->len = 0;
	return c == JSON_NONE ? ended(lex, token, err) : read_token(lex, c, token, err);
}
