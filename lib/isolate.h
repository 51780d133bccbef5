/* A sandbox made of namespaces: a child that sees only what is listed, holds no right, and is the first process of its
 * own world. It is complete before sbx-entry runs its first instruction, or it does not run at all. Needs Linux 5.12
 * and no privilege. */
#ifndef SBX_ISOLATE_H
#define SBX_ISOLATE_H

#include <netinet/in.h>
#include <stdint.h>

#include "limit.h"
#include "spawn.h"

#define ISOLATE_MAX_BINDS 64
#define ISOLATE_MAX_FDS 8
#define ISOLATE_MAX_LISTEN LIMIT_EGRESS
/* Who the processes are inside; and outside when root starts them, so that they are nobody and their number can be
 * limited. */
#define ISOLATE_INNER_ID 1000u
#define ISOLATE_OUTER_ID 65534u

struct isolate_bind {
	const char *source; /* on the host */
	const char *target; /* absolute path inside */
};

struct isolate {
	const char *entry;		  /* host's path of sbx-entry; seen as SANDBOX_ENTRY */
	const char *const *argv;	  /* of sbx-entry; NULL at the end */
	const struct isolate_bind *binds; /* read-only, nosuid, nodev */
	size_t bind_count;
	struct isolate_bind state;  /* one regular file, writable, below SANDBOX_WORK; source NULL: none */
	const struct spawn_fd *fds; /* everything it has beside /dev/null as stdin; numbers below 32 */
	size_t fd_count;
	const struct sockaddr_in *listen; /* destinations that are to answer inside, all different; everything else is
					   * unreachable */
	size_t listen_count;
	const char *hosts;     /* text of /etc/hosts; NULL: there is none */
	const char *host_name; /* what its processes call their machine */
	int life_fd; /* read end of a pipe whose writer is the caller alone: closed means that the caller has died */
	unsigned flags;
	uint64_t work_bytes; /* of /work, and of /tmp */
	uint64_t memory;     /* data of one process */
	uint64_t pids;
	uint64_t files; /* open at once in one process */
};

#define ISOLATE_CREDENTIALS 1u /* with SANDBOX_CREDENTIALS */

struct isolate_failure; /* isolate_sys.h */

struct isolated {
	struct child child; /* killed with all its processes by spawn_kill, and by the death of the caller */
	struct isolate_failure *failure; /* shared with it */
	int listeners[ISOLATE_MAX_LISTEN]; /* owned: in its network, in the order of what->listen */
	size_t listener_count;
};
#define ISOLATED_NONE                                                                                                  \
	{                                                                                                              \
		.child = CHILD_NONE                                                                                    \
	}

/* Start it. Called by root, the caller gives up root for ISOLATE_OUTER_ID on the way, for good, and the state file
 * belongs to that user afterwards. -1 with "cannot_isolate" (69) naming the step and the remedy when it fails before
 * the child runs; what fails in the child is told by isolate_why, once it has ended. */
int isolate_start(const struct isolate *what, struct isolated *out, struct sbx_error *err);

/* -1 with "cannot_isolate" (69) if the set-up failed in the child, which has ended; else 0. */
int isolate_why(const struct isolated *isolated, struct sbx_error *err);

/* Kill, wait, give back. */
void isolate_clear(struct isolated *isolated);
/* For one whose first process is about to exit and alone: does not wait for the kernel to take the namespaces down. */
void isolate_leave(struct isolated *isolated);
#define auto_isolated __attribute__((cleanup(isolate_clear))) struct isolated

#endif
