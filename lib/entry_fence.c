/* unshare, cover, give everything up, exec; or a filter behind the one that is there, and exec. */
#include "entry_fence.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "io.h"
#include "log.h"

enum { CANNOT_START = 127, CAPABILITIES = 64 };

static int put_file(const char *path, const char *text, struct sbx_error *err)
{
	auto_fd fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return sbx_fail_errno(err, SBX_OS, "cannot_start", "cannot open %s", path);
	return io_write_all(fd, text, strlen(text), err);
}

/* The same user and group inside: what a step makes is its own, and it is no root anywhere. */
static int keep_user(unsigned uid, unsigned gid, struct sbx_error *err)
{
	char map[32];

	snprintf(map, sizeof map, "%u %u 1", uid, uid);
	if (put_file("/proc/self/setgroups", "deny", err) < 0 || put_file("/proc/self/uid_map", map, err) < 0)
		return -1;
	snprintf(map, sizeof map, "%u %u 1", gid, gid);
	return put_file("/proc/self/gid_map", map, err);
}

static int give_up_all(struct sbx_error *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{.effective = 0}};

	for (unsigned long capability = 0; capability < CAPABILITIES; capability++)
		prctl(PR_CAPBSET_DROP, capability, 0, 0, 0); /* fails past the last one */
	if (syscall(SYS_capset, &header, none) < 0)
		return sbx_fail_errno(err, SBX_OS, "cannot_start", "cannot drop the capabilities");
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
		       ? 0
		       : sbx_fail_errno(err, SBX_OS, "cannot_start", "cannot set no_new_privs");
}

/* In a Pod that file is the node's: no limit of the Pod counts what is written there, and the cluster shows its first lines to
 * whoever sees the Pod. (Kubernetes' default; cluster/ admits no other place.) */
static int cover_termination_log(struct sbx_error *err)
{
	static const char path[] = "/dev/termination-log";

	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	return mount("/dev/null", path, NULL, MS_BIND, NULL) == 0
		       ? 0
		       : sbx_fail_errno(err, SBX_OS, "cannot_start", "cannot cover %s", path);
}

static int fence(const char *covered, int network, struct sbx_error *err)
{
	unsigned uid = getuid(), gid = getgid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | (network ? 0 : CLONE_NEWNET)) < 0)
		return sbx_fail_errno(err, SBX_OS, "cannot_start", "cannot make namespaces for the step");
	if (keep_user(uid, gid, err) < 0)
		return -1;
	if (mount("none", covered, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0555") < 0)
		return sbx_fail_errno(err, SBX_OS, "cannot_start", "cannot cover what is not the step's");
	return cover_termination_log(err) < 0 ? -1 : give_up_all(err);
}

/* The filter before this one has refused calls of other architectures. */
static int refuse_sockets(struct sbx_error *err)
{
	static struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args) + (__BYTE_ORDER == __BIG_ENDIAN ? 4 : 0)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {.len = sizeof program / sizeof *program, .filter = program};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0
		       ? 0
		       : sbx_fail_errno(err, SBX_OS, "cannot_start", "cannot take the network from the step");
}

int entry_fence(int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;

	if (argc <= ENTRY_FENCE_WORDS)
		return SBX_USAGE;
	int done = strcmp(argv[3], ENTRY_FENCE_NO_SOCKETS) == 0
			   ? refuse_sockets(&err)
			   : fence(argv[2], strcmp(argv[3], ENTRY_FENCE_NETWORK) == 0, &err);
	if (done == 0) {
		execve(argv[4], argv + ENTRY_FENCE_WORDS, environ);
		sbx_fail_errno(&err, SBX_OS, "cannot_start", "cannot start the step's program");
	}
	log_error(&err);
	return CANNOT_START;
}
