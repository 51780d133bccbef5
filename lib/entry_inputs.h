/* What sbx-entry is given: checked against the table's digests and put where the steps expect it. And the artefacts,
 * which live in sealed memory files that only sbx-entry holds. */
#ifndef SBX_ENTRY_INPUTS_H
#define SBX_ENTRY_INPUTS_H

#include "digest.h"
#include "secret.h"
#include "steps.h"

#define ENTRY_MAX_ARTIFACTS 64

struct artifact {
	const char *name; /* of the table */
	int fd;		  /* sealed */
	uint64_t size;
	char sha256[DIGEST_HEX_SIZE];
};

struct artifacts {
	struct artifact list[ENTRY_MAX_ARTIFACTS];
	size_t count;
};

/* Take every input out of INPUTS_FD: unpack the tree below WORK_FD, write the state, check a mounted state, make the
 * artefacts. Another digest: as entry_differs (entry_seal.h); whatever cannot be placed is told as it is. */
int entry_take_inputs(const struct steps *table, int inputs_fd, int work_fd, struct artifacts *artifacts,
		      struct sbx_error *err);

/* A new one, empty and not sealed yet; NULL with an error. */
struct artifact *entry_new_artifact(struct artifacts *artifacts, const char *name, struct sbx_error *err);

/* NULL when there is none. */
const struct artifact *entry_artifact(const struct artifacts *artifacts, const char *name);

/* Copy FD, at most MAX bytes, into a new sealed artefact NAME. "too_large" (65) past that. */
const struct artifact *entry_add_artifact(struct artifacts *artifacts, const char *name, int fd, uint64_t max,
					  struct sbx_error *err);

/* 1 when a state is not what it was at the start (or gone), 0 when there is none or it is. */
int entry_state_changed(const struct steps *table, int work_fd);

/* The credential files, from the bytes of sbx-cred (u32 index, u32 length, bytes; …): written before a step that may
 * have them, removed after. */
int entry_write_credentials(const struct secret *credentials, struct sbx_error *err);
void entry_remove_credentials(void);

#endif
