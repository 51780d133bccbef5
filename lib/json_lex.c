/* Strict pull lexer for JSON over memory or a descriptor.
 *
 * Error words: json_empty, json_truncated, json_trailing, json_bom, json_utf8, json_control, json_escape, json_surrogate, json_number,
 * json_syntax, json_depth, json_duplicate_key; all class 65. */
#include "json_lex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "io.h"
#include "json_out.h"
#include "key_hash.h"
#include "limit.h"

#define BLOCK 65536
#define NONE (-1) /* behind the last byte */

/* What may come next. */
enum expect {
	EXPECT_VALUE,
	EXPECT_VALUE_OR_CLOSE, /* right behind [ */
	EXPECT_KEY_OR_CLOSE,   /* right behind { */
	EXPECT_KEY,	       /* behind a comma in an object */
	EXPECT_COMMA_OR_CLOSE,
	EXPECT_NOTHING, /* the one value is complete */
};

/* The keys of one open object, as hashes with a secret start value: an attacker who cannot know it cannot collide them, and two keys
 * that do are refused as if they were the same. */
struct level {
	char kind; /* '{' or '[' */
	size_t first_key;
	uint64_t serial;
};

struct json_lex {
	struct json_lex_limits limits;
	int fd; /* -1: memory */
	const unsigned char *p, *end;
	unsigned char *block; /* owned, for a descriptor */
	uint64_t taken;	      /* bytes handed out before P's block */
	unsigned line, column, token_line, token_column;
	enum expect expect;
	struct level *levels;
	unsigned depth, levels_cap;
	uint64_t *keys; /* hashes of the keys of every open object, a run for each level */
	size_t key_count, key_cap;
	uint64_t *table; /* the same hashes as a set; 0 is an empty slot */
	size_t table_size;
	uint64_t objects; /* opened so far: makes the hashes of each object its own */
	struct key_seed seed;
	struct buf text;
	int failed;
};

static struct json_lex *new_lex(const struct json_lex_limits *limits, struct sbx_error *err)
{
	struct json_lex *lex = calloc(1, sizeof *lex);

	if (lex == NULL) {
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		return NULL;
	}
	lex->limits = *limits;
	lex->fd = -1;
	lex->line = 1;
	lex->column = 0;
	lex->text = (struct buf)BUF_INIT(limits->string);
	lex->expect = EXPECT_VALUE;
	io_random(&lex->seed, sizeof lex->seed);
	return lex;
}

struct json_lex *json_lex_memory(const void *bytes, size_t len, const struct json_lex_limits *limits, struct sbx_error *err)
{
	struct json_lex *lex = new_lex(limits, err);

	if (lex != NULL) {
		lex->p = bytes;
		lex->end = lex->p + len;
	}
	return lex;
}

struct json_lex *json_lex_fd(int fd, const struct json_lex_limits *limits, struct sbx_error *err)
{
	struct json_lex *lex = new_lex(limits, err);

	if (lex == NULL)
		return NULL;
	lex->fd = fd;
	lex->block = malloc(BLOCK);
	if (lex->block == NULL) {
		json_lex_free(lex);
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		return NULL;
	}
	lex->p = lex->end = lex->block;
	return lex;
}

void json_lex_free(struct json_lex *lex)
{
	if (lex == NULL)
		return;
	free(lex->block);
	free(lex->levels);
	free(lex->keys);
	free(lex->table);
	buf_clear(&lex->text);
	free(lex);
}

static int bad(struct json_lex *lex, const char *code, const char *what, struct sbx_error *err)
{
	lex->failed = 1;
	return sbx_fail(err, SBX_BAD_REQUEST, code, "%s at %u:%u", what, lex->line, lex->column);
}

/* 1 when a byte is there, 0 at the end, -1 on an error. */
static int fill(struct json_lex *lex, struct sbx_error *err)
{
	if (lex->p < lex->end)
		return 1;
	if (lex->fd < 0)
		return 0;
	ssize_t n;
	do
		n = read(lex->fd, lex->block, BLOCK);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		lex->failed = 1;
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read the JSON text");
	}
	lex->p = lex->block;
	lex->end = lex->block + n;
	lex->taken += (uint64_t)n;
	if (lex->taken > lex->limits.bytes) {
		lex->failed = 1;
		return sbx_fail(err, SBX_BAD_REQUEST, "too_large", "more than %llu bytes",
				(unsigned long long)lex->limits.bytes);
	}
	return n > 0;
}

