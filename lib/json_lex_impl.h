/* What the parts of the lexer share: json_lex.c (the most common forms of tokens, and the
 * interface), json_lex_skip.c (passing over values), json_lex_slow.c (all forms), json_lex_text.c
 * (strings), json_lex_number.c (numbers and words), json_lex_block.c (blocks and places). */
#ifndef SBX_JSON_LEX_IMPL_H
#define SBX_JSON_LEX_IMPL_H

#include <endian.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "buf.h"
#include "json_keys.h"
#include "json_lex.h"

enum {
	JSON_NONE = -1,	  /* behind the last byte */
	JSON_FAILED = -2, /* ERR says why */
};

/* What may come next. */
enum json_expect {
	EXPECT_VALUE,
	EXPECT_VALUE_OR_CLOSE, /* right behind [ */
	EXPECT_KEY_OR_CLOSE,   /* right behind { */
	EXPECT_KEY,	       /* behind a comma in an object */
	EXPECT_COMMA_OR_CLOSE,
	EXPECT_NOTHING, /* the one value is complete */
};

enum json_state {
	JSON_READING,
	JSON_OVERSIZE, /* memory of more bytes than may be */
	JSON_STOPPED,  /* it was refused */
};

struct json_level {
	char closes;	      /* '}' or ']'; 0: the document, around everything */
	struct json_run keys; /* of an object */
};

/* Where a byte stands. Lines are not counted byte by byte but when somebody asks, from the last
 * place on that was asked for: every byte is looked at once for it. */
struct json_place {
	const unsigned char *at; /* NULL: not in the block at hand */
	unsigned line, column;
};

struct json_lex {
	const unsigned char *p, *end; /* what is left of the block at hand */
	const unsigned char
		*looked; /* the specials of JSON_LOOK bytes from here on; NULL: of none */
	uint64_t specials;
	enum json_expect expect;
	enum json_state state;
	const char *text; /* of the last token: in the block at hand, or in BUFFER */
	size_t len;
	struct json_level *levels; /* owned; the document first */
	struct json_level *level,
		*levels_end; /* in it: the innermost; behind as many as there is room for */
	struct json_keys keys;
	int keys_trusted;
	struct buf buffer;
	struct json_place counted;
	struct json_place token; /* line and column are valid when AT is NULL */
	unsigned char *block;	 /* owned; NULL: memory of the caller, which is not written to */
	int fd;
	uint64_t taken; /* bytes of this block and all before it */
	struct json_lex_limits limits;
	void (*tee)(void *context, const void *bytes, size_t len);
	void *tee_context;
};

/* The block at hand is read: get the next one. 1, 0 at the end, -1. */
int json_lex_fill(struct json_lex *lex, struct sbx_error *err);

/* Nothing more is read: say why; -1. */
int json_lex_stopped(const struct json_lex *lex, struct sbx_error *err);

/* Refuse as too large for the limit of the whole; or with CODE and "WHAT at LINE:COLUMN" of the
 * next byte; -1. */
int json_lex_too_large(const struct json_lex *lex, struct sbx_error *err);
int json_lex_bad(struct json_lex *lex, const char *code, const char *what, struct sbx_error *err);

/* The next token, wherever its bytes stand. */
int json_lex_slow(struct json_lex *lex, enum json_token *token, struct sbx_error *err);

/* Behind the opening quote, or before the first byte, of the value named: read it into the buffer.
 * Strings and numbers are lex->text afterwards. */
int json_lex_string(struct json_lex *lex, struct sbx_error *err);
int json_lex_number(struct json_lex *lex, struct sbx_error *err);
int json_lex_word(struct json_lex *lex, const char *word, struct sbx_error *err);

/* What a letter behind a backslash stands for; 0: nothing, or \u. */
extern const char json_lex_escapes[256];

/* Without it some are called, which costs a tenth of the time. */
#define JSON_INLINE __attribute__((always_inline)) static inline

/* So many bytes are left in the block: enough for punctuation, words and integers without looking
 * again. */
#define JSON_AHEAD 32

#define JSON_STEP 16
#define JSON_LOOK 64
#define JSON_EACH(n) (UINT64_MAX / 255 * (n)) /* in each byte of eight */

/* A bit for each of the JSON_STEP bytes at P that is a quote, a backslash, a control character or
 * above ASCII. All of them at once, because most strings end within them and a branch that depends
 * on their length costs more. */
