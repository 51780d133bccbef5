/* Somebody other than the provider who says that a credential is dead: sbx-witness, which asks the API server of the
 * call's target with the credential when its command has it, and after it was revoked until it is refused
 * (sbx-witness(8)). */
#ifndef SBX_CREDENTIAL_WITNESS_H
#define SBX_CREDENTIAL_WITNESS_H

#include "json.h"
#include "spawn.h"

struct lease;

struct credential_witness {
	struct child child;
	int in, out;	   /* its standard input, -1 when it is over, and output */
	int64_t began;	   /* clock_mono_ms when it was started, or, later, when its credential was to be revoked */
	int64_t wait_ms;   /* as long as a refusal is waited for */
	int64_t ends;	   /* when even the last that it may say has come */
	int is_taken;	   /* its first line has come, and the credential was taken */
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

/* Start the one of LEASE, if it was not and there is somebody to ask: its secrets hold a token, its target has a
 * server, its scope a namespace and a permission to get or list. It asks at once, with the token, and nobody waits for
 * it here. Neither this nor anything below fails in a way that keeps anybody from revoking: what went wrong is told at
 * the end. */
void credential_witness_start(struct credential_witness *w, const struct lease *lease);

/* Before anything is revoked: hear whether the credential was taken, three seconds after the start at most. */
void credential_witness_hear(struct credential_witness *w);

/* Its provider says that it is revoked: from now on a refusal counts. */
void credential_witness_revoked(struct credential_witness *w);

/* Wait for the first refusal, until DEADLINE (clock_mono_ms) at most. 1: OUTCOME, the caller's, got "refused" (the
 * status) and "refused_ms" (since it was to be revoked), or else "unproven" (why), or nothing where there is nobody to
 * ask. 0: it is not known yet. A credential that is still taken when the witness has waited as long as an API server
 * may believe what it once saw is not revoked, whatever its provider said: its "state" becomes "expires". */
int credential_witness_conclude(struct credential_witness *w, int64_t deadline, jv *outcome);

/* Leave the process to whoever has taken W->out. */
void credential_witness_leave(struct credential_witness *w);

void credential_witness_clear(struct credential_witness *w);

#endif
