/* How requests end: with what their door said, without it, or not at all. */
#include <string.h>

#include "io.h"
#include "json.h"
#include "mcp_queue_impl.h"
#include "mcp_reply.h"
#include "mcp_result.h"
#include "mcp_tools.h"

/* Each call is six processes; more at once only slows all of them. */
static const size_t calls_at_once = 16;
/* So many calls that the door took make it worth to try one more at once. */
static const unsigned calls_before_more = 64;
/* A call that found no room so often gives up: every time stands in the record. */
static const unsigned crowded_most = 32;
/* The first pause when none of ours has to end first; each further one is twice as long, up to 4 s. */
static const int64_t crowded_pause_ms = 250;

int mcp_queue_settle(struct mcp_queue *q, struct mcp_request *r, struct sbx_error *err)
{
	struct rpc_batch *batch = take_ptr(&r->batch);

	r->stage = UNWANTED;
	r->token[0] = '\0';
	buf_clear(&r->json);
	return rpc_batch_leave(q->writer, batch, err);
}

int mcp_queue_answer(struct mcp_queue *q, struct mcp_request *r, int wrote, struct buf *text,
		     const struct sbx_error *why, struct sbx_error *err)
{
	if (wrote < 0) {
		buf_reset(text);
		if (rpc_write_error(text, r->id, RPC_INTERNAL_ERROR, why->message, jv_invalid(), err) < 0)
			return -1;
	}
	return rpc_deliver(q->writer, r->batch, text, err) < 0 ? -1 : mcp_queue_settle(q, r, err);
}

void mcp_queue_too_many(struct sbx_error *why)
{
	sbx_fail(why, SBX_UNAVAILABLE, "too_many_calls", "too many other calls are in the way");
	sbx_hint(why, "wait for them, then make it again");
}

