/* Requests and their doors. */
#include "mcp_queue.h"

#include <string.h>

#include "io.h"
#include "mcp_result.h"

/* Each call is six processes; more at once only slows all of them. */
static const size_t calls_at_once = 16;
/* A list is read, not run: a door that takes longer is stuck. */
static const int64_t list_deadline_ms = 20 * 1000;
/* Clients that extend their time-out on progress do it for at least this often; and a chatty tool must not flood them.
 */
static const int64_t progress_every_ms = 10 * 1000, progress_least_ms = 200;

enum wants { WANTS_LIST, WANTS_CALL };
enum stage { QUEUED, RUNNING, UNWANTED /* answered or cancelled; its door has yet to end */ };

struct mcp_request {
	enum wants wants;
	enum stage stage;
	enum mcp_version version;
	char id[RPC_ID_SIZE], token[RPC_ID_SIZE], tool[MCP_TOOL_MAX + 1];
	struct rpc_batch *batch;
	struct buf json; /* for the door */
	struct mcp_door door;
	int64_t deadline;
	unsigned progress; /* notifications so far */
	unsigned told;	   /* lines of the door that were told */
	int64_t progress_at;
};

static struct mcp_request *find(const struct mcp_queue *q, const char *id)
{
	for (size_t i = 0; i < q->count; i++)
		if (q->requests[i]->stage != UNWANTED && strcmp(q->requests[i]->id, id) == 0)
			return q->requests[i];
	return NULL;
}

int mcp_queue_has(const struct mcp_queue *q, const char *id)
{
	return find(q, id) != NULL;
}

static void forget(struct mcp_queue *q, size_t i)
{
	struct mcp_request *r = q->requests[i];

	mcp_door_clear(&r->door);
	buf_clear(&r->json);
	free(r);
	memmove(q->requests + i, q->requests + i + 1, (q->count - i - 1) * sizeof *q->requests);
	q->count--;
}

static void sweep(struct mcp_queue *q)
{
	for (size_t i = q->count; i > 0; i--)
		if (q->requests[i - 1]->stage == UNWANTED && !mcp_door_there(&q->requests[i - 1]->door))
			forget(q, i - 1);
}

/* No answer is owed any more; sweep removes it when its door has ended too. */
static int settle(struct mcp_queue *q, struct mcp_request *r, struct sbx_error *err)
{
	struct rpc_batch *batch = take_ptr(&r->batch);

	r->stage = UNWANTED;
	r->token[0] = '\0';
	return rpc_batch_leave(q->writer, batch, err);
}

/* Send TEXT as the answer; when it could not be written (WROTE -1, WHY), an error instead: a request is never left
 * without one. */
static int answer(struct mcp_queue *q, struct mcp_request *r, int wrote, struct buf *text, const struct sbx_error *why,
		  struct sbx_error *err)
{
	if (wrote < 0) {
		buf_reset(text);
		if (rpc_write_error(text, r->id, RPC_INTERNAL_ERROR, why->message, jv_invalid(), err) < 0)
			return -1;
	}
	return rpc_deliver(q->writer, r->batch, text, err) < 0 ? -1 : settle(q, r, err);
}

static int tell_progress(struct mcp_queue *q, struct mcp_request *r, const char *message, int64_t now,
			 struct sbx_error *err)
{
	auto_buf text = BUF_INIT(RPC_MESSAGE_MAX);

	if (r->token[0] == '\0')
		return 0;
	r->progress_at = now;
	r->told = r->door.lines;
	if (mcp_write_progress(r->version, r->token, ++r->progress, message, &text, err) < 0)
		return -1;
	return rpc_put_line(q->writer, &text, err);
}

static void too_many(struct sbx_error *why)
{
	sbx_fail(why, SBX_UNAVAILABLE, "too_many_calls", "too many other calls are in the way");
	sbx_hint(why, "wait for them, then make it again");
}

static int refuse_busy(struct mcp_queue *q, const struct mcp_step *step, struct rpc_batch *batch, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(RPC_MESSAGE_MAX);
	struct sbx_error why = SBX_ERROR_INIT;
	int failed;

	too_many(&why);
	if (step->verb == MCP_CALL)
		failed = mcp_call_refused(step->version, step->id, step->tool, &why, &text, err);
	else
		failed = rpc_write_error(&text, step->id, RPC_INTERNAL_ERROR, why.message, jv_invalid(), err);
	return failed < 0 ? -1 : rpc_deliver(q->writer, batch, &text, err);
}

static size_t unanswered(const struct mcp_queue *q)
{
	size_t n = 0;

	for (size_t i = 0; i < q->count; i++)
		n += q->requests[i]->stage != UNWANTED;
	return n;
}

