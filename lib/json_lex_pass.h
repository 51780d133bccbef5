/* The most common forms of tokens one behind the other, as far as the block at hand goes: the loop
 * of who passes over values (json_lex_skip.c) and of who keeps them (plan_tree_read.c). All others
 * are left to json_lex_slow, as in json_lex.c. A part of the lexer, for these two alone: it is
 * compiled into each of them. */
#ifndef SBX_JSON_LEX_PASS_H
#define SBX_JSON_LEX_PASS_H

#include "json_lex_impl.h"

/* What is done with the parts of a value. Each function may be NULL; 0, or -1 with an error. */
struct json_lex_visitor {
	int (*key)(void *of, const char *text, size_t len, struct sbx_error *err);
	int (*string)(void *of, const char *text, size_t len, struct sbx_error *err);
	int (*number)(void *of, const char *text, size_t len, struct sbx_error *err);
	int (*word)(void *of, enum json_token token, struct sbx_error *err);
	int (*open)(void *of, enum json_token token, struct sbx_error *err);
	void (*close)(void *of);
	/* Behind the special byte at P and what belongs to it, within a text; NULL: it is left to the
	 * slow reader. */
	const unsigned char *(*behind_special)(const unsigned char *p, const unsigned char *end);
};

/* Where it stands: what LEX says of itself is old meanwhile. */
struct json_lex_passing {
	const unsigned char *p, *last; /* the next byte; and the last token */
	enum json_expect expect;
	const unsigned char *looked; /* as in LEX; those specials alone that are not behind us */
	uint64_t specials;
};

enum json_lex_passed {
	JSON_PASS_LEFT, /* the next token is for the slow reader */
	JSON_PASS_MORE,
	JSON_PASS_FAILED,
};

/* Look at the bytes from P on. Where there are less than JSON_LOOK in the block, the first one that
 * was not looked at counts as special. 0: there are less than JSON_STEP. */
JSON_INLINE int json_lex_look(const struct json_lex *lex, struct json_lex_passing *at,
			      const unsigned char *p)
{
	ptrdiff_t left = lex->end - p;
	uint64_t specials = 0;
	unsigned i = 0;

	if (left >= JSON_LOOK) {
		specials = (uint64_t)json_lex_specials(p + 48) << 48 |
			   (uint64_t)json_lex_specials(p + 32) << 32 |
			   (uint64_t)json_lex_specials(p + 16) << 16 | json_lex_specials(p);
	} else if (left >= JSON_STEP) {
		for (; left - i >= JSON_STEP; i += JSON_STEP)
			specials |= (uint64_t)json_lex_specials(p + i) << i;
		specials |= (uint64_t)(left > i) << i;
	}
	at->looked = p;
	at->specials = specials;
	return left >= JSON_STEP;
}

/* What LEX looked at before, but for what is behind it; or the bytes from where it stands. */
JSON_INLINE int json_lex_look_again(const struct json_lex *lex, struct json_lex_passing *at)
{
	if (lex->looked == NULL || at->p - lex->looked >= JSON_LOOK)
		return json_lex_look(lex, at, at->p);
	at->looked = lex->looked;
	at->specials = lex->specials & UINT64_MAX << (at->p - lex->looked);
	return 1;
}

/* The next special byte, which is behind us then; NULL: it is not in the block. */
JSON_INLINE const unsigned char *json_lex_special(const struct json_lex *lex,
						  struct json_lex_passing *at)
{
	while (at->specials == 0)
		if (lex->end - at->looked < JSON_LOOK ||
		    !json_lex_look(lex, at, at->looked + JSON_LOOK))
			return NULL;
	const unsigned char *p = at->looked + __builtin_ctzll(at->specials);
	at->specials &= at->specials - 1;
	return p;
}

/* The quote at AT->p begins a text: the special byte that comes next. It is the first one, unless
 * what stands between tokens was another. */
JSON_INLINE const unsigned char *json_lex_text_end(const struct json_lex *lex,
						   struct json_lex_passing *at)
{
	if (json_lex_special(lex, at) != at->p && !json_lex_look(lex, at, at->p + 1))
		return NULL;
	return json_lex_special(lex, at);
}

JSON_INLINE enum json_lex_passed json_lex_pass_key(struct json_lex *lex,
						   struct json_lex_passing *at,
						   const struct json_lex_visitor *v, void *of,
						   struct sbx_error *err)
{
	const unsigned char *from = at->p + 1, *end = lex->end;
	const unsigned char *quote = *at->p == '"' ? json_lex_text_end(lex, at) : NULL;

	if (quote == NULL || *quote != '"' || quote + 1 == end || quote[1] != ':')
		return JSON_PASS_LEFT;
	size_t len = (size_t)(quote - from);
	if (len > lex->limits.string)
		return JSON_PASS_LEFT;
	/* One that is there already is the slow reader's, which finds it there too. */
	int added = json_lex_add_key(lex, (const char *)from, len, err);
	if (added <= 0)
		return added < 0 ? JSON_PASS_FAILED : JSON_PASS_LEFT;
	at->p = quote + 2;
	at->expect = EXPECT_VALUE;
	if (v->key != NULL && v->key(of, (const char *)from, len, err) < 0)
		return JSON_PASS_FAILED;
	return JSON_PASS_MORE;
}

