/* Loading the filter. */
#include "isolate_seccomp.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "isolate_filter.inc" /* made by gen/isolate_filter.c */

int isolate_seccomp(struct isolate_failure *f)
{
	struct sock_fprog program = {.len = ARRAY_LEN(compiled), .filter = (struct sock_filter *)compiled};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0u, &program) < 0)
		return isolate_fail(f, "seccomp", NULL);
	return 0;
}
