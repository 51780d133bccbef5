/* A secret id that was delivered wrapped: whoever unwraps it is the only one who can, so that nobody has read it on the
 * way. It is unwrapped once, and kept in state/vault/secret-id for the next process. */
#ifndef SBX_VAULT_WRAPPED_H
#define SBX_VAULT_WRAPPED_H

#include "vault_api.h"
#include "vault_settings.h"

/* The secret id behind the wrapping token WRAPPING into an empty SECRET_ID: the kept one, when it came of the same
 * token; else the token is looked up, must have been made by the role's own path, and is unwrapped. DIR is state/vault.
 * "vault_wrapped" (78) when somebody else has unwrapped it, it has ended, or it was made elsewhere; those of vault_ask
 * and io.h. */
int vault_unwrap(const struct vault *vault, const struct vault_settings *settings, int dir,
		 const struct secret *wrapping, struct secret *secret_id, struct sbx_error *err);

#endif