/* The next byte without taking it: a value, NONE at the end, -2 on an error. */
static int peek(struct json_lex *lex, struct sbx_error *err)
{
	int there = fill(lex, err);

	return there < 0 ? -2 : there == 0 ? NONE : *lex->p;
}

static void take(struct json_lex *lex)
{
	if (*lex->p == '\n') {
		lex->line++;
		lex->column = 0;
	} else {
		lex->column++;
	}
	lex->p++;
}

static int skip_space(struct json_lex *lex, struct sbx_error *err)
{
	int c;

	while ((c = peek(lex, err)) == ' ' || c == '\t' || c == '\n' || c == '\r')
		take(lex);
	return c;
}

static int add_text(struct json_lex *lex, const void *bytes, size_t len, struct sbx_error *err)
{
	if (buf_add(&lex->text, bytes, len, err) < 0) {
		lex->failed = 1;
		return -1;
	}
	return 0;
}

/* Four hex digits behind \u. */
static int hex4(struct json_lex *lex, uint32_t *out, struct sbx_error *err)
{
	uint32_t value = 0;

	for (int i = 0; i < 4; i++) {
		int c = peek(lex, err);
		if (c == -2)
			return -1;
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
						   : -1;
		if (digit < 0)
			return bad(lex, c == NONE ? "json_truncated" : "json_escape", "bad \\u escape", err);
		take(lex);
		value = value << 4 | (uint32_t)digit;
	}
	*out = value;
	return 0;
}

static size_t encode_utf8(uint32_t c, char out[4])
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static int unicode_escape(struct json_lex *lex, struct sbx_error *err)
{
	uint32_t c, low;
	char utf8[4];

	if (hex4(lex, &c, err) < 0)
		return -1;
	if (c >= 0xdc00 && c <= 0xdfff)
		return bad(lex, "json_surrogate", "a lone surrogate", err);
	if (c >= 0xd800 && c <= 0xdbff) {
		for (const char *want = "\\u"; *want != '\0'; want++) {
			int next = peek(lex, err);
			if (next == -2)
				return -1;
			if (next != *want)
				return bad(lex, "json_surrogate", "a lone surrogate", err);
			take(lex);
		}
		if (hex4(lex, &low, err) < 0)
			return -1;
		if (low < 0xdc00 || low > 0xdfff)
			return bad(lex, "json_surrogate", "a lone surrogate", err);
		c = 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
	}
	return add_text(lex, utf8, encode_utf8(c, utf8), err);
}

static int escape(struct json_lex *lex, struct sbx_error *err)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	int c = peek(lex, err);

	if (c == -2)
		return -1;
	if (c == NONE)
		return bad(lex, "json_truncated", "the text ends in a string", err);
	const char *found = c != 0 ? strchr(from, c) : NULL;
	if (c != 'u' && found == NULL)
		return bad(lex, "json_escape", "an unknown escape", err);
	take(lex);
	if (c == 'u')
		return unicode_escape(lex, err);
	return add_text(lex, to + (found - from), 1, err);
}

/* One character above ASCII; its bytes may stand in two blocks. */
static int multibyte(struct json_lex *lex, int first, struct sbx_error *err)
{
	size_t want = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
	char utf8[4];

	for (size_t i = 0; i < want; i++) {
		int c = peek(lex, err);
		if (c == -2)
			return -1;
		if (c == NONE || (i > 0 && (c & 0xc0) != 0x80))
			return bad(lex, "json_utf8", "bytes that are not UTF-8", err);
		utf8[i] = (char)c;
		take(lex);
	}
	if (json_out_utf8(utf8, want, NULL) != want)
		return bad(lex, "json_utf8", "bytes that are not UTF-8", err);
	return add_text(lex, utf8, want, err);
}

