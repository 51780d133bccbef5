/* Build-time program: prints a system-call filter as an array of struct sock_filter.
 *
 *   filter isolate   of a sandbox, for isolate_seccomp.c
 *   filter plan      of sbx-plan
 */
#include <errno.h>
#include <linux/filter.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base.h"
#include "isolate_rules.h"
#include "plan_calls.h"

static const struct {
	const char *name;
	void *(*rules)(void);
} filters[] = {
	{"isolate", isolate_rules},
	{"plan", plan_calls},
};

static int print(scmp_filter_ctx filter)
{
	int fd = memfd_create("filter", MFD_CLOEXEC);

	if (filter == NULL || fd < 0 || seccomp_export_bpf(filter, fd) < 0 || lseek(fd, 0, SEEK_SET) < 0) {
		fprintf(stderr, "filter: cannot compile the filter: %s\n", strerror(errno));
		return 1;
	}
	printf("static const struct sock_filter compiled[] = {\n");
	for (struct sock_filter line; read(fd, &line, sizeof line) == (ssize_t)sizeof line;)
		printf("\t{0x%02x, %u, %u, 0x%08x},\n", line.code, line.jt, line.jf, line.k);
	printf("};\n");
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < ARRAY_LEN(filters); i++)
		if (strcmp(argv[1], filters[i].name) == 0)
			return print(filters[i].rules());
	fprintf(stderr, "filter: no such filter\n");
	return 64;
}
