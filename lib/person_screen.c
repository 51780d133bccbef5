/* Terminal and pager. */
#include "person_screen.h"

#include <string.h>
#include <sys/ioctl.h>

#include "clock.h"
#include "desk.h"
#include "io.h"
#include "limit.h"
#include "person.h"

#define PAGER "/usr/bin/less"
/* Reading takes as long as the approval lasts. */
static const int64_t read_ms = (int64_t)LIMIT_APPROVAL_S * 1000;
/* Behind the end of a row: deeper than any line of a text begins. */
static const char continued[] = "        ";
enum { ROW_LEAST = 40 }; /* a narrower terminal breaks lines as it likes */

int person_is_there(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

int person_is_plain(char c)
{
	return c == '\n' || (c >= 0x20 && c < 0x7f);
}

/* The columns of the terminal on stdout; 0: there is none. */
static size_t columns(void)
{
	struct winsize size;

	return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= ROW_LEAST
		       ? size.ws_col
		       : 0;
}

static int escape(const char *text, size_t len, struct buf *out, struct sbx_error *err)
{
	for (size_t i = 0; i < len; i++) {
		int failed = person_is_plain(text[i]) ? buf_add(out, text + i, 1, err)
						      : buf_addf(out, err, "\\x%02x", (unsigned char)text[i]);
		if (failed < 0)
			return -1;
	}
	return 0;
}

/* How much of LEN bytes stands on one row: up to a blank where there is one. */
static size_t row_of(const char *text, size_t len, size_t width)
{
	size_t row = width;

	if (len <= width)
		return len;
	while (row > 0 && text[row - 1] != ' ')
		row--;
	return row > 0 && strspn(text, " ") < row ? row : width;
}

/* Whoever chose a long datum could let the terminal break the line where a heading of ours begins in it; so lines are
 * broken here, and what is behind a break stands further in. */
static int put_line(const char *text, size_t len, size_t width, struct buf *out, struct sbx_error *err)
{
	size_t row = row_of(text, len, width);

	for (;;) {
		if (buf_add(out, text, row, err) < 0)
			return -1;
		text += row;
		len -= row;
		if (len == 0)
			return 0;
		if (buf_addf(out, err, "\n%s", continued) < 0)
			return -1;
		row = row_of(text, len, width - (sizeof continued - 1));
	}
}

static int put_rows(const char *text, size_t len, size_t width, struct buf *out, struct sbx_error *err)
{
	auto_buf plain = BUF_INIT(out->max);

	if (width == 0)
		return escape(text, len, out, err);
	if (escape(text, len, &plain, err) < 0)
		return -1;
	for (const char *line = buf_str(&plain), *end; *line != '\0'; line = end + (*end == '\n')) {
		end = line + strcspn(line, "\n");
		if (put_line(line, (size_t)(end - line), width, out, err) < 0 ||
		    (*end == '\n' && buf_add(out, "\n", 1, err) < 0))
			return -1;
	}
	return 0;
}

void person_hold_signals(sigset_t *before)
{
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGQUIT);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGHUP);
	sigprocmask(SIG_BLOCK, &held, before);
}

int person_run(const struct spawn *what, int64_t deadline, struct sbx_error *err)
{
	auto_child child = CHILD_NONE;
	int status;

	if (spawn_start(what, &child, err) < 0)
		return -1;
	if (spawn_wait(&child, deadline, &status) != 1)
		return sbx_fail(err, SBX_UNAVAILABLE, "timeout", "%s took too long", what->argv[0]);
	if (spawn_exit_code(status) != 0)
		return sbx_fail(err, SBX_COMMAND_FAILED, "not_signed", "%s ended with status %d", what->argv[0],
				spawn_exit_code(status));
	return 0;
}

static int page(const struct buf *text, const char *const *envp, struct sbx_error *err)
{
	/* What fits on the screen is printed, and what was read stays there: the code is asked for below it. */
	const char *const argv[] = {"less", "-FX", NULL};
	auto_fd content = io_sealed_memfd("text", buf_str(text), text->len, err);
	const struct spawn_fd fds[] = {{STDIN_FILENO, content}, {STDOUT_FILENO, STDOUT_FILENO}};
	const struct spawn what = {.path = PAGER, .argv = argv, .envp = envp, .fds = fds, .fd_count = ARRAY_LEN(fds)};
	sigset_t before;

	if (content < 0)
		return -1;
	person_hold_signals(&before);
	int done = person_run(&what, clock_mono_ms() + read_ms, err);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return done;
}

int person_print(const char *text, size_t len, struct sbx_error *err)
{
	auto_buf shown = BUF_INIT(4 * DESK_REPLY_MAX);

	if (put_rows(text, len, columns(), &shown, err) < 0)
		return -1;
	return io_write_all(STDOUT_FILENO, buf_str(&shown), shown.len, err);
}

int person_show(const char *text, size_t len, const char *const *envp, struct sbx_error *err)
{
	auto_buf shown = BUF_INIT(4 * DESK_REPLY_MAX);

	if (!person_is_there() || access(PAGER, X_OK) != 0)
		return person_print(text, len, err);
	return put_rows(text, len, columns(), &shown, err) < 0 ? -1 : page(&shown, envp, err);
}
