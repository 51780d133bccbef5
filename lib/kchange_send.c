/* Sending. */
#include "kchange_send.h"

#include <poll.h>
#include <string.h>

#include "clock.h"
#include "http_status.h"
#include "kchange_fresh.h"
#include "limit.h"

static const int between_ms = 2000; /* a budget is looked at anew about each second */
enum { LINE_SIZE = 1024 };

struct sending {
	struct kchange_server *server;
	const struct kchange_plan *plan;
	kchange_say *say;
	void *context;
	struct buf *lines;
	struct plan_list refused; /* numbers of evictions that a budget did not allow yet */
	struct sbx_error last;	  /* what the last of these was told; and of one that moved */
	struct sbx_error moved;
};

static int tell(const struct sending *s, const struct kchange_step *step, int status, const char *words,
		struct sbx_error *err)
{
	auto_buf line = BUF_INIT(LINE_SIZE);

	if (buf_addf(&line, err, "%s \"", kchange_request_method(&step->request)) < 0 ||
	    kchange_name_write(&line, &step->name, err) < 0 || buf_addf(&line, err, "\": %d %s", status, words) < 0)
		return -1;
	return s->say(s->context, buf_str(&line), err);
}

/* What was not done to one pod: the others do not wait for that. */
static int note_eviction(struct sending *s, uint32_t number, const struct kchange_step *step,
			 const struct kchange_answer *answer, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;

	if (answer->status == STATUS_NOT_FOUND)
		return tell(s, step, answer->status, "is gone already", err);
	kchange_refused(answer, "evict the pod", &why);
	if (strcmp(why.code, "eviction_refused") == 0) {
		s->last = why;
		return plan_list_add(&s->refused, number, err) < 0 ? -1 : 0;
	}
	if (strcmp(why.code, "object_moved") != 0) {
		*err = why;
		return -1;
	}
	s->moved = why;
	return tell(s, step, answer->status, "is another pod now, and was left", err);
}

/* Is it still there to be changed as was signed? Of an eviction the server sees to that, and nothing else matters. */
static int look(struct sending *s, uint32_t number, struct kchange_step *step, struct sbx_error *err)
{
	if (step->request.form == KCHANGE_EVICTION)
		return 0;
	int moved = kchange_fresh(s->server, s->plan, number, step, s->lines, err);
	return moved <= 0 ? moved
			  : sbx_fail(err, SBX_BAD_REQUEST, "object_moved",
				     "the cluster is not what this change was planned with");
}

/* Once: 1 when the server refused it since the object was written to a moment ago. */
static int send_once(struct sending *s, uint32_t number, struct kchange_step *step, struct sbx_error *err)
{
	auto_kchange_answer answer = KCHANGE_ANSWER_INIT;

	if (look(s, number, step, err) < 0)
		return -1;
	if (kchange_request_send(s->server, &step->request, KCHANGE_FOR_REAL, &answer, err) < 0) {
		if (!answer.is_unknown)
			return -1;
		sbx_error_clear(err);
		sbx_fail(err, SBX_OUTCOME_UNKNOWN, "change_unknown",
			 "no answer says whether the API server has done it");
		return sbx_hint(err, "look at the object; nothing was sent again");
	}
	if (answer.status >= 200 && answer.status < 300)
		return tell(s, step, answer.status, "done", err);
	if (step->request.form == KCHANGE_EVICTION)
		return note_eviction(s, number, step, &answer, err);
	/* Behind a gateway an error may stand for a request that goes on. */
	if (answer.status >= 500) {
		sbx_fail(err, SBX_OUTCOME_UNKNOWN, "change_unknown", "the API server answered with %d", answer.status);
		return sbx_hint(err, "look at the object; nothing was sent again");
	}
	kchange_refused(&answer, "make the change", err);
	return answer.status == STATUS_CONFLICT && step->is_live && strcmp(err->code, "object_moved") == 0 ? 1 : -1;
}

static int send_step(struct sending *s, uint32_t number, struct kchange_step *step, struct sbx_error *err)
{
	int met = send_once(s, number, step, err);

	for (int tries = 1; met == 1 && tries < LIMIT_CHANGE_TRIES; tries++) {
		sbx_error_clear(err);
		met = send_once(s, number, step, err);
	}
	return met == 0 ? 0 : -1;
}

static int send_number(struct sending *s, uint32_t number, struct kchange_step *step, struct sbx_error *err)
{
	int more = kchange_plan_step(s->plan, number, step, err);

	if (more != 1 || !step->has_request)
		return more;
	return send_step(s, number, step, err) < 0 ? -1 : 1;
}

/* Those that a budget did not allow, until it does; an eviction that was refused was not done. */
static int send_refused(struct sending *s, struct kchange_step *step, struct sbx_error *err)
{
	int64_t deadline = clock_mono_ms() + LIMIT_EVICTIONS_MS;

	while (s->refused.count > 0 && clock_left_ms(deadline) > between_ms) {
		struct plan_list again = s->refused;
		int result = 0;
		s->refused = (struct plan_list){.items = NULL};
		poll(NULL, 0, between_ms);
		for (size_t i = 0; i < again.count && result >= 0; i++)
			result = send_number(s, (uint32_t)again.items[i], step, err);
		plan_list_clear(&again);
		if (result < 0)
			return -1;
	}
	return 0;
}

int kchange_send(struct kchange_server *server, const struct kchange_plan *plan, kchange_say *say, void *context,
		 struct buf *lines, struct sbx_error *err)
{
	struct sending s = {.server = server, .plan = plan, .say = say, .context = context, .lines = lines};
	struct kchange_step step;
	int result = kchange_plan_is_for(plan, server, err);

	kchange_step_init(&step);
	for (uint32_t i = 0, more = 1; result == 0 && more; i++) {
		int sent = send_number(&s, i, &step, err);
		more = sent == 1;
		result = sent < 0 ? -1 : 0;
	}
	if (result == 0)
		result = send_refused(&s, &step, err);
	if (result == 0 && s.moved.class != SBX_OK)
		*err = s.moved;
	else if (result == 0 && s.refused.count > 0)
		*err = s.last;
	plan_list_clear(&s.refused);
	kchange_step_clear(&step);
	return err->class == SBX_OK ? 0 : -1;
}
