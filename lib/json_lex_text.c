/* Strings, byte by byte but for runs of plain text and short escapes. */
#include "json_lex_impl.h"

#include <stdlib.h>
#include <string.h>

#include "json_out.h"

/* A text in memory is one block, whatever its size: what has not been looked at takes no more
 * memory than this. */
#define PIECE ((size_t)64 << 10)

static int add_text(struct json_lex *lex, const void *bytes, size_t len, struct sbx_error *err)
{
	return buf_add(&lex->buffer, bytes, len, err);
}

static int is_plain(int c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Four hex digits behind \u. */
static int hex4(struct json_lex *lex, uint32_t *out, struct sbx_error *err)
{
	uint32_t value = 0;

	for (int i = 0; i < 4; i++) {
		int c = json_lex_peek(lex, err);
		if (c == JSON_FAILED)
			return -1;
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
						   : -1;
		if (digit < 0)
			return json_lex_bad(lex, c == JSON_NONE ? "json_truncated" : "json_escape",
					    "bad \\u escape", err);
		lex->p++;
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
		return json_lex_bad(lex, "json_surrogate", "a lone surrogate", err);
	if (c >= 0xd800 && c <= 0xdbff) {
		for (const char *want = "\\u"; *want != '\0'; want++) {
			int next = json_lex_peek(lex, err);
			if (next == JSON_FAILED)
				return -1;
			if (next != *want)
				return json_lex_bad(lex, "json_surrogate", "a lone surrogate", err);
			lex->p++;
		}
		if (hex4(lex, &low, err) < 0)
			return -1;
		if (low < 0xdc00 || low > 0xdfff)
			return json_lex_bad(lex, "json_surrogate", "a lone surrogate", err);
		c = 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
	}
	return add_text(lex, utf8, encode_utf8(c, utf8), err);
}

const char json_lex_escapes[256] = {['"'] = '"',	['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
				  ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};

/* Behind a backslash. */
static int escape(struct json_lex *lex, struct sbx_error *err)
{
	int c = json_lex_peek(lex, err);

	if (c == JSON_FAILED)
		return -1;
	if (c == JSON_NONE)
		return json_lex_bad(lex, "json_truncated", "the text ends in a string", err);
	if (c != 'u' && json_lex_escapes[c] == 0)
		return json_lex_bad(lex, "json_escape", "an unknown escape", err);
	lex->p++;
	return c == 'u' ? unicode_escape(lex, err) : add_text(lex, &json_lex_escapes[c], 1, err);
}

/* One character above ASCII; its bytes may stand in two blocks. */
static int multibyte(struct json_lex *lex, int first, struct sbx_error *err)
{
	size_t want = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
	char utf8[4];

	for (size_t i = 0; i < want; i++) {
		int c = json_lex_peek(lex, err);
		if (c == JSON_FAILED)
			return -1;
		if (c == JSON_NONE || (i > 0 && (c & 0xc0) != 0x80))
			return json_lex_bad(lex, "json_utf8", "bytes that are not UTF-8", err);
		utf8[i] = (char)c;
		lex->p++;
	}
	if (json_out_utf8(utf8, want, NULL) != want)
		return json_lex_bad(lex, "json_utf8", "bytes that are not UTF-8", err);
	return add_text(lex, utf8, want, err);
}

/* What stands at *TEXT in place of plain text, a short escape or a character above ASCII, whole
 * before END, goes to OUT, which has room for it: its length there; 0 when it is something else. */
static size_t copy_special(const unsigned char **text, const unsigned char *end, char *out)
{
	const unsigned char *p = *text;

	if (*p == '\\' && end - p >= 2 && json_lex_escapes[p[1]] != 0) {
		*out = json_lex_escapes[p[1]];
		*text = p + 2;
		return 1;
	}
	size_t len = *p < 0x80 ? 0 : json_out_utf8((const char *)p, (size_t)(end - p), NULL);
	memcpy(out, p, len);
	*text = p + len;
	return len;
}

/* Copy plain text and what copy_special does from *TEXT on to OUT, which has room for as much as
 * there is; *TEXT and the result are behind them. */
static char *copy_text(const unsigned char **text, const unsigned char *end, char *out)
{
	const unsigned char *p = *text;

	while (end - p >= JSON_STEP) {
		unsigned count = json_lex_plain(p);
		memcpy(out, p, JSON_STEP);
		p += count;
		out += count;
		if (count == JSON_STEP)
			continue;
		size_t len = copy_special(&p, end, out);
		if (len == 0)
			break;
		out += len;
	}
	while (p < end && is_plain(*p))
		*out++ = (char)*p++;
	*text = p;
	return out;
}

/* Make room in the buffer for MORE bytes, whatever its maximum. */
static int make_room(struct buf *buffer, size_t more, struct sbx_error *err)
{
	size_t need = buffer->len + more;

	if (need <= buffer->cap)
		return 0;
	size_t cap = need > 2 * buffer->cap ? need : 2 * buffer->cap;
	char *grown = realloc(buffer->data, cap);
	if (grown == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	buffer->data = grown;
	buffer->cap = cap;
	return 0;
}

/* Take what copy_text does, at most PIECE bytes at a time. The maximum is looked at afterwards, and
 * so before anything behind can be wrong, however the text is cut into blocks. */
static int take_text(struct json_lex *lex, struct sbx_error *err)
{
	struct buf *buffer = &lex->buffer;
	size_t left = (size_t)(lex->end - lex->p), piece = left < PIECE ? left : PIECE;

	if (make_room(buffer, piece + 1, err) < 0)
		return -1;
	char *out = copy_text(&lex->p, lex->p + piece, buffer->data + buffer->len);
	buffer->len = (size_t)(out - buffer->data);
	*out = '\0';
	return buffer->len <= buffer->max ? 0 : add_text(lex, "", 1, err);
}

/* The rest of a string, behind what is in the buffer. */
static int rest_of_string(struct json_lex *lex, struct sbx_error *err)
{
	for (;;) {
		int c = json_lex_peek(lex, err);
		if (c == JSON_FAILED)
			return -1;
		if (c == JSON_NONE)
			return json_lex_bad(lex, "json_truncated", "the text ends in a string",
					    err);
		const unsigned char *from = lex->p;
		if (take_text(lex, err) < 0)
			return -1;
		if (lex->p != from)
			continue;
		if (c >= 0x80) {
			if (multibyte(lex, c, err) < 0)
				return -1;
			continue;
		}
		if (c < 0x20)
			return json_lex_bad(lex, "json_control",
					    "a raw control character in a string", err);
		lex->p++;
		if (c == '"')
			return add_text(lex, "", 0, err);
		if (escape(lex, err) < 0)
			return -1;
	}
}

int json_lex_string(struct json_lex *lex, struct sbx_error *err)
{
	buf_reset(&lex->buffer);
	if (rest_of_string(lex, err) < 0)
		return -1;
	lex->text = buf_str(&lex->buffer);
	lex->len = lex->buffer.len;
	return 0;
}
