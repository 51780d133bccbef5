/* Six bits a digit. */
#include "base64.h"

#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_group(const unsigned char *bytes, size_t left, char digits[4])
{
	unsigned bits = (unsigned)bytes[0] << 16 | (left > 1 ? (unsigned)bytes[1] << 8 : 0) | (left > 2 ? bytes[2] : 0);

	digits[0] = alphabet[bits >> 18 & 63];
	digits[1] = alphabet[bits >> 12 & 63];
	digits[2] = left > 1 ? alphabet[bits >> 6 & 63] : '=';
	digits[3] = left > 2 ? alphabet[bits & 63] : '=';
}

static int value_of(char c)
{
	const char *at = c != '\0' ? strchr(alphabet, c) : NULL;

	return at != NULL ? (int)(at - alphabet) : -1;
}

int base64_ungroup(const char *digits, size_t left, unsigned char bytes[3])
{
	int padding = left == 4 && digits[3] == '=' ? 1 + (digits[2] == '=') : 0;
	unsigned bits = 0;

	for (int i = 0; i < 4; i++) {
		int value = i >= 4 - padding ? 0 : value_of(digits[i]);
		if (value < 0)
			return -1;
		bits = bits << 6 | (unsigned)value;
	}
	/* Bits behind the last byte must be zero: one text for one value. */
	if ((padding == 1 && (bits & 0xff) != 0) || (padding == 2 && (bits & 0xffff) != 0))
		return -1;
	bytes[0] = (unsigned char)(bits >> 16);
	bytes[1] = (unsigned char)(bits >> 8);
	bytes[2] = (unsigned char)bits;
	return 3 - padding;
}

int base64_read(const char *text, size_t len, unsigned char **out, size_t *out_len)
{
	auto_free unsigned char *bytes = malloc(len / 4 * 3 + 1);
	size_t used = 0;

	if (bytes == NULL || len == 0 || len % 4 != 0)
		return -1;
	for (size_t i = 0; i < len; i += 4) {
		int n = base64_ungroup(text + i, len - i, bytes + used);
		if (n < 0)
			return -1;
		used += (size_t)n;
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
		base64_group(p + i, len - i, block + used);
		used += 4;
		if (used == sizeof block) {
			if (buf_add(out, block, used, err) < 0)
				return -1;
			used = 0;
		}
	}
	return buf_add(out, block, used, err);
}
