/* bench: times for make bench.
 *
 *   bench pair NAME ROUNDS LIMIT COMMAND-A ARGS... -- COMMAND-B ARGS...
 *       run both in turn, A B A B..., and print the median of each and the ratio A / B; status 1 when the ratio is
 * above LIMIT bench cpu NAME ROUNDS LIMIT COMMAND-A ARGS... -- COMMAND-B ARGS... the same for programs that compute and
 * wait for nothing: the least processor time of each, which other work on the machine changes least bench rpc NAME
 * ROUNDS LIMIT LINE COMMAND-A ARGS... -- COMMAND-B ARGS... the same, from the start to the first whole line that
 * answers LINE; and how long A takes from the end of its stdin to its own end, and its resident memory after the answer
 *   bench said NAME ROUNDS LIMIT COMMAND-A ARGS... -- COMMAND-B ARGS...
 *       the same for commands that measure something themselves: what counts is the number that each prints
 * (milliseconds) bench peak NAME LIMIT COMMAND ARGS... run it once and print how much memory it had at most, in KiB;
 * status 1 when that is above LIMIT
 *
 * Words N<FILE before a command open FILE, for reading and writing where it is a FIFO, as descriptor N; N<@FILE opens
 * FILE.0 for its first run, FILE.1 for the next, and so on. A word ?STATUS is the exit status that the command must
 * have, instead of 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { ROUNDS_MAX = 1000, SIDES = 2 };

struct sample {
	double answer_ms; /* to the answer, or to the end */
	double cpu_ms;
	double end_ms;	  /* from the end of stdin to the end */
	long rss_kib;	  /* after the answer, or the most there was */
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static int is_option(const char *word)
{
	return strchr(word, '<') != NULL || word[0] == '?';
}

static int wanted_status(char **argv)
{
	int status = 0;

	for (; is_option(argv[0]); argv++)
		if (argv[0][0] == '?')
			status = (int)strtol(argv[0] + 1, NULL, 10);
	return status;
}

/* The words N<FILE of ARGV; returns where the command begins. */
static char **open_files(char **argv, posix_spawn_file_actions_t *actions)
{
	static int turn;
	static char numbered[4096];

	for (; is_option(argv[0]); argv++) {
		const char *file = strchr(argv[0], '<') + 1;
		struct stat st;
		if (argv[0][0] == '?')
			continue;
		if (file[0] == '@') {
			snprintf(numbered, sizeof numbered, "%s.%d", file + 1, turn++);
			file = numbered;
		}
		int is_fifo = stat(file, &st) == 0 && S_ISFIFO(st.st_mode);
		posix_spawn_file_actions_addopen(actions, (int)strtol(argv[0], NULL, 10), file, is_fifo ? O_RDWR : O_RDONLY, 0);
	}
	return argv;
}

static pid_t launch(char **argv, int in, int out)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	if (in >= 0)
		posix_spawn_file_actions_adddup2(&actions, in, 0);
	else
		posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (out >= 0)
		posix_spawn_file_actions_adddup2(&actions, out, 1);
	else
		posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	argv = open_files(argv, &actions);
	errno = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
	if (errno != 0)
		die(argv[0]);
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

