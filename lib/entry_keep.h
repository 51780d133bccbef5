/* Directories that a step fills and that are kept, as a fetch of Terraform's modules and providers: each becomes an
 * artefact, a packed tree (tree.h). The one that a step keeps is not there before it, so that nothing of it is another
 * step's work: what a step before has run (git, for one) must not choose what a later one brings. */
#ifndef SBX_ENTRY_KEEP_H
#define SBX_ENTRY_KEEP_H

#include "entry_inputs.h"

struct entry_keep {
	uint32_t flag;	  /* of a step */
	const char *name; /* of the artefact */
	const char *path; /* relative to the directory of the steps */
};
#define ENTRY_KEEPS 2
extern const struct entry_keep entry_keeps[ENTRY_KEEPS];

/* Before a step with these FLAGS: -1 when a directory that it keeps is there. */
int entry_keep_begin(uint32_t flags, int cwd_fd, struct sbx_error *err);

/* After it: *ARTIFACT is new and sealed, or NULL when there is no such directory. "unsafe_tree", "tree_too_large" (65);
 * "artifact_unsafe" (65) for what is no directory. */
int entry_keep_take(const struct entry_keep *keep, int cwd_fd, struct artifacts *artifacts,
		    const struct artifact **artifact, struct sbx_error *err);

#endif
