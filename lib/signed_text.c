/* Version, text, signatures. */
#include "signed_text.h"

#include <string.h>

#include "wire.h"

static const uint32_t version = 1;
static const size_t armor_max = 16 << 10; /* as SSHSIG_MAX */

int signed_text_encode(const struct signed_text *s, struct buf *out, struct sbx_error *err)
{
	if (wire_put_u32(out, version, err) < 0 || wire_put_bytes(out, s->text, s->len, err) < 0 ||
	    wire_put_u32(out, s->count, err) < 0)
		return -1;
	for (uint32_t i = 0; i < s->count; i++)
		if (wire_put_bytes(out, s->signatures[i].armor, s->signatures[i].len, err) < 0)
			return -1;
	return 0;
}

static int malformed(struct sbx_error *err)
{
	return sbx_fail(err, SBX_PROTOCOL, "wire_malformed", "the signed text that was handed over is malformed");
}

static int get_view(struct wire *w, size_t max, const char **bytes, size_t *len, struct sbx_error *err)
{
	const unsigned char *view;

	if (wire_get_bytes(w, max, &view, len, err) < 0)
		return -1;
	*bytes = (const char *)view;
	return 0;
}

int signed_text_decode(const void *bytes, size_t len, struct signed_text *s, struct sbx_error *err)
{
	struct wire w = {.p = bytes, .left = len};
	uint32_t found;

	*s = (struct signed_text){.count = 0};
	if (wire_get_u32(&w, UINT32_MAX, &found, err) < 0 || found != version ||
	    get_view(&w, LIMIT_REVIEW_TEXT, &s->text, &s->len, err) < 0 || memchr(s->text, '\0', s->len) != NULL ||
	    wire_get_u32(&w, LIMIT_APPROVERS, &s->count, err) < 0)
		return err->class != SBX_OK ? -1 : malformed(err);
	for (uint32_t i = 0; i < s->count; i++)
		if (get_view(&w, armor_max, &s->signatures[i].armor, &s->signatures[i].len, err) < 0)
			return -1;
	return w.left == 0 ? 0 : malformed(err);
}
