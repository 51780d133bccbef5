/* clone3 into new namespaces, then everything else in the child: identity, mounts, limits, rights, filter, exec. */
#include "isolate.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "clock.h"
#include "isolate_limits.h"
#include "isolate_mounts.h"
#include "isolate_net.h"
#include "isolate_remedy.h"
#include "isolate_seccomp.h"
#include "isolate_sys.h"
#include "steps.h"

static const uint64_t namespaces =
	CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

static const int64_t listeners_ms = 10000; /* takes one; a machine under load, a hundred */

enum { FD_SAFE = 64 /* sources are moved above this before the numbers below 32 are given out */ };

/* Who the sandbox's user is on the host, and who writes the maps: a plain user can map itself; root maps
 * ISOLATE_OUTER_ID. */
struct identity {
	uid_t uid;
	gid_t gid;
	int by_root;
	int go[2]; /* by_root: a byte when the maps are written */
};

/* Root of the machine, or root of a container that has nobody, too? Root of a lone user namespace is a plain user. */
static int can_map_outer(void)
{
	unsigned first, outer, count;
	int found = 0;
	FILE *map = fopen("/proc/self/uid_map", "re");

	while (map != NULL && fscanf(map, "%u %u %u", &first, &outer, &count) == 3)
		found |= first <= ISOLATE_OUTER_ID && ISOLATE_OUTER_ID - first < count;
	if (map != NULL)
		fclose(map);
	return found;
}

static int write_file(const char *path, const char *text)
{
	auto_fd fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

/* Below DIR ("/proc/self", "/proc/N"). */
static int write_maps(const char *dir, const struct identity *who, struct isolate_failure *f)
{
	const struct {
		const char *name;
		unsigned id;
	} maps[] = {{"uid_map", who->uid}, {"gid_map", who->gid}};
	char path[64], line[64];

	snprintf(path, sizeof path, "%s/setgroups", dir);
	if (write_file(path, "deny") < 0)
		return isolate_fail(f, "setgroups", NULL);
	for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
		snprintf(path, sizeof path, "%s/%s", dir, maps[i].name);
		snprintf(line, sizeof line, "%u %u 1\n", ISOLATE_INNER_ID, maps[i].id);
		if (write_file(path, line) < 0)
			return isolate_fail(f, maps[i].name, NULL);
	}
	/* When the machine runs out of memory, the sandbox goes first. */
	snprintf(path, sizeof path, "%s/oom_score_adj", dir);
	return write_file(path, "1000") == 0 ? 0 : isolate_fail(f, "oom_score_adj", NULL);
}

/* --- in the child --- */

static int take_identity(struct identity *who, struct isolate_failure *f)
{
	char byte;

	if (!who->by_root) {
		/* A process that is not dumpable may not write its own maps. For this moment other processes of the
		 * same account could look into it; they could look into the caller's files as well. */
		if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || write_maps("/proc/self", who, f) < 0)
			return isolate_fail(f, "dumpable", NULL);
		return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	}
	base_close_fd(&who->go[1]);
	if (read(who->go[0], &byte, 1) != 1)
		return isolate_fail(f, "uid_map", NULL);
	if (syscall(SYS_setresgid, ISOLATE_INNER_ID, ISOLATE_INNER_ID, ISOLATE_INNER_ID) < 0 ||
	    syscall(SYS_setresuid, ISOLATE_INNER_ID, ISOLATE_INNER_ID, ISOLATE_INNER_ID) < 0)
		return isolate_fail(f, "setresuid", NULL);
	return 0;
}

