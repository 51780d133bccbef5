/* One turn serves all. */
#include "kube_loop.h"

#include <stdio.h>
#include <sys/signalfd.h>

#include "clock.h"
#include "kube_job.h"
#include "process.h"

enum { QUERY_MAX = 512, TURN_MS = 1000, NOT_FOUND_MAX = 10 };
/* A server that is away is asked again this often. */
static const int64_t again_ms = 500;
/* The log of a container that is about to start is asked for often at first: that is what the caller waits for. */
static const int64_t soon_ms = 20, later_ms = 100, seldom_ms = 500;
static const int64_t soon_for_ms = 4000, later_for_ms = 20000;

/* --- stopping --- */

static void stop(struct kube_loop *l, enum kube_stop why)
{
	static const struct {
		const char *event, *message;
	} told[] = {
		[KUBE_STOPPED] = {"stopped", "the run was stopped"},
		[KUBE_DEADLINE] = {"deadline", "the time of this run is over"},
		[KUBE_UNREAD] = {"stopped", "nobody reads what comes"},
	};
	struct sbx_error ignored = SBX_ERROR_INIT;

	if (l->stop != KUBE_RUNS)
		return;
	l->stop = why;
	relay_tell(&l->relay, told[why].event, told[why].message, &ignored);
}

/* --- the watch --- */

static int begin_watch(struct kube_loop *l, struct sbx_error *err)
{
	auto_buf query = BUF_INIT(QUERY_MAX);

	kube_watch_reset(&l->watch);
	if (kube_add_selector(&query, KUBE_LABEL_CALL, l->call, err) < 0)
		return -1;
	l->watching = kube_watch(l->kube, KUBE_POD, buf_str(&query), kube_watch_feed, &l->watch, err);
	return l->watching != NULL ? 0 : -1;
}

static int serve_watch(struct kube_loop *l, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;

	if (l->watching != NULL && (http_state(l->watching) != HTTP_RUNNING || l->watch.again)) {
		int refused = http_state(l->watching) != HTTP_RUNNING &&
			      kube_read(l->watching, "watch the sandbox", &why) == KUBE_REFUSED;
		if (refused && l->trouble.class == SBX_OK)
			l->trouble = why;
		http_end(take_ptr(&l->watching));
		l->watch_at = clock_mono_ms() + again_ms;
	}
	if (l->watching == NULL && l->watch.owner[0] != '\0' && clock_left_ms(l->watch_at) == 0)
		return begin_watch(l, err);
	return 0;
}

/* --- the log --- */

static int take_log(void *context, const char *bytes, size_t len, struct sbx_error *err)
{
	struct kube_loop *l = context;
	size_t known = len < l->log_skip ? len : (size_t)l->log_skip;

	if (!relay_has_room(&l->relay))
		return HTTP_FULL;
	auto_buf stream = BUF_INIT(2 * RELAY_PIECE);
	l->log_skip -= known;
	l->log_seen += len - known;
	l->log_moved_at = clock_mono_ms();
	if (frame_lines_feed(&l->lines, bytes + known, len - known, &stream, err) < 0)
		return -1;
	return stream.len > 0 ? relay_feed(&l->relay, stream.data, stream.len, err) : 0;
}

static int64_t log_delay(const struct kube_loop *l)
{
	int64_t since = clock_mono_ms() - l->placed_at;

	return since < soon_for_ms ? soon_ms : since < later_for_ms ? later_ms : seldom_ms;
}

/* On a busy node the status of a Pod can be ahead of its log, whose last lines are still on their way to the file. */
static const int64_t log_lag_ms = 4000;

/* The log that was asked for when the container had ended is at its end, and does not hold the last frame. */
static int is_all(const struct kube_loop *l)
{
	enum kube_why why = l->watch.pod.why;

	if (!l->log_last)
		return 0;
	/* One that was killed has no last frame to wait for. */
	return (why != KUBE_WHY_EXITED && why != KUBE_WHY_NONE) || clock_mono_ms() - l->ended_at > log_lag_ms;
}