/* REPLY counts for the lists that wait for it; what a door says when all have been answered is for nobody. */
static int answer_lists(struct mcp_queue *q, const struct mcp_reply *reply, int64_t now, struct sbx_error *err)
{
	int learned = 0;

	for (size_t i = 0; i < q->count; i++) {
		struct mcp_request *r = q->requests[i];
		auto_buf text = BUF_INIT(LIMIT_RPC_LINE);
		struct sbx_error why = SBX_ERROR_INIT;
		if (r->wants != WANTS_LIST || r->stage == UNWANTED)
			continue;
		if (!learned)
			mcp_queue_learn(q, reply, now);
		learned = 1;
		if (r->id[0] == '\0') {
			r->stage = UNWANTED; /* our own */
			continue;
		}
		int wrote = mcp_list_result(r->version, r->id, reply, &text, &why);
		if (mcp_queue_answer(q, r, wrote, &text, &why, err) < 0)
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
	int wrote = r->wants == WANTS_RESULT ? mcp_kept_result(r->version, r->id, reply, &text, &why)
					     : mcp_call_result(r->version, r->id, reply, &text, &why);
	return mcp_queue_answer(q, r, wrote, &text, &why, err);
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

static int has_whole_list(const struct mcp_request *r)
{
	static const char head[] = "{\"tools\":";
	const struct buf *text = &r->door.answer;

	return r->wants == WANTS_LIST && r->stage == RUNNING && !r->door.overflow && text->len > sizeof head &&
	       text->data[text->len - 1] == '\n' && memcmp(text->data, head, sizeof head - 1) == 0;
}

int mcp_queue_early(struct mcp_queue *q, struct mcp_request *r, int64_t now, struct sbx_error *err)
{
	if (!has_whole_list(r))
		return 0;
	const struct mcp_reply reply = reply_of(r, "");
	int failed = answer_lists(q, &reply, now, err);

	r->stage = UNWANTED;
	return failed;
}

size_t mcp_queue_limit(const struct mcp_queue *q)
{
	return q->calls_limit > 0 ? q->calls_limit : calls_at_once;
}

int mcp_queue_counts(const struct mcp_request *r)
{
	return r->stage == RUNNING && r->wants != WANTS_LIST;
}

/* 1 when the toolkit had no room for the call: nothing was minted and nothing ran, so it can be made again. */
static int is_crowded(const struct mcp_request *r)
{
	static const char mark[] = "\"too_many_calls\"";
	const struct mcp_reply reply = reply_of(r, "");
	auto_jv object = jv_invalid();

	if (r->wants != WANTS_CALL || r->stage != RUNNING || reply.text == NULL ||
	    memmem(reply.text, reply.len, mark, sizeof mark - 1) == NULL || mcp_reply_parse(&reply, &object) != NULL)
		return 0;
	auto_jv error = json_object(object, "error");
	const char *code = json_str(error, "code"), *stage = json_str(error, "stage");
	return code != NULL && strcmp(code, "too_many_calls") == 0 && stage != NULL &&
	       (strcmp(stage, "cred") == 0 || strcmp(stage, "policy") == 0);
}

/* Learn from a call that found room. */
static void found_room(struct mcp_queue *q)
{
	if (q->calls_limit > 0 && q->calls_limit < calls_at_once && ++q->calls_good % calls_before_more == 0)
		q->calls_limit++;
}

/* Put R back in the line when it found no room: it goes again when one of those that count against the limit has ended,
 * or, when none has to, a while later: calls that nobody waits for any more may hold the room, or other processes. */
static int wait_for_room(struct mcp_queue *q, struct mcp_request *r, int64_t now)
{
	size_t running = 0, holding = 0, limit = mcp_queue_limit(q);

	if (!is_crowded(r)) {
		if (r->wants == WANTS_CALL)
			found_room(q);
		return 0;
	}
	if (r->crowded >= crowded_most)
		return 0;
	for (size_t i = 0; i < q->count; i++) {
		const struct mcp_request *other = q->requests[i];
		running += other != r && mcp_queue_counts(other);
		holding += other != r && other->wants == WANTS_CALL && mcp_door_there(&other->door);
	}
	limit = holding < limit ? holding : limit;
	q->calls_limit = limit > 0 ? limit : 1;
	q->calls_good = 0;
	r->not_before = running >= q->calls_limit ? 0 : now + (crowded_pause_ms << (r->crowded < 4 ? r->crowded : 4));
	r->crowded++;
	mcp_door_clear(&r->door);
	r->told = 0;
	r->stage = QUEUED;
	return 1;
}

int mcp_queue_finish(struct mcp_queue *q, struct mcp_request *r, int64_t now, struct sbx_error *err)
{
	char fence[17];

	if (wait_for_room(q, r, now))
		return 0;
	io_random_hex(fence, 8);
	const struct mcp_reply reply = reply_of(r, fence);
	int failed = r->wants == WANTS_LIST ? answer_lists(q, &reply, now, err) : answer_call(q, r, &reply, err);
	mcp_door_clear(&r->door);
	r->stage = UNWANTED;
	return failed;
}

int mcp_queue_give_up(struct mcp_queue *q, struct mcp_request *r, const struct sbx_error *why, int64_t now,
		      struct sbx_error *err)
{
	auto_buf text = BUF_INIT(RPC_MESSAGE_MAX);

	if (r->wants == WANTS_LIST) {
		const struct mcp_reply reply = {
			.text = "", .status = (int)why->class, .last_line = why->message, .fence = ""};
		return answer_lists(q, &reply, now, err);
	}
	struct sbx_error ignored = SBX_ERROR_INIT;
	int wrote = mcp_call_refused(r->version, r->id, r->tool, why, &text, &ignored);
	return mcp_queue_answer(q, r, wrote, &text, &ignored, err);
}

int mcp_queue_overdue(struct mcp_queue *q, struct mcp_request *r, int64_t now, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(RPC_MESSAGE_MAX);
	struct sbx_error why = SBX_ERROR_INIT;

	if (r->wants != WANTS_CALL) {
		mcp_door_kill(&r->door);
		if (r->stage == UNWANTED)
			return 0;
		sbx_fail(&why, SBX_UNAVAILABLE, "timeout", "it did not answer in time");
		return mcp_queue_give_up(q, r, &why, now, err);
	}
	if (r->stage == ASKING) {
		if (mcp_queue_withdraw(q, r, err) < 0)
			return -1;
		sbx_fail(&why, SBX_UNAVAILABLE, "question_open",
			 "nobody answered the question that the tool asks first");
		sbx_hint(&why, "ask the person what is missing, and give it as parameters of the call");
		return mcp_queue_give_up(q, r, &why, now, err);
	}
	if (r->stage == QUEUED) {
		mcp_queue_too_many(&why);
		return mcp_queue_give_up(q, r, &why, now, err);
	}
	int wrote = mcp_call_running(r->version, r->id, r->tool, r->door.call_id, r->door.last_line, &text, &why);
	return mcp_queue_answer(q, r, wrote, &text, &why, err);
}
