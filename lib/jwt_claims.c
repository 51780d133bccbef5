/* The second of three parts. */
#include "jwt_claims.h"

#include <string.h>

#include "base64url.h"

enum { CLAIMS_MAX = 16384 };

int jwt_claims_read(const struct secret *token, jv *claims)
{
	const unsigned char *end = token->data + token->len;
	const unsigned char *first = token->len > 0 ? memchr(token->data, '.', token->len) : NULL;
	const unsigned char *second = first != NULL ? memchr(first + 1, '.', (size_t)(end - first - 1)) : NULL;
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_secret text = SECRET_INIT;

	if (second == NULL || memchr(second + 1, '.', (size_t)(end - second - 1)) != NULL ||
	    second - first - 1 > CLAIMS_MAX * 4 / 3 ||
	    base64url_decode(first + 1, (size_t)(second - first - 1), &text, &ignored) < 0 ||
	    json_parse_foreign((const char *)text.data, text.len, CLAIMS_MAX, claims, &ignored) < 0)
		return -1;
	if (jv_get_kind(*claims) == JV_KIND_OBJECT)
		return 0;
	jv_free(take_jv(claims));
	return -1;
}
