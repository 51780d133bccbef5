/* System calls that not every libc wraps yet, and why the set-up of a sandbox failed. */
#ifndef SBX_ISOLATE_SYS_H
#define SBX_ISOLATE_SYS_H

#include <errno.h>
#include <linux/mount.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "base.h"

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

/* What a failing set-up leaves in memory that it shares with the driver. */
struct isolate_failure {
	int error;	/* errno; 0: it did not fail */
	char step[32];	/* "mount /proc", … */
	char what[224]; /* the path, where one is at fault; else empty */
};

/* Fill F with errno, STEP and WHAT (may be NULL); returns -1. */
static inline int isolate_fail(struct isolate_failure *f, const char *step, const char *what)
{
	if (f->error == 0) {
		f->error = errno;
		snprintf(f->step, sizeof f->step, "%s", step);
		snprintf(f->what, sizeof f->what, "%s", what ? what : "");
	}
	return -1;
}

static inline int sys_open_tree(int dirfd, const char *path, unsigned flags)
{
	return (int)syscall(SYS_open_tree, dirfd, path, flags);
}

static inline int sys_move_mount(int from, int to)
{
	return (int)syscall(SYS_move_mount, from, "", to, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

static inline int sys_mount_setattr(int fd, unsigned flags, struct mount_attr *attr)
{
	return (int)syscall(SYS_mount_setattr, fd, "", flags, attr, sizeof *attr);
}

static inline int sys_fsopen(const char *type)
{
	return (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
}

static inline int sys_fsconfig_string(int fs, const char *key, const char *value)
{
	return (int)syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, key, value, 0);
}

static inline int sys_fsconfig_create(int fs)
{
	return (int)syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
}

static inline int sys_fsmount(int fs, unsigned attributes)
{
	return (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes);
}

#endif
