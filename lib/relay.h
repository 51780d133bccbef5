/* What a driver does with frames: take them whole from sbx-entry, put events of its own between them, and hand them to
 * a reader that may be slow. */
#ifndef SBX_RELAY_H
#define SBX_RELAY_H

#include "egress_relay.h"
#include "frame.h"

struct relay {
	int out; /* where frames go */
	struct frame_reader reader;
	struct buf pending; /* whole frames that wait for the reader */
	size_t sent;
	int hello;    /* a hello came through */
	int complete; /* an end or refused came through, and nothing behind it */
};

/* A pipe or socket OUT becomes non-blocking: a full one must not keep a driver from its deadline. Files and terminals
 * are left as they are, for others share them. */
void relay_init(struct relay *relay, int out);
void relay_clear(struct relay *relay);

/* Bytes of sbx-entry, in pieces of at most RELAY_PIECE and only while relay_has_room. "bad_frame" (76) for what nothing
 * of ours writes, an event of the driver among it. */
#define RELAY_PIECE 65536u
int relay_feed(struct relay *relay, const void *bytes, size_t len, struct sbx_error *err);
int relay_has_room(const struct relay *relay);

/* A frame of the driver itself: EVENT, with the code, class, message and hint that WHY has. */
int relay_event(struct relay *relay, const char *event, const struct sbx_error *why, struct sbx_error *err);
/* One that has a MESSAGE alone. */
int relay_tell(struct relay *relay, const char *event, const char *message, struct sbx_error *err);
/* An event "connection": what a CONNECTION out of the sandbox was. */
int relay_connection(struct relay *relay, const struct egress_connection *connection, struct sbx_error *err);
/* The same as relay_event at once to FD, for a driver that has no relay yet. */
int relay_say(int fd, const char *event, const struct sbx_error *why, struct sbx_error *err);

/* Write what the reader takes now. "io_error" (74) when it has gone. */
int relay_send(struct relay *relay, struct sbx_error *err);
int relay_is_waiting(const struct relay *relay); /* for the reader */
/* The stream may end here: its last frame came, and no part of another. */
int relay_is_whole(const struct relay *relay);

#endif
