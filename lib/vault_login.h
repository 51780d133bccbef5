/* Who we are to the server: a token out of a file, the agent's behind its socket, or one that a login made for this
 * process alone. */
#ifndef SBX_VAULT_LOGIN_H
#define SBX_VAULT_LOGIN_H

#include "vault_api.h"
#include "vault_settings.h"

struct vault_session {
	struct secret token; /* empty: the agent adds its own */
	enum vault_owner { VAULT_BORROWED, VAULT_OWN /* ours to end */ } owner;
};
#define VAULT_SESSION_INIT                                                                                             \
	{                                                                                                              \
		.token = SECRET_INIT                                                                                   \
	}

/* Fill an empty SESSION. CONFIG is the settings file, DIR state/vault. "vault_login" (78) when the server does not let
 * us in, "vault_root_token" (78) when a login gives the policy root; those of vault_ask, vault_own_jwt, vault_unwrap
 * and io.h. */
int vault_login(const struct vault *vault, const struct vault_settings *settings, const char *config, int dir,
		struct vault_session *session, struct sbx_error *err);

/* Before anything is minted: a borrowed token must not be root's ("vault_root_token"). */
int vault_check_session(const struct vault *vault, const struct vault_session *session, struct sbx_error *err);

/* End our own token; nothing for a borrowed one. Wipes SESSION. Its token ends by itself soon, so that this failed is
 * told
 * (-1) and no more. */
int vault_logout(const struct vault *vault, struct vault_session *session, struct sbx_error *err);

#endif
