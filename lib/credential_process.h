/* One child of sbx-cred: bytes on its stdin, its answer from its stdout, secrets from a pipe of their own straight into
 * locked memory, and the signals of sbx-cred passed on to it; all in one poll loop, so that nobody waits for somebody
 * who waits. */
#ifndef SBX_CREDENTIAL_PROCESS_H
#define SBX_CREDENTIAL_PROCESS_H

#include "buf.h"
#include "secret.h"
#include "spawn.h"

struct credential_process {
	/* From the caller, who owns what these point to until _wait has returned. */
	const char *path;
	const char *const *argv;
	const struct spawn_fd *fds; /* beside 0, 1, 2 and the pipe of the secrets */
	size_t fd_count;
	unsigned flags;	   /* of spawn, beside SPAWN_GROUP */
	const char *input; /* may come when it has been started */
	size_t input_len;
	struct buf *answer; /* its maximum is the limit of the answer */
	int (*stays)(
		const struct buf *answer); /* asked once, when a first line of the answer is there: 1: the child has
					    * said all that it has to for now, and goes on; NULL: it never does */
	struct secret *secret; /* empty; gets at most LIMIT_SECRET bytes from a pipe of the child; NULL: no such pipe */
	int secret_number;     /* descriptor of that pipe in the child */
	int signal_fd;	       /* signalfd whose signals go to the child; -1: none */
	int reader_fd; /* where our own answer will go: when its reader is gone, the child gets HUP once; -1: none */
	/* Its own. */
	struct child child;
	int in, out, hidden;
	size_t sent;
	int is_asked; /* p->stays was */
	struct sbx_error overflow;
};
#define CREDENTIAL_PROCESS_INIT                                                                                        \
	{                                                                                                              \
		.signal_fd = -1, .reader_fd = -1, .child = CHILD_NONE, .in = -1, .out = -1, .hidden = -1,              \
		.overflow = SBX_ERROR_INIT                                                                             \
	}

/* Start it in a process group of its own. Errors: "cannot_start" (71), "os_error" (71). */
int credential_process_start(struct credential_process *p, struct sbx_error *err);

/* Write of its input what it takes at once; the end of that is the end of its stdin. */
void credential_process_feed(struct credential_process *p);

/* Feed it and read it until it has ended, or stays; what it wrote before is then read to the last byte, whoever else
 * still holds its pipes. 0: it has ended, *STATUS as of waitpid; 1: it stays, and its pipe for secrets is closed. More
 * than fits is read and dropped, so that a child is never stuck on us: "too_large" (76) once it has ended. At DEADLINE
 * (clock_mono_ms): "timeout" (69), and the child is still there. */
int credential_process_wait(struct credential_process *p, int64_t deadline, int *status, struct sbx_error *err);

/* Of one that stays: what it writes from now on goes into the empty ANSWER, and INPUT (borrowed), by IN, is taken from
 * the caller, what it gets: credential_process_wait waits for its end then. */
void credential_process_again(struct credential_process *p, int *in, const struct buf *input);

/* KILL what is left of it and close the pipes; for every end. */
void credential_process_stop(struct credential_process *p);
#define auto_credential_process __attribute__((cleanup(credential_process_stop))) struct credential_process

#endif
