/* Length-prefixed binary fields. */
#include "wire.h"

#include <string.h>

int wire_put_u32(struct buf *b, uint32_t value, struct sbx_error *err)
{
	unsigned char out[4];

	for (int i = 0; i < 4; i++)
		out[i] = (unsigned char)(value >> (24 - 8 * i));
	return buf_add(b, out, sizeof out, err);
}

int wire_put_u64(struct buf *b, uint64_t value, struct sbx_error *err)
{
	if (wire_put_u32(b, (uint32_t)(value >> 32), err) < 0)
		return -1;
	return wire_put_u32(b, (uint32_t)value, err);
}

int wire_put_bytes(struct buf *b, const void *bytes, size_t len, struct sbx_error *err)
{
	if (len > UINT32_MAX)
		return sbx_fail(err, SBX_BAD_REQUEST, "too_large", "a field is too large");
	if (wire_put_u32(b, (uint32_t)len, err) < 0)
		return -1;
	return buf_add(b, bytes, len, err);
}

int wire_put_str(struct buf *b, const char *text, struct sbx_error *err)
{
	return wire_put_bytes(b, text ? text : "", text ? strlen(text) : 0, err);
}

static int malformed(struct sbx_error *err)
{
	return sbx_fail(err, SBX_PROTOCOL, "wire_malformed", "a binary message is cut off or out of its limits");
}

int wire_get_u32(struct wire *w, uint32_t max, uint32_t *value, struct sbx_error *err)
{
	uint32_t v = 0;

	if (w->left < 4)
		return malformed(err);
	for (int i = 0; i < 4; i++)
		v = v << 8 | w->p[i];
	if (v > max)
		return malformed(err);
	w->p += 4;
	w->left -= 4;
	*value = v;
	return 0;
}

int wire_get_u64(struct wire *w, uint64_t *value, struct sbx_error *err)
{
	uint32_t high, low;

	if (wire_get_u32(w, UINT32_MAX, &high, err) < 0 || wire_get_u32(w, UINT32_MAX, &low, err) < 0)
		return -1;
	*value = (uint64_t)high << 32 | low;
	return 0;
}

int wire_get_bytes(struct wire *w, size_t max, const unsigned char **bytes, size_t *len, struct sbx_error *err)
{
	uint32_t n;

	if (wire_get_u32(w, UINT32_MAX, &n, err) < 0)
		return -1;
	if (n > max || n > w->left)
		return malformed(err);
	*bytes = w->p;
	*len = n;
	w->p += n;
	w->left -= n;
	return 0;
}

int wire_get_str(struct wire *w, size_t max, char **text, struct sbx_error *err)
{
	const unsigned char *bytes;
	size_t len;

	if (wire_get_bytes(w, max, &bytes, &len, err) < 0)
		return -1;
	if (memchr(bytes, '\0', len) != NULL)
		return malformed(err);
	char *copy = malloc(len + 1);
	if (copy == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	*text = copy;
	return 0;
}
