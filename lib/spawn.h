/* Starting and waiting for child programs: the only caller of posix_spawn. (sbx-entry, which reaps everything in its sandbox, the driver, which clones into
 * namespaces, and the evaluation of when: rules, which must not exec, wait for themselves.) No shell, an absolute path, an environment
 * built from nothing, an explicit list of descriptors, all signals reset, and a deadline on every wait. */
#ifndef SBX_SPAWN_H
#define SBX_SPAWN_H

#include <stdint.h>
#include <sys/types.h>

#include "buf.h"
#include "error.h"
#include "secret.h"

struct spawn_fd {
	int child;  /* number in the child */
	int parent; /* descriptor here; stays open here */
};
/* The number of such a one, a macro's, in an argument that tells the child of it. */
#define SPAWN_NUMBER_TEXT(n) #n
#define SPAWN_NUMBER(n) SPAWN_NUMBER_TEXT(n)

struct spawn {
	const char *path; /* absolute */
	const char *const *argv; /* NULL at the end; argv[0] included */
	const char *const *envp; /* NULL: HOME=/nonexistent LC_ALL=C TZ=UTC PATH=/usr/bin:/bin */
	const struct spawn_fd *fds; /* everything the child has; 0, 1 and 2 not named are /dev/null, /dev/null and our stderr */
	size_t fd_count;
	unsigned flags;
};

#define SPAWN_GROUP 1u	 /* process group of its own (spawn_signal_group) */
#define SPAWN_SESSION 2u /* session of its own */
/* INT, TERM and HUP are blocked in the child, and wait there until it looks: for a program whose first act is
 * process_set_stop(PROCESS_STOP_HELD), and that would else be ended while it starts. */
#define SPAWN_HOLD_STOP 4u
/* What process_clean ignores of a terminal's signals stays ignored: for stages and helpers, which whoever called must not be
 * able to stop, from their first instruction on. */
#define SPAWN_NO_TERMINAL 8u

struct child {
	pid_t pid; /* 0: none */
	int pidfd; /* readable when it has ended; -1: none */
};

#define CHILD_NONE {.pidfd = -1}

/* "cannot_start" (71) when the exec fails, with errno's text. */
int spawn_start(const struct spawn *what, struct child *child, struct sbx_error *err);

/* Wait until DEADLINE (clock_mono_ms; -1: for ever). 1: ended, *STATUS as of waitpid, CHILD is CHILD_NONE again; 0: not yet. */
int spawn_wait(struct child *child, int64_t deadline, int *status);

/* Send SIG (to the group with _group); nothing when there is no child. */
void spawn_signal(const struct child *child, int sig);
void spawn_signal_group(const struct child *child, int sig);

/* KILL (the group too when it has one) and reap. For cleanup; also for CHILD_NONE. */
void spawn_kill(struct child *child);
#define auto_child __attribute__((cleanup(spawn_kill))) struct child

/* Start WHAT with INPUT on its stdin (written while reading, so nothing deadlocks) and collect its stdout in OUT. At DEADLINE, or
 * when OUT is full, it is killed: "timeout" (69), "too_large" (76). *STATUS as of waitpid. SIGPIPE must be ignored, as start() does. */
int spawn_capture(const struct spawn *what, const void *input, size_t input_len, struct buf *out, int64_t deadline, int *status,
		  struct sbx_error *err);

/* The same for an answer that is a secret: it goes into the room of OUT (secret_alloc), and no byte of it anywhere else. */
int spawn_capture_secret(const struct spawn *what, struct secret *out, int64_t deadline, int *status,
			 struct sbx_error *err);

/* Exit status of a wait status: 128 + n for signal n, as a shell says it. */
int spawn_exit_code(int status);

#endif
