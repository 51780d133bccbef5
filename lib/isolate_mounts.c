/* Mounts by descriptor: nothing is looked up twice, and no symlink is followed below the new root. */
#include "isolate_mounts.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#include "io.h"
#include "steps.h"

#ifndef MNT_DETACH
#define MNT_DETACH 2 /* of umount2(2); sys/mount.h and linux/mount.h do not go together everywhere */
#endif
#ifndef MS_PRIVATE
#define MS_PRIVATE (1u << 18)
#endif

static const char *const devices[ISOLATE_DEVICES] = {"null", "zero", "full", "random", "urandom"};

enum {
	INODES_WORK = 65536 /* three times the largest tree */,
	INODES_TMP = 16384,
	INODES_ROOT = 4096,
	INODES_CREDENTIALS = 32
};
static const uint64_t root_bytes = 1 << 20;	   /* directories and mount points alone */
static const uint64_t credentials_bytes = 1 << 20; /* LIMIT_CREDENTIALS secrets of LIMIT_SECRET bytes */

static const unsigned locked_down = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

/* A detached copy of the mount at PATH with ATTRIBUTES and no propagation in either direction. */
static int take_tree(const char *path, unsigned flags, unsigned attributes, struct isolate_failure *f)
{
	unsigned recursive = flags & AT_RECURSIVE;
	auto_fd tree = sys_open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags);
	struct mount_attr attr = {.attr_set = attributes, .propagation = MS_PRIVATE};

	if (tree < 0)
		return isolate_fail(f, "open_tree", path);
	if (sys_mount_setattr(tree, AT_EMPTY_PATH | recursive, &attr) < 0)
		return isolate_fail(f, "mount_setattr", path);
	return take_fd(&tree);
}

static int take_file(const char *path, unsigned flags, unsigned attributes, struct isolate_failure *f)
{
	auto_fd tree = take_tree(path, flags, attributes, f);
	struct stat st;

	if (tree < 0)
		return -1;
	if (fstat(tree, &st) < 0)
		return isolate_fail(f, "fstat", path);
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return isolate_fail(f, "regular file", path);
	}
	return take_fd(&tree);
}

int isolate_mounts_take(const struct isolate *what, struct isolate_trees *trees, struct isolate_failure *f)
{
	char path[sizeof "/dev/urandom"];

	trees->state = -1;
	for (size_t i = 0; i < what->bind_count; i++) {
		/* Recursive: in a user namespace a part of a tree cannot be shown without what is mounted on it. */
		trees->binds[i] = take_tree(what->binds[i].source, AT_RECURSIVE, locked_down | MOUNT_ATTR_RDONLY, f);
		if (trees->binds[i] < 0)
			return -1;
	}
	if (what->state.source != NULL) {
		trees->state = take_file(what->state.source, AT_SYMLINK_NOFOLLOW, locked_down | MOUNT_ATTR_NOEXEC, f);
		if (trees->state < 0)
			return -1;
	}
	trees->entry = take_file(what->entry, 0, locked_down | MOUNT_ATTR_RDONLY, f);
	if (trees->entry < 0)
		return -1;
	for (size_t i = 0; i < ISOLATE_DEVICES; i++) {
		snprintf(path, sizeof path, "/dev/%s", devices[i]);
		trees->devices[i] = take_tree(path, 0, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY, f);
		if (trees->devices[i] < 0)
			return -1;
	}
	return 0;
}

static int new_tmpfs(uint64_t bytes, unsigned inodes, const char *mode, unsigned attributes, const char *name,
		     struct isolate_failure *f)
{
	char size[24], count[16];
	auto_fd fs = sys_fsopen("tmpfs");

