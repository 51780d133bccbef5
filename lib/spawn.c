/* posix_spawn with a fixed world for the child, and waiting with a pidfd. */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "clock.h"

/* Sources are moved to this number or above first, so that no dup2 of the child overwrites the source of a later one: what a child gets is numbered below
 * it. It is small because the kernel's descriptor table grows, and is copied, with the highest number. */
#define SPAWN_SAFE_FD 32
#define SPAWN_MAX_FDS 16

static const char *const clean_environment[] = {"HOME=/nonexistent", "LC_ALL=C", "TZ=UTC",
						"PATH=/usr/bin:/bin", NULL};

struct plan {
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int moved[SPAWN_MAX_FDS + 1];
	size_t moved_count;
};

static int move_high(struct plan *plan, int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, SPAWN_SAFE_FD);

	if (high >= 0)
		plan->moved[plan->moved_count++] = high;
	return high;
}

static int add_descriptors(struct plan *plan, const struct spawn *what)
{
	int last = 2, named[3] = {0, 0, 0};

	if (what->fd_count > SPAWN_MAX_FDS)
		return E2BIG;
	for (size_t i = 0; i < what->fd_count; i++) {
		if (what->fds[i].child < 0 || what->fds[i].child >= SPAWN_SAFE_FD)
			return EBADF;
		int high = move_high(plan, what->fds[i].parent);
		if (high < 0)
			return errno;
		int failed = posix_spawn_file_actions_adddup2(&plan->actions, high, what->fds[i].child);
		if (failed)
			return failed;
		if (what->fds[i].child > last)
			last = what->fds[i].child;
		if (what->fds[i].child <= 2)
			named[what->fds[i].child] = 1;
	}
	for (int fd = 0; fd <= 1; fd++)
		if (!named[fd]) {
			int failed = posix_spawn_file_actions_addopen(&plan->actions, fd, "/dev/null",
								      fd == 0 ? O_RDONLY : O_WRONLY, 0);
			if (failed)
				return failed;
		}
	/* Numbers between the named ones could be strays of ours: close what was not given. */
	for (int fd = 3; fd < last; fd++) {
		int given = 0;
		for (size_t i = 0; i < what->fd_count; i++)
			given |= what->fds[i].child == fd;
		if (!given && fcntl(fd, F_GETFD) >= 0) {
			int failed = posix_spawn_file_actions_addclose(&plan->actions, fd);
			if (failed)
				return failed;
		}
	}
	return posix_spawn_file_actions_addclosefrom_np(&plan->actions, last + 1);
}

static int set_attributes(struct plan *plan, const struct spawn *what)
{
	short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
	static const int ours[] = {SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGCHLD};
	static const int terminal[] = {SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU};
	static const int stops[] = {SIGHUP, SIGINT, SIGTERM};
	sigset_t mask, reset;

	/* process_clean made every signal default: only what we ignore ourselves can reach a child. */
	sigemptyset(&mask);
	sigemptyset(&reset);
	for (size_t i = 0; (what->flags & SPAWN_HOLD_STOP) && i < ARRAY_LEN(stops); i++)
		sigaddset(&mask, stops[i]);
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		sigaddset(&reset, ours[i]);
	for (size_t i = 0; !(what->flags & SPAWN_NO_TERMINAL) && i < ARRAY_LEN(terminal); i++)
		sigaddset(&reset, terminal[i]);
	if (what->flags & SPAWN_GROUP)
		flags |= POSIX_SPAWN_SETPGROUP;
	if (what->flags & SPAWN_SESSION)
		flags |= POSIX_SPAWN_SETSID;
	posix_spawnattr_setsigmask(&plan->attributes, &mask);
	posix_spawnattr_setsigdefault(&plan->attributes, &reset);
	posix_spawnattr_setpgroup(&plan->attributes, 0);
	return posix_spawnattr_setflags(&plan->attributes, flags);
}

int spawn_start(const struct spawn *what, struct child *child, struct sbx_error *err)
{
	const char *const *envp = what->envp ? what->envp : clean_environment;
	struct plan plan = {.moved_count = 0};

	*child = (struct child)CHILD_NONE;
	posix_spawn_file_actions_init(&plan.actions);
	posix_spawnattr_init(&plan.attributes);
	int failed = add_descriptors(&plan, what);
	if (!failed)
		failed = set_attributes(&plan, what);
	if (!failed)
		failed = posix_spawn(&child->pid, what->path, &plan.actions, &plan.attributes,
				     (char *const *)what->argv, (char *const *)envp);
	for (size_t i = 0; i < plan.moved_count; i++)
		close(plan.moved[i]);
	posix_spawn_file_actions_destroy(&plan.actions);
	posix_spawnattr_destroy(&plan.attributes);
	if (failed) {
		child->pid = 0;
		errno = failed;
		return sbx_fail_errno(err, SBX_OS, "cannot_start", "cannot start %s", what->path);
	}
	child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	if (child->pidfd < 0) {
		sbx_fail_errno(err, SBX_OS, "os_error", "cannot watch a child");
		spawn_kill(child);
		return -1;
	}
	return 0;
}

static int reap(struct child *child)
{
	int status = 0;

	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (child->pidfd >= 0)
		close(child->pidfd);
	*child = (struct child)CHILD_NONE;
	return status;
}

