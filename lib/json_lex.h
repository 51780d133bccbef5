/* Strict pull lexer for JSON (RFC 8259) over memory or a descriptor, without libjq: UTF-8 only, one
 * value, no BOM, no raw control character, no lone surrogate, no key twice in one object, a depth
 * limit. Everything that reads JSON from outside goes through it first. Errors name a place
 * (line:column), never a value. */
#ifndef SBX_JSON_LEX_H
#define SBX_JSON_LEX_H

#include <stdint.h>

#include "base.h"
#include "error.h"

enum json_token {
	JSON_END, /* the one value is complete and nothing but white space follows */
	JSON_OBJECT_OPEN,
	JSON_OBJECT_CLOSE,
	JSON_ARRAY_OPEN,
	JSON_ARRAY_CLOSE,
	JSON_KEY,    /* text, len: unescaped */
	JSON_STRING, /* text, len: unescaped; may hold NUL */
	JSON_NUMBER, /* text, len: as written */
	JSON_TRUE,
	JSON_FALSE,
	JSON_NULL,
};

struct json_lex_limits {
	uint64_t bytes;	   /* of the whole document */
	unsigned depth;	   /* of open brackets */
	uint64_t string;   /* bytes of one string or key or number, unescaped */
	unsigned integers; /* JSON_INTEGERS_ONLY: no fraction, no exponent, within LIMIT_INTEGER;
			      JSON_ANY_NUMBER */
};
#define JSON_ANY_NUMBER 0u
#define JSON_INTEGERS_ONLY 1u

struct json_lex; /* its state: memory is bounded by the depth, one string, and 40 bytes for each key
		    of the open objects */

/* Over a block that must outlive it, or over FD (read to its end, not closed). NULL with
 * "no_memory". Owned by the caller. */
struct json_lex *json_lex_memory(const void *bytes, size_t len,
				 const struct json_lex_limits *limits, struct sbx_error *err);
struct json_lex *json_lex_fd(int fd, const struct json_lex_limits *limits, struct sbx_error *err);
void json_lex_free(struct json_lex *lex); /* NULL is fine */

/* Read another block in place of the one before, of which any part was read, by the same limits:
 * only for a lexer over memory. What thousands of short texts need of memory is then had once. */
void json_lex_again(struct json_lex *lex, const void *bytes, size_t len);

/* Before the first token of a descriptor: call TEE with every byte that is read from it, in order
 * and once. When JSON_END came that was the whole file. */
void json_lex_tee(struct json_lex *lex, void (*tee)(void *context, const void *bytes, size_t len),
		  void *context);

/* The next token; -1 with "json_*" (65; see json_lex.c for the words), "too_large" (65) or
 * "io_error" (74). TEXT points into the lexer and is valid until the next call; it has a NUL behind
 * it. Tokens without a text have an empty one. */
int json_lex_next(struct json_lex *lex, enum json_token *token, const char **text, size_t *len,
		  struct sbx_error *err);

/* Read past the one value that comes next (right behind JSON_KEY, or an element of an array); or
 * until only DEPTH brackets are open (nothing when that is so). What is passed over is as strictly
 * checked as what is read. */
int json_lex_skip_value(struct json_lex *lex, struct sbx_error *err);
int json_lex_skip_to(struct json_lex *lex, unsigned depth, struct sbx_error *err);

/* The same of a value right behind JSON_KEY; *KINDS gets JSON_KIND of each kind of token in it (of
 * brackets and keys maybe). */
#define JSON_KIND(token) (1u << (token))
int json_lex_skip_kinds(struct json_lex *lex, unsigned *kinds, struct sbx_error *err);

/* How many bytes were read. And pass over, without reading it, what was read before and ended at
 * OFFSET with DEPTH brackets open: the value that json_lex_skip_value would pass over, or what
 * json_lex_skip_to would. Only for bytes that are known to be the same. */
uint64_t json_lex_offset(const struct json_lex *lex);
int json_lex_jump(struct json_lex *lex, uint64_t offset, unsigned depth, struct sbx_error *err);

/* Before the first token of a text that was read to its end before: its keys are not compared once
 * more. Only for bytes that are known to be the same. */
void json_lex_trust_keys(struct json_lex *lex);

/* Where the last token began, and how many brackets are open now. */
void json_lex_place(struct json_lex *lex, unsigned *line, unsigned *column);
unsigned json_lex_depth(const struct json_lex *lex);

/* The whole block is one legal value within LIMITS; -1 as json_lex_next. */
int json_lex_check(const void *bytes, size_t len, const struct json_lex_limits *limits,
		   struct sbx_error *err);

static inline void json_lex_free_at(struct json_lex **lex)
{
	json_lex_free(*lex);
}
#define auto_json_lex __attribute__((cleanup(json_lex_free_at))) struct json_lex

#endif
