/* policy.run as sbx-entry and a driver want it: the step table, the bytes of the inputs, the mounts. */
#ifndef SBX_SANDBOX_TABLE_H
#define SBX_SANDBOX_TABLE_H

#include "sandbox.h"

/* Each program stands alone in a directory of its own: terraform takes for a plugin what it finds beside itself. No
 * program's name begins with a dot, so the two others stand apart from all of them. */
#define SANDBOX_PROGRAMS "/opt/sbx"
#define SANDBOX_MIRROR SANDBOX_PROGRAMS "/.mirror"
#define SANDBOX_RC SANDBOX_PROGRAMS "/.terraformrc"

/* Fill the empty STEPS (steps_clear frees it). "bad_call" (76) for a run that no sbx-policy makes. */
int sandbox_table(const struct sandbox_job *job, struct steps *steps, struct sbx_error *err);

/* The inputs one after the other, in the order of the table; a descriptor owned by the caller, offset 0. */
int sandbox_inputs(const struct sandbox_job *job, struct sbx_error *err);

/* Where program NAME stands inside ("/opt/sbx/NAME/BASENAME"); owned by the caller; NULL when the run does not have it.
 */
char *sandbox_program_path(jv run, const char *name);

/* The state file below the work directory; owned by the caller; NULL for a run without state. */
char *sandbox_state_path(jv run);

/* Host path and place inside of each read-only mount. */
struct sandbox_mount {
	char *source, *target; /* owned */
};
struct sandbox_mounts {
	struct sandbox_mount *list;
	size_t count;
};
int sandbox_mounts(const struct sandbox_job *job, struct sandbox_mounts *mounts, struct sbx_error *err);
void sandbox_mounts_clear(struct sandbox_mounts *mounts);

#endif
