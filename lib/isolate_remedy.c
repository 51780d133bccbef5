/* From a failing step and the kernel's settings to a sentence that helps. */
#include "isolate_remedy.h"

#include <fcntl.h>
#include <string.h>

#include "io.h"

/* A setting as a number; -1 when it is not there. */
static int64_t setting(const char *path)
{
	char text[32] = "";
	uint64_t value;
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (n <= 0)
		return -1;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return io_parse_u64(text, 0, INT64_MAX, &value) == 0 ? (int64_t)value : -1;
}

static int apparmor(struct sbx_error *err)
{
	char own[200];
	ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);

	own[n > 0 ? n : 0] = '\0';
	return sbx_hint(err,
			"as root write /etc/apparmor.d/sbx-run-local with the two lines \"abi <abi/4.0>,\" and "
			"\"profile sbx-run-local %s "
			"flags=(unconfined) { userns, }\" and run apparmor_parser -r /etc/apparmor.d/sbx-run-local",
			own);
}

int isolate_remedy(const struct isolate_failure *f, struct sbx_error *err)
{
	errno = f->error;
	sbx_fail_errno(err, SBX_UNAVAILABLE, "cannot_isolate", "no sandbox can be made here: \"%s\"%s%s failed",
		       f->step, f->what[0] != '\0' ? " for " : "", f->what);
	if (f->what[0] == '/' && (f->error == ENOENT || f->error == ENOTDIR || f->error == ELOOP))
		return sbx_hint(err, "%s must be there for the mounts that the policy lists", f->what);
	if (f->error == ENOSYS)
		return sbx_hint(err, "Linux 5.12 or newer is needed");
	if (setting("/proc/sys/user/max_user_namespaces") == 0 || f->error == ENOSPC)
		return sbx_hint(
			err, "user namespaces are switched off or used up: sysctl -w user.max_user_namespaces=10000");
	if (setting("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		return sbx_hint(
			err, "user namespaces are for root alone here: sysctl -w kernel.unprivileged_userns_clone=1");
	if (setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") > 0)
		return apparmor(err);
	if (strcmp(f->step, "mount /proc") == 0)
		return sbx_hint(err, "this container hides parts of /proc; give it an unmasked one (docker: "
				     "--security-opt systempaths=unconfined)");
	if (f->error == EPERM || f->error == EACCES)
		return sbx_hint(err, "in a container, its seccomp profile must allow clone3, mount and pivot_root");
	return -1;
}
