/* The second of three parts. */
#include "jwt_claims.h"

#include <string.h>

#include "base64.h"

enum { CLAIMS_MAX = 16384 };

/* base64url without padding as base64_read wants it. */
static int add_digits(struct buf *to, const unsigned char *from, size_t len)
{
	struct sbx_error ignored = SBX_ERROR_INIT;

	if (buf_add(to, from, len, &ignored) < 0)
		return -1;
	for (size_t i = 0; i < to->len; i++)
		to->data[i] = to->data[i] == '-' ? '+' : to->data[i] == '_' ? '/' : to->data[i];
	while (to->len % 4 != 0)
		if (buf_add(to, "=", 1, &ignored) < 0)
			return -1;
	return 0;
}

int jwt_claims_read(const struct secret *token, jv *claims)
{
	const unsigned char *end = token->data + token->len;
	const unsigned char *first = token->len > 0 ? memchr(token->data, '.', token->len) : NULL;
	const unsigned char *second = first != NULL ? memchr(first + 1, '.', (size_t)(end - first - 1)) : NULL;
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_buf digits = BUF_INIT(CLAIMS_MAX * 4 / 3), text = BUF_INIT(CLAIMS_MAX);
	auto_free unsigned char *bytes = NULL;
	size_t len = 0;

	if (second == NULL || memchr(second + 1, '.', (size_t)(end - second - 1)) != NULL ||
	    add_digits(&digits, first + 1, (size_t)(second - first - 1)) < 0 ||
	    base64_read(buf_str(&digits), digits.len, &bytes, &len) < 0 || buf_add(&text, bytes, len, &ignored) < 0 ||
	    json_parse_foreign(buf_str(&text), text.len, text.max, claims, &ignored) < 0)
		return -1;
	if (jv_get_kind(*claims) == JV_KIND_OBJECT)
		return 0;
	jv_free(take_jv(claims));
	return -1;
}
