/* Test tool: the far end of connections out of a sandbox.
 *
 *     tcpend PORTFILE echo|say|reset|silent|write|byte [ADDRESS]
 *
 * Listens on ADDRESS (default 127.0.0.1) at a free port, which it writes to PORTFILE, until its stdin ends. For each connection, in a process of its
 * own: sends back all it gets; says "far end" and closes; breaks off; or says nothing and waits, or writes what it gets to its stdout. A line for each on stdout. With "byte" it sends back one byte of each itself, and no
 * line, to be as quick as can be.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void serve(int fd, const char *how)
{
	char bytes[65536];
	ssize_t n;

	if (strcmp(how, "say") == 0)
		_exit(send(fd, "far end", 7, 0) != 7);
	if (strcmp(how, "reset") == 0) {
		struct linger at_once = {.l_onoff = 1};
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
		_exit(0);
	}
	while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0) {
		if (strcmp(how, "write") == 0 && write(STDOUT_FILENO, bytes, (size_t)n) != n)
			_exit(1);
		for (ssize_t done = 0; strcmp(how, "echo") == 0 && done < n;) {
			ssize_t sent = send(fd, bytes + done, (size_t)(n - done), MSG_NOSIGNAL);
			if (sent <= 0)
				_exit(1);
			done += sent;
		}
	}
	printf("%s\n", n == 0 ? "ended" : "broken off");
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char name[4096];

	if (argc < 3 || inet_pton(AF_INET, argc > 3 ? argv[3] : "127.0.0.1", &address.sin_addr) != 1 ||
	    bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 128) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return 1;
	signal(SIGCHLD, SIG_IGN);
	snprintf(name, sizeof name, "%s.new", argv[1]);
	FILE *file = fopen(name, "w");
	if (file == NULL || fprintf(file, "%u\n", ntohs(address.sin_port)) < 0 || fclose(file) != 0 || rename(name, argv[1]) != 0)
		return 1;
	for (;;) {
		struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
		if (poll(fds, 2, -1) < 0 || fds[1].revents)
			return 0;
		int one = accept(fd, NULL, NULL);
		if (one < 0)
			continue;
		if (strcmp(argv[2], "byte") == 0) {
			char byte;
			if (recv(one, &byte, 1, 0) == 1)
				send(one, &byte, 1, MSG_NOSIGNAL);
			close(one);
			continue;
		}
		printf("connection\n");
		fflush(stdout);
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(fd);
			serve(one, argv[2]);
		}
		close(one);
	}
}
