/* typist ROWS [SEE TYPE]... -- COMMAND...: run it at a terminal of its own of ROWS lines, and type each TYPE only when SEE has come to stand on the screen
 * behind what was typed before; with Enter, unless TYPE is one key. What the screen showed goes to stdout as it came. The status is COMMAND's, or 99 when it
 * ended, or 30 s passed, before SEE was there. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { SCREEN_MAX = 1 << 20, WAIT_MS = 30 * 1000, UNSEEN = 99 };

static char screen[SCREEN_MAX + 1];
static size_t used, typed_at; /* what is behind typed_at came after the last line was typed */

static void die(const char *what)
{
	perror(what);
	exit(UNSEEN);
}

static pid_t start(int terminal, unsigned short rows, char **argv)
{
	const struct winsize size = {.ws_row = rows, .ws_col = 100};
	pid_t child = fork();

	if (child != 0)
		return child;
	setsid();
	int fd = open(ptsname(terminal), O_RDWR);
	if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) < 0 || ioctl(fd, TIOCSWINSZ, &size) < 0)
		die("typist: terminal");
	for (int i = 0; i < 3; i++)
		dup2(fd, i);
	if (fd > 2)
		close(fd);
	close(terminal);
	execvp(argv[0], argv);
	die(argv[0]);
	return -1;
}

/* 1: more came; 0: the terminal has no other end any more; -1: it took too long. */
static int look(int terminal)
{
	struct pollfd wait = {.fd = terminal, .events = POLLIN};

	if (poll(&wait, 1, WAIT_MS) == 0 || used == SCREEN_MAX)
		return -1;
	ssize_t n = read(terminal, screen + used, SCREEN_MAX - used);
	if (n <= 0)
		return errno == EINTR ? 1 : 0;
	used += (size_t)n;
	screen[used] = '\0';
	return 1;
}

static int see(int terminal, const char *text)
{
	while (strstr(screen + typed_at, text) == NULL)
		if (look(terminal) <= 0)
			return 0;
	typed_at = used;
	return 1;
}

int main(int argc, char **argv)
{
	int at = 2, status, terminal = posix_openpt(O_RDWR | O_NOCTTY);

	while (at < argc && strcmp(argv[at], "--") != 0)
		at += 2;
	if (at + 1 >= argc || terminal < 0 || grantpt(terminal) < 0 || unlockpt(terminal) < 0)
		die("typist");
	pid_t child = start(terminal, (unsigned short)atoi(argv[1]), argv + at + 1);
	int seen = 1, there = 1;
	for (int i = 2; i < at && seen; i += 2) {
		seen = see(terminal, argv[i]);
		if (seen)
			dprintf(terminal, strlen(argv[i + 1]) == 1 ? "%s" : "%s\n", argv[i + 1]);
	}
	while (seen && there == 1)
		there = look(terminal);
	if (!seen || there < 0)
		kill(child, SIGKILL);
	waitpid(child, &status, 0);
	fwrite(screen, 1, used, stdout);
	if (!seen || there < 0)
		return UNSEEN;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
