/* bump: a step that leaves traces of having run.
 *
 *     bump TICKETS STATE
 *     bump --left TICKETS      how many bytes are in it
 *
 * Takes one byte out of the FIFO TICKETS, which is kept open and filled outside of the sandbox: what is missing there is
 * how often steps have run, whatever became of everything else. Then counts up the serial of the Terraform state STATE,
 * which an empty or missing file begins. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int complain(const char *what)
{
	perror(what);
	return 1;
}

static long serial_of(const char *path)
{
	static const char word[] = "\"serial\":";
	char text[4096] = "";
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return 0;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	const char *at = n > 0 ? strstr(text, word) : NULL;
	return at != NULL ? strtol(at + sizeof word - 1, NULL, 10) : 0;
}

static int print_left(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK), left;

	if (fd < 0 || ioctl(fd, FIONREAD, &left) < 0)
		return complain(path);
	printf("%d\n", left);
	return 0;
}

int main(int argc, char **argv)
{
	char byte, text[512];

	if (argc != 3)
		return 64;
	if (strcmp(argv[1], "--left") == 0)
		return print_left(argv[2]);
	int tickets = open(argv[1], O_RDONLY | O_NONBLOCK);
	if (tickets < 0 || read(tickets, &byte, 1) != 1)
		return complain(argv[1]);
	int len = snprintf(text, sizeof text,
			   "{\"version\":4,\"terraform_version\":\"1.11.4\",\"serial\":%ld,\"lineage\":\"bump\","
			   "\"outputs\":{},\"resources\":[]}\n",
			   serial_of(argv[2]) + 1);
	int state = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (state < 0 || write(state, text, (size_t)len) != len || close(state) < 0)
		return complain(argv[2]);
	return 0;
}
