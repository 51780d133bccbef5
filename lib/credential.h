/* The leases of one call: what sbx-cred asks of the credential providers, what stands on disk before it asks, and the
 * way back. A lease is on disk (state/leases/CALL-INDEX.json) and in the record before its provider is asked, so that
 * whatever was killed can be mended. */
#ifndef SBX_CREDENTIAL_H
#define SBX_CREDENTIAL_H

#include "config.h"
#include "credential_helper.h"
#include "credential_witness.h"
#include "limit.h"
#include "secret.h"
#include "state.h"

/* Who asks: settings, state directory, and the stage's lock, which a provider holds too while it mints (-1: none). */
struct credential_broker {
	const struct config *config;
	const struct state *state;
	int lock_fd;
};

/* One lease. RECORD is what its file holds: call, index, lease (32 hex digits, chosen here), principal, provider,
 * scope, namespace and permissions (where policy says them), as, settings, target, lifetime_s, jti, expires_at (at
 * first the latest that may be), state. */
enum lease_state {
	LEASE_PLANNED,	 /* nothing of it exists */
	LEASE_REQUESTED, /* its file exists; it may have been minted */
	LEASE_ISSUED,
};
struct lease {
	jv record;
	enum lease_state state;
	struct secret fields;			    /* as the provider wrote them (credential_render.h) */
	struct credential_helper minting, revoking; /* its provider, started ahead of what it will be asked */
	struct credential_witness witness;
	struct sbx_error trouble; /* why it could not be given back; class SBX_OK: it was */
};

struct leases {
	struct lease lease[LIMIT_CREDENTIALS];
	size_t count;
};
/* An empty one; frees what it owns and wipes the secrets. */
void leases_init(struct leases *leases);
void leases_clear(struct leases *leases);
#define auto_leases __attribute__((cleanup(leases_clear))) struct leases

/* Plan the leases of CALL into an empty LEASES from its policy.credentials (absent: none). Touches nothing. Errors, all
 * 78: "bad_credentials" (too many, no scope, an unknown form), "no_provider", "missing_helper", "no_target",
 * "bad_target". */
int credential_plan(const struct credential_broker *broker, jv call, struct leases *leases, struct sbx_error *err);

/* Start their providers, side by side and ahead of credential_issue: they load while others are at work. */
void credential_start(const struct credential_broker *broker, struct leases *leases);

/* Write its file, record credential.requested, have the provider mint, record credential.issued. Who will revoke it
 * waits from then on: who minted, where he stays, else another one, which has loaded by the end of a short command. On
 * failure the lease may be anything but LEASE_PLANNED: then it must be given back. Errors: those of io.h and audit.h;
 * "provider_timeout" (69), "provider_failed" (69), "provider_protocol" (76), or what the provider said. */
int credential_issue(const struct credential_broker *broker, struct lease *lease, struct sbx_error *err);

/* The command has them: wipe the secrets here, after each one that an API server can be asked about has gone to its
 * witness (credential_witness.h). */
void credential_stand_by(struct leases *leases);

/* Give back those that were asked for, whatever state they are in: the provider's revoke, once more if it fails, the
 * API server's refusal where there is somebody to ask, record credential.revoked (with "mended" if HOW says so), remove
 * the file. Returns, for each of them, {"state":"revoked"|"expires"|"deferred", "proof":…, "took_ms":N, "expires_at":…
 * unless revoked, "refused" and "refused_ms", or "unproven"}, the caller's. Where something is left to mend (deferred,
 * or the record could not be written) the file stays, and the lease's trouble says why. A refusal that does not come at
 * once has "unproven" "not_yet_refused", and is left to credential_later.h, with the file, at the end of a run; a
 * credential that nobody ever got is not worth it. */
enum credential_how { CREDENTIAL_AT_END, CREDENTIAL_UNUSED, CREDENTIAL_MENDED };
jv credential_give_back(const struct credential_broker *broker, struct leases *leases, enum credential_how how);

/* The call's member "credential": provider, scope, namespace, lease, jti, expires_at of each lease that was asked for;
 * the caller's. */
jv credential_member(const struct leases *leases);

#endif
