/* The check that takes away the lock of a state which a dead call left (SLOT_LOCK): Terraform's force-unlock, asked first for a lock
 * that cannot be there, so that the backend refuses and says whose lock is; and then for that one, but only if a call of the table's
 * list has left it. The backend compares the ID again: a lock that somebody else has taken in between stays. */
#ifndef SBX_ENTRY_LOCK_H
#define SBX_ENTRY_LOCK_H

#include "entry_program.h"

/* Run STEP, the check NUMBER (from 1), of RUN; without a dead call in the table nothing is run. 0, whatever came of it: what keeps a
 * lock from being taken away is told by the step that wants it. What the program says is read here, and told to nobody; a lock that
 * was taken away is told by a frame (FRAME_UNLOCKED). RUN says whether a stop was asked for. -1 when the frames cannot be written any
 * more. */
int entry_lock(struct entry_run *run, unsigned number, const struct step *step, struct sbx_error *err);

#endif
