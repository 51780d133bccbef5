/* Feeding sbx-plan without a deadlock and without unbounded memory. */
#include "sandbox_analyse.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "clock.h"
#include "digest.h"
#include "frame.h"
#include "plan_verdict.h"
#include "process.h"

static const size_t answer_max = (size_t)8 << 20; /* some ten thousand findings */

void analysis_init(struct analysis *a)
{
	*a = (struct analysis){.child = CHILD_NONE,
			       .in = -1,
			       .out = -1,
			       .pending = BUF_INIT(FRAME_MAX),
			       .answer = BUF_INIT(answer_max)};
}

int analysis_running(const struct analysis *a)
{
	return a->child.pid > 0;
}

int analysis_start(struct analysis *a, const char *format, const char *signals, struct sbx_error *err)
{
	int to_child[2] = {-1, -1}, from_child[2] = {-1, -1};
	auto_free char *path = process_helper("sbx-plan", err);
	const char *const argv[] = {"sbx-plan", "--format", format, "--signals", signals, NULL};
	int result = -1;

	if (path == NULL)
		return -1;
	if (pipe2(to_child, O_CLOEXEC) < 0 || pipe2(from_child, O_CLOEXEC) < 0) {
		sbx_fail_errno(err, SBX_OS, "os_error", "cannot make a pipe");
	} else {
		struct spawn_fd fds[] = {{STDIN_FILENO, to_child[0]}, {STDOUT_FILENO, from_child[1]}};
		struct spawn what = {
			.path = path, .argv = argv, .fds = fds, .fd_count = ARRAY_LEN(fds), .flags = SPAWN_NO_TERMINAL};
		result = spawn_start(&what, &a->child, err);
	}
	if (result == 0) {
		a->in = take_fd(&to_child[1]);
		a->out = take_fd(&from_child[0]);
		/* Without it a wait would have no deadline. */
		if (fcntl(a->in, F_SETFL, O_NONBLOCK) < 0 || fcntl(a->out, F_SETFL, O_NONBLOCK) < 0)
			result = sbx_fail_errno(err, SBX_OS, "os_error", "cannot set up a pipe");
	}
	for (int i = 0; i < 2; i++) {
		base_close_fd(&to_child[i]);
		base_close_fd(&from_child[i]);
	}
	return result;
}

int analysis_blocked(const struct analysis *a)
{
	return a->in >= 0 && a->sent < a->pending.len;
}

int analysis_give(struct analysis *a, const char *bytes, size_t len, struct sbx_error *err)
{
	a->total += len;
	if (a->total > LIMIT_PLAN_JSON)
		a->overrun = 1;
	if (a->in < 0 || a->overrun)
		return 0;
	buf_reset(&a->pending);
	a->sent = 0;
	return buf_add(&a->pending, bytes, len, err) < 0 ? -1 : analysis_pump(a, err);
}

static void push(struct analysis *a)
{
	while (analysis_blocked(a)) {
		ssize_t n = write(a->in, a->pending.data + a->sent, a->pending.len - a->sent);
		if (n > 0)
			a->sent += (size_t)n;
		else if (n < 0 && errno == EAGAIN)
			return;
		else if (n == 0 || errno != EINTR)
			base_close_fd(&a->in); /* it has ended; its status will say why */
	}
}

static int pull(struct analysis *a, struct sbx_error *err)
{
	char block[16384];

	while (a->out >= 0) {
		ssize_t n = read(a->out, block, sizeof block);
		if (n > 0) {
			if (buf_add(&a->answer, block, (size_t)n, err) < 0)
				return -1;
		} else if (n < 0 && errno == EAGAIN) {
			return 0;
		} else if (n == 0 || errno != EINTR) {
			base_close_fd(&a->out);
		}
	}
	return 0;
}

int analysis_pump(struct analysis *a, struct sbx_error *err)
{
	push(a);
	return pull(a, err);
}

static int unreadable(struct sbx_error *err, const char *why)
{
	sbx_fail(err, SBX_COMMAND_FAILED, "plan_unreadable", "the plan cannot be judged: %s", why);
	return sbx_hint(err,
			"nothing was kept; see the lines of sbx-plan above, or run terraform show -json on it by hand");
}

static int is_digest(jv object, const char *key)
{
	unsigned char digest[DIGEST_SIZE];
	const char *hex = json_str(object, key);

	return hex != NULL && digest_from_hex(hex, digest, sizeof digest) == 0;
}

/* What the seal of a kept plan covers must be there: a plan without it would be judged by nothing. */
static int is_whole(jv answer)
{
	auto_jv findings = json_array(answer, "findings"), digest = json_object(answer, "digest");
	enum plan_verdict verdict;
	int64_t destroyed;

	return plan_verdict_parse(json_str(answer, "verdict"), &verdict) == 0 && jv_is_valid(findings) &&
	       json_int(answer, "data_destroyed", &destroyed) == 0 && destroyed >= 0 &&
	       is_digest(digest, "artefact") && is_digest(digest, "effect");
}

int analysis_finish(struct analysis *a, int64_t deadline, jv *answer, struct sbx_error *err)
{
	struct sbx_error inner = SBX_ERROR_INIT;
	int status;

	while (a->out >= 0) {
		if (!analysis_blocked(a))
			base_close_fd(&a->in);
		struct pollfd fds[2] = {{.fd = a->out, .events = POLLIN}, {.fd = a->in, .events = POLLOUT}};
		int n = poll(fds, 2, clock_left_ms(deadline));
		if (n == 0)
			return sbx_fail(err, SBX_UNAVAILABLE, "timeout", "sbx-plan did not answer in time");
		if (n > 0 && analysis_pump(a, &inner) < 0)
			return unreadable(err, "sbx-plan says too much");
	}
	if (spawn_wait(&a->child, deadline, &status) != 1)
		return sbx_fail(err, SBX_UNAVAILABLE, "timeout", "sbx-plan did not end in time");
	if (a->overrun)
		return unreadable(err, "its JSON form is too large");
	if (spawn_exit_code(status) != 0)
		return unreadable(err, "sbx-plan refused it");
	if (json_parse(buf_str(&a->answer), a->answer.len, answer_max, answer, &inner) < 0)
		return unreadable(err, "sbx-plan gave no whole answer");
	if (!is_whole(*answer)) {
		jv_free(take_jv(answer));
		return unreadable(err, "sbx-plan gave no whole answer");
	}
	return 0;
}

void analysis_clear(struct analysis *a)
{
	base_close_fd(&a->in);
	base_close_fd(&a->out);
	spawn_kill(&a->child);
	buf_clear(&a->pending);
	buf_clear(&a->answer);
}
