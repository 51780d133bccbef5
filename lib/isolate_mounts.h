/* The root of a sandbox: an empty read-only tmpfs with the listed mounts and nothing else. Called in the child, which
 * is alone in new user, mount and pid namespaces. */
#ifndef SBX_ISOLATE_MOUNTS_H
#define SBX_ISOLATE_MOUNTS_H

#include "isolate.h"
#include "isolate_sys.h"

#define ISOLATE_DEVICES 5

/* Detached copies of what is to be seen inside, made before anything of the host's tree is covered. */
struct isolate_trees {
	int binds[ISOLATE_MAX_BINDS];
	int state; /* -1: none */
	int entry;
	int devices[ISOLATE_DEVICES];
};

/* Take the copies, read-only, nosuid, nodev (the state: writable), with the rights that the caller of the driver has.
 */
int isolate_mounts_take(const struct isolate *what, struct isolate_trees *trees, struct isolate_failure *f);

/* Build the root as the user that will own /work, enter it and let go of the host's. The descriptors are used up. */
int isolate_mounts_build(const struct isolate *what, struct isolate_trees *trees, struct isolate_failure *f);

#endif
