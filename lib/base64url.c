/* Four digits for three bytes, and back. */
#include "base64url.h"

#include <stdint.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

size_t base64url_size(size_t n)
{
	return (n * 4 + 2) / 3;
}

void base64url_encode(const unsigned char *in, size_t n, char *out)
{
	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		uint32_t v =
			(uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) | (left > 2 ? in[i + 2] : 0u);
		*out++ = alphabet[v >> 18 & 63];
		*out++ = alphabet[v >> 12 & 63];
		if (left > 1)
			*out++ = alphabet[v >> 6 & 63];
		if (left > 2)
			*out++ = alphabet[v & 63];
	}
}

int base64url_append(struct secret *out, const void *bytes, size_t n, struct sbx_error *err)
{
	if (base64url_size(n) > out->cap - out->len)
		return sbx_fail(err, SBX_BAD_REQUEST, "too_large", "a token is larger than its place");
	base64url_encode(bytes, n, (char *)out->data + out->len);
	out->len += base64url_size(n);
	return 0;
}

static int digit(unsigned char c)
{
	const char *at = c == '\0' ? NULL : strchr(alphabet, c);

	return at == NULL ? -1 : (int)(at - alphabet);
}

int base64url_decode(const unsigned char *in, size_t n, struct secret *out, struct sbx_error *err)
{
	uint32_t v = 0;
	unsigned bits = 0;

	if (n % 4 == 1)
		return -1;
	if (secret_alloc(out, n + 1, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int d = digit(in[i]);
		if (d < 0)
			return -1;
		v = (v << 6 | (uint32_t)d) & 0xffff;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			out->data[out->len++] = (unsigned char)(v >> bits);
		}
	}
	out->data[out->len] = '\0';
	return (v & ((1u << bits) - 1)) == 0 ? 0 : -1;
}
