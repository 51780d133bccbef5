/* A step's program. Its output travels on pipes of its own, so it cannot write a frame; when its first process has ended,
 * everything else is killed before anybody looks at what it left. */
#include "entry_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "clock.h"
#include "entry_fence.h"
#include "entry_keep.h"
#include "io.h"
#include "limit.h"
#include "spawn.h"

enum { FIRST_SLOT_FD = 3, MAX_SLOTS = 12, CANNOT_START = 127 };

/* --- output --- */

/* What an analysing step prints goes to sbx-plan, not to people: the JSON form of a plan is some 200 times the plan. */
static uint64_t output_limit(const struct running *r, enum stream stream)
{
	const struct step *step = &r->run->table->steps[r->number - 1];

	if (step->flags & STEP_CHECK && stream == STREAM_OUT)
		return 0;
	if (!(step->flags & STEP_ANALYSE) || stream != STREAM_OUT)
		return r->run->table->output_max;
	return r->run->way_back > 0 && r->run->way_back < LIMIT_PLAN_JSON ? r->run->way_back : LIMIT_PLAN_JSON;
}

static int hear(struct buf *heard, const char *bytes, size_t len, struct sbx_error *err)
{
	size_t room = heard->max - heard->len;

	return buf_add(heard, bytes, len < room ? len : room, err);
}

/* 0 at the end of the stream or when nothing is there. */
static int copy_output(struct running *r, enum stream stream, struct sbx_error *err)
{
	static char block[FRAME_MAX];
	struct pipe_end *end = &r->streams[stream];
	ssize_t n = read(end->fd, block, sizeof block);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		base_close_fd(&end->fd);
		return 0;
	}
	if (stream == STREAM_OUT && r->state.fd >= 0)
		return entry_state_add(&r->state, block, (size_t)n, err) < 0 ? -1 : 1;
	if (stream == STREAM_ERR && r->heard != NULL)
		return hear(r->heard, block, (size_t)n, err) < 0 ? -1 : 1;
	uint64_t room = output_limit(r, stream) - end->sent;
	size_t kept = (uint64_t)n < room ? (size_t)n : (size_t)room;
	end->sent += kept;
	end->dropped += (uint64_t)n - kept;
	if (kept > 0 && frame_write(r->run->frames_fd, r->run->nonce, stream == STREAM_OUT ? FRAME_OUT : FRAME_ERR,
				    r->number, block, kept, err) < 0)
		return -1;
	return 1;
}

/* Everybody who could write is dead; but a descriptor in flight in a socket keeps a pipe open, so its end is not waited
 * for. */
static int drain(struct running *r, struct sbx_error *err)
{
	for (int stream = 0; stream < STREAMS; stream++) {
		int more = 1;
		while (more > 0 && r->streams[stream].fd >= 0)
			more = copy_output(r, (enum stream)stream, err);
		base_close_fd(&r->streams[stream].fd);
		if (more < 0)
			return -1;
	}
	return 0;
}

/* --- processes --- */

static void note_end(struct running *r, pid_t pid, int status)
{
	if (pid != r->pid)
		return;
	r->pid = 0;
	r->status = status;
}

