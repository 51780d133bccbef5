/* Questions to the client's person before a call goes to the door. Up to 2025-11-25 they are requests of ours, one
 * after the other; in 2026-07-28 the call is answered with the question, and comes again with the answer. */
#include <stdio.h>
#include <string.h>

#include "json_out.h"
#include "mcp_queue_impl.h"
#include "mcp_result.h"
#include "mcp_state.h"
#include "mcp_tools.h"
#include "mcp_write.h"

/* As long as a list may be kept: what a tool asks changes only with its file. */
static const int64_t asks_ms = 60 * 1000;

void mcp_asking_clear(struct mcp_asking *asking)
{
	jv_free(take_jv(&asking->responses));
	jv_free(take_jv(&asking->asked));
	jv_free(take_jv(&asking->question));
	buf_clear(&asking->state);
	mcp_answers_clear(&asking->answers);
}

void mcp_queue_learn(struct mcp_queue *q, const struct mcp_reply *reply, int64_t now)
{
	jv_free(take_jv(&q->asks));
	q->asks = mcp_list_asks(reply);
	q->asks_until = now + asks_ms;
	q->wants_asks = 0;
}

/* What the client sent is at fault: an error of the protocol. */
static int answer_invalid(struct mcp_queue *q, struct mcp_request *r, const struct sbx_error *why,
			  struct sbx_error *err)
{
	auto_buf text = BUF_INIT(RPC_MESSAGE_MAX);
	struct sbx_error unwritten = SBX_ERROR_INIT;
	int wrote = mcp_write_invalid(r->id, why, &text, &unwritten);

	return mcp_queue_answer(q, r, wrote, &text, &unwritten, err);
}

/* The call is not made, and its result says why. */
static int answer_refused(struct mcp_queue *q, struct mcp_request *r, const struct sbx_error *why,
			  struct sbx_error *err)
{
	auto_buf text = BUF_INIT(RPC_MESSAGE_MAX);
	struct sbx_error unwritten = SBX_ERROR_INIT;
	int wrote = mcp_call_refused(r->version, r->id, r->tool, why, &text, &unwritten);

	return mcp_queue_answer(q, r, wrote, &text, &unwritten, err);
}

/* The person said no, or closed the form: the call is not made, and the model may ask in its own words. */
static int answer_declined(struct mcp_queue *q, struct mcp_request *r, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;

	sbx_fail(&why, SBX_DENIED, "question_declined",
		 "the person did not answer the question that the tool asks first");
	sbx_hint(&why, "ask the person what is missing, and give it as parameters of the call");
	return answer_refused(q, r, &why, err);
}

/* The call's parameters, with what its state holds; -1: "bad_state", or why it cannot be known. */
static int begin(const struct mcp_queue *q, struct mcp_request *r, struct sbx_error *err)
{
	struct mcp_asking *a = &r->asking;
	auto_jv request = jv_invalid();

	if (json_parse(buf_str(&r->json), r->json.len, LIMIT_CALL, &request, err) < 0)
		return -1;
	a->begun = 1;
	a->asked = json_object(request, "params");
	if (a->state.len > 0)
		return mcp_state_open(q->home, r->tool, a->asked, buf_str(&a->state), &a->answers, err);
	a->answers = (struct mcp_answers){.params = jv_copy(a->asked), .done = jv_object()};
	return 0;
}

/* What the door is asked, with the answers in it. */
static int rewrite(struct mcp_request *r, struct sbx_error *err)
{
	auto_jv request = jv_invalid();

	if (json_parse(buf_str(&r->json), r->json.len, LIMIT_CALL, &request, err) < 0)
		return -1;
	request = json_set(take_jv(&request), "params", jv_copy(r->asking.answers.params));
	buf_reset(&r->json);
	return json_write(request, &r->json, err);
}

/* Nothing more is asked of R: the door gets what was answered so far, when that fits into one request. */
static int no_more(struct mcp_queue *q, struct mcp_request *r, enum mcp_may *may, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;

	r->asking.can = 0;
	buf_clear(&r->asking.state);
	*may = MAY_START;
	if (rewrite(r, &why) == 0)
		return 0;
	sbx_wrap(&why, "the call and the answers to its questions");
	sbx_hint(&why, "give less: all parameters together are under 1 MiB");
	*may = WAS_ANSWERED;
	return answer_refused(q, r, &why, err);
}

/* "NAME":{"method":…,"params":…} */
static int write_input_request(const struct mcp_request *r, jv question, struct buf *out, struct sbx_error *err)
{
	if (buf_add_str(out, "{", err) < 0 || json_out_key(out, json_str(question, "name"), err) < 0 ||
	    buf_add_str(out, "{", err) < 0 || json_out_member(out, "method", mcp_ask_method(question), err) < 0 ||
	    json_out_key(out, "params", err) < 0 || mcp_ask_params(r->version, question, out, err) < 0)
		return -1;
	return buf_add_str(out, "}}", err);
}

/* 2026-07-28. 0; 1 when there is no key to keep the answers with, so that nothing can be asked. */
static int answer_with(struct mcp_queue *q, struct mcp_request *r, jv question, struct sbx_error *err)
{
	auto_buf requests = BUF_INIT(RPC_MESSAGE_MAX), state = BUF_INIT(RPC_MESSAGE_MAX),
		 text = BUF_INIT(LIMIT_RPC_LINE);
	struct sbx_error why = SBX_ERROR_INIT;

	if (mcp_state_seal(q->home, r->tool, r->asking.asked, &r->asking.answers, &state, &why) < 0)
		return 1;
	int wrote =
		write_input_request(r, question, &requests, &why) < 0 ||
				mcp_write_input_required(r->id, buf_str(&requests), buf_str(&state), &text, &why) < 0
			? -1
			: 0;
	return mcp_queue_answer(q, r, wrote, &text, &why, err);
}

