/* Loading the filter. */
#include "isolate_seccomp.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

#if __has_include("isolate_filter.inc")
#include "isolate_filter.inc" /* made by gen/isolate_filter.c */

int isolate_seccomp(struct isolate_failure *f)
{
	struct sock_fprog program = {.len = ARRAY_LEN(compiled), .filter = (struct sock_filter *)compiled};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0u, &program) < 0)
		return isolate_fail(f, "seccomp", NULL);
	return 0;
}

#else
/* Where the generator cannot run (cross compilation), the filter is compiled at each start. */
#include <seccomp.h>

#include "isolate_rules.h"

int isolate_seccomp(struct isolate_failure *f)
{
	scmp_filter_ctx filter = isolate_rules();

	if (filter == NULL)
		return isolate_fail(f, "seccomp", NULL);
	int failed = seccomp_load(filter);
	seccomp_release(filter);
	if (failed == 0)
		return 0;
	errno = -failed;
	return isolate_fail(f, "seccomp", NULL);
}
#endif