/* Behind the opening quote: the unescaped text is in lex->text afterwards. */
static int string(struct json_lex *lex, struct sbx_error *err)
{
	buf_reset(&lex->text);
	for (;;) {
		int c = peek(lex, err);
		if (c == -2)
			return -1;
		if (c == NONE)
			return bad(lex, "json_truncated", "the text ends in a string", err);
		if (c >= 0x80) {
			if (multibyte(lex, c, err) < 0)
				return -1;
			continue;
		}
		if (c < 0x20)
			return bad(lex, "json_control", "a raw control character in a string", err);
		if (c == '"') {
			take(lex);
			return add_text(lex, "", 0, err);
		}
		if (c == '\\') {
			take(lex);
			if (escape(lex, err) < 0)
				return -1;
			continue;
		}
		const unsigned char *from = lex->p;
		while (lex->p < lex->end && *lex->p >= 0x20 && *lex->p < 0x80 && *lex->p != '"' && *lex->p != '\\')
			lex->p++;
		lex->column += (unsigned)(lex->p - from);
		if (add_text(lex, from, (size_t)(lex->p - from), err) < 0)
			return -1;
	}
}

static int digits(struct json_lex *lex, struct sbx_error *err)
{
	int c, count = 0;

	while ((c = peek(lex, err)) >= '0' && c <= '9') {
		char digit = (char)c;
		if (add_text(lex, &digit, 1, err) < 0)
			return -1;
		take(lex);
		count++;
	}
	return c == -2 ? -1 : count;
}

static int take_if(struct json_lex *lex, const char *set, struct sbx_error *err)
{
	int c = peek(lex, err);

	if (c == -2)
		return -1;
	if (c <= 0 || strchr(set, c) == NULL)
		return 0;
	char text = (char)c;
	if (add_text(lex, &text, 1, err) < 0)
		return -1;
	take(lex);
	return 1;
}

static int check_integer(struct json_lex *lex, struct sbx_error *err)
{
	const char *text = buf_str(&lex->text);
	uint64_t value;

	if (io_parse_u64(text + (text[0] == '-'), 0, LIMIT_INTEGER, &value) < 0)
		return bad(lex, "json_number", "a number that is no integer within 2^53-1", err);
	return 0;
}

static int number(struct json_lex *lex, struct sbx_error *err)
{
	buf_reset(&lex->text);
	if (take_if(lex, "-", err) < 0)
		return -1;
	int count = digits(lex, err);
	if (count < 0)
		return -1;
	const char *first = buf_str(&lex->text) + (buf_str(&lex->text)[0] == '-');
	if (count == 0 || (count > 1 && first[0] == '0'))
		return bad(lex, "json_number", "a malformed number", err);
	int part = take_if(lex, ".", err);
	if (part < 0 || (part > 0 && (count = digits(lex, err)) < 0))
		return -1;
	if (part > 0 && count == 0)
		return bad(lex, "json_number", "a malformed number", err);
	part = take_if(lex, "eE", err);
	if (part < 0)
		return -1;
	if (part > 0) {
		if (take_if(lex, "+-", err) < 0 || (count = digits(lex, err)) < 0)
			return -1;
		if (count == 0)
			return bad(lex, "json_number", "a malformed number", err);
	}
	return lex->limits.integers == JSON_INTEGERS_ONLY ? check_integer(lex, err) : 0;
}

static int word(struct json_lex *lex, const char *expected, struct sbx_error *err)
{
	for (const char *want = expected; *want != '\0'; want++) {
		int c = peek(lex, err);
		if (c == -2)
			return -1;
		if (c != *want)
			return bad(lex, c == NONE ? "json_truncated" : "json_syntax", "an unknown word", err);
		take(lex);
	}
	return 0;
}

static int push(struct json_lex *lex, char kind, struct sbx_error *err)
{
	if (lex->depth >= lex->limits.depth)
		return bad(lex, "json_depth", "nested too deeply", err);
	if (lex->depth == lex->levels_cap) {
		unsigned cap = lex->levels_cap ? lex->levels_cap * 2 : 16;
		struct level *grown = realloc(lex->levels, cap * sizeof *grown);
		if (grown == NULL)
			return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		lex->levels = grown;
		lex->levels_cap = cap;
	}
	lex->levels[lex->depth++] = (struct level){
		.kind = kind, .first_key = lex->key_count, .serial = lex->objects++};
	return 0;
}

/* The slot of H, or the empty one where it belongs. */
static size_t slot_of(const struct json_lex *lex, uint64_t h)
{
	size_t mask = lex->table_size - 1, i = h & mask;

	while (lex->table[i] != 0 && lex->table[i] != h)
		i = (i + 1) & mask;
	return i;
}

