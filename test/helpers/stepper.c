/* stepper: a step whose behaviour a test spells out, as VERB ARGUMENT… ; VERB ARGUMENT… (the words `then` part them):
 *   out TEXT | err TEXT | flood N BYTE | fill N BYTE | env NAME | cat FILE | write FILE TEXT | state FILE SERIAL
 * LINEAGE | stubborn | sleep | pause MS | linger | fds | exit N | die | follow FILE | moan FILE
 * follow does what FILE spells out, a word a line; moan is cat to stderr; flood writes N bytes of the value BYTE to
 * stdout, fill to stderr; die ends by a signal; sleep ends on INT (status 130), but not behind stubborn; linger leaves a
 * process behind that writes to stdout; fds prints the numbers of the open descriptors, a line each. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int stubborn;

static void on_int(int sig)
{
	(void)sig;
	_exit(130);
}

static int put(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, bytes, len);
		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static int flood(int fd, const char *count, const char *byte)
{
	char block[4096];
	size_t left = strtoul(count, NULL, 10);

	memset(block, (int)strtol(byte, NULL, 10), sizeof block);
	while (left > 0) {
		size_t n = left < sizeof block ? left : sizeof block;
		if (put(fd, block, n) < 0)
			return -1;
		left -= n;
	}
	return 0;
}

static int cat(const char *path, int to)
{
	char block[65536];
	int fd = open(path, O_RDONLY);
	ssize_t n;

	if (fd < 0) {
		dprintf(2, "cannot open %s: %s\n", path, strerror(errno));
		return -1;
	}
	while ((n = read(fd, block, sizeof block)) > 0)
		put(to, block, (size_t)n);
	close(fd);
	return 0;
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || put(fd, text, strlen(text)) < 0) {
		dprintf(2, "cannot write %s: %s\n", path, strerror(errno));
		return -1;
	}
	return close(fd);
}

static int write_state(const char *path, const char *serial, const char *lineage)
{
	char text[512];

	snprintf(text, sizeof text,
		 "{\"version\":4,\"terraform_version\":\"1.11.4\",\"serial\":%s,\"lineage\":\"%s\",\"outputs\":{},"
		 "\"resources\":[]}\n",
		 serial, lineage);
	return write_file(path, text);
}

/* Sleep until INT; announces itself, so that a test need not guess. */
static void sleep_on(void)
{
	if (!stubborn)
		signal(SIGINT, on_int);
	put(1, "asleep\n", 7);
	for (;;)
		pause();
}

static void reach(void)
{
	char path[64];
	pid_t child = fork();

	if (child != 0) {
		waitpid(child, NULL, 0);
		return;
	}
	static const char *const places[] = {"fd/1", "mem"};
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "/proc/%d/%s", (int)getppid(), places[i]);
		int fd = open(path, O_WRONLY);
		dprintf(2, "%s: %s\n", places[i], fd >= 0 ? "open" : "refused");
	}
	_exit(0);
}

static void linger(void)
{
	if (fork() == 0) {
		signal(SIGINT, SIG_IGN);
		for (;;) {
			put(1, "ghost\n", 6);
			usleep(1000);
		}
	}
}

static int run(char **argv, int argc);

/* What FILE spells out, a word a line. */
static int follow(const char *path)
{
	static char text[65536];
	char *words[256];
	int count = 0, fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	for (char *word = n < 0 ? NULL : strtok(text, "\n"); word != NULL && count < 256; word = strtok(NULL, "\n"))
		words[count++] = word;
	return n < 0 ? -1 : run(words, count);
}

/* One verb at ARGV[0]; how many words it took, -1 on failure. */
static int act(char **argv, int left)
{
	const char *verb = argv[0];
#define NEEDS(name, n) (strcmp(verb, name) == 0 && left > (n))
	if (NEEDS("out", 1))
		return put(1, argv[1], strlen(argv[1])) < 0 ? -1 : 2;
	if (NEEDS("err", 1))
		return put(2, argv[1], strlen(argv[1])) < 0 ? -1 : 2;
	if (NEEDS("flood", 2))
		return flood(1, argv[1], argv[2]) < 0 ? -1 : 3;
	if (NEEDS("fill", 2))
		return flood(2, argv[1], argv[2]) < 0 ? -1 : 3;
	if (NEEDS("env", 1)) {
		const char *value = getenv(argv[1]);
		dprintf(1, "%s=%s\n", argv[1], value ? value : "(unset)");
		return 2;
	}
	if (NEEDS("cat", 1))
		return cat(argv[1], 1) < 0 ? -1 : 2;
	if (NEEDS("moan", 1))
		return cat(argv[1], 2) < 0 ? -1 : 2;
	if (NEEDS("follow", 1))
		return follow(argv[1]) < 0 ? -1 : 2;
	if (NEEDS("write", 2))
		return write_file(argv[1], argv[2]) < 0 ? -1 : 3;
	if (NEEDS("state", 3))
		return write_state(argv[1], argv[2], argv[3]) < 0 ? -1 : 4;
	if (NEEDS("stubborn", 0)) {
		stubborn = 1;
		signal(SIGINT, SIG_IGN);
		return 1;
	}
	if (NEEDS("sleep", 0))
		sleep_on();
	if (NEEDS("pause", 1)) {
		usleep((useconds_t)strtoul(argv[1], NULL, 10) * 1000);
		return 2;
	}
	if (NEEDS("linger", 0)) {
		linger();
		return 1;
	}
	if (NEEDS("reach", 0)) {
		reach();
		return 1;
	}
	if (NEEDS("fds", 0)) {
		for (int fd = 0; fd < 1024; fd++)
			if (fcntl(fd, F_GETFD) >= 0)
				dprintf(1, "%d\n", fd);
		return 1;
	}
	if (NEEDS("exit", 1))
		exit(atoi(argv[1]));
	if (NEEDS("die", 0))
		raise(SIGKILL);
	dprintf(2, "stepper: what is %s?\n", verb);
	return -1;
}

static int run(char **argv, int argc)
{
	for (int i = 0; i < argc;) {
		int took = act(argv + i, argc - i);
		if (took < 0)
			return -1;
		i += took;
		if (i < argc && strcmp(argv[i], "then") == 0)
			i++;
	}
	return 0;
}

int main(int argc, char **argv)
{
	return run(argv + 1, argc - 1) < 0;
}
