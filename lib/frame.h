/* What sbx-entry says on its stdout, and a driver copies: frames with a text header, so that they survive a log that
 * keeps lines.
 *
 *     sbx-frame NONCE TYPE STEP LENGTH\n  followed by LENGTH bytes and \n
 *
 * NONCE is 32 hex digits that sbx-entry makes itself: a step, whose output travels on pipes of its own, can neither
 * write to this stream nor know it. Payloads are at most FRAME_MAX bytes; whatever is larger is sent in pieces. */
#ifndef SBX_FRAME_H
#define SBX_FRAME_H

#include <stdint.h>

#include "buf.h"

#define FRAME_MAX 65536u
#define FRAME_NONCE_SIZE 33
#define FRAME_EVENT_NONCE "00000000000000000000000000000000"

enum frame_type {
	FRAME_HELLO,   /* first: the evidence, as JSON */
	FRAME_REFUSED, /* {"code":…,"message":…,"hint":…}: nothing was begun; last frame of a complete stream */
	FRAME_STEP,    /* step STEP (from 1, checks counted) is about to start; empty. The first one says that all checks ended well */
	FRAME_OUT,     /* bytes of its stdout */
	FRAME_ERR,     /* bytes of its stderr; of a check before the first FRAME_STEP */
	FRAME_ARTIFACT, /* {"name":…,"sha256":…,"size":N}; its bytes follow in FRAME_DATA until SIZE is reached */
	FRAME_DATA,
	FRAME_EXIT,  /* step STEP ended: {"exit":N} or {"signal":N}, "took_ms", "out_dropped" and "err_dropped" (bytes
		      * past the cap);  "stopped":true when it was asked to; "failed":CODE and "artifact":NAME when a
		      * product could not be taken
		      * ("artifact_missing", "artifact_unsafe", "artifact_too_large"), "failed":"cannot_start" (then exit
		      * is 127); of a step that prints the state {"lineage":…,"serial":N,"sha256":…} in "state", or
		      * "failed"  and "message" when it is not the sealed one */
	FRAME_END,   /* last: {"state_changed":BOOL, "stopped":BOOL}; a step that did not end with 0, or failed, was the
			last one */
	FRAME_UNLOCKED, /* check STEP has taken away a lock: {"call":CALL,"lock":ID}, the call that had left it (entry_lock.h); before
			 * the first FRAME_STEP, or a refusal */
	FRAME_EVENT, /* of the driver itself: {"event":"deadline"|"stopped"|"cannot_isolate"|"killed", "message":…,
			"hint":…}; NONCE is FRAME_EVENT_NONCE */
};

/* From now on this process writes its frames as lines (frame_lines.h): for a log. */
void frame_write_lines(void);

/* Write one frame whole. */
int frame_write(int fd, const char *nonce, enum frame_type type, unsigned step, const void *payload, size_t len,
		struct sbx_error *err);
/* The same into a buffer. */
int frame_put(struct buf *b, const char *nonce, enum frame_type type, unsigned step, const void *payload, size_t len,
	      struct sbx_error *err);

struct frame {
	enum frame_type type;
	unsigned step;
	const char *payload; /* NUL behind it; valid until the next call */
	size_t len;
};

struct frame_reader {
	struct buf pending;
	size_t used;
	char nonce[FRAME_NONCE_SIZE]; /* of the hello, once there was one */
};

void frame_reader_init(struct frame_reader *r);
void frame_reader_clear(struct frame_reader *r);
#define auto_frame_reader __attribute__((cleanup(frame_reader_clear))) struct frame_reader
/* Hand bytes over as they come. */
int frame_feed(struct frame_reader *r, const void *bytes, size_t len, struct sbx_error *err);
/* 1: *FRAME is the next whole one; 0: more bytes are needed; -1: "bad_frame" (76): malformed, another nonce than the
 * hello's (but FRAME_EVENT), a type before hello, a second hello. */
int frame_next(struct frame_reader *r, struct frame *frame, struct sbx_error *err);
/* Bytes that wait for the rest of a frame (0: the stream may end here). */
size_t frame_pending(const struct frame_reader *r);

#endif
