/* The digest of a value, apart from json.c so that a program that hashes nothing links no libcrypto. */
#include "digest.h"
#include "json.h"

int json_digest(jv value, char out[65], struct sbx_error *err)
{
	auto_buf text = BUF_INIT(LIMIT_CALL * 8);

	if (json_write(value, &text, err) < 0)
		return -1;
	digest_sha256_hex(buf_str(&text), text.len, out);
	return 0;
}