/* Open addressing without tombstones: later entries of the run move into the hole where their own slot allows it. */
static void forget_key(struct json_lex *lex, uint64_t h)
{
	size_t mask = lex->table_size - 1, hole = slot_of(lex, h);

	for (size_t i = (hole + 1) & mask; lex->table[i] != 0; i = (i + 1) & mask) {
		size_t home = lex->table[i] & mask;
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			lex->table[hole] = lex->table[i];
			hole = i;
		}
	}
	lex->table[hole] = 0;
}

static void pop(struct json_lex *lex)
{
	lex->depth--;
	while (lex->key_count > lex->levels[lex->depth].first_key)
		forget_key(lex, lex->keys[--lex->key_count]);
	lex->expect = lex->depth == 0 ? EXPECT_NOTHING : EXPECT_COMMA_OR_CLOSE;
}

static int grow_keys(struct json_lex *lex, struct sbx_error *err)
{
	size_t cap = lex->key_cap ? lex->key_cap * 2 : 64;
	uint64_t *keys = realloc(lex->keys, cap * sizeof *keys);
	uint64_t *table = calloc(cap * 2, sizeof *table);

	if (keys != NULL)
		lex->keys = keys;
	if (keys == NULL || table == NULL) {
		free(table);
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	}
	free(lex->table);
	lex->table = table;
	lex->table_size = cap * 2;
	lex->key_cap = cap;
	for (size_t i = 0; i < lex->key_count; i++)
		lex->table[slot_of(lex, lex->keys[i])] = lex->keys[i];
	return 0;
}

static int remember_key(struct json_lex *lex, struct sbx_error *err)
{
	uint64_t h = key_hash(&lex->seed, lex->levels[lex->depth - 1].serial, buf_str(&lex->text), lex->text.len);

	if (lex->key_count == lex->key_cap && grow_keys(lex, err) < 0)
		return -1;
	size_t slot = slot_of(lex, h);
	if (lex->table[slot] == h)
		return bad(lex, "json_duplicate_key", "the same key twice in one object", err);
	lex->table[slot] = h;
	lex->keys[lex->key_count++] = h;
	return 0;
}

static void value_done(struct json_lex *lex)
{
	lex->expect = lex->depth == 0 ? EXPECT_NOTHING : EXPECT_COMMA_OR_CLOSE;
}

static int open_bracket(struct json_lex *lex, char kind, enum json_token *token, struct sbx_error *err)
{
	take(lex);
	if (push(lex, kind, err) < 0)
		return -1;
	*token = kind == '{' ? JSON_OBJECT_OPEN : JSON_ARRAY_OPEN;
	lex->expect = kind == '{' ? EXPECT_KEY_OR_CLOSE : EXPECT_VALUE_OR_CLOSE;
	return 0;
}

static int close_bracket(struct json_lex *lex, int c, enum json_token *token, struct sbx_error *err)
{
	if (lex->depth == 0 || lex->levels[lex->depth - 1].kind != (c == '}' ? '{' : '['))
		return bad(lex, "json_syntax", "a closing bracket that does not fit", err);
	take(lex);
	*token = c == '}' ? JSON_OBJECT_CLOSE : JSON_ARRAY_CLOSE;
	pop(lex);
	return 0;
}

static int value(struct json_lex *lex, int c, enum json_token *token, struct sbx_error *err)
{
	if (c == '{' || c == '[')
		return open_bracket(lex, (char)c, token, err);
	if (c == '"') {
		take(lex);
		*token = JSON_STRING;
		if (string(lex, err) < 0)
			return -1;
	} else if (c == '-' || (c >= '0' && c <= '9')) {
		*token = JSON_NUMBER;
		if (number(lex, err) < 0)
			return -1;
	} else if (c == 't' || c == 'f' || c == 'n') {
		*token = c == 't' ? JSON_TRUE : c == 'f' ? JSON_FALSE : JSON_NULL;
		if (word(lex, c == 't' ? "true" : c == 'f' ? "false" : "null", err) < 0)
			return -1;
	} else {
		return bad(lex, c == 0xef ? "json_bom" : "json_syntax", "no JSON value", err);
	}
	value_done(lex);
	return 0;
}

