/* Somebody other than the provider who says that a credential is dead: sbx-witness, which asks the API server of the
 * call's target with the credential before it is revoked, and until it is refused (sbx-witness(8)). */
#ifndef SBX_CREDENTIAL_WITNESS_H
#define SBX_CREDENTIAL_WITNESS_H

#include "credential.h"
#include "spawn.h"

struct credential_witness {
	struct child child;
	int in, out;	   /* its standard input, -1 when it is over, and output */
	int64_t began;	   /* clock_mono_ms when it had been taken: from then on it is being revoked */
	int64_t wait_ms;   /* as long as a refusal is waited for */
	char unproven[64]; /* why it cannot testify; "" */
	char line[256];	   /* of its answer, as far as it came */
	size_t line_len;
};
#define CREDENTIAL_WITNESS_INIT                                                                                        \
	{                                                                                                              \
		.child = CHILD_NONE, .in = -1, .out = -1                                                               \
	}

/* "witness" of a target, how long a refusal is waited for: *WAIT_MS, 12 s where it says nothing, 0 for no witness. -1
 * "bad_target" (78) for anything but a duration of at most a minute. */
int credential_witness_wait(jv target, int64_t *wait_ms, struct sbx_error *err);

/* 1 when there is somebody to ask about LEASE: its secrets hold a token, its target has a server, its scope a namespace
 * and a permission to get or list. */
int credential_witness_can(const struct lease *lease);

/* Have it ask once, at most two seconds, with the token of LEASE; W is CREDENTIAL_WITNESS_INIT. It fails in no way that
 * keeps anybody from revoking: whether there was nobody to ask or it did not work is seen at the end. */
void credential_witness_open(struct credential_witness *w, const struct lease *lease);

/* Its provider says that it is revoked: from now on a refusal counts. */
void credential_witness_revoked(struct credential_witness *w);

/* Wait for the first refusal, until DEADLINE (clock_mono_ms) at most, and add to OUTCOME, consumed, "refused" (the
 * status) and "refused_ms" (since it was asked to be revoked), or else "unproven" (why), or nothing where there is
 * nobody to ask. A credential that is still taken when it has waited as long as an API server may believe what it once
 * saw is not revoked, whatever its provider said: its "state" becomes "expires". */
jv credential_witness_conclude(struct credential_witness *w, int64_t deadline, jv outcome);

void credential_witness_clear(struct credential_witness *w);

#endif
