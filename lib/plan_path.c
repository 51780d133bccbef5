/* Paths. */
#include "plan_path.h"

#include <string.h>

#include "digest.h"
#include "json_out.h"
#include "plan_value.h"

enum { TEXT_CUT = 384 }; /* what is left of a longer text, before its digest */

static int is_identifier(const char *text, size_t len)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

	for (size_t i = 0; i < len; i++)
		if (text[i] == '\0' || strchr(letters, text[i]) == NULL)
			return 0;
	return len > 0 && !(text[0] >= '0' && text[0] <= '9') && text[0] != '-';
}

int plan_path_add(struct buf *path, const struct plan_place *place, struct sbx_error *err)
{
	if (place->name == NULL)
		return buf_addf(path, err, "[%u]", (unsigned)place->index);
	if (is_identifier(place->name, place->len))
		return buf_addf(path, err, "%s%.*s", path->len ? "." : "", (int)place->len, place->name);
	if (buf_add(path, "[", 1, err) < 0 || plan_value_quote(path, place->name, place->len, err) < 0)
		return -1;
	return buf_add(path, "]", 1, err);
}

int plan_path_cut(struct buf *out, const char *text, size_t len, struct sbx_error *err)
{
	char digest[DIGEST_HEX_SIZE];
	size_t keep = 0;

	buf_reset(out);
	if (len <= PLAN_TEXT_MAX)
		return buf_add(out, text, len, err);
	for (size_t step; keep < TEXT_CUT; keep += step) {
		step = json_out_utf8(text + keep, len - keep, NULL);
		step += step == 0;
	}
	digest_sha256_hex(text, len, digest);
	if (buf_add(out, text, keep, err) < 0)
		return -1;
	return buf_addf(out, err, "\xe2\x80\xa6 (cut, sha256:%s)", digest);
}
