/* Requests and their doors. */
#include "mcp_queue_impl.h"

#include <string.h>

#include "mcp_result.h"
#include "mcp_write.h"

/* A list is read, not run: a door that takes longer is stuck. */
static const int64_t list_deadline_ms = 20 * 1000;
/* Clients that extend their time-out on progress do it for at least this often; and a chatty tool must not flood them.
 */
static const int64_t progress_every_ms = 10 * 1000, progress_least_ms = 200;

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
	mcp_asking_clear(&r->asking);
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

static int refuse_busy(struct mcp_queue *q, const struct mcp_step *step, struct rpc_batch *batch, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(RPC_MESSAGE_MAX);
	struct sbx_error why = SBX_ERROR_INIT;
	int failed;

	mcp_queue_too_many(&why);
	if (step->verb != MCP_LIST)
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

static struct mcp_request *new_request(struct mcp_queue *q, enum mcp_wants wants, int64_t now, struct sbx_error *err)
{
	struct mcp_request *r = calloc(1, sizeof *r);

	if (r == NULL) {
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		return NULL;
	}
	r->wants = wants;
	r->asking = (struct mcp_asking){.responses = jv_invalid(),
					.state = BUF_INIT(0),
					.asked = jv_invalid(),
					.answers = MCP_ANSWERS_NONE,
					.question = jv_invalid()};
	r->door = (struct mcp_door)MCP_DOOR_NONE;
	r->deadline = now + (wants == WANTS_CALL ? q->deadline_ms : list_deadline_ms);
	q->requests[q->count++] = r;
	return r;
}

int mcp_queue_add(struct mcp_queue *q, struct mcp_step *step, struct rpc_batch *batch, int64_t now,
		  struct sbx_error *err)
{
	enum mcp_wants wants = step->verb == MCP_LIST ? WANTS_LIST : step->verb == MCP_CALL ? WANTS_CALL : WANTS_RESULT;

	/* One place is left for the list that the queue itself may want. */
	if (unanswered(q) >= MCP_QUEUE_REQUESTS || q->count + 1 >= ARRAY_LEN(q->requests))
		return refuse_busy(q, step, batch, err);
	struct mcp_request *r = new_request(q, wants, now, err);
	if (r == NULL)
		return -1;
	r->version = step->version;
	memcpy(r->id, step->id, sizeof r->id);
	memcpy(r->token, step->token, sizeof r->token);
	memcpy(r->tool, step->tool, sizeof r->tool);
	r->json = step->text;
	step->text = (struct buf)BUF_INIT(0);
	r->asking.state = step->state;
	step->state = (struct buf)BUF_INIT(0);
	r->asking.responses = take_jv(&step->reply);
	r->asking.can = wants == WANTS_CALL ? step->can : 0;
	r->batch = batch;
	rpc_batch_join(batch);
	return tell_progress(q, r, "accepted", now, err);
}

int mcp_queue_cancel(struct mcp_queue *q, const char *id, struct sbx_error *err)
{
	struct mcp_request *r = find(q, id);

	if (r == NULL)
		return 0;
	if (r->wants == WANTS_CALL && mcp_door_there(&r->door))
		mcp_door_cancel(&r->door);
	if (r->stage == ASKING && mcp_queue_withdraw(q, r, err) < 0)
		return -1;
	return mcp_queue_settle(q, r, err);
}

static int start(struct mcp_queue *q, struct mcp_request *r, int64_t now, struct sbx_error *err)
{
	static const char *const words[] = {[WANTS_LIST] = "tools", [WANTS_CALL] = "call", [WANTS_RESULT] = "result"};
	struct sbx_error why = SBX_ERROR_INIT;
	int started =
		mcp_door_start(&r->door, q->door, words[r->wants], r->wants == WANTS_LIST ? NULL : &r->json, &why);

	if (started < 0)
		return mcp_queue_give_up(q, r, &why, now, err);
	r->stage = RUNNING;
	return 0;
}

/* How many doors there are, and of which kind. */
struct busy {
	size_t doors, calls, lists;
};

static struct busy count_busy(const struct mcp_queue *q)
{
	struct busy busy = {0};

	for (size_t i = 0; i < q->count; i++) {
		const struct mcp_request *r = q->requests[i];
		size_t there = (size_t)mcp_door_there(&r->door);
		busy.doors += there;
		busy.calls += (size_t)mcp_queue_counts(r);
		busy.lists += r->wants == WANTS_LIST ? there : 0;
	}
	return busy;
}

/* Start R, which is queued, if it may. */
static int start_one(struct mcp_queue *q, struct mcp_request *r, struct busy *busy, int64_t now, struct sbx_error *err)
{
	enum mcp_may may = MAY_START;

	if (now < r->not_before)
		return 0;
	r->not_before = 0;
	if (r->wants == WANTS_LIST ? busy->lists > 0 : busy->calls >= mcp_queue_limit(q))
		return 0;
	if (r->wants == WANTS_CALL && mcp_queue_ask(q, r, &may, now, err) < 0)
		return -1;
	if (may != MAY_START)
		return 0;
	if (start(q, r, now, err) < 0)
		return -1;
	if (r->stage != RUNNING)
		return 0;
	busy->doors++;
	busy->calls += r->wants != WANTS_LIST;
	busy->lists += r->wants == WANTS_LIST;
	return 0;
}

/* A call that may have to ask wants the list first; one is enough for all, whoever asked for it. */
static int want_list(struct mcp_queue *q, int64_t now, struct sbx_error *err)
{
	q->wants_asks = 0;
	for (size_t i = 0; i < q->count; i++)
		if (q->requests[i]->wants == WANTS_LIST && q->requests[i]->stage != UNWANTED)
			return 0;
	if (q->count >= ARRAY_LEN(q->requests))
		return 0;
	return new_request(q, WANTS_LIST, now, err) == NULL ? -1 : 0;
}

int mcp_queue_start(struct mcp_queue *q, int64_t now, struct sbx_error *err)
{
	struct busy busy = count_busy(q);

	for (size_t i = 0; i < q->count && busy.doors < MCP_QUEUE_DOORS; i++) {
		if (q->requests[i]->stage == QUEUED && start_one(q, q->requests[i], &busy, now, err) < 0)
			return -1;
		if (q->wants_asks && want_list(q, now, err) < 0)
			return -1;
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

/* Whether its deadline means something: for a call while it is unanswered, else while its door may be stuck too. */
static int is_due(const struct mcp_request *r)
{
	return r->stage != UNWANTED || (r->wants != WANTS_CALL && mcp_door_there(&r->door));
}

static int tick_progress(struct mcp_queue *q, struct mcp_request *r, int64_t now, struct sbx_error *err)
{
	int fresh = r->told != r->door.lines;
	const char *message = r->door.lines > 0	   ? r->door.last_line
			      : r->stage == ASKING ? "waiting for the person's answer"
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
		if (!rpc_writer_full(q->writer) && mcp_queue_early(q, r, now, err) < 0)
			return -1;
		if (mcp_door_there(&r->door) && !rpc_writer_full(q->writer) && mcp_door_done(&r->door, now) &&
		    mcp_queue_finish(q, r, now, err) < 0)
			return -1;
		if (is_due(r) && now >= r->deadline && mcp_queue_overdue(q, r, now, err) < 0)
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
		if (r->stage == QUEUED && r->not_before > 0)
			at = sooner(at, r->not_before);
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
	jv_free(take_jv(&q->asks));
}
