/* One poll loop over the client and all doors. */
#include "mcp_serve.h"

#include <errno.h>

#include "clock.h"
#include "mcp.h"
#include "mcp_queue.h"

/* More messages in one batch are a mistake or an attack. */
static const int batch_max = 256;
/* After the client's end of input, for an answer that is almost there. */
static const int64_t end_grace_ms = 500;

struct server {
	struct rpc_reader reader;
	struct rpc_writer writer;
	struct mcp_session session;
	struct mcp_queue queue;
	struct pollfd fds[2 + MCP_QUEUE_FDS]; /* client in, client out, doors */
	int64_t now;
	int64_t end_at; /* -1: the client is there */
	struct sbx_error *err;
};

/* Refused without an id: there is none, or it belongs to another request. */
static int refuse(struct server *s, struct rpc_batch *batch, const char *message)
{
	auto_buf text = BUF_INIT(RPC_MESSAGE_MAX);

	if (rpc_write_error(&text, "", RPC_INVALID_REQUEST, message, jv_invalid(), s->err) < 0)
		return -1;
	return rpc_deliver(&s->writer, batch, &text, s->err);
}

static int take_message(struct server *s, jv message, enum mcp_place place, struct rpc_batch *batch)
{
	auto_mcp_step step = MCP_STEP_NONE;

	if (mcp_decide(&s->session, message, place, &step, s->err) < 0)
		return -1;
	if (step.verb == MCP_SILENT)
		return 0;
	if (step.verb == MCP_CANCEL)
		return mcp_queue_cancel(&s->queue, step.id, s->err);
	if (step.verb == MCP_REPLY)
		return mcp_queue_reply(&s->queue, step.id, step.reply, s->err);
	/* The first one keeps the id: whatever had it too would be taken for the first one's answer. */
	if (step.id[0] != '\0' && mcp_queue_has(&s->queue, step.id))
		return refuse(s, batch, "Invalid Request: the id is in use");
	if (step.verb == MCP_ANSWER)
		return rpc_deliver(&s->writer, batch, &step.text, s->err);
	return mcp_queue_add(&s->queue, &step, batch, s->now, s->err);
}

/* Batches are 2025-03-26's alone; there every server must take them. */
static int take_batch(struct server *s, jv messages)
{
	int n = json_length(messages), result = 0;

	if (s->session.version != MCP_2025_03_26 || n == 0 || n > batch_max)
		return refuse(s, NULL,
			      "Invalid Request: a batch that is empty, too long, or not allowed in this revision");
	struct rpc_batch *batch = rpc_batch_new(s->err);
	if (batch == NULL)
		return -1;
	for (int i = 0; i < n && result == 0; i++) {
		auto_jv message = json_at(messages, i);
		result = take_message(s, message, MCP_IN_BATCH, batch);
	}
	return rpc_batch_leave(&s->writer, batch, s->err) < 0 ? -1 : result;
}

static int take_line(struct server *s, const char *line, size_t len)
{
	struct sbx_error problem = SBX_ERROR_INIT;
	auto_jv message = jv_invalid();

	if (json_parse_foreign(line, len, RPC_MESSAGE_MAX, &message, &problem) < 0) {
		auto_buf text = BUF_INIT(RPC_MESSAGE_MAX);
		char id[RPC_ID_SIZE];
		if (rpc_salvage_id(line, len, id) == 0 && mcp_queue_has(&s->queue, id))
			return refuse(s, NULL, "Invalid Request: the id is in use");
		if (mcp_refuse_line(line, len, &problem, &text, s->err) < 0)
			return -1;
		return rpc_put_line(&s->writer, &text, s->err);
	}
	if (jv_get_kind(message) == JV_KIND_ARRAY)
		return take_batch(s, message);
	return take_message(s, message, MCP_ALONE, NULL);
}

static int take_lines(struct server *s)
{
	const char *line;
	size_t len;

	while (!rpc_writer_full(&s->writer)) {
		enum rpc_next next = rpc_next(&s->reader, &line, &len);
		if (next == RPC_NONE)
			return 0;
		int failed = next == RPC_LINE ? take_line(s, line, len)
					      : refuse(s, NULL, "Invalid Request: the line is too long");
		if (failed < 0)
			return -1;
	}
	return 0;
}

static int take_input(struct server *s)
{
	if (s->end_at >= 0)
		return 0;
	int got = s->fds[0].revents != 0 ? rpc_fill(&s->reader, s->err) : 1;
	if (got < 0 || take_lines(s) < 0) /* also those that a full writer had held up */
		return -1;
	if (got == 0) {
		s->end_at = s->now + end_grace_ms;
		mcp_queue_hang_up(&s->queue);
	}
	return 0;
}

static int is_over(const struct server *s)
{
	if (s->end_at < 0)
		return 0;
	return (s->queue.count == 0 && rpc_waiting(&s->writer) == 0) || s->now >= s->end_at;
}

static int wait_ms(const struct server *s)
{
	int64_t at = mcp_queue_wakes(&s->queue);

	if (s->end_at >= 0 && (at < 0 || s->end_at < at))
		at = s->end_at;
	return at < 0 ? -1 : clock_left_ms(at);
}

/* One turn; 1 when it was the last. */
static int turn(struct server *s)
{
	if (mcp_queue_start(&s->queue, s->now, s->err) < 0)
		return -1;
	if (is_over(s))
		return 1;
	int may_read = s->end_at < 0 && !rpc_writer_full(&s->writer);
	s->fds[0] = (struct pollfd){.fd = may_read ? s->reader.fd : -1, .events = POLLIN};
	s->fds[1] = (struct pollfd){.fd = s->writer.fd, .events = rpc_waiting(&s->writer) > 0 ? POLLOUT : 0};
	size_t n = 2 + mcp_queue_poll(&s->queue, s->fds + 2);
	if (poll(s->fds, n, wait_ms(s)) < 0 && errno != EINTR)
		return sbx_fail_errno(s->err, SBX_OS, "os_error", "cannot wait");
	s->now = clock_mono_ms();
	if ((s->fds[1].revents & POLLERR) != 0)
		return rpc_waiting(&s->writer) > 0 ? sbx_fail(s->err, SBX_IO, "io_error", "the client has gone") : 1;
	if ((s->fds[1].revents & POLLOUT) != 0 && rpc_flush(&s->writer, s->err) < 0)
		return -1;
	mcp_queue_work(&s->queue, s->fds + 2, s->now);
	return take_input(s) < 0 || mcp_queue_tick(&s->queue, s->now, s->err) < 0 ? -1 : 0;
}

int mcp_serve(const struct mcp_serve *options, int in, int out, struct sbx_error *err)
{
	struct server *s = calloc(1, sizeof *s);
	int result = 0;

	if (s == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	s->reader = (struct rpc_reader)RPC_READER_INIT(in);
	s->writer = (struct rpc_writer)RPC_WRITER_INIT(out);
	s->queue = (struct mcp_queue){.door = &options->door,
				      .deadline_ms = options->deadline_ms,
				      .writer = &s->writer,
				      .home = options->home,
				      .asks = jv_invalid()};
	s->end_at = -1;
	s->now = clock_mono_ms();
	s->err = err;
	while (result == 0)
		result = turn(s);
	mcp_queue_clear(&s->queue);
	rpc_reader_clear(&s->reader);
	rpc_writer_clear(&s->writer);
	free(s);
	return result < 0 ? -1 : 0;
}
