/* The programs that a run's steps may start, and the files that they are shown with them, as the host has them. */
#ifndef SBX_PROGRAMS_H
#define SBX_PROGRAMS_H

#include "json.h"
#include "state.h"

/* The programs of RUN (policy.run) are there and nobody else may write them: as program_check. "bad_call" (76) for a
 * run that no sbx-policy makes. */
int programs_check(jv run, struct sbx_error *err);

/* The same, and their digests: *PROGRAMS is an object of names, *MOUNTS one of the paths of the regular files that are
 * mounted with them (what a directory holds is not looked at), each with a SHA-256. Both are the caller's. */
int programs_digest(const struct state *state, jv run, jv *programs, jv *mounts, struct sbx_error *err);

#endif
