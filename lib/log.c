/* One escaped line on stderr, and no more time for it than there is. */
#include "log.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "clock.h"

/* AGAIN_MS: the signal may come before the write begins, and is then not the one that ends it. LOOK_MS: a write that has room takes no time, but the
 * machine may. */
enum { PATIENCE_MS = 200, AGAIN_MS = 10, LOOK_MS = 10 };

static const char *program = "sbx";
static int64_t patience_ms = PATIENCE_MS; /* what is left of it */

void log_set_name(const char *name)
{
	program = name;
}

static void put_escaped(char *out, size_t size, const char *text)
{
	size_t used = 0;

	for (const unsigned char *p = (const unsigned char *)text; *p != '\0' && used + 6 < size; p++) {
		if (*p < 0x20 || *p == 0x7f)
			used += (size_t)snprintf(out + used, size - used, "\\x%02x", *p);
		else
			out[used++] = (char)*p;
	}
	out[used++] = '\n';
	out[used] = '\0';
}

static void wake(int sig)
{
	(void)sig;
}

/* A write to stderr that ends after MS. poll alone does not do: others write to the same pipe, and a terminal takes a part
 * of a line and waits. O_NONBLOCK would be set for everyone who has stderr from the same place. */
static ssize_t write_within(const char *text, size_t len, int ms)
{
	const struct sigaction waking = {.sa_handler = wake}; /* without SA_RESTART */
	const struct itimerval bell = {.it_value = {.tv_usec = ms * 1000}, .it_interval = {.tv_usec = AGAIN_MS * 1000}},
			       silent = {.it_value = {.tv_usec = 0}};
	struct sigaction before;
	sigset_t bells, mask;
	ssize_t n = -1;

	sigemptyset(&bells);
	sigaddset(&bells, SIGALRM);
	sigaction(SIGALRM, &waking, &before);
	sigprocmask(SIG_UNBLOCK, &bells, &mask);
	if (setitimer(ITIMER_REAL, &bell, NULL) == 0)
		n = write(STDERR_FILENO, text, len);
	int failed = errno;
	setitimer(ITIMER_REAL, &silent, NULL);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	sigaction(SIGALRM, &before, NULL);
	errno = failed;
	return n;
}

static void write_line(const char *text, size_t len)
{
	int64_t begun = clock_mono_ms(), deadline = begun + patience_ms;

	do {
		struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
		if (poll(&room, 1, clock_left_ms(deadline)) <= 0)
			continue;
		int left = clock_left_ms(deadline);
		ssize_t n = write_within(text, len, left > LOOK_MS ? left : LOOK_MS);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			break;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	} while (len > 0 && clock_left_ms(deadline) > 0);
	int64_t took = clock_mono_ms() - begun;
	patience_ms -= took < patience_ms ? took : patience_ms;
}

void log_line(const char *format, ...)
{
	char text[2048], line[4096];
	int kept = errno;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	int prefix = snprintf(line, sizeof line, "%s: ", program);
	put_escaped(line + prefix, sizeof line - (size_t)prefix, text);
	write_line(line, strlen(line));
	errno = kept;
}

void log_error(const struct sbx_error *err)
{
	log_line("%s (%s)", err->message, err->code);
	if (err->hint[0] != '\0')
		log_line("hint: %s", err->hint);
}
