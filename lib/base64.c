/* Six bits a digit. */
#include "base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int value_of(char c)
{
	const char *at = c != '\0' ? strchr(digits, c) : NULL;

	return at != NULL ? (int)(at - digits) : -1;
}

int base64_read(const char *text, size_t len, unsigned char **out, size_t *out_len)
{
	auto_free unsigned char *bytes = malloc(len / 4 * 3 + 1);
	size_t used = 0, padding = 0;

	if (bytes == NULL || len == 0 || len % 4 != 0)
		return -1;
	while (padding < 2 && text[len - 1 - padding] == '=')
		padding++;
	for (size_t i = 0; i < len; i += 4) {
		uint32_t group = 0;
		size_t here = i + 4 == len ? 4 - padding : 4;
		for (size_t k = 0; k < here; k++) {
			int value = value_of(text[i + k]);
			if (value < 0)
				return -1;
			group |= (uint32_t)value << (18 - 6 * k);
		}
		/* Bits behind the last byte must be zero: one text for one value. */
		if ((here == 2 && (group & 0xffff)) || (here == 3 && (group & 0xff)))
			return -1;
		for (size_t k = 0; k + 1 < here; k++)
			bytes[used++] = (unsigned char)(group >> (16 - 8 * k));
	}
	*out_len = used;
	*out = take_ptr(&bytes);
	return 0;
}

int base64_add(struct buf *out, const void *bytes, size_t len, struct sbx_error *err)
{
	const unsigned char *p = bytes;
	char block[1024];
	size_t used = 0;

	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		unsigned group = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) |
				 (left > 2 ? (unsigned)p[i + 2] : 0);
		block[used++] = digits[group >> 18];
		block[used++] = digits[group >> 12 & 63];
		block[used++] = left > 1 ? digits[group >> 6 & 63] : '=';
		block[used++] = left > 2 ? digits[group & 63] : '=';
		if (used == sizeof block) {
			if (buf_add(out, block, used, err) < 0)
				return -1;
			used = 0;
		}
	}
	return buf_add(out, block, used, err);
}