static int give_descriptors(const struct isolate *what, int *life_fd, struct isolate_failure *f)
{
	int high[ISOLATE_MAX_FDS], last = 2;
	auto_fd null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	for (size_t i = 0; i < what->fd_count; i++) {
		high[i] = fcntl(what->fds[i].parent, F_DUPFD_CLOEXEC, FD_SAFE);
		if (high[i] < 0)
			return isolate_fail(f, "descriptors", NULL);
		if (what->fds[i].parent == *life_fd)
			*life_fd = what->fds[i].child;
	}
	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		return isolate_fail(f, "descriptors", NULL);
	for (size_t i = 0; i < what->fd_count; i++) {
		if (dup2(high[i], what->fds[i].child) < 0)
			return isolate_fail(f, "descriptors", NULL);
		if (what->fds[i].child > last)
			last = what->fds[i].child;
	}
	/* Locks, mount trees, whatever the caller had: nothing of it goes in. */
	for (int fd = 3; fd < last; fd++) {
		int given = 0;
		for (size_t i = 0; i < what->fd_count; i++)
			given |= what->fds[i].child == fd;
		if (!given)
			close(fd);
	}
	if (syscall(SYS_close_range, (unsigned)last + 1, ~0u, 0u) < 0)
		return isolate_fail(f, "close_range", NULL);
	null = -1;
	return 0;
}

/* The kernel kills us when the driver dies; but that may have happened before we asked for it. */
static int tie_to_driver(int life_fd, struct isolate_failure *f)
{
	struct pollfd life = {.fd = life_fd, .events = POLLIN};

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return isolate_fail(f, "PR_SET_PDEATHSIG", NULL);
	if (poll(&life, 1, 0) > 0 && (life.revents & POLLHUP))
		_exit(1);
	return 0;
}

static int become(const struct isolate *what, struct identity *who, int channel, struct isolate_failure *f)
{
	static const char *const no_environment[] = {NULL};
	struct isolate_trees trees;
	int life_fd = what->life_fd;
	sigset_t none;

	umask(022);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* The sources are looked up with the caller's rights, the new root is made by the user it belongs to. */
	if (who->by_root && isolate_mounts_take(what, &trees, f) < 0)
		return -1;
	if (take_identity(who, f) < 0 || isolate_net(what, channel, f) < 0)
		return -1;
	base_close_fd(&channel);
	if (!who->by_root && isolate_mounts_take(what, &trees, f) < 0)
		return -1;
	if (isolate_mounts_build(what, &trees, f) < 0)
		return -1;
	if (sethostname(what->host_name, strlen(what->host_name)) < 0 || setdomainname("", 0) < 0)
		return isolate_fail(f, "sethostname", NULL);
	setsid();
	if (give_descriptors(what, &life_fd, f) < 0 || isolate_limits(what, f) < 0 || isolate_privileges(f) < 0 ||
	    isolate_landlock(what, f) < 0 || tie_to_driver(life_fd, f) < 0 || isolate_seccomp(f) < 0)
		return -1;
	execve(SANDBOX_ENTRY, (char *const *)what->argv, (char *const *)no_environment);
	return isolate_fail(f, "execve", SANDBOX_ENTRY);
}

/* --- in the caller --- */

static int own_state(const struct isolate *what, const struct identity *who, struct isolate_failure *f)
{
	if (what->state.source == NULL || !who->by_root)
		return 0;
	auto_fd fd = open(what->state.source, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return isolate_fail(f, "state file", what->state.source);
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1) {
		errno = EINVAL;
		return isolate_fail(f, "state file", what->state.source);
	}
	return fchown(fd, who->uid, who->gid) == 0 ? 0 : isolate_fail(f, "state file", what->state.source);
}

/* Root writes the maps for the child, and is root no longer: what the driver does from here on, it does with output of
 * a sandbox. */
