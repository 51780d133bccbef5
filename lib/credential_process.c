/* The poll loop around one child. */
#include "credential_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "clock.h"
#include "limit.h"

enum { MORE_FDS = 8, BLOCK = 16384, LAST_BLOCKS = 64 /* a pipe of 1 MiB, the largest that an account may have */ };

static int make_pipes(int to_child[2], int from_child[2], int hidden[2], const struct credential_process *p,
		      struct sbx_error *err)
{
	if (pipe2(to_child, O_CLOEXEC) < 0 || pipe2(from_child, O_CLOEXEC) < 0 ||
	    (p->secret != NULL && pipe2(hidden, O_CLOEXEC) < 0))
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot make a pipe");
	/* Our ends alone: a child must not find its own descriptors non-blocking. */
	if (fcntl(to_child[1], F_SETFL, O_NONBLOCK) < 0 || fcntl(from_child[0], F_SETFL, O_NONBLOCK) < 0 ||
	    (p->secret != NULL && fcntl(hidden[0], F_SETFL, O_NONBLOCK) < 0))
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot set up a pipe");
	return 0;
}

int credential_process_start(struct credential_process *p, struct sbx_error *err)
{
	int to_child[2] = {-1, -1}, from_child[2] = {-1, -1}, hidden[2] = {-1, -1};
	struct spawn_fd fds[MORE_FDS + 3];
	struct spawn what = {
		.path = p->path, .argv = p->argv, .fds = fds, .flags = SPAWN_GROUP | SPAWN_NO_TERMINAL | p->flags};
	int result = -1;

	if (p->fd_count > MORE_FDS)
		return sbx_fail(err, SBX_BUG, "bug", "too many descriptors for a child");
	if (p->secret != NULL && secret_alloc(p->secret, LIMIT_SECRET + 1, err) < 0)
		return -1;
	if (make_pipes(to_child, from_child, hidden, p, err) == 0) {
		fds[what.fd_count++] = (struct spawn_fd){STDIN_FILENO, to_child[0]};
		fds[what.fd_count++] = (struct spawn_fd){STDOUT_FILENO, from_child[1]};
		if (p->secret != NULL)
			fds[what.fd_count++] = (struct spawn_fd){p->secret_number, hidden[1]};
		for (size_t i = 0; i < p->fd_count; i++)
			fds[what.fd_count++] = p->fds[i];
		result = spawn_start(&what, &p->child, err);
	}
	if (result == 0) {
		p->in = take_fd(&to_child[1]);
		p->out = take_fd(&from_child[0]);
		p->hidden = take_fd(&hidden[0]);
	}
	for (int i = 0; i < 2; i++) {
		base_close_fd(&to_child[i]);
		base_close_fd(&from_child[i]);
		base_close_fd(&hidden[i]);
	}
	return result;
}

void credential_process_feed(struct credential_process *p)
{
	while (p->sent < p->input_len) {
		ssize_t n = write(p->in, p->input + p->sent, p->input_len - p->sent);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			break; /* it does not want the rest; its answer will say why */
		p->sent += (size_t)n;
	}
	base_close_fd(&p->in);
}

/* One block at a time, so that a child which never stops writing cannot keep us from the deadline. Beyond the limit the
 * bytes are dropped and the first such error is kept. 1: there may be more. */
static int drain_answer(struct credential_process *p)
{
	char block[BLOCK];

	if (p->out < 0)
		return 0;
	ssize_t n = read(p->out, block, sizeof block);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return errno == EINTR;
	if (n <= 0) {
		base_close_fd(&p->out);
		return 0;
	}
	if (p->overflow.class == SBX_OK)
		buf_add(p->answer, block, (size_t)n, &p->overflow);
	return 1;
}

/* From the pipe into locked memory and nowhere else. Once it is too much, what came is of no use and its place takes
 * the rest. */
