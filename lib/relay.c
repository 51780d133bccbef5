/* Frames that came whole go on whole, so that an event never lands inside one. */
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "io.h"
#include "json_out.h"

/* Two frames and what one piece brings always fit behind what waits. */
enum { OUT_MAX = 6 * FRAME_MAX, ROOM = 2 * FRAME_MAX, EVENT_MAX = 4096 };

void relay_init(struct relay *relay, int out)
{
	struct stat st;

	*relay = (struct relay){.out = out, .pending = BUF_INIT(OUT_MAX)};
	frame_reader_init(&relay->reader);
	if (fstat(out, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		fcntl(out, F_SETFL, O_WRONLY | O_NONBLOCK);
}

void relay_clear(struct relay *relay)
{
	frame_reader_clear(&relay->reader);
	buf_clear(&relay->pending);
}

int relay_has_room(const struct relay *relay)
{
	return relay->pending.len < ROOM;
}

int relay_feed(struct relay *relay, const void *bytes, size_t len, struct sbx_error *err)
{
	struct frame frame;
	int got;

	if (frame_feed(&relay->reader, bytes, len, err) < 0)
		return -1;
	while ((got = frame_next(&relay->reader, &frame, err)) > 0) {
		if (frame.type == FRAME_EVENT)
			return sbx_fail(err, SBX_PROTOCOL, "bad_frame", "the sandbox sent an event of the driver");
		relay->hello |= frame.type == FRAME_HELLO;
		relay->complete = frame.type == FRAME_END || frame.type == FRAME_REFUSED;
		if (frame_put(&relay->pending, relay->reader.nonce, frame.type, frame.step, frame.payload, frame.len,
			      err) < 0)
			return -1;
	}
	return got;
}

static const char *if_any(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

static int put_event(struct buf *out, const char *event, const struct sbx_error *why, struct sbx_error *err)
{
	auto_buf json = BUF_INIT(EVENT_MAX);

	if (buf_add_str(&json, "{", err) < 0 || json_out_member(&json, "event", event, err) < 0 ||
	    json_out_member(&json, "code", if_any(why->code), err) < 0 ||
	    (why->class != SBX_OK && json_out_member_int(&json, "class", why->class, err) < 0) ||
	    json_out_member(&json, "message", why->message, err) < 0 ||
	    json_out_member(&json, "hint", if_any(why->hint), err) < 0 || buf_add_str(&json, "}", err) < 0)
		return -1;
	return frame_put(out, FRAME_EVENT_NONCE, FRAME_EVENT, 0, json.data, json.len, err);
}

int relay_event(struct relay *relay, const char *event, const struct sbx_error *why, struct sbx_error *err)
{
	return put_event(&relay->pending, event, why, err);
}

int relay_tell(struct relay *relay, const char *event, const char *message, struct sbx_error *err)
{
	struct sbx_error what = SBX_ERROR_INIT;

	snprintf(what.message, sizeof what.message, "%s", message);
	return relay_event(relay, event, &what, err);
}

int relay_connection(struct relay *relay, const struct egress_connection *connection, struct sbx_error *err)
{
	auto_buf json = BUF_INIT(EVENT_MAX);
	char place[EGRESS_PLACE_SIZE];

	if (buf_add_str(&json, "{", err) < 0 || json_out_member(&json, "event", "connection", err) < 0 ||
	    json_out_member(&json, "destination", connection->destination->name, err) < 0 ||
	    json_out_member(&json, "address", egress_place(connection->destination, place), err) < 0 ||
	    json_out_member_int(&json, "sent", (int64_t)connection->sent, err) < 0 ||
	    json_out_member_int(&json, "received", (int64_t)connection->received, err) < 0 ||
	    json_out_member_int(&json, "took_ms", connection->ms, err) < 0 ||
	    json_out_member(&json, "end", egress_end_name(connection->end), err) < 0 ||
	    buf_add_str(&json, "}", err) < 0)
		return -1;
	return frame_put(&relay->pending, FRAME_EVENT_NONCE, FRAME_EVENT, 0, json.data, json.len, err);
}

int relay_say(int fd, const char *event, const struct sbx_error *why, struct sbx_error *err)
{
	auto_buf frame = BUF_INIT(FRAME_MAX);

	return put_event(&frame, event, why, err) < 0 ? -1 : io_write_all(fd, frame.data, frame.len, err);
}

int relay_is_waiting(const struct relay *relay)
{
	return relay->pending.len > 0;
}

int relay_send(struct relay *relay, struct sbx_error *err)
{
	ssize_t n = write(relay->out, relay->pending.data + relay->sent, relay->pending.len - relay->sent);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot write");
	relay->sent += (size_t)n;
	if (relay->sent == relay->pending.len) {
		buf_reset(&relay->pending);
		relay->sent = 0;
	}
	return 0;
}

int relay_is_whole(const struct relay *relay)
{
	return relay->complete && frame_pending(&relay->reader) == 0;
}
