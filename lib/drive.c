/* One loop over five descriptors. */
#include "drive.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include "clock.h"
#include "json_out.h"

static const char event_nonce[] = "00000000000000000000000000000000";
static const int64_t kill_slack_ms = 2000;	 /* sbx-entry needs it to kill, reap and report after the grace */
static const int64_t reader_patience_ms = 30000; /* after the end, for what is still to be written */
enum { EVENT_MAX = 4096, READ_MAX = 65536, OUT_MAX = 6 * FRAME_MAX };

enum phase { RUNNING, STOPPING, KILLED };

struct loop {
	const struct drive *d;
	struct frame_reader reader;
	struct buf pending; /* whole frames that wait for the reader */
	size_t sent;
	enum phase phase;
	int64_t next; /* when something is to be done: deadline, kill, giving up */
	int frames;   /* -1 at its end */
	int control;
	int signals;
	int complete; /* an end or refused came through */
	int status;
};

static int put_event(struct buf *b, const char *event, const char *message, const char *hint, struct sbx_error *err)
{
	if (buf_add_str(b, "{", err) < 0 || json_out_member(b, "event", event, err) < 0 ||
	    json_out_member(b, "message", message, err) < 0 || json_out_member(b, "hint", hint, err) < 0)
		return -1;
	return buf_add_str(b, "}", err);
}

int drive_event(int out, const char *event, const char *message, const char *hint, struct sbx_error *err)
{
	auto_buf json = BUF_INIT(EVENT_MAX);

	if (put_event(&json, event, message, hint, err) < 0)
		return -1;
	return frame_write(out, event_nonce, FRAME_EVENT, 0, json.data, json.len, err);
}

static int queue_event(struct loop *l, const char *event, const char *message, struct sbx_error *err)
{
	auto_buf json = BUF_INIT(EVENT_MAX);

	if (put_event(&json, event, message, NULL, err) < 0)
		return -1;
	return frame_put(&l->pending, event_nonce, FRAME_EVENT, 0, json.data, json.len, err);
}

static int stop(struct loop *l, const char *event, const char *message, struct sbx_error *err)
{
	if (l->phase != RUNNING)
		return 0;
	l->phase = STOPPING;
	base_close_fd(l->d->stop);
	l->next = clock_mono_ms() + l->d->grace_ms + kill_slack_ms;
	return queue_event(l, event, message, err);
}

static int kill_it(struct loop *l, struct sbx_error *err)
{
	if (l->phase == KILLED)
		return 0;
	l->phase = KILLED;
	spawn_signal(l->d->child, SIGKILL);
	l->next = clock_mono_ms() + reader_patience_ms;
	return queue_event(l, "killed", "the sandbox did not stop in time and was killed", err);
}

static int timed_out(struct loop *l, struct sbx_error *err)
{
	switch (l->phase) {
	case RUNNING:
		return stop(l, "deadline", "the time of this run is over", err);
	case STOPPING:
		return kill_it(l, err);
	case KILLED:
		return sbx_fail(err, SBX_IO, "io_error", "the reader of the frames takes nothing");
	}
	return 0;
}

/* Frames that came whole go on whole, so that an event of ours never lands inside one. */
static int copy_frames(struct loop *l, struct sbx_error *err)
{
	static char block[READ_MAX];
	ssize_t n = read(l->frames, block, sizeof block);
	struct frame frame;
	int got;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0) {
		l->frames = -1;
		return 0;
	}
	if (frame_feed(&l->reader, block, (size_t)n, err) < 0)
		return -1;
	while ((got = frame_next(&l->reader, &frame, err)) > 0) {
		if (frame.type == FRAME_EVENT)
			return sbx_fail(err, SBX_PROTOCOL, "bad_frame", "the sandbox sent an event of the driver");
		l->complete = frame.type == FRAME_END || frame.type == FRAME_REFUSED;
		if (frame_put(&l->pending, l->reader.nonce, frame.type, frame.step, frame.payload, frame.len, err) < 0)
			return -1;
	}
	return got;
}

static int send_pending(struct loop *l, struct sbx_error *err)
{
	ssize_t n = write(l->d->out, l->pending.data + l->sent, l->pending.len - l->sent);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot write");
	l->sent += (size_t)n;
	if (l->sent == l->pending.len) {
		buf_reset(&l->pending);
		l->sent = 0;
	}
	if (l->phase == KILLED)
		l->next = clock_mono_ms() + reader_patience_ms;
	return 0;
}

