/* state/runs/CALL/refused: the proof that a call which had claimed an approval ended before anything was started, so
 * that sbx-approve may give the approval back (design section 5, "Once"). Written by sbx-cred and sbx-run, read by
 * sbx-approve. A MAC of the seal key covers it: whoever can only write files cannot revive a spent approval. */
#ifndef SBX_REFUSED_H
#define SBX_REFUSED_H

#include "state.h"

/* Write it below RUN_FD (the call's directory) for call CALL and the approval APPROVAL (both ids), synced. One that is
 * there already and verifies is fine. Errors: "cannot_create" (73), "io_error" (74). Without the file the approval
 * stays spent: a failure here is safe, and for the log. */
int refused_write(const struct state *state, const struct secret *key, int run_fd, const char *call,
		  const char *approval, struct sbx_error *err);

/* 1 when the file is there and its MAC verifies for exactly this call and approval; 0 for anything else. */
int refused_verify(const struct state *state, const struct secret *key, int run_fd, const char *call,
		   const char *approval);

#endif
