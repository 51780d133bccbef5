/* Build-time program: prints the system-call filter of the sandbox as an array of struct sock_filter, for
 * isolate_seccomp.c. */
#include <errno.h>
#include <linux/filter.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "isolate_rules.h"

int main(void)
{
	scmp_filter_ctx filter = isolate_rules();
	int fd = memfd_create("filter", MFD_CLOEXEC);

	if (filter == NULL || fd < 0 || seccomp_export_bpf(filter, fd) < 0 || lseek(fd, 0, SEEK_SET) < 0) {
		fprintf(stderr, "isolate_filter: cannot compile the filter: %s\n", strerror(errno));
		return 1;
	}
	printf("static const struct sock_filter compiled[] = {\n");
	for (struct sock_filter line; read(fd, &line, sizeof line) == (ssize_t)sizeof line;)
		printf("\t{0x%02x, %u, %u, 0x%08x},\n", line.code, line.jt, line.jf, line.k);
	printf("};\n");
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
