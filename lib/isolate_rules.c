/* What a step may ask of the kernel. Whatever is not named here is refused with EPERM, so that a call which a later
 * kernel invents is refused, too. Arguments of type int are compared in their lower 32 bits, as the kernel reads them
 * (CVE-2019-10063 was the upper half). */
#include "isolate_rules.h"

#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <linux/fs.h>

#include "base.h"

static const char *const allowed[] = {
	/* files */
	"access",
	"chdir",
	"chmod",
	"chown",
	"close",
	"close_range",
	"copy_file_range",
	"creat",
	"dup",
	"dup2",
	"dup3",
	"faccessat",
	"faccessat2",
	"fadvise64",
	"fallocate",
	"fchdir",
	"fchmod",
	"fchmodat",
	"fchown",
	"fchownat",
	"fcntl",
	"fdatasync",
	"fgetxattr",
	"flistxattr",
	"flock",
	"fstat",
	"fstatfs",
	"fsync",
	"ftruncate",
	"futimesat",
	"getcwd",
	"getdents",
	"getdents64",
	"getxattr",
	"inotify_add_watch",
	"inotify_init",
	"inotify_init1",
	"inotify_rm_watch",
	"lchown",
	"lgetxattr",
	"link",
	"linkat",
	"listxattr",
	"llistxattr",
	"lseek",
	"lstat",
	"mkdir",
	"mkdirat",
	"mknod",
	"mknodat",
	"newfstatat",
	"open",
	"openat",
	"openat2",
	"pread64",
	"preadv",
	"preadv2",
	"pwrite64",
	"pwritev",
	"pwritev2",
	"read",
	"readahead",
	"readlink",
	"readlinkat",
	"readv",
	"rename",
	"renameat",
	"renameat2",
	"rmdir",
	"sendfile",
	"splice",
	"stat",
	"statfs",
	"statx",
	"symlink",
	"symlinkat",
	"sync_file_range",
	"tee",
	"truncate",
	"umask",
	"unlink",
	"unlinkat",
	"utime",
	"utimensat",
	"utimes",
	"write",
	"writev",
	/* memory */
	"brk",
	"madvise",
	"membarrier",
	"memfd_create",
	"mincore",
	"mlock",
	"mlock2",
	"mlockall",
	"mmap",
	"mprotect",
	"mremap",
	"msync",
	"munlock",
	"munlockall",
	"munmap",
	"pkey_alloc",
	"pkey_free",
	"pkey_mprotect",
	/* processes and signals (one pid namespace holds all that can be named) */
	"arch_prctl",
	"capget",
	"execve",
	"execveat",
	"exit",
	"exit_group",
	"fork",
	"getegid",
	"geteuid",
	"getgid",
	"getgroups",
	"getpgid",
	"getpgrp",
	"getpid",
	"getppid",
	"getpriority",
	"getresgid",
	"getresuid",
	"getrlimit",
	"getrusage",
	"getsid",
	"gettid",
	"getuid",
	"get_robust_list",
	"kill",
	"landlock_add_rule",
	"landlock_create_ruleset",
	"landlock_restrict_self",
	"pause",
	"pidfd_open",
	"pidfd_send_signal",
	"prctl",
	"restart_syscall",
	"rseq",
	"rt_sigaction",
	"rt_sigpending",
	"rt_sigprocmask",
	"rt_sigqueueinfo",
	"rt_sigreturn",
	"rt_sigsuspend",
	"rt_sigtimedwait",
	"rt_tgsigqueueinfo",
	"sched_getaffinity",
	"sched_getattr",
	"sched_getparam",
	"sched_getscheduler",
	"sched_get_priority_max",
	"sched_get_priority_min",
	"sched_rr_get_interval",
	"sched_yield",
	"setfsgid",
	"setfsuid",
	"setgid",
	"setpgid",
	"setregid",
	"setresgid",
	"setresuid",
	"setreuid",
	"setrlimit",
	"setsid",
	"setuid",
	"set_robust_list",
	"set_tid_address",
	"sigaltstack",
	"tgkill",
	"tkill",
	"vfork",
	"wait4",
	"waitid",
	/* time, waiting, threads */
	"alarm",
	"clock_getres",
	"clock_gettime",
	"clock_nanosleep",
	"epoll_create",
	"epoll_create1",
	"epoll_ctl",
	"epoll_pwait",
	"epoll_pwait2",
	"epoll_wait",
	"eventfd",
	"eventfd2",
	"futex",
	"getcpu",
	"getitimer",
	"getrandom",
	"gettimeofday",
	"nanosleep",
	"poll",
	"ppoll",
	"pselect6",
	"select",
	"setitimer",
	"signalfd",
	"signalfd4",
	"sysinfo",
	"time",
	"times",
	"timerfd_create",
	"timerfd_gettime",
	"timerfd_settime",
	"timer_create",
	"timer_delete",
	"timer_getoverrun",
	"timer_gettime",
	"timer_settime",
	"uname",
	/* pipes and sockets (their families are below; the network namespace is empty) */
	"accept",
	"accept4",
	"bind",
	"connect",
	"getpeername",
	"getsockname",
	"getsockopt",
	"listen",
	"pipe",
	"pipe2",
	"recvfrom",
	"recvmmsg",
	"recvmsg",
	"sendmmsg",
	"sendmsg",
	"sendto",
	"setsockopt",
	"shutdown",
};

