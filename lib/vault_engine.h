/* What differs between the secrets engines that we ask: which path makes a credential, what goes there, what comes
 * back. */
#ifndef SBX_VAULT_ENGINE_H
#define SBX_VAULT_ENGINE_H

#include "provider_work.h"
#include "vault_login.h"

struct vault_engine {
	const char *path;		    /* between mount and role: "creds" */
	const char *secrets[VAULT_SECRETS]; /* in data of the answer */
	int64_t lifetime_min_s;		    /* less is not made, and said only when half of it exists */
	const char *lives_on;		    /* what it is, where it does */
	/* 1: what the role makes lives on when its lease has ended, 0: it does not, -1. */
	int (*outlives)(const struct vault *vault, const struct vault_scope *scope, const struct vault_session *session,
			struct sbx_error *err);
	/* What goes with the time to live; the caller's. */
	jv (*wanted)(const struct vault_scope *scope, const char *lease);
	/* What a whole answer has, into MINTED, whose end is that of the lease before. */
	int (*read)(struct vault_reply *reply, struct provider_minted *minted, struct sbx_error *err);
};

const struct vault_engine *vault_engine(enum vault_engine_kind kind);

/* "vault_answer" (76): the answer WHAT ("has no token"); returns -1. */
int vault_bad_answer(struct sbx_error *err, const char *what);

#endif
