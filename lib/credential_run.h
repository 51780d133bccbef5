/* The command that gets the credentials: sbx-run, with the sealed call on its standard input and the secrets in sealed
 * memory, and the call that it answers with. */
#ifndef SBX_CREDENTIAL_RUN_H
#define SBX_CREDENTIAL_RUN_H

#include "credential.h"
#include "credential_process.h"

enum { CREDENTIAL_ARGUMENTS_MAX = 32 };

struct credential_run {
	/* From the caller, who owns what these point to until _clear. */
	const char *path;
	char **command;	    /* its name and arguments, at most CREDENTIAL_ARGUMENTS_MAX; NULL at the end */
	const char *config; /* settings file */
	const struct secret *key;
	const char *installation;
	int lock_fd, signal_fd, reader_fd; /* the stage's lock; the others as in credential_process.h */
	/* Its own. */
	jv sealed; /* the call with our first seal: what it gets */
	struct credential_process process;
	const char *argv[CREDENTIAL_ARGUMENTS_MAX + 10];
	struct buf input, answer;
};
#define CREDENTIAL_RUN_INIT                                                                                            \
	{                                                                                                              \
		.lock_fd = -1, .signal_fd = -1, .reader_fd = -1, .process = CREDENTIAL_PROCESS_INIT,                   \
		.input = BUF_INIT(LIMIT_CALL * 2), .answer = BUF_INIT(LIMIT_CALL)                                      \
	}

/* Seal CALL with its member "credential" and start the command. When it fails nothing runs. Errors: those of call.h,
 * credential_seal.h and credential_process.h. */
int credential_run_start(struct credential_run *r, jv call, const struct leases *leases, struct sbx_error *err);

/* Wait for the answer, the caller's. Without a whole one, it is the call as it was sent, with the error DIED
 * ("run_died", class 3), and WHY. */
jv credential_run_await(struct credential_run *r, struct sbx_error *why, struct sbx_error *died);

void credential_run_clear(struct credential_run *r);

#endif