/* The log came to an end, or did not begin. */
static void read_log_end(struct kube_loop *l)
{
	struct sbx_error why = SBX_ERROR_INIT;

	switch (kube_read(l->log, "read the log of the sandbox", &why)) {
	case KUBE_OK:
		/* Of a container that has ended it is whole; else a connection has ended, and it goes on. */
		l->log_over = is_all(l) || relay_is_whole(&l->relay);
		l->log_at = clock_mono_ms() + later_ms;
		break;
	case KUBE_NOT_FOUND:
		l->log_over = l->watch.pod.gone || is_all(l) || l->not_found++ >= NOT_FOUND_MAX;
		l->log_at = clock_mono_ms() + later_ms;
		break;
	case KUBE_NOT_READY:
		l->log_over = is_all(l);
		l->log_at = clock_mono_ms() + log_delay(l);
		break;
	case KUBE_AGAIN:
	case KUBE_GONE:
	case KUBE_EXISTS:
		/* A kubelet that is not there answers for a container that is not either. */
		l->log_over = l->log_last && l->watch.pod.gone;
		l->log_at = clock_mono_ms() + again_ms;
		break;
	case KUBE_REFUSED:
		l->log_over = 1;
		if (l->trouble.class == SBX_OK)
			l->trouble = why;
	}
}

/* Of a container that has ended nothing more is to be waited for; but a kubelet can forget who follows a log, as when it
 * turns it. Such a stream is asked for anew. */
static int is_stalled(const struct kube_loop *l)
{
	int64_t since = l->ended_at > l->log_moved_at ? l->ended_at : l->log_moved_at;

	return l->log != NULL && l->ended_at != 0 && relay_has_room(&l->relay) && clock_mono_ms() - since > log_lag_ms;
}

static int serve_log(struct kube_loop *l, struct sbx_error *err)
{
	const struct kube_pod *pod = &l->watch.pod;

	if (pod->ended && l->ended_at == 0)
		l->ended_at = clock_mono_ms();
	if (is_stalled(l))
		http_end(take_ptr(&l->log));
	if (l->log != NULL && http_state(l->log) != HTTP_RUNNING) {
		read_log_end(l);
		http_end(take_ptr(&l->log));
	}
	if (pod->placed && l->placed_at == 0)
		l->placed_at = clock_mono_ms();
	if (l->log != NULL && relay_has_room(&l->relay))
		http_resume(l->log);
	if (l->log != NULL || l->log_over || !pod->placed || clock_left_ms(l->log_at) > 0)
		return 0;
	l->log_skip = l->log_seen;
	l->log_last = pod->ended;
	l->log_moved_at = clock_mono_ms();
	l->log = kube_log(l->kube, pod->name, KUBE_CONTAINER, take_log, l, err);
	return l->log != NULL ? 0 : -1;
}

/* --- one turn --- */

/* What is due next, at most TIMEOUT_MS. */
static int wait_ms(const struct kube_loop *l, int timeout_ms)
{
	int64_t next = clock_mono_ms() + (timeout_ms < TURN_MS ? timeout_ms : TURN_MS);

	if (l->stop == KUBE_RUNS && l->deadline < next)
		next = l->deadline;
	if (l->watching == NULL && l->watch.owner[0] != '\0' && l->watch_at < next)
		next = l->watch_at;
	if (l->log == NULL && !l->log_over && l->watch.pod.placed && l->log_at < next)
		next = l->log_at;
	return clock_left_ms(next);
}

static void hear_signal(struct kube_loop *l)
{
	struct signalfd_siginfo info;

	if (read(l->signals, &info, sizeof info) == (ssize_t)sizeof info)
		stop(l, KUBE_STOPPED);
}