static int introduce(const struct isolated *out, struct identity *who, struct isolate_failure *f)
{
	char dir[32];

	if (!who->by_root)
		return 0;
	base_close_fd(&who->go[0]);
	snprintf(dir, sizeof dir, "/proc/%d", (int)out->child.pid);
	if (write_maps(dir, who, f) < 0)
		return -1;
	if (write(who->go[1], "", 1) != 1)
		return isolate_fail(f, "uid_map", NULL);
	if (setresgid(who->gid, who->gid, who->gid) < 0 || setresuid(who->uid, who->uid, who->uid) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return isolate_fail(f, "setresuid", NULL);
	return 0;
}

static int prepare(const struct isolate *what, struct identity *who, struct isolate_failure *f)
{
	*who = (struct identity){.uid = geteuid(), .gid = getegid(), .go = {-1, -1}};
	if (what->bind_count > ISOLATE_MAX_BINDS || what->fd_count > ISOLATE_MAX_FDS ||
	    what->listen_count > ISOLATE_MAX_LISTEN) {
		errno = E2BIG;
		return isolate_fail(f, "mounts", NULL);
	}
	if (who->uid != 0 || !can_map_outer())
		return 0;
	who->by_root = 1;
	who->uid = who->gid = ISOLATE_OUTER_ID;
	if (setgroups(0, NULL) < 0)
		return isolate_fail(f, "setgroups", NULL);
	if (pipe2(who->go, O_CLOEXEC) < 0)
		return isolate_fail(f, "pipe", NULL);
	return own_state(what, who, f);
}

/* The listeners of the sandbox, which makes them while we wait. */
static int take_listeners(const struct isolate *what, int channel[2], struct isolated *out, struct isolate_failure *f)
{
	base_close_fd(&channel[1]);
	if (what->listen_count == 0 ||
	    isolate_net_take(what->listen_count, channel[0], clock_mono_ms() + listeners_ms, out) == 0)
		return 0;
	/* It may be failing this moment, and says why. */
	spawn_kill(&out->child);
	errno = ETIMEDOUT;
	return isolate_fail(f, "listener", NULL);
}

int isolate_start(const struct isolate *what, struct isolated *out, struct sbx_error *err)
{
	int channel[2] = {-1, -1};
	struct identity who;

	*out = (struct isolated)ISOLATED_NONE;
	out->failure = mmap(NULL, sizeof *out->failure, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (out->failure == MAP_FAILED) {
		out->failure = NULL;
		return sbx_fail_errno(err, SBX_OS, "no_memory", "cannot get memory");
	}
	int failed = prepare(what, &who, out->failure);
	if (failed == 0 && what->listen_count > 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0)
		failed = isolate_fail(out->failure, "socketpair", NULL);
	if (failed == 0) {
		struct clone_args args = {.flags = namespaces | CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
					  .pidfd = (uint64_t)(uintptr_t)&out->child.pidfd,
					  .exit_signal = SIGCHLD};
		pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
		if (pid == 0) {
			become(what, &who, channel[1], out->failure);
			_exit(1);
		}
		if (pid < 0) {
			out->child = (struct child)CHILD_NONE;
			failed = isolate_fail(out->failure, "clone3 with new namespaces", NULL);
		} else {
			out->child.pid = pid;
			failed = introduce(out, &who, out->failure) < 0
					 ? -1
					 : take_listeners(what, channel, out, out->failure);
		}
	}
	base_close_fd(&who.go[0]);
	base_close_fd(&who.go[1]);
	base_close_fd(&channel[0]);
	base_close_fd(&channel[1]);
	if (failed == 0)
		return 0;
	spawn_kill(&out->child);
	return isolate_why(out, err);
}

int isolate_why(const struct isolated *isolated, struct sbx_error *err)
{
	if (isolated->failure == NULL || isolated->failure->error == 0)
		return 0;
	return isolate_remedy(isolated->failure, err);
}

void isolate_leave(struct isolated *isolated)
{
	base_close_fd(&isolated->child.pidfd);
	isolated->child = (struct child)CHILD_NONE;
	isolate_clear(isolated);
}

void isolate_clear(struct isolated *isolated)
{
	spawn_kill(&isolated->child);
	while (isolated->listener_count > 0)
		base_close_fd(&isolated->listeners[--isolated->listener_count]);
	if (isolated->failure != NULL)
		munmap(isolated->failure, sizeof *isolated->failure);
	isolated->failure = NULL;
}
