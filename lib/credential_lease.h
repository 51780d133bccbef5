/* The files of leases, state/leases/CALL-INDEX.json: there from before a mint is asked for until it is given back, with
 * what its provider needs for that and no secret. */
#ifndef SBX_CREDENTIAL_LEASE_H
#define SBX_CREDENTIAL_LEASE_H

#include "credential.h"

/* Write LEASE with the state WORD ("requested", "issued", "deferred") into its record and its file, durably. Errors:
 * those of io.h. */
int lease_write(const struct state *state, struct lease *lease, const char *word, struct sbx_error *err);

/* Remove the file of RECORD; fine when there is none. */
int lease_remove(const struct state *state, jv record, struct sbx_error *err);

/* Read the leases that CALL left on disk into an empty LEASES. A file that cannot be read gives -1 ("bad_lease", 78, or
 * what io.h says), and LEASES still holds the others. */
int lease_left(const struct state *state, const char *call, struct leases *leases, struct sbx_error *err);

/* 1 while CALL's sbx-cred lives, or anything that it started: it gives back its own. */
int lease_is_running(const struct state *state, const char *call);

/* Call SEE with the record (borrowed) of each lease there is, in no order, until one is not 0, which is returned. -1
 * also, after the others, for a file that cannot be read (as above). */
int lease_each(const struct state *state, int (*see)(void *context, jv record, struct sbx_error *err), void *context,
	       struct sbx_error *err);

#endif
