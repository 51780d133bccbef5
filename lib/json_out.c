/* Escaped JSON text into a buffer. */
#include "json_out.h"

#include <stdio.h>
#include <string.h>

size_t json_out_utf8(const char *text, size_t left, uint32_t *code_point)
{
	const unsigned char *p = (const unsigned char *)text;
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len;
	uint32_t c;

	if (left == 0)
		return 0;
	if (p[0] < 0x80) {
		len = 1;
		c = p[0];
	} else if (p[0] >= 0xc2 && p[0] < 0xe0) {
		len = 2;
		c = p[0] & 0x1fu;
	} else if ((p[0] & 0xf0) == 0xe0) {
		len = 3;
		c = p[0] & 0x0fu;
	} else if (p[0] >= 0xf0 && p[0] < 0xf5) {
		len = 4;
		c = p[0] & 0x07u;
	} else {
		return 0;
	}
	if (len > left)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3fu);
	}
	if (len > 1 && (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)))
		return 0;
	if (code_point != NULL)
		*code_point = c;
	return len;
}

/* The escape for a code point into OUT (at least 8 bytes), or 0 when it stands for itself. */
static size_t escape(uint32_t c, char *out)
{
	static const char short_forms[] = "\bb\ff\nn\rr\tt\"\"\\\\";

	for (size_t i = 0; i < sizeof short_forms - 1; i += 2)
		if (c == (unsigned char)short_forms[i]) {
			out[0] = '\\';
			out[1] = short_forms[i + 1];
			return 2;
		}
	if (c >= 0x20 && (c < 0x7f || c >= 0xa0) && c != 0x2028 && c != 0x2029)
		return 0;
	/* Not snprintf: a hostile plan has megabytes of these. */
	out[0] = '\\';
	out[1] = 'u';
	for (size_t i = 0; i < 4; i++)
		out[2 + i] = "0123456789abcdef"[c >> (12 - 4 * i) & 0xf];
	return 6;
}

struct piece {
	size_t in;  /* bytes taken */
	size_t out; /* bytes written */
	char text[8];
};

static struct piece next_piece(const char *text, size_t left)
{
	struct piece piece;
	uint32_t c;

	piece.in = json_out_utf8(text, left, &c);
	if (piece.in == 0) {
		piece.in = 1;
		piece.out = 3;
		memcpy(piece.text, "\xef\xbf\xbd", 3);
		return piece;
	}
	piece.out = escape(c, piece.text);
	if (piece.out == 0) {
		memcpy(piece.text, text, piece.in);
		piece.out = piece.in;
	}
	return piece;
}

/* How many bytes from here on stand for themselves. */
static size_t plain_run(const char *text, size_t left)
{
	size_t n = 0;

	while (n < left && text[n] >= 0x20 && text[n] < 0x7f && text[n] != '"' && text[n] != '\\')
		n++;
	return n;
}

int json_out_string(struct buf *b, const char *text, size_t len, struct sbx_error *err)
{
	if (buf_add(b, "\"", 1, err) < 0)
		return -1;
	for (size_t i = 0; i < len;) {
		size_t plain = plain_run(text + i, len - i);
		if (plain > 0) {
			if (buf_add(b, text + i, plain, err) < 0)
				return -1;
			i += plain;
			continue;
		}
		struct piece piece = next_piece(text + i, len - i);
		if (buf_add(b, piece.text, piece.out, err) < 0)
			return -1;
		i += piece.in;
	}
	return buf_add(b, "\"", 1, err);
}

size_t json_out_string_size(const char *text, size_t len)
{
	size_t size = 2;

	for (size_t i = 0; i < len;) {
		size_t plain = plain_run(text + i, len - i);
		size += plain;
		i += plain;
		if (i == len)
			break;
		struct piece piece = next_piece(text + i, len - i);
		size += piece.out;
		i += piece.in;
	}
	return size;
}

int json_out_key(struct buf *b, const char *key, struct sbx_error *err)
{
	char last = b->len ? b->data[b->len - 1] : '{';

	if (last != '{' && last != '[' && buf_add(b, ",", 1, err) < 0)
		return -1;
	if (json_out_string(b, key, strlen(key), err) < 0)
		return -1;
	return buf_add(b, ":", 1, err);
}

int json_out_member(struct buf *b, const char *key, const char *text, struct sbx_error *err)
{
	if (text == NULL)
		return 0;
	if (json_out_key(b, key, err) < 0)
		return -1;
	return json_out_string(b, text, strlen(text), err);
}

int json_out_member_int(struct buf *b, const char *key, int64_t number, struct sbx_error *err)
{
	if (json_out_key(b, key, err) < 0)
		return -1;
	return buf_addf(b, err, "%lld", (long long)number);
}