static int heard_signal(struct loop *l, struct sbx_error *err)
{
	struct signalfd_siginfo info;

	if (read(l->signals, &info, sizeof info) != sizeof info)
		return 0;
	return stop(l, "stopped", "the run was stopped by a signal", err);
}

static int reap(struct loop *l)
{
	if (spawn_wait(l->d->child, clock_mono_ms(), &l->status) == 1 && l->phase != KILLED) {
		l->phase = KILLED;
		l->next = clock_mono_ms() + reader_patience_ms;
	}
	return 0;
}

enum { ON_FRAMES, ON_OUT, ON_CONTROL, ON_SIGNALS, ON_CHILD, ON_COUNT };

static int turn(struct loop *l, struct sbx_error *err)
{
	int waiting = l->pending.len > 0;
	struct pollfd fds[ON_COUNT] = {
		/* Two frames and what one read brings always fit behind what waits. */
		[ON_FRAMES] = {.fd = l->pending.len < 2 * FRAME_MAX ? l->frames : -1, .events = POLLIN},
		[ON_OUT] = {.fd = l->d->out, .events = waiting ? POLLOUT : 0},
		[ON_CONTROL] = {.fd = l->phase == RUNNING ? l->control : -1, .events = POLLIN},
		[ON_SIGNALS] = {.fd = l->signals, .events = POLLIN},
		[ON_CHILD] = {.fd = l->d->child->pidfd, .events = POLLIN},
	};
	int n = poll(fds, ON_COUNT, clock_left_ms(l->next));

	if (n < 0)
		return errno == EINTR ? 0 : sbx_fail_errno(err, SBX_OS, "os_error", "cannot wait");
	if (n == 0 || clock_left_ms(l->next) == 0)
		if (timed_out(l, err) < 0)
			return -1;
	if (fds[ON_CONTROL].revents && stop(l, "stopped", "the run was stopped", err) < 0)
		return -1;
	if (fds[ON_SIGNALS].revents && heard_signal(l, err) < 0)
		return -1;
	if (fds[ON_FRAMES].revents && copy_frames(l, err) < 0)
		return -1;
	if (fds[ON_CHILD].revents)
		reap(l);
	if ((fds[ON_OUT].revents & (POLLERR | POLLNVAL)) && !(fds[ON_OUT].revents & POLLOUT))
		return sbx_fail(err, SBX_IO, "io_error", "the reader of the frames has gone");
	return l->pending.len > 0 ? send_pending(l, err) : 0;
}

/* Nobody reads any more: let it stop in its own time, for it may hold a state, and then end it. */
static void wind_down(struct loop *l)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	char block[4096];

	stop(l, "stopped", "", &ignored);
	int64_t until = l->phase == STOPPING ? l->next : clock_mono_ms();
	while (l->frames >= 0 && clock_left_ms(until) > 0) {
		struct pollfd more = {.fd = l->frames, .events = POLLIN};
		if (poll(&more, 1, clock_left_ms(until)) <= 0 || read(l->frames, block, sizeof block) <= 0)
			break;
	}
	if (spawn_wait(l->d->child, until, &l->status) != 1)
		spawn_kill(l->d->child);
}

/* After the last frame nothing of the sandbox is worth waiting for; without it, everything is. */
static int is_over(const struct loop *l)
{
	if (l->pending.len > 0)
		return 0;
	return (l->complete && frame_pending(&l->reader) == 0) || (l->frames < 0 && l->d->child->pid <= 0);
}

static int prepare(struct loop *l, struct sbx_error *err)
{
	struct stat st;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot block signals");
	l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (l->signals < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot wait for signals");
	/* A full pipe must not keep us from the deadline. Files and terminals are left as they are: others share them.
	 */
	if (fstat(l->d->out, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		fcntl(l->d->out, F_SETFL, O_WRONLY | O_NONBLOCK);
	return 0;
}

int drive(const struct drive *d, enum drive_end *end, struct sbx_error *err)
{
	struct loop l = {.d = d,
			 .pending = BUF_INIT(OUT_MAX),
			 .next = d->deadline,
			 .frames = d->frames,
			 .control = d->control,
			 .signals = -1};

	frame_reader_init(&l.reader);
	int result = prepare(&l, err);
	while (result == 0 && !is_over(&l))
		result = turn(&l, err);
	if (result < 0)
		wind_down(&l);
	*end = l.complete && frame_pending(&l.reader) == 0 ? DRIVE_COMPLETE : DRIVE_CUT;
	frame_reader_clear(&l.reader);
	buf_clear(&l.pending);
	base_close_fd(&l.signals);
	return result;
}
