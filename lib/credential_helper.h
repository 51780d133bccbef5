/* One process of a credential provider: started ahead of what it is asked, so that it has loaded by then, and asked
 * once; one that mints may say that it stays, and is asked to revoke then. Its contract is in sbx-helper(7). */
#ifndef SBX_CREDENTIAL_HELPER_H
#define SBX_CREDENTIAL_HELPER_H

#include "credential_process.h"
#include "json.h"

enum { CREDENTIAL_ANSWER_MAX = 64 * 1024, CREDENTIAL_PROVIDER_NAME_MAX = 32 };

/* "" and closed until it is started; stays where it is until it is cleared. */
struct credential_helper {
	struct credential_process process;
	char program[sizeof "sbx-cred-" + CREDENTIAL_PROVIDER_NAME_MAX];
	char *path;
	const char *argv[11];
	struct spawn_fd kept[2]; /* the lock, and where one that stays is asked again */
	int again;		 /* our end of the latter; -1: none */
	int stays, is_asked_again;
	struct secret *fields; /* borrowed: where its secrets go */
	struct buf request, answer;
};
#define CREDENTIAL_HELPER_INIT                                                                                         \
	{                                                                                                              \
		.process = CREDENTIAL_PROCESS_INIT, .again = -1, .request = BUF_INIT(LIMIT_CALL),                      \
		.answer = BUF_INIT(CREDENTIAL_ANSWER_MAX)                                                              \
	}

/* "sbx-cred-PROVIDER" into H, and its path: "bad_credentials", "missing_helper" (78). */
int credential_helper_find(struct credential_helper *h, const char *provider, struct sbx_error *err);

/* What to start: VERB with the settings file CONFIG (borrowed); FIELDS (empty, borrowed) get its secrets, NULL: it
 * gives none; it keeps LOCK_FD open (-1: none). */
struct credential_verb {
	const char *provider, *verb, *config;
	struct secret *fields;
	int lock_fd;
};
int credential_helper_start(struct credential_helper *h, const struct credential_verb *verb, struct sbx_error *err);
/* 1 when it was started, and has given no answer or has said that it stays. */
int credential_helper_runs(const struct credential_helper *h);
int credential_helper_stays(const struct credential_helper *h);

/* The descriptor on which one that stays finds what it is asked again, for its request; -1: it cannot. */
int credential_helper_again(const struct credential_helper *h);

/* Write REQUEST to it, as far as it takes it at once: it is at work. Several can be. */
int credential_helper_ask(struct credential_helper *h, jv request, struct sbx_error *err);

/* Its answer, an object, the caller's, which stays in H as text too; after ten seconds it is killed. With it the
 * process has ended, or stays, which it can do once. "provider_timeout", "provider_failed" (69), "provider_protocol"
 * (76), or what it said. */
int credential_helper_await(struct credential_helper *h, jv *reply, struct sbx_error *err);

/* It gave WHAT that it must not give ("provider_protocol"); -1. */
int credential_helper_broke(const struct credential_helper *h, const char *what, struct sbx_error *err);

/* End it, whatever it does, and wipe nothing that is not its own; it can be started again. */
void credential_helper_clear(struct credential_helper *h);
#define auto_credential_helper __attribute__((cleanup(credential_helper_clear))) struct credential_helper

#endif
