/* Four characters for three bytes. */
#include "base64_secret.h"

#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* One to three bytes at P as four characters. */
static void encode_group(const unsigned char *p, size_t left, char out[4])
{
	unsigned bits = (unsigned)p[0] << 16 | (left > 1 ? (unsigned)p[1] << 8 : 0) | (left > 2 ? p[2] : 0);

	out[0] = alphabet[bits >> 18 & 63];
	out[1] = alphabet[bits >> 12 & 63];
	out[2] = left > 1 ? alphabet[bits >> 6 & 63] : '=';
	out[3] = left > 2 ? alphabet[bits & 63] : '=';
}

int base64_add_secret(struct secret *out, const void *bytes, size_t len, struct sbx_error *err)
{
	const unsigned char *p = bytes;
	char group[4];
	int result = 0;

	for (size_t at = 0; at < len && result == 0; at += 3) {
		encode_group(p + at, len - at, group);
		result = secret_append(out, group, sizeof group, err);
	}
	explicit_bzero(group, sizeof group);
	return result;
}

static int value_of(char c)
{
	const char *at = c != '\0' ? strchr(alphabet, c) : NULL;

	return at != NULL ? (int)(at - alphabet) : -1;
}

/* Four characters, of which the last ones may be padding when LAST: how many bytes they are, or -1. */
static int decode_group(const char *text, int last, unsigned char out[3])
{
	int padding = last ? (text[3] == '=') + (text[3] == '=' && text[2] == '=') : 0;
	unsigned bits = 0;

	for (int i = 0; i < 4; i++) {
		int value = i >= 4 - padding ? 0 : value_of(text[i]);
		if (value < 0)
			return -1;
		bits = bits << 6 | (unsigned)value;
	}
	/* Bits that stand for nothing must be 0: one spelling for one value. */
	if ((padding == 1 && (bits & 0xff) != 0) || (padding == 2 && (bits & 0xffff) != 0))
		return -1;
	out[0] = (unsigned char)(bits >> 16);
	out[1] = (unsigned char)(bits >> 8);
	out[2] = (unsigned char)bits;
	return 3 - padding;
}

int base64_read_secret(const char *text, size_t len, struct secret *out, struct sbx_error *err)
{
	unsigned char group[3];
	int result = 0;

	if (len % 4 != 0 || len == 0)
		return sbx_fail(err, SBX_BAD_REQUEST, "bad_base64", "a text is not base64");
	if (secret_alloc(out, len / 4 * 3, err) < 0)
		return -1;
	for (size_t at = 0; at < len && result == 0; at += 4) {
		int n = decode_group(text + at, at + 4 == len, group);
		result = n < 0 ? sbx_fail(err, SBX_BAD_REQUEST, "bad_base64", "a text is not base64")
			       : secret_append(out, group, (size_t)n, err);
	}
	explicit_bzero(group, sizeof group);
	return result;
}
