/* Forgetting the caller. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "log.h"

extern char **environ;

static char *const clean_environment[] = {
	(char *)"HOME=/nonexistent",
	(char *)"LC_ALL=C",
	(char *)"TZ=UTC",
	(char *)"PATH=/usr/bin:/bin",
	NULL,
};

static int standard_descriptors(struct sbx_error *err)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* A closed stdin must read as empty and a closed stdout must fail to write, never name a later file. */
		if (open("/dev/null", fd == 0 ? O_RDONLY : fd == 1 ? O_RDONLY : O_WRONLY) != fd)
			return sbx_fail_errno(err, SBX_OS, "os_error", "cannot open /dev/null");
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void close_others(const int *keep, size_t count)
{
	int sorted[32];
	unsigned from = 3;

	if (count > ARRAY_LEN(sorted))
		count = ARRAY_LEN(sorted);
	for (size_t i = 0; i < count; i++)
		sorted[i] = keep[i];
	qsort(sorted, count, sizeof *sorted, by_value);
	for (size_t i = 0; i < count; i++) {
		unsigned fd = (unsigned)sorted[i];
		if (sorted[i] < (int)from)
			continue;
		if (fd > from)
			syscall(SYS_close_range, from, fd - 1, 0u);
		fcntl((int)fd, F_SETFD, FD_CLOEXEC);
		from = fd + 1;
	}
	syscall(SYS_close_range, from, ~0u, 0u);
}

/* Who has the terminal on which we run could stop us for ever with these, or end us where INT and TERM do not. */
static const int terminal_signals[] = {SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU};
static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};
static enum process_stop stop = PROCESS_STOP_ENDS;

static int is_one_of(const int *signals, size_t count, int sig)
{
	for (size_t i = 0; i < count; i++)
		if (signals[i] == sig)
			return 1;
	return 0;
}

/* Over process_clean. */
static int is_ignored(int sig)
{
	return sig == SIGPIPE || is_one_of(terminal_signals, ARRAY_LEN(terminal_signals), sig) ||
	       (stop == PROCESS_STOP_IGNORED && is_one_of(stop_signals, ARRAY_LEN(stop_signals), sig));
}

static void set_mask(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	for (size_t i = 0; stop == PROCESS_STOP_HELD && i < ARRAY_LEN(stop_signals); i++)
		sigaddset(&mask, stop_signals[i]);
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

static void handle(int sig, void (*handler)(int))
{
	const struct sigaction action = {.sa_handler = handler};

	sigaction(sig, &action, NULL);
}

static void reset_signals(void)
{
	/* What a caller ignores stays ignored over an exec; the real-time signals above mean nothing to us or to our
	 * children. */
	for (int sig = 1; sig <= SIGSYS; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			handle(sig, is_ignored(sig) ? SIG_IGN : SIG_DFL);
	set_mask();
}

void process_set_stop(enum process_stop how)
{
	stop = how;
	for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++)
		handle(stop_signals[i], stop == PROCESS_STOP_IGNORED ? SIG_IGN : SIG_DFL);
	set_mask();
}

void process_obey_terminal(void)
{
	for (size_t i = 0; i < ARRAY_LEN(terminal_signals); i++)
		handle(terminal_signals[i], SIG_DFL);
}

int process_stop_fd(struct sbx_error *err)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++)
		sigaddset(&set, stop_signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot block signals");
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? sbx_fail_errno(err, SBX_OS, "os_error", "cannot watch for signals") : fd;
}

/* Variables that make the dynamic loader bring foreign code or settings into a program. */
static int is_loader_variable(const char *pair)
{
	return strncmp(pair, "LD_", 3) == 0 || strncmp(pair, "GLIBC_TUNABLES=", 15) == 0;
}

/* The words of our own command line, from /proc/self/cmdline, whose bytes are in TEXT; 0 when they are more than MAX. */
static size_t split_words(char *text, size_t len, char **words, size_t max)
{
	size_t count = 0;

	for (size_t at = 0; at < len; at += strlen(text + at) + 1) {
		if (count == max - 1)
			return 0;
		words[count++] = text + at;
	}
	words[count] = NULL;
	return count;
}

/* A library that the caller preloads is in this process already, with no more authority than the caller has. It must not stay while settings, keys and
 * policy are read: run the same program again without it. Returns only when there is nothing to shed. */
static int shed_loader_variables(struct sbx_error *err)
{
	static char text[256 * 1024], *words[4096];
	size_t kept = 0, found = 0, len = 0;

	for (char **pair = environ; pair != NULL && *pair != NULL; pair++)
		found += (size_t)is_loader_variable(*pair);
	if (found == 0)
		return 0;
	for (size_t i = 0; environ[i] != NULL; i++)
		if (!is_loader_variable(environ[i]))
			environ[kept++] = environ[i];
	environ[kept] = NULL;
	auto_fd fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	for (ssize_t n; fd >= 0 && len < sizeof text - 1 && (n = read(fd, text + len, sizeof text - 1 - len)) > 0;)
		len += (size_t)n;
	if (len > 0 && len < sizeof text - 1 && split_words(text, len, words, ARRAY_LEN(words)) > 0)
		execve("/proc/self/exe", words, environ);
	return sbx_fail(err, SBX_OS, "os_error", "cannot start again without the caller's loader variables");
}

int process_clean(const char *name, const int *keep, size_t keep_count, struct sbx_error *err)
{
	const struct rlimit no_core = {0, 0};

	log_set_name(name);
	if (shed_loader_variables(err) < 0)
		return -1;
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	setrlimit(RLIMIT_CORE, &no_core);
	umask(077);
	if (standard_descriptors(err) < 0)
		return -1;
	close_others(keep, keep_count);
	reset_signals();
	environ = (char **)clean_environment;
	return 0;
}

char *process_dir(struct sbx_error *err)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);

	if (len <= 0) {
		sbx_fail_errno(err, SBX_OS, "os_error", "cannot find this program's own file");
		return NULL;
	}
	path[len] = '\0';
	char *slash = strrchr(path, '/');
	if (slash != NULL)
		*slash = '\0';
	char *copy = strdup(path);
	if (copy == NULL)
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	return copy;
}

char *process_helper(const char *name, struct sbx_error *err)
{
	auto_free char *dir = process_dir(err);

	if (dir == NULL)
		return NULL;
	static const char *const places[] = {"", "/../libexec/sbx"};

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		char *path = NULL;
		int made = asprintf(&path, "%s%s/%s", dir, places[i], name);
		if (made > 0 && access(path, X_OK) == 0)
			return path;
		if (made > 0)
			free(path);
	}
	sbx_fail(err, SBX_CONFIG, "missing_helper", "there is no program %s beside this one or in libexec/sbx",
		 name);
	return NULL;
}
