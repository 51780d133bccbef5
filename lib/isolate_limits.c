/* Resource limits, capabilities, Landlock. */
#include "isolate_limits.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "limit.h"
#include "steps.h"

int isolate_limits(const struct isolate *what, struct isolate_failure *f)
{
	uint64_t largest_file = what->work_bytes > LIMIT_ARTIFACT ? what->work_bytes : LIMIT_ARTIFACT;
	const struct {
		__rlimit_resource_t resource;
		uint64_t value;
		const char *name;
	} all[] = {
		{RLIMIT_CORE, 0, "RLIMIT_CORE"},
		{RLIMIT_DATA, what->memory, "RLIMIT_DATA"},
		{RLIMIT_NPROC, what->pids, "RLIMIT_NPROC"},
		{RLIMIT_NOFILE, what->files, "RLIMIT_NOFILE"},
		{RLIMIT_FSIZE, largest_file, "RLIMIT_FSIZE"}, /* a memory file counts too */
		{RLIMIT_MSGQUEUE, 0, "RLIMIT_MSGQUEUE"},
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct rlimit now, want = {all[i].value, all[i].value};
		/* The caller may have less; more than that is not ours to give. */
		if (getrlimit(all[i].resource, &now) == 0 && now.rlim_max < want.rlim_max)
			want.rlim_cur = want.rlim_max = now.rlim_max;
		if (setrlimit(all[i].resource, &want) < 0)
			return isolate_fail(f, "setrlimit", all[i].name);
	}
	return 0;
}

int isolate_privileges(struct isolate_failure *f)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	/* Up to the first that the kernel does not know, which may be more than were known when this was built. */
	for (unsigned long cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	if (errno != EINVAL)
		return isolate_fail(f, "capability bounding set", NULL);
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 || syscall(SYS_capset, &header, none) < 0)
		return isolate_fail(f, "capset", NULL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return isolate_fail(f, "no_new_privs", NULL);
	return 0;
}

/* linux/landlock.h of a build machine may be older than the kernel it runs on; numbers of its documentation. */
enum {
	LANDLOCK_ABI_REFER = 2,
	LANDLOCK_ABI_TRUNCATE = 3,
	LANDLOCK_ABI_NET = 4,
	LANDLOCK_ABI_SCOPE = 6,
	LANDLOCK_ABI_KNOWN = 7
};
static const uint64_t access_v1 = (1u << 13) - 1, access_refer = 1u << 13, access_truncate = 1u << 14;
static const uint64_t net_bind = 1, net_connect = 2, scope_abstract_and_signal = 3;
enum { RULE_NET_PORT = 2 };
struct net_port_attr {
	uint64_t allowed_access, port;
};

struct ruleset {
	uint64_t fs, net, scoped;
};

static int allow(int rules, const char *path, uint64_t access)
{
	auto_fd parent = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr beneath = {.allowed_access = access, .parent_fd = parent};

	if (parent < 0)
		return -1;
	return (int)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0u);
}

/* The ports that something listens at; which addresses there are is the network namespace's matter. */
static int allow_ports(int rules, const struct isolate *what)
{
	for (size_t i = 0; i < what->listen_count; i++) {
		struct net_port_attr port = {.allowed_access = net_connect, .port = ntohs(what->listen[i].sin_port)};
		if (syscall(SYS_landlock_add_rule, rules, RULE_NET_PORT, &port, 0u) < 0)
			return -1;
	}
	return 0;
}

int isolate_landlock(const struct isolate *what, struct isolate_failure *f)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi <= 0)
		return 0;
	if (abi > LANDLOCK_ABI_KNOWN)
		abi = LANDLOCK_ABI_KNOWN;
	struct ruleset handled = {
		.fs = access_v1 | (abi >= LANDLOCK_ABI_REFER ? access_refer : 0) |
		      (abi >= LANDLOCK_ABI_TRUNCATE ? access_truncate : 0),
		.net = abi >= LANDLOCK_ABI_NET ? net_bind | net_connect : 0,
		.scoped = abi >= LANDLOCK_ABI_SCOPE ? scope_abstract_and_signal : 0,
	};
	size_t size = abi >= LANDLOCK_ABI_SCOPE ? 24
		      : abi >= LANDLOCK_ABI_NET ? 16
						: 8; /* the kernel's own, by level */
	uint64_t read = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
	uint64_t write = handled.fs & ~(uint64_t)(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK);
	uint64_t put = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | (handled.fs & access_truncate);

	auto_fd rules = (int)syscall(SYS_landlock_create_ruleset, &handled, size, 0u);
	if (rules < 0)
		return isolate_fail(f, "Landlock", NULL);
	if (allow(rules, "/", read) < 0 || allow(rules, SANDBOX_WORK, write) < 0 || allow(rules, "/tmp", write) < 0 ||
	    allow(rules, "/dev/null", put) < 0 || allow(rules, "/dev/zero", put) < 0 ||
	    allow(rules, "/dev/full", put) < 0 ||
	    ((what->flags & ISOLATE_CREDENTIALS) && allow(rules, SANDBOX_CREDENTIALS, write) < 0) ||
	    (handled.net != 0 && allow_ports(rules, what) < 0))
		return isolate_fail(f, "Landlock", NULL);
	if (syscall(SYS_landlock_restrict_self, rules, 0u) < 0)
		return isolate_fail(f, "Landlock", NULL);
	return (int)abi;
}
