/* Group by group, so that no byte lies anywhere but in locked memory and in a group that is wiped. */
#include "base64_secret.h"

#include <string.h>

int base64_add_secret(struct secret *out, const void *bytes, size_t len, struct sbx_error *err)
{
	const unsigned char *p = bytes;
	char group[4];
	int result = 0;

	for (size_t at = 0; at < len && result == 0; at += 3) {
		base64_group(p + at, len - at, group);
		result = secret_append(out, group, sizeof group, err);
	}
	explicit_bzero(group, sizeof group);
	return result;
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
		int n = base64_ungroup(text + at, len - at, group);
		result = n < 0 ? sbx_fail(err, SBX_BAD_REQUEST, "bad_base64", "a text is not base64")
			       : secret_append(out, group, (size_t)n, err);
	}
	explicit_bzero(group, sizeof group);
	return result;
}
