/* chaindoor PROGRAM COUNT: a door that starts PROGRAM so many times, one after the other, and answers like a finished
 * call: what a dispatcher costs with so many processes behind it, and nothing else. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static const char list[] = "{\"tools\":[{\"name\":\"run\",\"description\":\"Run "
				   "programs.\",\"inputSchema\":{\"type\":\"object\"}}]}\n";
	static const char call[] = "{\"sbx\":1,\"call\":{\"id\":\"0123456789abcdef0123456789abcdef\",\"tool\":\"run\"},"
				   "\"result\":{\"state\":\"completed\","
				   "\"exit\":0,\"stdout\":\"done\",\"took_ms\":1}}\n";
	char line[4096];
	ssize_t n = read(0, line, sizeof line);
	int is_call = n > 5 && memcmp(line, "call ", 5) == 0;

	if (argc < 3)
		return 64;
	for (int i = 0; is_call && i < atoi(argv[2]); i++) {
		char *const child[] = {argv[1], NULL}, *const none[] = {NULL};
		pid_t pid;
		int status;
		if (posix_spawn(&pid, argv[1], NULL, NULL, child, none) != 0 || waitpid(pid, &status, 0) != pid ||
		    status != 0)
			return 1;
	}
	const char *answer = is_call ? call : list;
	return write(1, answer, strlen(answer)) == (ssize_t)strlen(answer) ? 0 : 74;
}
