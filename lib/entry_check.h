/* The checks of a table: steps that look whether what was decided about is still so, before anything begins. They run as
 * other steps do, and no frame tells of them but what they say on stderr; their stdout is read and dropped. */
#ifndef SBX_ENTRY_CHECK_H
#define SBX_ENTRY_CHECK_H

#include "entry_program.h"

/* Exit status of a check that found something changed (EX_DATAERR of sysexits.h, as all programs here use it). */
#define ENTRY_CHECK_MOVED 65

/* Run the checks, which stand first in the table of RUN. 1: each ended with 0, but the one about a lock (entry_lock.h), which need
 * not, and *FIRST is the step that comes next (from 0). 0: WHY says which one did not: "state_moved" when it ended with
 * ENTRY_CHECK_MOVED, the code of the part of a seal that differs (STEP_SEALS_STATE), else "check_failed", also when it was stopped;
 * all 77. -1 when the frames cannot be written any more. */
int entry_check(struct entry_run *run, uint32_t *first, struct sbx_error *why, struct sbx_error *err);

#endif