JSON_INLINE enum json_lex_passed json_lex_pass_string(struct json_lex *lex,
						      struct json_lex_passing *at,
						      const struct json_lex_visitor *v, void *of,
						      struct sbx_error *err)
{
	const unsigned char *from = at->p + 1, *quote = json_lex_text_end(lex, at);

	while (quote != NULL && *quote != '"' && v->behind_special != NULL) {
		const unsigned char *behind = v->behind_special(quote, lex->end);
		quote = behind != NULL && json_lex_look(lex, at, behind) ? json_lex_special(lex, at)
									 : NULL;
	}
	if (quote == NULL || *quote != '"' || quote + 1 == lex->end ||
	    (uint64_t)(quote - from) > lex->limits.string)
		return JSON_PASS_LEFT;
	at->p = quote + 1;
	if (v->string != NULL && v->string(of, (const char *)from, (size_t)(quote - from), err) < 0)
		return JSON_PASS_FAILED;
	return JSON_PASS_MORE;
}

JSON_INLINE enum json_lex_passed json_lex_pass_word(struct json_lex_passing *at,
						    const struct json_lex_visitor *v, void *of,
						    struct sbx_error *err)
{
	const unsigned char *behind = json_lex_behind_word(at->p);
	enum json_token token = *at->p == 't' ? JSON_TRUE : *at->p == 'f' ? JSON_FALSE : JSON_NULL;

	if (behind == NULL)
		return JSON_PASS_LEFT;
	at->p = behind;
	return v->word != NULL && v->word(of, token, err) < 0 ? JSON_PASS_FAILED : JSON_PASS_MORE;
}

JSON_INLINE enum json_lex_passed json_lex_pass_number(struct json_lex_passing *at,
						      const struct json_lex_visitor *v, void *of,
						      struct sbx_error *err)
{
	const unsigned char *from = at->p, *behind = json_lex_behind_integer(from);

	if (behind == NULL)
		return JSON_PASS_LEFT;
	at->p = behind;
	if (v->number != NULL &&
	    v->number(of, (const char *)from, (size_t)(behind - from), err) < 0)
		return JSON_PASS_FAILED;
	return JSON_PASS_MORE;
}

JSON_INLINE enum json_lex_passed json_lex_pass_open(struct json_lex *lex,
						    struct json_lex_passing *at,
						    const struct json_lex_visitor *v, void *of,
						    struct sbx_error *err)
{
	int is_object = *at->p == '{';

	if (!json_lex_push(lex, *at->p))
		return JSON_PASS_LEFT;
	at->p++;
	at->expect = is_object ? EXPECT_KEY_OR_CLOSE : EXPECT_VALUE_OR_CLOSE;
	if (v->open != NULL && v->open(of, is_object ? JSON_OBJECT_OPEN : JSON_ARRAY_OPEN, err) < 0)
		return JSON_PASS_FAILED;
	return JSON_PASS_MORE;
}

/* A value ends at AT->p, where there is a byte: close the brackets that follow, until the innermost
 * one is OUTER, and take the comma behind them. */
JSON_INLINE void json_lex_pass_end(struct json_lex *lex, struct json_lex_passing *at,
				   const struct json_lex_visitor *v, void *of,
				   const struct json_level *outer)
{
	at->expect = EXPECT_COMMA_OR_CLOSE;
	while (lex->level != outer && at->p < lex->end) {
		if (*at->p == ',') {
			at->expect = json_lex_behind_comma(lex);
			at->p++;
			return;
		}
		if (*at->p != lex->level->closes)
			return;
		json_lex_pop(lex);
		at->last = at->p++;
		if (v->close != NULL)
			v->close(of);
	}
}

/* From where LEX stands on: 1 when a value is complete and only DEPTH brackets are open, 0, -1. */
JSON_INLINE int json_lex_pass(struct json_lex *lex, unsigned depth,
			      const struct json_lex_visitor *v, void *of, struct sbx_error *err)
{
	struct json_lex_passing at = {.p = lex->p, .last = lex->p, .expect = lex->expect};
	const struct json_level *const outer = lex->levels + depth;
	enum json_lex_passed passed = JSON_PASS_MORE;
	int done = 0;

	if (!json_lex_look_again(lex, &at))
		return 0;
	while (!done && at.expect <= EXPECT_KEY && lex->end - at.p >= JSON_AHEAD) {
		if (at.expect >= EXPECT_KEY_OR_CLOSE) {
			passed = json_lex_pass_key(lex, &at, v, of, err);
			if (passed != JSON_PASS_MORE || lex->end - at.p < JSON_AHEAD)
				break;
		}
		at.last = at.p;
		if (*at.p == '"') {
			passed = json_lex_pass_string(lex, &at, v, of, err);
		} else if (json_lex_opens(*at.p)) {
			passed = json_lex_pass_open(lex, &at, v, of, err);
			if (passed == JSON_PASS_MORE && *at.p != lex->level->closes)
				continue;
		} else {
			passed = *at.p >= 'a' ? json_lex_pass_word(&at, v, of, err)
					      : json_lex_pass_number(&at, v, of, err);
		}
		if (passed != JSON_PASS_MORE)
			break;
		json_lex_pass_end(lex, &at, v, of, outer);
		done = lex->level == outer;
	}
	lex->p = at.p;
	lex->expect = at.expect;
	lex->looked = at.looked;
	lex->specials = at.specials;
	if (done) {
		lex->token.at = at.last;
		json_lex_value_done(lex);
	}
	return passed == JSON_PASS_FAILED ? -1 : done;
}

#endif
