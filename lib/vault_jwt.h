/* A JWT of our own for a login: sbx-cred-jwt signs it, as for any other credential. */
#ifndef SBX_VAULT_JWT_H
#define SBX_VAULT_JWT_H

#include <stdint.h>

#include "secret.h"

/* Start sbx-cred-jwt under the settings file CONFIG for a token for AUDIENCE, into an empty TOKEN. It never leaves this
 * process but for the login. Errors: those of credential_process.h, "missing_helper" (78), "vault_jwt" (78) when it
 * gives none. */
int vault_own_jwt(const char *config, const char *audience, int64_t deadline, struct secret *token,
		  struct sbx_error *err);

#endif