static int drain_secret(struct credential_process *p)
{
	struct secret *s = p->secret;

	if (p->hidden < 0)
		return 0;
	ssize_t n = read(p->hidden, s->data + s->len, LIMIT_SECRET + 1 - s->len);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return errno == EINTR;
	if (n <= 0) {
		base_close_fd(&p->hidden);
		return 0;
	}
	s->len += (size_t)n;
	if (s->len > LIMIT_SECRET) {
		s->len = 0;
		sbx_fail(&p->overflow, SBX_PROTOCOL, "too_large", "the secrets have more than %zu bytes", LIMIT_SECRET);
	}
	return 1;
}

static void pass_signal(struct credential_process *p)
{
	struct signalfd_siginfo info;

	if (read(p->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
		spawn_signal(&p->child, (int)info.ssi_signo);
}

/* What it wrote is in the pipes, a pipe's content at most; others that still hold them may go on writing for ever. */
static void drain_rest(struct credential_process *p)
{
	for (int i = 0; i < LAST_BLOCKS && drain_answer(p); i++)
		;
	for (int i = 0; i < LAST_BLOCKS && drain_secret(p); i++)
		;
}

static int has_said_that_it_stays(struct credential_process *p)
{
	if (p->stays == NULL || p->is_asked || p->overflow.class != SBX_OK || p->answer->len == 0 ||
	    memchr(p->answer->data, '\n', p->answer->len) == NULL)
		return 0;
	p->is_asked = 1;
	return p->stays(p->answer);
}

static int overflown(const struct credential_process *p, struct sbx_error *err)
{
	*err = p->overflow;
	err->class = SBX_PROTOCOL;
	return -1;
}

/* 1; what came with its secrets is too much: -1. */
static int leave(struct credential_process *p, struct sbx_error *err)
{
	/* It wrote them before it answered. */
	drain_rest(p);
	base_close_fd(&p->hidden);
	base_close_fd(&p->in);
	if (p->overflow.class == SBX_OK)
		return 1;
	return overflown(p, err);
}

int credential_process_wait(struct credential_process *p, int64_t deadline, int *status, struct sbx_error *err)
{
	for (int ended = 0; !ended;) {
		struct pollfd fds[] = {
			{.fd = p->child.pidfd, .events = POLLIN}, {.fd = p->in, .events = POLLOUT},
			{.fd = p->out, .events = POLLIN},	  {.fd = p->hidden, .events = POLLIN},
			{.fd = p->signal_fd, .events = POLLIN},	  {.fd = p->reader_fd, .events = 0},
		};
		int n = poll(fds, ARRAY_LEN(fds), clock_left_ms(deadline));
		if (n < 0 && errno != EINTR)
			return sbx_fail_errno(err, SBX_OS, "os_error", "cannot wait for a child");
		ended = n > 0 && fds[0].revents != 0;
		/* Not only when nothing came: a child that never stops writing always has something for us. */
		if (!ended && clock_left_ms(deadline) == 0)
			return sbx_fail(err, SBX_UNAVAILABLE, "timeout", "a child did not end in time");
		if (n < 0)
			continue;
		if (fds[1].revents)
			credential_process_feed(p);
		if (fds[2].revents)
			drain_answer(p);
		if (fds[3].revents)
			drain_secret(p);
		if (!ended && has_said_that_it_stays(p))
			return leave(p, err);
		if (fds[4].revents)
			pass_signal(p);
		if (fds[5].revents) {
			spawn_signal(&p->child, SIGHUP);
			p->reader_fd = -1;
		}
	}
	drain_rest(p);
	spawn_wait(&p->child, -1, status);
	return p->overflow.class != SBX_OK ? overflown(p, err) : 0;
}

void credential_process_again(struct credential_process *p, int *in, const struct buf *input)
{
	p->stays = NULL;
	buf_reset(p->answer);
	base_close_fd(&p->in);
	p->in = take_fd(in);
	p->input = input->data;
	p->input_len = input->len;
	p->sent = 0;
	credential_process_feed(p);
}

void credential_process_stop(struct credential_process *p)
{
	spawn_kill(&p->child);
	base_close_fd(&p->in);
	base_close_fd(&p->out);
	base_close_fd(&p->hidden);
}
