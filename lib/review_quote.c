/* Escaping of what is not plain. */
#include "review_quote.h"

#include <stdio.h>

#include "digest.h"
#include "limit.h"

int review_quote_cut(struct buf *out, const char *bytes, size_t len, size_t max, struct sbx_error *err)
{
	size_t shown = len < max ? len : max;
	char digest[DIGEST_HEX_SIZE], escaped[8];

	if (buf_add_str(out, "\"", err) < 0)
		return -1;
	for (size_t i = 0; i < shown; i++) {
		unsigned char c = (unsigned char)bytes[i];
		int plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
		snprintf(escaped, sizeof escaped, plain ? "%c" : c == '"' || c == '\\' ? "\\%c" : "\\x%02x", c);
		if (buf_add_str(out, escaped, err) < 0)
			return -1;
	}
	if (shown == len)
		return buf_add_str(out, "\"", err);
	digest_sha256_hex(bytes, len, digest);
	return buf_addf(out, err, "\" (cut: %zu bytes, sha256 %s)", len, digest);
}

int review_quote(struct buf *out, const char *bytes, size_t len, struct sbx_error *err)
{
	return review_quote_cut(out, bytes, len, LIMIT_DATUM, err);
}
