/* One credential: a child token for this lease alone, which may do one thing, and with it what a secrets engine makes
 * (vault_engine.h). Whatever goes wrong on the way is left as it is: vault_revoke finds all of it by the journal. */
#ifndef SBX_VAULT_MINT_H
#define SBX_VAULT_MINT_H

#include "provider_work.h"
#include "vault_login.h"

/* JOURNAL is begun here. Errors: those of vault_ask and of the journal; "vault_child" (78) when the child token is more
 * or lives shorter than asked for, "vault_short" (78) when the credential would end before its action, "vault_answer"
 * (76). */
int vault_mint(const struct vault *vault, const struct vault_settings *settings, const struct vault_scope *scope,
	       const struct vault_session *session, const struct provider_wish *wish, struct provider_journal *journal,
	       struct provider_minted *minted, struct sbx_error *err);

#endif