/* Orphans come to us, too: reaped at once, for a zombie counts against the limit of processes. */
static void reap_ended(struct running *r)
{
	struct signalfd_siginfo info;
	pid_t pid;
	int status;

	while (read(r->run->signal_fd, &info, sizeof info) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		note_end(r, pid, status);
}

/* Kill everything else in the sandbox and wait until it is gone; the driver's deadline stands over it. A fork that is
 * under way fails, since its process has a signal pending, so this ends. */
static void be_alone(struct running *r)
{
	int nobody = 0;

	if (getpid() != 1)
		abort(); /* outside a pid namespace of its own this would kill the machine */
	while (!nobody) {
		nobody = kill(-1, SIGKILL) < 0 && errno == ESRCH;
		for (;;) {
			int status;
			pid_t pid = waitpid(-1, &status, 0);
			if (pid < 0 && errno != EINTR)
				break;
			note_end(r, pid, status);
		}
	}
}

int entry_stop_wanted(struct entry_run *run)
{
	struct pollfd control = {.fd = run->control_fd, .events = POLLIN};

	if (run->control_fd >= 0 && poll(&control, 1, 0) > 0) {
		base_close_fd(&run->control_fd);
		run->stopped = 1;
	}
	return run->stopped;
}

static void begin_stop(struct running *r)
{
	base_close_fd(&r->run->control_fd);
	r->run->stopped = 1;
	r->kill_at = clock_mono_ms() + (int64_t)r->run->table->grace_ms;
	if (r->pid > 0)
		kill(r->pid, SIGINT);
}

static int watch(struct running *r, struct sbx_error *err)
{
	while (r->pid > 0) {
		struct pollfd fds[] = {
			{.fd = r->streams[STREAM_OUT].fd, .events = POLLIN},
			{.fd = r->streams[STREAM_ERR].fd, .events = POLLIN},
			{.fd = r->run->signal_fd, .events = POLLIN},
			{.fd = r->run->control_fd, .events = POLLIN},
		};
		int n = poll(fds, ARRAY_LEN(fds), r->kill_at < 0 ? -1 : clock_left_ms(r->kill_at));
		if (n < 0 && errno != EINTR)
			return sbx_fail_errno(err, SBX_OS, "os_error", "cannot wait");
		/* The grace is over, however much it writes; be_alone kills. */
		if (r->kill_at >= 0 && clock_left_ms(r->kill_at) == 0)
			return 0;
		if (n <= 0)
			continue;
		for (int stream = 0; stream < STREAMS; stream++)
			if (fds[stream].revents && copy_output(r, (enum stream)stream, err) < 0)
				return -1;
		if (fds[2].revents)
			reap_ended(r);
		if (fds[3].revents)
			begin_stop(r);
	}
	return 0;
}

/* --- starting --- */

struct command {
	const char *argv[ENTRY_FENCE_WORDS + LIMIT_ARGV + 1];
	size_t first; /* where the program's own begin */
	char slots[MAX_SLOTS][sizeof "/proc/self/fd/4294967295"];
	struct spawn_fd fds[2 + MAX_SLOTS];
	size_t fd_count;
};

/* argv with each artefact as /proc/self/fd/N of its sealed memory; the program gets no other descriptor. */
static int build_command(struct running *r, const struct step *step, struct command *c)
{
	size_t slots = 0;

	for (uint32_t i = 0; i < step->argc; i++) {
		if (step->argv[i].kind == SLOT_TEXT) {
			c->argv[c->first + i] = step->argv[i].text;
			continue;
		}
		if (step->argv[i].kind == SLOT_LOCK) {
			if (r->lock == NULL)
				return -1;
			c->argv[c->first + i] = r->lock;
			continue;
		}
		const struct artifact *artifact = entry_artifact(&r->run->artifacts, step->argv[i].text);
		if (artifact == NULL || slots == MAX_SLOTS)
			return -1;
		int number = FIRST_SLOT_FD + (int)slots;
		snprintf(c->slots[slots], sizeof c->slots[slots], "/proc/self/fd/%u", (unsigned)number);
		c->argv[c->first + i] = c->slots[slots++];
		c->fds[c->fd_count++] = (struct spawn_fd){number, artifact->fd};
	}
	c->argv[c->first + step->argc] = NULL;
	return 0;
}

/* What is between the step and its program; NULL: nothing needs to be. */
static const char *fence_of(const struct entry_run *run, const struct step *step)
{
	int analyses = (step->flags & STEP_ANALYSE) != 0;

	if (run->covered != NULL)
		return analyses ? ENTRY_FENCE_NO_NETWORK : ENTRY_FENCE_NETWORK;
	return run->relayed && analyses ? ENTRY_FENCE_NO_SOCKETS : NULL;
}

/* Through the fence, where there is something to keep from the step. A program that is not there is told as it is without
 * one. */
static int put_fence(const struct entry_run *run, const struct step *step, struct command *c, struct sbx_error *err)
{
	const char *fence = fence_of(run, step), *covered = run->covered != NULL ? run->covered : "-";
	const char *const words[ENTRY_FENCE_WORDS] = {"sbx-entry", ENTRY_FENCE, covered, fence, step->program};

	if (fence == NULL)
		return 0;
	if (access(step->program, X_OK) < 0)
		return sbx_fail_errno(err, SBX_OS, "cannot_start", "cannot start %s", step->program);
	memcpy(c->argv, words, sizeof words);
	c->first = ENTRY_FENCE_WORDS;
	return 0;
}

/* A pipe; but what is judged comes over a socket. A child of the step, such as a provider that terraform starts, can open its parent's pipe anew by
 * /proc/PID/fd/1 and put its own words there, or swallow the true ones. A socket cannot be opened that way. */
static int make_stream(const struct running *r, const struct step *step, enum stream stream, int ends[2], struct sbx_error *err)
{
	int is_judged = stream == STREAM_OUT ? (step->flags & (STEP_ANALYSE | STEP_SEALS_STATE)) != 0 : r->heard != NULL;
	int made = is_judged ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) : pipe2(ends, O_CLOEXEC);

	if (made < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
		return sbx_fail_errno(err, SBX_OS, "cannot_start", "cannot make a pipe");
	return 0;
}

static int start_program(struct running *r, const struct step *step, struct sbx_error *err)
{
	struct command c = {.fd_count = 0};
	struct child child = CHILD_NONE;
	int ends[STREAMS][2] = {{-1, -1}, {-1, -1}};

	for (int stream = 0; stream < STREAMS; stream++) {
		if (make_stream(r, step, (enum stream)stream, ends[stream], err) < 0)
			return -1;
		r->streams[stream].fd = ends[stream][0];
		c.fds[c.fd_count++] =
			(struct spawn_fd){stream == STREAM_OUT ? STDOUT_FILENO : STDERR_FILENO, ends[stream][1]};
	}
	struct spawn what = {.path = fence_of(r->run, step) != NULL ? SANDBOX_ENTRY : step->program,
			     .argv = c.argv,
			     .envp = r->run->envp,
			     .flags = SPAWN_GROUP};
	int result = put_fence(r->run, step, &c, err) < 0 ? -1 : build_command(r, step, &c);
	what.fds = c.fds;
	what.fd_count = c.fd_count;
	if (result < 0)
		sbx_fail(err, SBX_PROTOCOL, "cannot_start", "a step wants an artefact or a lock that it cannot have");
	else
		result = spawn_start(&what, &child, err);
	base_close_fd(&ends[STREAM_OUT][1]);
	base_close_fd(&ends[STREAM_ERR][1]);
	if (result < 0)
		return -1;
	r->pid = child.pid;
	base_close_fd(&child.pidfd); /* SIGCHLD tells of all of them */
	return 0;
}

/* --- the whole --- */

/* It did not run: what a shell says for that, and why, as if it had said so itself. */
static int say_not_started(struct running *r, const struct sbx_error *why, struct sbx_error *err)
{
	char text[sizeof why->message + 16];
	int len = snprintf(text, sizeof text, "sbx-entry: %s\n", why->message);

	r->status = CANNOT_START << 8;
	r->failed = "cannot_start";
	if (r->heard != NULL)
		return 0;
	return frame_write(r->run->frames_fd, r->run->nonce, FRAME_ERR, r->number, text, (size_t)len, err);
}

int entry_program_run(struct running *r, const struct step *step, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;
	int with_credentials = (step->flags & STEP_CREDENTIALS) && r->run->credentials != NULL;

	if (entry_keep_begin(step->flags, r->run->cwd_fd, &why) < 0 ||
	    ((step->flags & STEP_SEALS_STATE) && entry_state_begin(&r->state, &why) < 0) ||
	    (with_credentials && entry_write_credentials(r->run->credentials, &why) < 0) ||
	    start_program(r, step, &why) < 0) {
		entry_remove_credentials();
		return say_not_started(r, &why, err);
	}
	int result = watch(r, err);
	be_alone(r);
	if (with_credentials)
		entry_remove_credentials();
	if (result < 0 || drain(r, err) < 0)
		return -1;
	if (r->status == 0 && r->state.fd >= 0 && entry_state_judge(&r->state, r->run->table, &r->found) < 0)
		r->failed = r->found.code;
	return 0;
}

void entry_program_clear(struct running *r)
{
	for (int stream = 0; stream < STREAMS; stream++)
		base_close_fd(&r->streams[stream].fd);
	entry_state_clear(&r->state);
}
