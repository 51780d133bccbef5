/* policy.run as sbx-entry wants it: the step table, and the bytes of the inputs. */
#ifndef SBX_SANDBOX_TABLE_H
#define SBX_SANDBOX_TABLE_H

#include "sandbox.h"

/* Fill the empty STEPS (steps_clear frees it). "bad_call" (76) for a run that no sbx-policy makes. */
int sandbox_table(const struct sandbox_job *job, struct steps *steps, struct sbx_error *err);

/* The inputs one after the other, in the order of the table; a descriptor owned by the caller, offset 0. */
int sandbox_inputs(const struct sandbox_job *job, struct sbx_error *err);

#endif