static inline unsigned json_lex_specials_portable(const unsigned char *p)
{
	unsigned found = 0;

	for (unsigned half = 0; half < 2; half++) {
		uint64_t bytes;
		memcpy(&bytes, p + 8 * half, sizeof bytes);
		bytes = le64toh(bytes);
		/* Below, the top bit of each byte is set where nothing of it is special. */
		uint64_t low = bytes & JSON_EACH(0x7f),
			 quote = (low ^ JSON_EACH('"')) + JSON_EACH(0x7f),
			 backslash = (low ^ JSON_EACH('\\')) + JSON_EACH(0x7f),
			 printable = low + JSON_EACH(0x80 - ' ');
		uint64_t plain = quote & backslash & printable & ~bytes & JSON_EACH(0x80);
		/* The product moves these bits beside each other. */
		found |= (unsigned)((((plain ^ JSON_EACH(0x80)) >> 7) * 0x0102040810204080u) >> 56)
			 << 8 * half;
	}
	return found;
}

#ifdef __SSE2__
static inline unsigned json_lex_specials(const unsigned char *p)
{
	const __m128i bytes = _mm_loadu_si128((const void *)p);
	/* As signed numbers those above ASCII are below a space too. */
	const __m128i low = _mm_cmplt_epi8(bytes, _mm_set1_epi8(' ')),
		      quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
		      backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));

	return (unsigned)_mm_movemask_epi8(_mm_or_si128(low, _mm_or_si128(quote, backslash)));
}
#else
static inline unsigned json_lex_specials(const unsigned char *p)
{
	return json_lex_specials_portable(p);
}
#endif

/* How many of the JSON_STEP bytes at P are before the first special one. */
static inline unsigned json_lex_plain(const unsigned char *p)
{
	return (unsigned)__builtin_ctz(json_lex_specials(p) | 1u << JSON_STEP);
}

/* The quote behind the plain text that begins at P; NULL: another byte ends it, or the block. */
static inline const unsigned char *json_lex_quote(const unsigned char *p, const unsigned char *end)
{
	unsigned count = JSON_STEP;

	while (end - p >= JSON_STEP && count == JSON_STEP)
		p += count = json_lex_plain(p);
	return count < JSON_STEP && *p == '"' ? p : NULL;
}

/* Behind the word, or the number as most are (digits alone, and few enough to be an exact integer),
 * that stands at P before JSON_AHEAD bytes; NULL: something else does. */
static inline const unsigned char *json_lex_behind_word(const unsigned char *p)
{
	if (*p == 't')
		return memcmp(p, "true", 4) == 0 ? p + 4 : NULL;
	if (*p == 'f')
		return memcmp(p, "false", 5) == 0 ? p + 5 : NULL;
	return memcmp(p, "null", 4) == 0 ? p + 4 : NULL;
}
static inline const unsigned char *json_lex_behind_integer(const unsigned char *p)
{
	static const ptrdiff_t most = 15;
	const unsigned char *from = p;

	while (*p >= '0' && *p <= '9' && p - from <= most)
		p++;
	if (p == from || p - from > most || (*from == '0' && p - from > 1) || *p == '.' ||
	    (*p | 0x20) == 'e')
		return NULL;
	return p;
}

/* Open the bracket C; 0: there is no room, or it is one too many. And close the innermost one. An
 * array has no keys, but asking which of them it is takes longer. */
static inline int json_lex_opens(int c)
{
	return (c | 0x20) == '{';
}
static inline int json_lex_push(struct json_lex *lex, int c)
{
	if (lex->level + 1 == lex->levels_end)
		return 0;
	lex->level++;
	lex->level->closes = (char)(c + ('}' - '{'));
	json_keys_open(&lex->keys, &lex->level->keys);
	return 1;
}
static inline void json_lex_pop(struct json_lex *lex)
{
	json_keys_close(&lex->keys, &lex->level->keys);
	lex->level--;
}
_Static_assert(('[' | 0x20) == '{' && ']' - '[' == '}' - '{', "brackets and braces are alike");

/* What comes behind a comma. */
static inline enum json_expect json_lex_behind_comma(const struct json_lex *lex)
{
	return lex->level->closes == '}' ? EXPECT_KEY : EXPECT_VALUE;
}

/* Remember a key of the innermost object; 16 bytes of TEXT can be read. As json_keys_add. */
JSON_INLINE int json_lex_add_key(struct json_lex *lex, const char *text, size_t len,
				 struct sbx_error *err)
{
	return lex->keys_trusted
		       ? 1
		       : json_keys_add_near(&lex->keys, &lex->level->keys, text, len, err);
}

/* The next byte without taking it: a value, JSON_NONE or JSON_FAILED. */
static inline int json_lex_peek(struct json_lex *lex, struct sbx_error *err)
{
	if (lex->p == lex->end) {
		int there = json_lex_fill(lex, err);
		if (there <= 0)
			return there < 0 ? JSON_FAILED : JSON_NONE;
	}
	return *lex->p;
}

/* The value that was expected is complete. */
static inline void json_lex_value_done(struct json_lex *lex)
{
	lex->expect = lex->level == lex->levels ? EXPECT_NOTHING : EXPECT_COMMA_OR_CLOSE;
}

#endif
