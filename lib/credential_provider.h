/* The processes of the credential providers, sbx-cred-NAME: their contract is in sbx-helper(7), and what they answer is
 * believed only as far as it was checked. */
#ifndef SBX_CREDENTIAL_PROVIDER_H
#define SBX_CREDENTIAL_PROVIDER_H

#include "credential.h"

/* NAME may be that of a provider, and its program is there: "bad_credentials", "missing_helper" (78). */
int credential_provider_exists(const char *name, struct sbx_error *err);

/* Start LEASE's provider ahead of what it will be asked, in the place of what runs there; -1: it is started when it is
 * asked. */
enum credential_provider_verb { CREDENTIAL_MINT, CREDENTIAL_REVOKE };
int credential_provider_start(const struct credential_broker *broker, struct lease *lease,
			      enum credential_provider_verb verb, struct sbx_error *err);

/* Mint LEASE, and have somebody there who will revoke it, who minted it if he stays: its secrets go to LEASE->fields
 * (empty before), jti and expires_at into its record. */
int credential_provider_mint(const struct credential_broker *broker, struct lease *lease, struct sbx_error *err);

/* Have LEASE revoked, minted or not; and what became of it: {"state":"revoked"|"expires"|"deferred","proof":…}, the
 * caller's; jv_invalid() with ERR filled. */
int credential_provider_revoke(const struct credential_broker *broker, struct lease *lease, struct sbx_error *err);
jv credential_provider_revoked(struct lease *lease, struct sbx_error *err);

#endif
