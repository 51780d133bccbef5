/* One credential: a child token for this lease alone, which may do one thing, and with it a token of the Kubernetes
 * secrets engine. Whatever goes wrong on the way is left as it is: vault_revoke finds all of it by the journal. */
#ifndef SBX_VAULT_MINT_H
#define SBX_VAULT_MINT_H

#include "vault_journal.h"
#include "vault_login.h"

struct vault_wish {
	const char *call, *principal;
	int64_t lifetime_s; /* the credential must live as long */
};

struct vault_minted {
	struct secret token;
	int64_t expires_at; /* seconds since the epoch: the token's own end or the lease's, whichever is first */
	char jti[128];	    /* "" when the token has none */
};
#define VAULT_MINTED_INIT                                                                                              \
	{                                                                                                              \
		.token = SECRET_INIT                                                                                   \
	}

/* JOURNAL is begun here. Errors: those of vault_ask and of the journal; "vault_child" (78) when the child token is more
 * or lives shorter than asked for, "vault_short" (78) when the credential would end before its action, "vault_answer"
 * (76). */
int vault_mint(const struct vault *vault, const struct vault_settings *settings, const struct vault_scope *scope,
	       const struct vault_session *session, const struct vault_wish *wish, struct vault_journal *journal,
	       struct vault_minted *minted, struct sbx_error *err);

#endif