/* The revisions before. */
static int send(struct mcp_queue *q, struct mcp_request *r, jv question, struct sbx_error *err)
{
	struct mcp_asking *a = &r->asking;
	auto_buf params = BUF_INIT(RPC_MESSAGE_MAX), text = BUF_INIT(RPC_MESSAGE_MAX);
	struct sbx_error why = SBX_ERROR_INIT;

	snprintf(a->question_id, sizeof a->question_id, "\"sbx-ask-%u\"", ++q->questions);
	if (mcp_ask_params(r->version, question, &params, &why) < 0 ||
	    rpc_write_request(&text, a->question_id, mcp_ask_method(question), buf_str(&params), &why) < 0)
		return answer_refused(q, r, &why, err);
	jv_free(a->question);
	a->question = jv_copy(question);
	r->stage = ASKING;
	return rpc_put_line(q->writer, &text, err);
}

/* The response to QUESTION that came with the call; 1 when R was answered because of it, 2 when there is none. */
static int take_own_response(struct mcp_queue *q, struct mcp_request *r, jv question, struct sbx_error *err)
{
	struct mcp_asking *a = &r->asking;
	auto_jv response = json_get(a->responses, json_str(question, "name"));
	struct sbx_error why = SBX_ERROR_INIT;

	if (!jv_is_valid(response))
		return 2;
	switch (mcp_ask_take(question, response, &a->answers)) {
	case MCP_TAKEN:
		return 0;
	case MCP_DECLINED:
		return answer_declined(q, r, err) < 0 ? -1 : 1;
	case MCP_MALFORMED:
		break;
	}
	sbx_fail(&why, SBX_BAD_REQUEST, "bad_request", "a member of inputResponses is no answer to its question");
	return answer_invalid(q, r, &why, err) < 0 ? -1 : 1;
}

static int ask_next(struct mcp_queue *q, struct mcp_request *r, jv asks, enum mcp_may *may, struct sbx_error *err)
{
	for (;;) {
		auto_jv question = mcp_ask_next(asks, &r->asking.answers, r->asking.can);
		if (!jv_is_valid(question))
			return no_more(q, r, may, err);
		int taken = r->version == MCP_2026_07_28 ? take_own_response(q, r, question, err) : 2;
		if (taken < 0)
			return -1;
		if (taken == 0)
			continue;
		*may = WAS_ANSWERED;
		if (taken == 1)
			return 0;
		int asked = r->version == MCP_2026_07_28 ? answer_with(q, r, question, err) : send(q, r, question, err);
		if (asked <= 0)
			return asked;
		r->asking.can = 0; /* and the next turn finds no question */
	}
}

int mcp_queue_ask(struct mcp_queue *q, struct mcp_request *r, enum mcp_may *may, int64_t now, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;

	*may = MAY_START;
	if (r->asking.state.len == 0 && r->asking.can == 0)
		return 0;
	if (!jv_is_valid(q->asks) || now >= q->asks_until) {
		q->wants_asks = 1;
		*may = MUST_WAIT;
		return 0;
	}
	auto_jv asks = json_array(q->asks, r->tool);
	if (!jv_is_valid(asks) && r->asking.state.len == 0) {
		r->asking.can = 0;
		return 0;
	}
	if (r->asking.begun || begin(q, r, &why) == 0)
		return ask_next(q, r, asks, may, err);
	*may = WAS_ANSWERED;
	return strcmp(why.code, "bad_state") == 0 ? answer_invalid(q, r, &why, err) : answer_refused(q, r, &why, err);
}

int mcp_queue_withdraw(struct mcp_queue *q, struct mcp_request *r, struct sbx_error *err)
{
	auto_buf params = BUF_INIT(RPC_MESSAGE_MAX), text = BUF_INIT(RPC_MESSAGE_MAX);

	jv_free(take_jv(&r->asking.question));
	if (buf_addf(&params, err, "{\"requestId\":%s}", r->asking.question_id) < 0 ||
	    rpc_write_request(&text, NULL, "notifications/cancelled", buf_str(&params), err) < 0)
		return -1;
	return rpc_put_line(q->writer, &text, err);
}

static struct mcp_request *find_question(const struct mcp_queue *q, const char *id)
{
	for (size_t i = 0; i < q->count; i++)
		if (q->requests[i]->stage == ASKING && strcmp(q->requests[i]->asking.question_id, id) == 0)
			return q->requests[i];
	return NULL;
}

int mcp_queue_reply(struct mcp_queue *q, const char *id, jv result, struct sbx_error *err)
{
	struct mcp_request *r = find_question(q, id);
	enum mcp_may may;

	if (r == NULL)
		return 0;
	auto_jv question = take_jv(&r->asking.question);
	r->stage = QUEUED;
	switch (jv_is_valid(result) ? mcp_ask_take(question, result, &r->asking.answers) : MCP_MALFORMED) {
	case MCP_TAKEN:
		return 0;
	case MCP_DECLINED:
		return answer_declined(q, r, err);
	case MCP_MALFORMED:
		break;
	}
	/* A client that cannot ask after all: the policy says what is missing. */
	return no_more(q, r, &may, err);
}