static double ms_of(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

static struct rusage must_end_well(pid_t pid, char **argv)
{
	struct rusage usage;
	int status;

	if (wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != wanted_status(argv)) {
		fprintf(stderr, "bench: %s did not end as it should\n", argv[0]);
		exit(2);
	}
	return usage;
}

static struct sample run_once(char **argv)
{
	struct sample s = {0};
	double start = now_ms();

	struct rusage usage = must_end_well(launch(argv, -1, -1), argv);
	s.rss_kib = usage.ru_maxrss;
	s.cpu_ms = ms_of(usage.ru_utime) + ms_of(usage.ru_stime);
	s.answer_ms = now_ms() - start;
	return s;
}

static long resident_kib(pid_t pid)
{
	char path[64], line[256];
	long kib = 0;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	if (f != NULL)
		fclose(f);
	return kib;
}

static struct sample ask_once(char **argv, const char *line)
{
	struct sample s = {0};
	int in[2], out[2];
	static char block[65536];
	ssize_t n = 0;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		die("pipe");
	double start = now_ms();
	pid_t pid = launch(argv, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	if (write(in[1], line, strlen(line)) < 0 || write(in[1], "\n", 1) < 0)
		die("write");
	while (n == 0 || memchr(block, '\n', (size_t)n) == NULL)
		if ((n = read(out[0], block, sizeof block)) <= 0)
			die("no answer");
	s.answer_ms = now_ms() - start;
	s.rss_kib = resident_kib(pid);
	start = now_ms();
	close(in[1]);
	must_end_well(pid, argv);
	s.end_ms = now_ms() - start;
	close(out[0]);
	return s;
}

/* The number that it prints. */
static struct sample said_once(char **argv)
{
	struct sample s = {0};
	char text[64] = "", *end;
	size_t len = 0;
	int out[2];

	if (pipe2(out, O_CLOEXEC) < 0)
		die("pipe");
	pid_t pid = launch(argv, -1, out[1]);
	close(out[1]);
	for (ssize_t n; len < sizeof text - 1 && (n = read(out[0], text + len, sizeof text - 1 - len)) > 0;)
		len += (size_t)n;
	close(out[0]);
	must_end_well(pid, argv);
	s.answer_ms = strtod(text, &end);
	if (end == text || s.answer_ms <= 0) {
		fprintf(stderr, "bench: %s printed no number\n", argv[0]);
		exit(2);
	}
	return s;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof *values, by_value);
	return values[n / 2];
}

static int peak(const char *name, long limit, char **command)
{
	long kib = run_once(command).rss_kib;

	printf("%-46s %8ld KiB  (at most %ld)%s\n", name, kib, limit, kib <= limit ? "" : "  ABOVE");
	return kib <= limit ? 0 : 1;
}

int main(int argc, char **argv)
{
	static double times[SIDES][ROUNDS_MAX], ends[ROUNDS_MAX];
	long rss = 0;

	signal(SIGPIPE, SIG_IGN);
	if (argc >= 5 && strcmp(argv[1], "peak") == 0)
		return peak(argv[2], strtol(argv[3], NULL, 10), argv + 4);
	if (argc < 7)
		return 64;
	int cpu = strcmp(argv[1], "cpu") == 0, rpc = strcmp(argv[1], "rpc") == 0, said = strcmp(argv[1], "said") == 0,
	    first = rpc ? 6 : 5, split = first;
	const char *name = argv[2], *line = rpc ? argv[5] : NULL;
	int rounds = (int)strtol(argv[3], NULL, 10);
	double limit = strtod(argv[4], NULL);
	while (split < argc && strcmp(argv[split], "--") != 0)
		split++;
	if (split >= argc - 1 || rounds < 1 || rounds > ROUNDS_MAX)
		return 64;
	argv[split] = NULL;
	char **sides[SIDES] = {argv + first, argv + split + 1};
	for (int round = -1; round < rounds; round++) /* the first round only warms the caches */
		for (int side = 0; side < SIDES; side++) {
			struct sample s = rpc	 ? ask_once(sides[side], line)
					  : said ? said_once(sides[side])
						 : run_once(sides[side]);
			if (round < 0)
				continue;
			times[side][round] = cpu ? s.cpu_ms : s.answer_ms;
			if (side == 0) {
				ends[round] = s.end_ms;
				rss = s.rss_kib > rss ? s.rss_kib : rss;
			}
		}
	double a = median(times[0], rounds), b = median(times[1], rounds); /* sorted now */
	if (cpu) {
		a = times[0][0];
		b = times[1][0];
	}
	printf("%-46s %8.2f ms  baseline %8.2f ms  ratio %5.2f  (at most %.2f)%s\n", name, a, b, a / b, limit, a / b <= limit ? "" : "  ABOVE");
	if (rpc)
		printf("%-46s %8.2f ms from end of stdin to end; %ld KiB resident\n", "", median(ends, rounds), rss);
	return a / b <= limit ? 0 : 1;
}
