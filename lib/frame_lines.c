/* Cut, encode; join, decode. */
#include "frame_lines.h"

#include <string.h>

#include "base64.h"

static const char start[] = "sbx-line ";

int frame_lines_put(struct buf *out, const void *bytes, size_t len, struct sbx_error *err)
{
	const char *p = bytes;

	while (len > 0) {
		size_t n = len < FRAME_LINE_BYTES ? len : FRAME_LINE_BYTES;
		if (buf_add_str(out, start, err) < 0 || base64_add(out, p, n, err) < 0 || buf_add(out, "\n", 1, err) < 0)
			return -1;
		p += n;
		len -= n;
	}
	return 0;
}

static int take_line(const struct buf *line, struct buf *out, struct sbx_error *err)
{
	auto_free unsigned char *bytes = NULL;
	size_t len;

	if (line->len < sizeof start - 1 || memcmp(line->data, start, sizeof start - 1) != 0)
		return 0;
	if (base64_read(line->data + sizeof start - 1, line->len - (sizeof start - 1), &bytes, &len) < 0)
		return sbx_fail(err, SBX_PROTOCOL, "bad_frame", "a line of the sandbox's log is malformed");
	return buf_add(out, bytes, len, err);
}

int frame_lines_feed(struct frame_lines *lines, const void *bytes, size_t len, struct buf *out, struct sbx_error *err)
{
	const char *p = bytes;

	while (len > 0) {
		const char *end = memchr(p, '\n', len);
		size_t n = end != NULL ? (size_t)(end - p) : len;
		/* One that is too long is none of ours; its rest is dropped with it. */
		if (lines->line.len + n <= lines->line.max && buf_add(&lines->line, p, n, err) < 0)
			return -1;
		if (end == NULL)
			return 0;
		if (take_line(&lines->line, out, err) < 0)
			return -1;
		buf_reset(&lines->line);
		p += n + 1;
		len -= n + 1;
	}
	return 0;
}

void frame_lines_clear(struct frame_lines *lines)
{
	buf_clear(&lines->line);
}
