/* log: a line goes where there is room for it, and nobody who does not read can keep us. */
#include "log.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "clock.h"
#include "unit.h"

enum { LINES = 100, HANG_MS = 10 * 1000 };

/* Fill FD without leaving it non-blocking. */
static void fill(int fd)
{
	char block[512];
	int flags = fcntl(fd, F_GETFL);

	memset(block, 'x', sizeof block);
	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	for (size_t len = sizeof block; len > 0; len /= 2)
		while (write(fd, block, len) > 0)
			;
	fcntl(fd, F_SETFL, flags);
}

/* How a process ends that writes LINES lines to FD: 0 when it did, and with what it had of SIGALRM before; 9 when it hung.
 * BLOCKED: it blocks every signal. */
static int write_lines(int fd, int blocked)
{
	char text[1500];
	int status = 0;

	memset(text, 'y', sizeof text);
	text[sizeof text - 1] = '\0';
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		struct sigaction action;
		struct itimerval timer;
		sigset_t all, mask;
		sigfillset(&all);
		signal(SIGALRM, SIG_IGN);
		if (blocked)
			sigprocmask(SIG_SETMASK, &all, NULL);
		dup2(fd, STDERR_FILENO);
		for (int i = 0; i < LINES; i++)
			log_line("%s", text);
		sigaction(SIGALRM, NULL, &action);
		getitimer(ITIMER_REAL, &timer);
		sigprocmask(SIG_BLOCK, NULL, &mask);
		_exit(action.sa_handler != SIG_IGN || timer.it_value.tv_sec + timer.it_value.tv_usec > 0 ||
		      sigismember(&mask, SIGALRM) != blocked);
	}
	for (int64_t deadline = clock_mono_ms() + HANG_MS; waitpid(pid, &status, WNOHANG) != pid; usleep(2000))
		if (clock_left_ms(deadline) == 0) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return 9;
		}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 8;
}

static void test_pipe(void)
{
	int ends[2];

	CHECK(pipe(ends) == 0);
	fill(ends[1]);
	CHECK(write_lines(ends[1], 0) == 0);
	CHECK(write_lines(ends[1], 1) == 0);
	/* The description is shared: it stays as it was. */
	CHECK((fcntl(ends[1], F_GETFL) & O_NONBLOCK) == 0);
	close(ends[0]);
	CHECK(write_lines(ends[1], 1) == 0);
	close(ends[1]);
	/* Nearly full: some lines go, and the first that does not is not waited for. */
	CHECK(pipe(ends) == 0);
	CHECK(write_lines(ends[1], 0) == 0);
	close(ends[0]);
	close(ends[1]);
}

static void test_socket(void)
{
	int ends[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	CHECK(write_lines(ends[1], 0) == 0);
	CHECK(write_lines(ends[1], 1) == 0);
	close(ends[0]);
	close(ends[1]);
}

/* A terminal takes a part of a line and waits: poll does not tell. */
static void test_terminal(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);

	CHECK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
	CHECK(terminal >= 0);
	CHECK(write_lines(terminal, 0) == 0);
	CHECK(write_lines(terminal, 1) == 0);
	CHECK(tcflush(terminal, TCIOFLUSH) == 0 && tcflow(terminal, TCOOFF) == 0);
	CHECK(write_lines(terminal, 0) == 0);
	close(terminal);
	close(master);
}

/* What is read goes whole, however late: a reader that is slow within our patience loses nothing. */
static void test_room(void)
{
	char got[256] = "";
	int ends[2], kept = dup(STDERR_FILENO);

	CHECK(pipe(ends) == 0);
	fcntl(ends[1], F_SETPIPE_SZ, 8192);
	fill(ends[1]);
	fflush(stdout);
	pid_t reader = fork();
	if (reader == 0) {
		char block[8192];
		usleep(20000);
		_exit(read(ends[0], block, sizeof block) == (ssize_t)sizeof block ? 0 : 1);
	}
	dup2(ends[1], STDERR_FILENO);
	log_set_name("log_test");
	log_line("one\ttwo");
	log_line("three");
	dup2(kept, STDERR_FILENO);
	int status = -1;
	CHECK(waitpid(reader, &status, 0) == reader && status == 0);
	ssize_t n = read(ends[0], got, sizeof got - 1);
	got[n > 0 ? n : 0] = '\0';
	CHECK_STR(got, "log_test: one\\x09two\nlog_test: three\n");
	close(ends[0]);
	close(ends[1]);
	close(kept);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_pipe();
	test_socket();
	test_terminal();
	test_room();
	return unit_done();
}
