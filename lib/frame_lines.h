/* Frames on their way through a container's log. A log keeps lines of text: runtimes cut long ones, and what they do to other
 * bytes is their own matter. So the stream of frames goes in short lines of base64, and a line that is none of ours is
 * dropped.
 *
 *     sbx-line BASE64\n */
#ifndef SBX_FRAME_LINES_H
#define SBX_FRAME_LINES_H

#include "buf.h"

/* Bytes of the stream in one line: with its base64 half of what containerd and CRI-O cut at (16 KiB). */
#define FRAME_LINE_BYTES 6000u

/* Append LEN bytes of the stream as lines. */
int frame_lines_put(struct buf *out, const void *bytes, size_t len, struct sbx_error *err);

struct frame_lines {
	struct buf line;
};
#define FRAME_LINES_INIT                                                                                               \
	{                                                                                                              \
		.line = BUF_INIT(4 * FRAME_LINE_BYTES)                                                                 \
	}

/* The stream's bytes in LEN bytes of a log, appended to OUT; what is not a whole line yet is kept. "bad_frame" (76) for a line
 * that begins like ours and is none. */
int frame_lines_feed(struct frame_lines *lines, const void *bytes, size_t len, struct buf *out, struct sbx_error *err);
void frame_lines_clear(struct frame_lines *lines);

#endif
