/* One step in the sandbox: its program run alone, its products taken. */
#ifndef SBX_ENTRY_STEP_H
#define SBX_ENTRY_STEP_H

#include "entry_program.h"

enum step_outcome {
	STEP_DONE,   /* it ended with 0 and its products are there */
	STEP_FAILED, /* told in its exit frame: the sequence ends */
};

/* Run STEP as number NUMBER (from 1). The calling process must be the first of its pid namespace: it kills all others
 * there. -1 when the frames cannot be written any more. */
int entry_step(struct entry_run *run, unsigned number, const struct step *step, enum step_outcome *outcome,
	       struct sbx_error *err);

#endif
