/* Where things stand inside a sandbox, and what of the host a driver is to mount there. */
#ifndef SBX_SANDBOX_PLACES_H
#define SBX_SANDBOX_PLACES_H

#include "sandbox.h"

#define SANDBOX_MIRROR SANDBOX_PROGRAMS "/.mirror"
#define SANDBOX_GIT "/usr/bin/git" /* where terraform looks for it: sbx-git, in a run that fetches */

/* Where program NAME stands inside ("/opt/sbx/NAME/BASENAME"); owned by the caller; NULL when the run does not have it.
 */
char *sandbox_program_path(jv run, const char *name);

/* Where a provider's package (providers.h) stands inside; owned by the caller. */
char *sandbox_provider_path(jv provider);

/* The directory of fetched modules below the work directory; owned by the caller. */
char *sandbox_modules_path(jv run);

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
