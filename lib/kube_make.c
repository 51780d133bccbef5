/* Creates in flight, and those that wait for another try. */
#include "kube_make.h"

#include "clock.h"

static const int64_t request_ms = 10000;
static const int64_t first_pause_ms = 250; /* doubled with each try */
static const int64_t turn_ms = 1000;
/* AT_ONCE: one call is not to take an API server for itself. */
enum { TRIES = 5, AT_ONCE = 4 };

static int is_answered(const struct kube_making *m)
{
	return http_state(m->running) != HTTP_RUNNING || clock_left_ms(m->until + first_pause_ms) == 0;
}

/* What the answer says: -1 with ERR where it is not worth another try. */
static int hear(struct kube_making *m, int may_repeat, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;
	enum kube_answer got = kube_read(m->running, m->doing, &why);

	if (got == KUBE_OK || got == KUBE_EXISTS) {
		m->answer = take_ptr(&m->running);
		return 0;
	}
	int64_t wanted = http_retry_ms(m->running);
	http_end(take_ptr(&m->running));
	if (got != KUBE_AGAIN || ++m->tries >= TRIES || !may_repeat) {
		if (err->class == SBX_OK)
			*err = why;
		return -1;
	}
	m->why = why;
	m->pause = m->pause == 0 ? first_pause_ms : 2 * m->pause;
	m->at = clock_mono_ms() + (wanted > m->pause ? wanted : m->pause);
	return 0;
}

static int begin(const struct kube_loop *loop, struct kube_making *m, struct sbx_error *err)
{
	m->until = clock_mono_ms() + request_ms;
	m->running = kube_create(loop->kube, m->kind, m->body, m->len, HTTP_MAY_REPEAT, m->until, err);
	return m->running != NULL ? 0 : -1;
}

/* What there is of LIST. */
struct count {
	size_t running, made;
	struct kube_making *due; /* the first that is to be sent now */
	struct kube_making *waiting;
	int64_t next; /* when one that waits is due */
};

static struct count look(struct kube_making *list, size_t count)
{
	struct count c = {.next = clock_mono_ms() + turn_ms};

	for (size_t i = 0; i < count; i++) {
		struct kube_making *m = &list[i];
		c.running += m->running != NULL;
		c.made += m->answer != NULL;
		if (m->running != NULL || m->answer != NULL)
			continue;
		if (c.waiting == NULL || m->why.class != SBX_OK)
			c.waiting = m;
		if (c.due == NULL && clock_left_ms(m->at) == 0)
			c.due = m;
		else if (m->at > 0 && m->at < c.next)
			c.next = m->at;
	}
	return c;
}

int kube_make(struct kube_loop *loop, struct kube_making *list, size_t count, struct sbx_error *err)
{
	int failed = 0;

	for (;;) {
		for (size_t i = 0; i < count; i++)
			if (list[i].running != NULL && is_answered(&list[i]) &&
			    hear(&list[i], !failed && !kube_loop_is_to_end(loop), err) < 0)
				failed = 1;
		struct count c = look(list, count);
		if (c.made == count)
			return 0;
		int is_over = failed || kube_loop_is_to_end(loop);
		if (is_over && c.running == 0) {
			/* Why it was to be sent again is worth more than why it was not. */
			if (err->class == SBX_OK && c.waiting != NULL)
				*err = c.waiting->why.class != SBX_OK ? c.waiting->why : loop->trouble;
			return -1;
		}
		if (!is_over && c.due != NULL && c.running < AT_ONCE) {
			failed = begin(loop, c.due, err) < 0;
			continue;
		}
		if (kube_loop_turn(loop, clock_left_ms(c.next), err) < 0)
			return -1;
	}
}

void kube_make_clear(struct kube_making *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		http_end(take_ptr(&list[i].answer));
		http_end(take_ptr(&list[i].running));
	}
}
