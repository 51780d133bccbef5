/* One loop over six descriptors. */
#include "drive.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "clock.h"
#include "process.h"
#include "relay.h"

static const int64_t kill_slack_ms = 2000;	 /* sbx-entry needs it to kill, reap and report after the grace */
static const int64_t reader_patience_ms = 30000; /* after the end, for what is still to be written */
static const int64_t last_words_ms = 1000;	 /* after the end, for what steps sent out and did not wait for */
/* Connections that are over are told together: a reader that is woken for each one takes time from the next. */
static const int64_t together_ms = 5;

enum phase { RUNNING, STOPPING, KILLED };

struct loop {
	const struct drive *d;
	struct relay relay;
	struct egress_relay *egress; /* NULL: nothing leads out, or no longer */
	int64_t last_words;	     /* when what is still to be sent out is given up; 0: the sandbox is not over */
	int64_t together;	     /* connections alone wait to be told, and do so until then; 0: not so */
	struct sbx_error broken;     /* an event that could not be told */
	enum phase phase;
	int64_t next; /* when something is to be done: deadline, kill, giving up */
	int frames;   /* -1 at its end */
	int control;
	int signals;
	int status;
};

static int stop(struct loop *l, const char *event, const char *message, struct sbx_error *err)
{
	if (l->phase != RUNNING)
		return 0;
	l->phase = STOPPING;
	base_close_fd(l->d->stop);
	l->next = clock_mono_ms() + l->d->grace_ms + kill_slack_ms;
	return relay_tell(&l->relay, event, message, err);
}

static int kill_it(struct loop *l, struct sbx_error *err)
{
	if (l->phase == KILLED)
		return 0;
	l->phase = KILLED;
	spawn_signal(l->d->child, SIGKILL);
	l->next = clock_mono_ms() + reader_patience_ms;
	return relay_tell(&l->relay, "killed", "the sandbox did not stop in time and was killed", err);
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

static int copy_frames(struct loop *l, struct sbx_error *err)
{
	static char block[RELAY_PIECE];
	ssize_t n = read(l->frames, block, sizeof block);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0) {
		l->frames = -1;
		return 0;
	}
	return relay_feed(&l->relay, block, (size_t)n, err);
}