int mcp_queue_add(struct mcp_queue *q, struct mcp_step *step, struct rpc_batch *batch, int64_t now,
		  struct sbx_error *err)
{
	if (unanswered(q) >= MCP_QUEUE_REQUESTS || q->count >= ARRAY_LEN(q->requests))
		return refuse_busy(q, step, batch, err);
	struct mcp_request *r = calloc(1, sizeof *r);
	if (r == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	r->wants = step->verb == MCP_LIST ? WANTS_LIST : WANTS_CALL;
	r->version = step->version;
	memcpy(r->id, step->id, sizeof r->id);
	memcpy(r->token, step->token, sizeof r->token);
	memcpy(r->tool, step->tool, sizeof r->tool);
	r->json = step->text;
	step->text = (struct buf)BUF_INIT(0);
	r->door = (struct mcp_door)MCP_DOOR_NONE;
	r->deadline = now + (r->wants == WANTS_LIST ? list_deadline_ms : q->deadline_ms);
	r->batch = batch;
	rpc_batch_join(batch);
	q->requests[q->count++] = r;
	return tell_progress(q, r, "accepted", now, err);
}

int mcp_queue_cancel(struct mcp_queue *q, const char *id, struct sbx_error *err)
{
	struct mcp_request *r = find(q, id);

	if (r == NULL)
		return 0;
	if (r->wants == WANTS_CALL && mcp_door_there(&r->door))
		mcp_door_cancel(&r->door);
	return settle(q, r, err);
}

static int answer_lists(struct mcp_queue *q, const struct mcp_reply *reply, struct sbx_error *err)
{
	for (size_t i = 0; i < q->count; i++) {
		struct mcp_request *r = q->requests[i];
		auto_buf text = BUF_INIT(LIMIT_RPC_LINE);
		struct sbx_error why = SBX_ERROR_INIT;
		if (r->wants != WANTS_LIST || r->stage == UNWANTED)
			continue;
		int wrote = mcp_list_result(r->version, r->id, reply, &text, &why);
		if (answer(q, r, wrote, &text, &why, err) < 0)
			return -1;
	}
	return 0;
}

static int answer_call(struct mcp_queue *q, struct mcp_request *r, const struct mcp_reply *reply, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(LIMIT_RPC_LINE);
	struct sbx_error why = SBX_ERROR_INIT;

	if (r->stage == UNWANTED)
		return 0;
	return answer(q, r, mcp_call_result(r->version, r->id, reply, &text, &why), &text, &why, err);
}

static struct mcp_reply reply_of(const struct mcp_request *r, const char *fence)
{
	return (struct mcp_reply){
		.tool = r->tool,
		.text = r->door.overflow ? NULL : buf_str(&r->door.answer),
		.len = r->door.answer.len,
		.status = r->door.status,
		.last_line = r->door.last_line,
		.fence = fence,
	};
}

/* 1 when the door of R has given a whole list of tools. Who lists gives nobody any right, so its exit status is not waited for; an error object is,
 * and so is the end of a call. */
static int has_whole_list(const struct mcp_request *r)
{
	static const char head[] = "{\"tools\":";
	const struct buf *text = &r->door.answer;

	return r->wants == WANTS_LIST && r->stage == RUNNING && !r->door.overflow && text->len > sizeof head &&
	       text->data[text->len - 1] == '\n' && memcmp(text->data, head, sizeof head - 1) == 0;
}

static int answer_early(struct mcp_queue *q, struct mcp_request *r, struct sbx_error *err)
{
	const struct mcp_reply reply = reply_of(r, "");
	int failed = answer_lists(q, &reply, err);

	r->stage = UNWANTED;
	return failed;
}

/* The door of R has ended: its answer, for everyone who waits for the same. */
static int finish(struct mcp_queue *q, struct mcp_request *r, struct sbx_error *err)
{
	char fence[17];

	io_random_hex(fence, 8);
	const struct mcp_reply reply = reply_of(r, fence);
	int failed = r->wants == WANTS_LIST ? answer_lists(q, &reply, err) : answer_call(q, r, &reply, err);
	mcp_door_clear(&r->door);
	r->stage = UNWANTED;
	return failed;
}

/* Answer R, which has no door that could, with WHY. */
static int give_up(struct mcp_queue *q, struct mcp_request *r, const struct sbx_error *why, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(RPC_MESSAGE_MAX);

	if (r->wants == WANTS_LIST) {
		const struct mcp_reply reply = {
			.text = "", .status = (int)why->class, .last_line = why->message, .fence = ""};
		return answer_lists(q, &reply, err);
	}
	struct sbx_error ignored = SBX_ERROR_INIT;
	int wrote = mcp_call_refused(r->version, r->id, r->tool, why, &text, &ignored);
	return answer(q, r, wrote, &text, &ignored, err);
}

static int start(struct mcp_queue *q, struct mcp_request *r, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;
	int started = r->wants == WANTS_LIST ? mcp_door_start(&r->door, q->door, "tools", NULL, &why)
					     : mcp_door_start(&r->door, q->door, "call", &r->json, &why);

	buf_clear(&r->json);
	if (started < 0)
		return give_up(q, r, &why, err);
	r->stage = RUNNING;
	return 0;
}

int mcp_queue_start(struct mcp_queue *q, struct sbx_error *err)
{
	size_t calls = 0, lists = 0, doors = 0;

	for (size_t i = 0; i < q->count; i++) {
		const struct mcp_request *r = q->requests[i];
		size_t there = (size_t)mcp_door_there(&r->door);
		doors += there;
		calls += r->stage == RUNNING && r->wants == WANTS_CALL;
		lists += r->wants == WANTS_LIST ? there : 0;
	}
	for (size_t i = 0; i < q->count && doors < MCP_QUEUE_DOORS; i++) {
		struct mcp_request *r = q->requests[i];
		if (r->stage != QUEUED || !(r->wants == WANTS_LIST ? lists == 0 : calls < calls_at_once))
			continue;
		if (start(q, r, err) < 0)
			return -1;
		if (r->stage != RUNNING)
			continue;
		doors++;
		calls += r->wants == WANTS_CALL;
		lists += r->wants == WANTS_LIST;
	}
	sweep(q);
	return 0;
}

size_t mcp_queue_poll(const struct mcp_queue *q, struct pollfd *fds)
{
	enum mcp_door_reading reading = rpc_writer_full(q->writer) ? MCP_DOOR_PAUSE : MCP_DOOR_READ;
	size_t n = 0;

	for (size_t i = 0; i < q->count; i++) {
		if (!mcp_door_there(&q->requests[i]->door))
			continue;
		mcp_door_poll(&q->requests[i]->door, reading, fds + n);
		n += MCP_DOOR_FDS;
	}
	return n;
}

void mcp_queue_work(struct mcp_queue *q, const struct pollfd *fds, int64_t now)
{
	size_t n = 0;

	for (size_t i = 0; i < q->count; i++) {
		if (!mcp_door_there(&q->requests[i]->door))
			continue;
		mcp_door_work(&q->requests[i]->door, fds + n, now);
		n += MCP_DOOR_FDS;
	}
}

/* Whether its deadline means something: for a call while it is unanswered, for a list while its door may be stuck. */
static int is_due(const struct mcp_request *r)
{
	return r->stage != UNWANTED || (r->wants == WANTS_LIST && mcp_door_there(&r->door));
}

static int overdue(struct mcp_queue *q, struct mcp_request *r, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(RPC_MESSAGE_MAX);
	struct sbx_error why = SBX_ERROR_INIT;

	if (r->wants == WANTS_LIST) {
		mcp_door_kill(&r->door);
		if (r->stage == UNWANTED)
			return 0;
		sbx_fail(&why, SBX_UNAVAILABLE, "timeout", "it did not answer in time");
		return give_up(q, r, &why, err);
	}
	if (r->stage == QUEUED) {
		too_many(&why);
		return give_up(q, r, &why, err);
	}
	int wrote = mcp_call_running(r->version, r->id, r->tool, r->door.call_id, &text, &why);
	return answer(q, r, wrote, &text, &why, err);
}

static int tick_progress(struct mcp_queue *q, struct mcp_request *r, int64_t now, struct sbx_error *err)
{
	int fresh = r->told != r->door.lines;
	const char *message = r->door.lines > 0	   ? r->door.last_line
			      : r->stage == QUEUED ? "waiting for other calls"
						   : "running";

	if (r->token[0] == '\0' || now < r->progress_at + (fresh ? progress_least_ms : progress_every_ms))
		return 0;
	return tell_progress(q, r, message, now, err);
}

int mcp_queue_tick(struct mcp_queue *q, int64_t now, struct sbx_error *err)
{
	for (size_t i = 0; i < q->count; i++) {
		struct mcp_request *r = q->requests[i];
		/* In this order: nothing is told after an answer. */
		if (has_whole_list(r) && !rpc_writer_full(q->writer) && answer_early(q, r, err) < 0)
			return -1;
		if (mcp_door_there(&r->door) && !rpc_writer_full(q->writer) && mcp_door_done(&r->door, now) &&
		    finish(q, r, err) < 0)
			return -1;
		if (is_due(r) && now >= r->deadline && overdue(q, r, err) < 0)
			return -1;
		if (tick_progress(q, r, now, err) < 0)
			return -1;
	}
	sweep(q);
	return 0;
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

int64_t mcp_queue_wakes(const struct mcp_queue *q)
{
	int64_t at = -1;

	for (size_t i = 0; i < q->count; i++) {
		const struct mcp_request *r = q->requests[i];
		if (!rpc_writer_full(q->writer))
			at = sooner(at, mcp_door_wakes(&r->door));
		if (is_due(r))
			at = sooner(at, r->deadline);
		if (r->token[0] != '\0')
			at = sooner(at, r->progress_at +
						(r->told != r->door.lines ? progress_least_ms : progress_every_ms));
	}
	return at;
}

/* Forget it with what its batch waits for; its door sees that its reader has gone. */
static void drop(struct mcp_queue *q, size_t i)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	struct rpc_batch *batch = take_ptr(&q->requests[i]->batch);

	rpc_batch_leave(NULL, batch, &ignored);
	forget(q, i);
}

void mcp_queue_hang_up(struct mcp_queue *q)
{
	for (size_t i = q->count; i > 0; i--)
		if (q->requests[i - 1]->wants != WANTS_LIST || q->requests[i - 1]->stage == UNWANTED)
			drop(q, i - 1);
}

void mcp_queue_clear(struct mcp_queue *q)
{
	while (q->count > 0)
		drop(q, q->count - 1);
}
