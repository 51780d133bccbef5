/* mcpserve DOOR ARGUMENT...: the dispatcher's loop as sbx-mcp runs it, without the first act of a program, so that
 * valgrind can be its parent; and with a pidfd made of a pipe, since valgrind before 3.20 has no pidfd_open. */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mcp_serve.h"

enum { CHILDREN = 256 };
static struct {
	pid_t pid;
	int end; /* closed when the process has ended */
} children[CHILDREN];

/* Between the start of a child and its entry in the table its end may have been missed: everything is looked at. */
static void look(int sig)
{
	(void)sig;
	for (int i = 0; i < CHILDREN; i++) {
		siginfo_t info = {.si_pid = 0};
		if (children[i].pid != 0 &&
		    waitid(P_PID, (id_t)children[i].pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
			close(children[i].end);
			children[i].pid = 0;
		}
	}
}

static int open_child(pid_t pid)
{
	int ends[2];
	sigset_t chld, old;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &old);
	for (int i = 0; i < CHILDREN; i++)
		if (children[i].pid == 0) {
			children[i].pid = pid;
			children[i].end = ends[1];
			break;
		}
	look(0);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return ends[0];
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	return number == SYS_pidfd_open ? open_child((pid_t)a[0])
					: __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int main(int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sigaction on_child = {.sa_handler = look, .sa_flags = SA_RESTART};

	if (argc < 2)
		return 64;
	sigaction(SIGCHLD, &on_child, NULL);
	signal(SIGPIPE, SIG_IGN);
	const struct mcp_serve options = {.door = {.path = argv[1], .argv = (const char *const *)argv + 1},
					  .deadline_ms = 600 * 1000};
	if (mcp_serve(&options, STDIN_FILENO, STDOUT_FILENO, &err) == 0)
		return 0;
	fprintf(stderr, "mcpserve: %s\n", err.message);
	return (int)err.class;
}
