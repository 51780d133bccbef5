/* race: the same command many times at one moment.
 *
 *     race DIR INPUT... -- COMMAND ARGS...
 *
 * Starts COMMAND once for each file INPUT; each waits for its input, which all of them get when all have begun to wait.
 * Their answers become DIR/1, DIR/2, …; stderr is dropped. Prints the exit statuses in one line, in the order of the
 * inputs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RACERS_MAX = 64, INPUT_MAX = 1 << 20 };

struct racer {
	pid_t pid;
	int in;
	char *input;
	ssize_t len;
};

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void read_input(const char *path, struct racer *racer)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	racer->input = malloc(INPUT_MAX);
	if (fd < 0 || racer->input == NULL || (racer->len = read(fd, racer->input, INPUT_MAX)) < 0)
		die(path);
	close(fd);
}

static void start(const char *dir, int number, char **command, struct racer *racer)
{
	int pipe_fds[2];
	char path[4096];

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		die("pipe");
	racer->pid = fork();
	if (racer->pid < 0)
		die("fork");
	if (racer->pid == 0) {
		snprintf(path, sizeof path, "%s/%d", dir, number);
		int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), null = open("/dev/null", O_WRONLY);
		if (out < 0 || dup2(pipe_fds[0], 0) < 0 || dup2(out, 1) < 0 || dup2(null, 2) < 0)
			_exit(126);
		execvp(command[0], command);
		_exit(127);
	}
	close(pipe_fds[0]);
	racer->in = pipe_fds[1];
}

static int sleeps(pid_t pid)
{
	char path[64], state = 0;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "re");
	if (f == NULL || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (f != NULL)
		fclose(f);
	return state == 'S';
}

/* Asleep at two looks that follow each other: it waits for its input, and not just for a page. */
static void await_sleep(pid_t pid)
{
	for (int seen = 0; seen < 2;) {
		seen = sleeps(pid) ? seen + 1 : 0;
		nanosleep(&(struct timespec){.tv_nsec = 200 * 1000}, NULL);
	}
}

static void give(struct racer *racer)
{
	if (write(racer->in, racer->input, (size_t)racer->len) != racer->len && errno != EPIPE)
		die("write");
	close(racer->in);
}

int main(int argc, char **argv)
{
	static struct racer racers[RACERS_MAX];
	int count = 0, status;

	while (count + 2 < argc && strcmp(argv[count + 2], "--") != 0)
		count++;
	if (count == 0 || count > RACERS_MAX || count + 3 >= argc)
		return 64;
	for (int i = 0; i < count; i++) {
		read_input(argv[i + 2], &racers[i]);
		start(argv[1], i + 1, argv + count + 3, &racers[i]);
	}
	for (int i = 0; i < count; i++)
		await_sleep(racers[i].pid);
	for (int i = 0; i < count; i++)
		give(&racers[i]);
	for (int i = 0; i < count; i++) {
		if (waitpid(racers[i].pid, &status, 0) < 0)
			die("waitpid");
		printf("%s%d", i > 0 ? " " : "", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	}
	printf("\n");
	return 0;
}