int spawn_wait(struct child *child, int64_t deadline, int *status)
{
	struct pollfd ended = {.fd = child->pidfd, .events = POLLIN};

	for (;;) {
		int n = poll(&ended, 1, deadline < 0 ? -1 : clock_left_ms(deadline));
		if (n == 0)
			return 0;
		if (n > 0)
			break;
		if (errno != EINTR)
			return 0;
	}
	*status = reap(child);
	return 1;
}

void spawn_signal(const struct child *child, int sig)
{
	if (child->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, child->pidfd, sig, NULL, 0);
}

void spawn_signal_group(const struct child *child, int sig)
{
	if (child->pid > 0)
		kill(-child->pid, sig);
}

void spawn_kill(struct child *child)
{
	if (child->pid <= 0)
		return;
	kill(-child->pid, SIGKILL);
	kill(child->pid, SIGKILL);
	reap(child);
}

struct exchange {
	int in, out; /* our ends; -1 when done */
	const char *input;
	size_t left;
	struct buf *text;      /* where its stdout goes: here, */
	struct secret *secret; /* or here, and then nowhere else */
};

/* As read(2); -1 with ERR when it is more than there is room for. */
static ssize_t take_text(struct exchange *x, struct sbx_error *err)
{
	char block[16384];
	ssize_t got = read(x->out, block, sizeof block);

	return got > 0 && buf_add(x->text, block, (size_t)got, err) < 0 ? -1 : got;
}

static ssize_t take_secret(struct exchange *x, struct sbx_error *err)
{
	struct secret *s = x->secret;

	if (s->len == s->cap)
		return sbx_fail(err, SBX_PROTOCOL, "too_large", "a helper's answer is larger than its place");
	ssize_t got = read(x->out, s->data + s->len, s->cap - s->len);
	s->len += got > 0 ? (size_t)got : 0;
	return got;
}

static int pump(struct exchange *x, int64_t deadline, struct sbx_error *err)
{
	while (x->out >= 0) {
		struct pollfd fds[2] = {{.fd = x->out, .events = POLLIN}, {.fd = x->in, .events = POLLOUT}};
		int n = poll(fds, 2, clock_left_ms(deadline));
		if (n == 0)
			return sbx_fail(err, SBX_UNAVAILABLE, "timeout", "a helper did not answer in time");
		if (n < 0)
			continue;
		if (fds[1].revents) {
			ssize_t sent = write(x->in, x->input, x->left);
			if (sent > 0) {
				x->input += sent;
				x->left -= (size_t)sent;
			}
			if (x->left == 0 || (sent < 0 && errno != EAGAIN && errno != EINTR))
				base_close_fd(&x->in);
		}
		if (fds[0].revents) {
			struct sbx_error full = SBX_ERROR_INIT;
			ssize_t got = x->secret != NULL ? take_secret(x, &full) : take_text(x, &full);
			if (full.class != SBX_OK) {
				*err = full;
				err->class = SBX_PROTOCOL;
				return -1;
			}
			if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
				base_close_fd(&x->out);
		}
	}
	return 0;
}

/* X says what is written, and where what is read goes. */
static int capture(const struct spawn *what, struct exchange *x, int64_t deadline, int *status, struct sbx_error *err)
{
	int to_child[2] = {-1, -1}, from_child[2] = {-1, -1};
	struct spawn_fd fds[SPAWN_MAX_FDS];
	struct spawn with_pipes = *what;
	auto_child child = CHILD_NONE;
	int result = -1;

	if (what->fd_count + 2 > SPAWN_MAX_FDS)
		return sbx_fail(err, SBX_BUG, "bug", "too many descriptors for a child");
	if (pipe2(to_child, O_CLOEXEC) < 0 || pipe2(from_child, O_CLOEXEC) < 0) {
		sbx_fail_errno(err, SBX_OS, "os_error", "cannot make a pipe");
		goto out;
	}
	fcntl(to_child[1], F_SETFL, O_NONBLOCK);
	for (size_t i = 0; i < what->fd_count; i++)
		fds[i + 2] = what->fds[i];
	fds[0] = (struct spawn_fd){STDIN_FILENO, to_child[0]};
	fds[1] = (struct spawn_fd){STDOUT_FILENO, from_child[1]};
	with_pipes.fds = fds;
	with_pipes.fd_count = what->fd_count + 2;
	if (spawn_start(&with_pipes, &child, err) < 0)
		goto out;
	base_close_fd(&to_child[0]);
	base_close_fd(&from_child[1]);
	x->in = take_fd(&to_child[1]);
	x->out = take_fd(&from_child[0]);
	if (x->left == 0)
		base_close_fd(&x->in);
	result = pump(x, deadline, err);
	base_close_fd(&x->in);
	base_close_fd(&x->out);
	if (result == 0 && spawn_wait(&child, deadline, status) != 1)
		result = sbx_fail(err, SBX_UNAVAILABLE, "timeout", "a helper did not end in time");
out:
	for (int i = 0; i < 2; i++) {
		base_close_fd(&to_child[i]);
		base_close_fd(&from_child[i]);
	}
	return result;
}

int spawn_capture(const struct spawn *what, const void *input, size_t input_len, struct buf *out, int64_t deadline,
		  int *status, struct sbx_error *err)
{
	struct exchange x = {.in = -1, .out = -1, .input = input, .left = input_len, .text = out};

	return capture(what, &x, deadline, status, err);
}

int spawn_capture_secret(const struct spawn *what, struct secret *out, int64_t deadline, int *status,
			 struct sbx_error *err)
{
	struct exchange x = {.in = -1, .out = -1, .input = "", .secret = out};

	return capture(what, &x, deadline, status, err);
}

int spawn_exit_code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : 255;
}