	snprintf(size, sizeof size, "%llu", (unsigned long long)bytes);
	snprintf(count, sizeof count, "%u", inodes);
	if (fs < 0 || sys_fsconfig_string(fs, "size", size) < 0 || sys_fsconfig_string(fs, "nr_inodes", count) < 0 ||
	    sys_fsconfig_string(fs, "mode", mode) < 0 || sys_fsconfig_create(fs) < 0)
		return isolate_fail(f, "tmpfs", name);
	int mount = sys_fsmount(fs, attributes);
	return mount >= 0 ? mount : isolate_fail(f, "tmpfs", name);
}

static int new_proc(struct isolate_failure *f)
{
	auto_fd fs = sys_fsopen("proc");

	/* Processes alone (no /proc/sys, /proc/keys, …), and none that a step may not trace: not sbx-entry. */
	if (fs < 0 || sys_fsconfig_string(fs, "subset", "pid") < 0 ||
	    sys_fsconfig_string(fs, "hidepid", "invisible") < 0 || sys_fsconfig_create(fs) < 0)
		return isolate_fail(f, "mount /proc", NULL);
	/* Read-only: /proc/PID/mem lets a process write into another of its user, a provider into the terraform that reports on it. */
	int mount = sys_fsmount(fs, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	return mount >= 0 ? mount : isolate_fail(f, "mount /proc", NULL);
}

enum target_kind { TARGET_DIR, TARGET_FILE };

/* Open the place PATH ("/a/b") below ROOT for a mount, making what is missing. Component by component and without
 * symlinks: one that came in with an earlier mount would lead to the host, whose tree still is our root. */
static int open_target(int root, const char *path, enum target_kind kind, struct isolate_failure *f)
{
	auto_fd at = -1;
	char name[256];

	for (const char *p = path + strspn(path, "/"); *p != '\0';) {
		size_t len = strcspn(p, "/");
		int last = p[len + strspn(p + len, "/")] == '\0';
		int here = at < 0 ? root : at;
		if (len >= sizeof name) {
			errno = ENAMETOOLONG;
			return isolate_fail(f, "mount point", path);
		}
		memcpy(name, p, len);
		name[len] = '\0';
		if (last && kind == TARGET_FILE) {
			auto_fd made = openat(here, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
			if (made < 0 && errno != EEXIST)
				return isolate_fail(f, "mount point", path);
		} else if (mkdirat(here, name, 0755) < 0 && errno != EEXIST) {
			return isolate_fail(f, "mount point", path);
		}
		int next = io_open_beneath(here, name, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
		if (next < 0)
			return isolate_fail(f, "mount point", path);
		base_close_fd(&at);
		at = next;
		p += len;
		p += strspn(p, "/");
	}
	if (at < 0) {
		errno = EINVAL;
		return isolate_fail(f, "mount point", path);
	}
	return take_fd(&at);
}

/* Mount the detached *TREE at PATH; *TREE is closed. */
static int attach(int root, int *tree, const char *path, enum target_kind kind, struct isolate_failure *f)
{
	auto_fd target = open_target(root, path, kind, f);

	if (target < 0)
		return -1;
	if (sys_move_mount(*tree, target) < 0)
		return isolate_fail(f, "move_mount", path);
	base_close_fd(tree);
	return 0;
}

static int attach_bind(int root, int *tree, const char *path, struct isolate_failure *f)
{
	struct stat st;

	if (fstat(*tree, &st) < 0)
		return isolate_fail(f, "fstat", path);
	return attach(root, tree, path, S_ISDIR(st.st_mode) ? TARGET_DIR : TARGET_FILE, f);
}

static int attach_tmpfs(int root, uint64_t bytes, unsigned inodes, const char *mode, unsigned attributes,
			const char *path, struct isolate_failure *f)
{
	auto_fd mount = new_tmpfs(bytes, inodes, mode, attributes, path, f);

	return mount < 0 ? -1 : attach(root, &mount, path, TARGET_DIR, f);
}

static int build_dev(int root, struct isolate_trees *trees, struct isolate_failure *f)
{
	static const char *const links[][2] = {
		{"/proc/self/fd", "fd"},
		{"/proc/self/fd/0", "stdin"},
		{"/proc/self/fd/1", "stdout"},
		{"/proc/self/fd/2", "stderr"},
	};

	auto_fd dev = mkdirat(root, "dev", 0755) < 0 ? -1 : openat(root, "dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dev < 0)
		return isolate_fail(f, "mount point", "/dev");
	for (size_t i = 0; i < ISOLATE_DEVICES; i++)
		if (attach(dev, &trees->devices[i], devices[i], TARGET_FILE, f) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		if (symlinkat(links[i][0], dev, links[i][1]) < 0)
			return isolate_fail(f, "symlink", links[i][1]);
	return 0;
}

static int build_ours(int root, const struct isolate *what, struct isolate_trees *trees, struct isolate_failure *f)
{
	if (build_dev(root, trees, f) < 0)
		return -1;
	auto_fd proc = new_proc(f);
	if (proc < 0 || attach(root, &proc, "/proc", TARGET_DIR, f) < 0)
		return -1;
	if (attach_tmpfs(root, what->work_bytes, INODES_WORK, "0755", locked_down, SANDBOX_WORK, f) < 0 ||
	    attach_tmpfs(root, what->work_bytes, INODES_TMP, "1777", locked_down, "/tmp", f) < 0)
		return -1;
	if ((what->flags & ISOLATE_CREDENTIALS) &&
	    attach_tmpfs(root, credentials_bytes, INODES_CREDENTIALS, "0700", locked_down | MOUNT_ATTR_NOEXEC,
			 SANDBOX_CREDENTIALS, f) < 0)
		return -1;
	return attach(root, &trees->entry, SANDBOX_ENTRY, TARGET_FILE, f);
}

static int put_text(int dir, const char *name, const char *text, struct isolate_failure *f)
{
	auto_fd fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return isolate_fail(f, "a file of names below /etc", name);
	return 0;
}

/* The only names there are, for a libc whose default would be to ask a server first. */
static int build_names(int root, const struct isolate *what, struct isolate_failure *f)
{
	if (what->hosts == NULL)
		return 0;
	auto_fd place = open_target(root, "/etc", TARGET_DIR, f);
	auto_fd etc = place < 0 ? -1 : openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (etc < 0)
		return isolate_fail(f, "mount point", "/etc");
	return put_text(etc, "hosts", what->hosts, f) < 0 ? -1 : put_text(etc, "nsswitch.conf", "hosts: files\n", f);
}

static int enter(int root, struct isolate_failure *f)
{
	struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};

	if (fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return isolate_fail(f, "pivot_root", NULL);
	if (syscall(SYS_umount2, ".", MNT_DETACH) < 0)
		return isolate_fail(f, "umount the old root", NULL);
	if (sys_mount_setattr(root, AT_EMPTY_PATH, &read_only) < 0)
		return isolate_fail(f, "read-only root", NULL);
	return chdir("/") == 0 ? 0 : isolate_fail(f, "chdir", "/");
}

int isolate_mounts_build(const struct isolate *what, struct isolate_trees *trees, struct isolate_failure *f)
{
	auto_fd root = new_tmpfs(root_bytes, INODES_ROOT, "0755", locked_down, "/", f);
	if (root < 0)
		return -1;
	/* On top of the old root, where every system has a place. Its mounts propagate nowhere: a mount namespace of a
	 * new user namespace gets copies that are private or slaves. */
	if (syscall(SYS_move_mount, root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return isolate_fail(f, "move_mount", "/");
	if (build_ours(root, what, trees, f) < 0)
		return -1;
	for (size_t i = 0; i < what->bind_count; i++)
		if (attach_bind(root, &trees->binds[i], what->binds[i].target, f) < 0)
			return -1;
	if (build_names(root, what, f) < 0)
		return -1;
	if (trees->state >= 0 && attach(root, &trees->state, what->state.target, TARGET_FILE, f) < 0)
		return -1;
	return enter(root, f);
}