/* Answered with "not implemented", so that a libc falls back: clone3 because its flags stand in memory where no filter
 * sees them, io_uring because it reaches sockets and files past the filter. */
static const char *const absent[] = {"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"};

/* Calls younger than this list; the same numbers everywhere. */
enum { FIRST_UNKNOWN = 449 /* futex_waitv */, LAST_UNKNOWN = 470 };

/* An allow-list here too: no TIOCSTI or TIOCLINUX, which push input into the terminal of whoever started us
 * (CVE-2017-5226). */
static const uint64_t ioctls[] = {TCGETS, TIOCGWINSZ, TIOCGPGRP, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, FICLONE};

/* Not AF_VSOCK (the way to a virtual machine's host, which no network namespace closes), AF_ALG, AF_PACKET, AF_NETLINK,
 * … Of the network only what the relay carries, and datagrams, which lead nowhere: any other protocol or type would have
 * the kernel load the module that speaks it, and MPTCP and SMC are TCP that Landlock does not look at. */
static const struct {
	uint64_t type, protocol;
} network_sockets[] = {{SOCK_STREAM, 0}, {SOCK_STREAM, IPPROTO_TCP}, {SOCK_DGRAM, 0}, {SOCK_DGRAM, IPPROTO_UDP}};
static const uint64_t network_families[] = {AF_INET, AF_INET6};
static const uint64_t type_only = 0xf; /* beside SOCK_CLOEXEC and SOCK_NONBLOCK; the kernel's SOCK_TYPE_MASK */

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
static const uint64_t namespace_flags = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
					CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME;
static const uint64_t low = UINT32_MAX;

static int add(scmp_filter_ctx filter, uint32_t action, const char *name)
{
	int number = seccomp_syscall_resolve_name(name);

	/* Some exist on one architecture only, or are younger than the library: those stay refused. */
	if (number < 0)
		return 0;
	return seccomp_rule_add(filter, action, number, 0);
}

static int add_if(scmp_filter_ctx filter, const char *name, unsigned argument, uint64_t mask, uint64_t value)
{
	struct scmp_arg_cmp compare = {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};

	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, seccomp_syscall_resolve_name(name), 1, &compare);
}

static int add_network_sockets(scmp_filter_ctx filter)
{
	const int number = seccomp_syscall_resolve_name("socket");
	int failed = 0;

	for (size_t i = 0; i < ARRAY_LEN(network_families); i++)
		for (size_t k = 0; failed == 0 && k < ARRAY_LEN(network_sockets); k++) {
			const struct scmp_arg_cmp compare[] = {
				{.arg = 0, .op = SCMP_CMP_MASKED_EQ, .datum_a = low, .datum_b = network_families[i]},
				{.arg = 1, .op = SCMP_CMP_MASKED_EQ, .datum_a = type_only, .datum_b = network_sockets[k].type},
				{.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = low, .datum_b = network_sockets[k].protocol},
			};
			failed = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, ARRAY_LEN(compare), compare);
		}
	return failed;
}

static int add_conditional(scmp_filter_ctx filter)
{
	int failed = add_if(filter, "clone", 0, namespace_flags, 0);

	for (size_t i = 0; failed == 0 && i < ARRAY_LEN(ioctls); i++)
		failed = add_if(filter, "ioctl", 1, low, ioctls[i]);
	if (failed == 0)
		failed = add_if(filter, "socket", 0, low, AF_UNIX);
	if (failed == 0)
		failed = add_network_sockets(filter);
	if (failed == 0)
		failed = add_if(filter, "socketpair", 0, low, AF_UNIX);
	/* Only their own: sbx-entry has the same user and would be within reach. */
	if (failed == 0)
		failed = add_if(filter, "prlimit64", 0, low, 0);
	if (failed == 0)
		failed = add_if(filter, "sched_setaffinity", 0, low, 0);
	return failed;
}

static int add_all(scmp_filter_ctx filter)
{
	int failed = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS); /* i386 and x32 calls */

	if (failed == 0)
		failed = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE,
					  2); /* binary search: a third of the time to load */
	for (size_t i = 0; failed == 0 && i < ARRAY_LEN(allowed); i++)
		failed = add(filter, SCMP_ACT_ALLOW, allowed[i]);
	for (size_t i = 0; failed == 0 && i < ARRAY_LEN(absent); i++)
		failed = add(filter, SCMP_ACT_ERRNO(ENOSYS), absent[i]);
	for (int number = FIRST_UNKNOWN; failed == 0 && number <= LAST_UNKNOWN; number++)
		failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0);
	return failed != 0 ? failed : add_conditional(filter);
}

void *isolate_rules(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	if (filter == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	int failed = add_all(filter);
	if (failed == 0)
		return filter;
	seccomp_release(filter);
	errno = -failed;
	return NULL;
}