static void send_frames(struct kube_loop *l)
{
	struct sbx_error why = SBX_ERROR_INIT;

	if (!relay_is_waiting(&l->relay) || l->stop == KUBE_UNREAD)
		return;
	if (relay_send(&l->relay, &why) == 0)
		return;
	stop(l, KUBE_UNREAD);
	l->stop = KUBE_UNREAD; /* whatever stopped it before: there is nobody to tell */
	if (l->trouble.class == SBX_OK)
		l->trouble = why;
}

enum { ON_SIGNALS, ON_CONTROL, ON_OUT, ON_COUNT };

int kube_loop_turn(struct kube_loop *l, int timeout_ms, struct sbx_error *err)
{
	struct pollfd fds[ON_COUNT] = {[ON_SIGNALS] = {.fd = l->signals, .events = POLLIN}};
	size_t count = 1;
	int with_control = l->control >= 0, with_out = relay_is_waiting(&l->relay) && l->stop != KUBE_UNREAD;

	if (with_control)
		fds[count++] = (struct pollfd){.fd = l->control, .events = POLLIN};
	if (with_out)
		fds[count++] = (struct pollfd){.fd = l->relay.out, .events = POLLOUT};
	if (http_turn(l->kube->http, fds, count, wait_ms(l, timeout_ms), err) < 0)
		return -1;
	if (fds[ON_SIGNALS].revents)
		hear_signal(l);
	if (with_control && fds[ON_CONTROL].revents) {
		l->control = -1;
		stop(l, KUBE_STOPPED);
	}
	if (clock_left_ms(l->deadline) == 0)
		stop(l, KUBE_DEADLINE);
	send_frames(l);
	return serve_watch(l, err) < 0 ? -1 : serve_log(l, err);
}

int kube_loop_await(struct kube_loop *l, struct http_exchange *exchange, int64_t until, struct sbx_error *err)
{
	while (http_state(exchange) == HTTP_RUNNING) {
		if (clock_left_ms(until) == 0)
			return 0;
		if (kube_loop_turn(l, clock_left_ms(until), err) < 0)
			return -1;
	}
	return 1;
}

int kube_loop_pause(struct kube_loop *l, int64_t ms, struct sbx_error *err)
{
	int64_t until = clock_mono_ms() + ms;

	while (clock_left_ms(until) > 0)
		if (kube_loop_turn(l, clock_left_ms(until), err) < 0)
			return -1;
	return 0;
}

int kube_loop_is_to_end(const struct kube_loop *l)
{
	return l->stop != KUBE_RUNS || l->trouble.class != SBX_OK;
}

int kube_loop_flush(struct kube_loop *l, int64_t until, struct sbx_error *err)
{
	while (relay_is_waiting(&l->relay) && l->stop != KUBE_UNREAD && clock_left_ms(until) > 0)
		if (kube_loop_turn(l, clock_left_ms(until), err) < 0)
			return -1;
	return 0;
}

int kube_loop_init(struct kube_loop *l, const struct kube *kube, const char *call, int out, int control,
		   int64_t deadline, struct sbx_error *err)
{
	*l = (struct kube_loop){.kube = kube,
				.lines = FRAME_LINES_INIT,
				.call = call,
				.watch = KUBE_WATCH_INIT,
				.control = control,
				.signals = -1,
				.deadline = deadline};
	relay_init(&l->relay, out);
	l->signals = process_stop_fd(err);
	return l->signals < 0 ? -1 : 0;
}

void kube_loop_own(struct kube_loop *l, const char *uid)
{
	snprintf(l->watch.owner, sizeof l->watch.owner, "%s", uid);
	l->watch_at = clock_mono_ms();
}

void kube_loop_clear(struct kube_loop *l)
{
	http_end(take_ptr(&l->watching));
	http_end(take_ptr(&l->log));
	kube_watch_clear(&l->watch);
	frame_lines_clear(&l->lines);
	relay_clear(&l->relay);
	base_close_fd(&l->signals);
}