static int key(struct json_lex *lex, int c, enum json_token *token, struct sbx_error *err)
{
	if (c != '"')
		return bad(lex, "json_syntax", "a key was expected", err);
	take(lex);
	if (string(lex, err) < 0 || remember_key(lex, err) < 0)
		return -1;
	int colon = skip_space(lex, err);
	if (colon == -2)
		return -1;
	if (colon != ':')
		return bad(lex, colon == NONE ? "json_truncated" : "json_syntax", "a colon was expected", err);
	take(lex);
	*token = JSON_KEY;
	lex->expect = EXPECT_VALUE;
	return 0;
}

static int ended(struct json_lex *lex, struct sbx_error *err)
{
	if (lex->taken == 0 && lex->depth == 0 && lex->line == 1 && lex->column == 0)
		return bad(lex, "json_empty", "there is no input", err);
	return bad(lex, "json_truncated", "the text is cut off", err);
}

/* Dispatch on what may come next; a comma is taken and the loop goes on. */
static int next_token(struct json_lex *lex, enum json_token *token, struct sbx_error *err)
{
	for (;;) {
		int c = skip_space(lex, err);
		if (c == -2)
			return -1;
		if (lex->expect == EXPECT_NOTHING) {
			*token = JSON_END;
			return c == NONE ? 0 : bad(lex, "json_trailing", "more than one value", err);
		}
		if (c == NONE)
			return ended(lex, err);
		lex->token_line = lex->line;
		lex->token_column = lex->column;
		int may_close = lex->expect == EXPECT_VALUE_OR_CLOSE || lex->expect == EXPECT_KEY_OR_CLOSE ||
				lex->expect == EXPECT_COMMA_OR_CLOSE;
		if (may_close && (c == '}' || c == ']'))
			return close_bracket(lex, c, token, err);
		if (lex->expect == EXPECT_VALUE || lex->expect == EXPECT_VALUE_OR_CLOSE)
			return value(lex, c, token, err);
		if (lex->expect == EXPECT_KEY || lex->expect == EXPECT_KEY_OR_CLOSE)
			return key(lex, c, token, err);
		if (c != ',')
			return bad(lex, "json_syntax", "a comma or a closing bracket was expected", err);
		take(lex);
		lex->expect = lex->levels[lex->depth - 1].kind == '{' ? EXPECT_KEY : EXPECT_VALUE;
	}
}

int json_lex_next(struct json_lex *lex, enum json_token *token, const char **text, size_t *len, struct sbx_error *err)
{
	if (lex->failed)
		return sbx_fail(err, SBX_BAD_REQUEST, "json_syntax", "the JSON text is not legal");
	if (lex->fd < 0 && (uint64_t)(lex->end - lex->p) > lex->limits.bytes) {
		lex->failed = 1;
		return sbx_fail(err, SBX_BAD_REQUEST, "too_large", "more than %llu bytes",
				(unsigned long long)lex->limits.bytes);
	}
	if (next_token(lex, token, err) < 0) {
		lex->failed = 1;
		return -1;
	}
	*text = buf_str(&lex->text);
	*len = lex->text.len;
	return 0;
}

int json_lex_skip_value(struct json_lex *lex, struct sbx_error *err)
{
	enum json_token token;
	const char *text;
	size_t len;
	unsigned start = lex->depth;

	do {
		if (json_lex_next(lex, &token, &text, &len, err) < 0)
			return -1;
	} while (lex->depth > start || token == JSON_KEY);
	return 0;
}

void json_lex_place(const struct json_lex *lex, unsigned *line, unsigned *column)
{
	*line = lex->token_line;
	*column = lex->token_column;
}

unsigned json_lex_depth(const struct json_lex *lex)
{
	return lex->depth;
}

int json_lex_check(const void *bytes, size_t len, const struct json_lex_limits *limits, struct sbx_error *err)
{
	auto_json_lex *lex = json_lex_memory(bytes, len, limits, err);
	enum json_token token = JSON_NULL;
	const char *text;
	size_t text_len;

	if (lex == NULL)
		return -1;
	while (token != JSON_END)
		if (json_lex_next(lex, &token, &text, &text_len, err) < 0)
			return -1;
	return 0;
}