static int send_pending(struct loop *l, struct sbx_error *err)
{
	if (relay_send(&l->relay, err) < 0)
		return -1;
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

static void connection_over(void *context, const struct egress_connection *connection)
{
	struct loop *l = context;

	if (!relay_is_waiting(&l->relay) && l->phase == RUNNING && l->last_words == 0)
		l->together = clock_mono_ms() + together_ms;
	relay_connection(&l->relay, connection, &l->broken);
}

static int start_egress(struct loop *l, struct sbx_error *err)
{
	const struct drive *d = l->d;

	if (d->destination_count == 0)
		return 0;
	l->egress = egress_relay_open(d->destinations, d->listeners, d->destination_count, &d->egress, connection_over, l,
				      err);
	return l->egress != NULL ? 0 : -1;
}

/* The sandbox is over: 1 when all is passed on that it had sent, or that has taken too long, and its connections are closed. */
static int end_egress(struct loop *l)
{
	if (l->egress == NULL)
		return 1;
	if (l->last_words == 0)
		l->last_words = clock_mono_ms() + last_words_ms;
	egress_relay_turn(l->egress);
	if (egress_relay_is_sending(l->egress) && clock_left_ms(l->last_words) > 0)
		return 0;
	egress_relay_close(take_ptr(&l->egress));
	return 1;
}

/* When there is something to do though nothing is heard. */
static int64_t next_wake(const struct loop *l)
{
	int64_t due = egress_relay_due(l->egress);

	if (l->last_words != 0 && l->last_words < due)
		due = l->last_words;
	if (l->together != 0 && l->together < due)
		due = l->together;
	return due < l->next ? due : l->next;
}

/* Something waits for the reader that is not to wait any longer. */
static int has_to_send(struct loop *l)
{
	if (l->together != 0 && (clock_left_ms(l->together) == 0 || !relay_has_room(&l->relay)))
		l->together = 0;
	return relay_is_waiting(&l->relay) && l->together == 0;
}

enum { ON_FRAMES, ON_OUT, ON_CONTROL, ON_SIGNALS, ON_CHILD, ON_EGRESS, ON_COUNT };

static int turn(struct loop *l, struct sbx_error *err)
{
	struct pollfd fds[ON_COUNT] = {
		[ON_FRAMES] = {.fd = relay_has_room(&l->relay) ? l->frames : -1, .events = POLLIN},
		[ON_OUT] = {.fd = l->d->out, .events = has_to_send(l) ? POLLOUT : 0},
		[ON_CONTROL] = {.fd = l->phase == RUNNING ? l->control : -1, .events = POLLIN},
		[ON_SIGNALS] = {.fd = l->signals, .events = POLLIN},
		[ON_CHILD] = {.fd = l->d->child->pidfd, .events = POLLIN},
		[ON_EGRESS] = {.fd = relay_has_room(&l->relay) ? egress_relay_fd(l->egress) : -1, .events = POLLIN},
	};
	int n = poll(fds, ON_COUNT, clock_left_ms(next_wake(l)));

	if (n < 0)
		return errno == EINTR ? 0 : sbx_fail_errno(err, SBX_OS, "os_error", "cannot wait");
	if (clock_left_ms(l->next) == 0 && timed_out(l, err) < 0)
		return -1;
	if (l->egress != NULL && (fds[ON_EGRESS].revents || clock_left_ms(egress_relay_due(l->egress)) == 0))
		egress_relay_turn(l->egress);
	if (l->broken.class != SBX_OK) {
		*err = l->broken;
		return -1;
	}
	if (fds[ON_CONTROL].revents | fds[ON_SIGNALS].revents | fds[ON_FRAMES].revents | fds[ON_CHILD].revents)
		l->together = 0;
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
	return has_to_send(l) ? send_pending(l, err) : 0;
}

/* Nobody reads any more: let it stop in its own time, for it may hold a state, here or far away, and then end it. */
static void wind_down(struct loop *l)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	char block[4096];

	stop(l, "stopped", "", &ignored);
	int64_t until = l->phase == STOPPING ? l->next : clock_mono_ms();
	while (l->frames >= 0 && clock_left_ms(until) > 0) {
		struct pollfd more[] = {{.fd = l->frames, .events = POLLIN},
					{.fd = egress_relay_fd(l->egress), .events = POLLIN}};
		if (poll(more, ARRAY_LEN(more), clock_left_ms(until)) <= 0)
			break;
		if (more[1].revents)
			egress_relay_turn(l->egress);
		if (more[0].revents && read(l->frames, block, sizeof block) <= 0)
			break;
	}
	if (spawn_wait(l->d->child, until, &l->status) != 1)
		spawn_kill(l->d->child);
}

/* After the last frame nothing of the sandbox is worth waiting for; without it, everything is. */
static int is_over(struct loop *l)
{
	if (relay_is_waiting(&l->relay) || !(relay_is_whole(&l->relay) || (l->frames < 0 && l->d->child->pid <= 0)))
		return 0;
	return end_egress(l) && !relay_is_waiting(&l->relay);
}

int drive(const struct drive *d, enum drive_end *end, struct sbx_error *err)
{
	struct loop l = {.d = d,
			 .next = d->deadline,
			 .broken = SBX_ERROR_INIT,
			 .frames = d->frames,
			 .control = d->control,
			 .signals = process_stop_fd(err)};

	relay_init(&l.relay, d->out);
	int result = l.signals < 0 ? -1 : start_egress(&l, err);
	while (result == 0 && !is_over(&l))
		result = turn(&l, err);
	if (result < 0)
		wind_down(&l);
	egress_relay_close(l.egress);
	*end = relay_is_whole(&l.relay) ? DRIVE_COMPLETE : DRIVE_CUT;
	relay_clear(&l.relay);
	base_close_fd(&l.signals);
	return result;
}
