/* spawn: what a child sees, deadlines, no deadlock, no stray descriptor. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "spawn.h"

static int capture(const char *script, const void *input, size_t len, struct buf *out, int64_t within_ms, int *status, struct sbx_error *e)
{
	const char *argv[] = {"sh", "-c", script, NULL};
	struct spawn what = {.path = "/bin/sh", .argv = argv};

	return spawn_capture(&what, input, len, out, clock_mono_ms() + within_ms, status, e);
}

static void test_world(void)
{
	struct sbx_error e = SBX_ERROR_INIT;
	auto_buf out = BUF_INIT(4096);
	int status = 0;
	int stray = fcntl(open("/etc/passwd", O_RDONLY), F_DUPFD, 40); /* without close-on-exec, on purpose */

	CHECK(capture("env | sort; ls /proc/self/fd | tr '\\n' ' '", "", 0, &out, 10000, &status, &e) == 0 && status == 0);
	CHECK(strstr(buf_str(&out), "HOME=/nonexistent\nLC_ALL=C\nPATH=/usr/bin:/bin\n") != NULL);
	CHECK(strstr(buf_str(&out), " 40 ") == NULL);
	close(stray);
}

/* A child's SigIgn, in which bit N - 1 is signal N, as far as it is of those ASKED for. */
static unsigned long long ignored_in_child(unsigned flags, unsigned long long asked)
{
	const char *argv[] = {"grep", "SigIgn", "/proc/self/status", NULL};
	struct spawn what = {.path = "/usr/bin/grep", .argv = argv, .flags = flags};
	struct sbx_error e = SBX_ERROR_INIT;
	auto_buf out = BUF_INIT(100);
	unsigned long long mask = ~0ull;
	int status = 0;

	if (spawn_capture(&what, "", 0, &out, clock_mono_ms() + 10000, &status, &e) == 0)
		sscanf(buf_str(&out), "SigIgn: %llx", &mask);
	return mask & asked;
}

/* What we ignore, a step or a person's program has by default; our own programs keep what a terminal sends ignored. */
static void test_dispositions(void)
{
	static const int ignored[] = {SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGTERM};
	unsigned long long all = 0, terminal = 0;

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++) {
		signal(ignored[i], SIG_IGN);
		all |= 1ull << (ignored[i] - 1);
		terminal |= i < 4 ? 1ull << (ignored[i] - 1) : 0;
	}
	CHECK(ignored_in_child(0, all) == 0);
	CHECK(ignored_in_child(SPAWN_NO_TERMINAL, all) == terminal);
	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		signal(ignored[i], ignored[i] == SIGPIPE ? SIG_IGN : SIG_DFL);
}

static void test_no_deadlock(void)
{
	struct sbx_error e = SBX_ERROR_INIT;
	static char big[1 << 20];
	auto_buf out = BUF_INIT(sizeof big);
	int status = 0;

	memset(big, 'x', sizeof big);
	CHECK(capture("exec cat", big, sizeof big, &out, 20000, &status, &e) == 0 && out.len == sizeof big);
	buf_reset(&out);
	CHECK(capture("exit 3", big, sizeof big, &out, 20000, &status, &e) == 0 && spawn_exit_code(status) == 3);
}

static void test_deadline(void)
{
	struct sbx_error e = SBX_ERROR_INIT;
	auto_buf out = BUF_INIT(100);
	int status = 0;
	int64_t start = clock_mono_ms();

	CHECK(capture("sleep 60", "", 0, &out, 200, &status, &e) == -1);
	CHECK_STR(e.code, "timeout");
	CHECK(clock_mono_ms() - start < 30000);
	sbx_error_clear(&e);
	CHECK(capture("yes", "", 0, &out, 10000, &status, &e) == -1);
	CHECK_STR(e.code, "too_large");
}

static void test_failures(void)
{
	struct sbx_error e = SBX_ERROR_INIT;
	const char *argv[] = {"none", NULL};
	struct spawn what = {.path = "/nonexistent/none", .argv = argv};
	struct child child;
	int status = 0;

	CHECK(spawn_start(&what, &child, &e) == -1 && child.pid == 0);
	CHECK_STR(e.code, "cannot_start");
	what.path = "/bin/sleep";
	const char *sleeping[] = {"sleep", "60", NULL};
	what.argv = sleeping;
	what.flags = SPAWN_GROUP;
	sbx_error_clear(&e);
	CHECK(spawn_start(&what, &child, &e) == 0 && spawn_wait(&child, clock_mono_ms() + 50, &status) == 0);
	spawn_signal_group(&child, SIGTERM);
	CHECK(spawn_wait(&child, clock_mono_ms() + 20000, &status) == 1 && spawn_exit_code(status) == 128 + SIGTERM);
	CHECK(child.pid == 0 && child.pidfd == -1);
	spawn_kill(&child);
}

/* Sources that are also targets must not overwrite each other. */
static void test_crossed_descriptors(void)
{
	struct sbx_error e = SBX_ERROR_INIT;
	auto_buf out = BUF_INIT(100);
	int a[2], b[2], status = 0;

	CHECK(pipe(a) == 0 && pipe(b) == 0 && write(a[1], "a", 1) == 1 && write(b[1], "b", 1) == 1);
	close(a[1]);
	close(b[1]);
	const char *argv[] = {"sh", "-c", "cat <&4; cat <&3", NULL};
	int high_a = fcntl(a[0], F_DUPFD, 4), high_b = fcntl(b[0], F_DUPFD, 3);
	struct spawn_fd fds[] = {{3, high_a}, {4, high_b}};
	struct spawn what = {.path = "/bin/sh", .argv = argv, .fds = fds, .fd_count = 2};
	CHECK(spawn_capture(&what, "", 0, &out, clock_mono_ms() + 20000, &status, &e) == 0);
	CHECK_STR(buf_str(&out), "ba");
}

/* An answer that is a secret: whole in its place, or refused. */
static void test_secret(void)
{
	const char *argv[] = {"sh", "-c", "printf %5000d 7", NULL}, *more[] = {"sh", "-c", "printf %20000d 7", NULL};
	struct spawn what = {.path = "/bin/sh", .argv = argv};
	struct sbx_error e = SBX_ERROR_INIT;
	auto_secret out = SECRET_INIT, small = SECRET_INIT;
	int status = 1;

	CHECK(secret_alloc(&out, 16000, &e) == 0 && secret_alloc(&small, 4000, &e) == 0);
	CHECK(spawn_capture_secret(&what, &out, clock_mono_ms() + 20000, &status, &e) == 0 && status == 0);
	CHECK(out.len == 5000 && out.data[4999] == '7');
	what.argv = more;
	CHECK(spawn_capture_secret(&what, &small, clock_mono_ms() + 20000, &status, &e) < 0 && e.class == SBX_PROTOCOL);
	CHECK_STR(e.code, "too_large");
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN); /* as start() does */
	test_world();
	test_dispositions();
	test_secret();
	test_no_deadlock();
	test_deadline();
	test_failures();
	test_crossed_descriptors();
	return unit_done();
}
