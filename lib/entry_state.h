/* The state that a step prints (terraform state pull): kept in memory of this process, looked at, and never sent. What
 * of it comes back is what a plan's seal covers: lineage, serial, digest. */
#ifndef SBX_ENTRY_STATE_H
#define SBX_ENTRY_STATE_H

#include "steps.h"

struct entry_state {
	int fd;		     /* a memfd; -1: the step prints no state */
	int over;	     /* there was more than LIMIT_STATE_FILE */
	struct ws_file file; /* once it was judged */
};
#define ENTRY_STATE_NONE                                                                                               \
	{                                                                                                              \
		.fd = -1                                                                                               \
	}

/* A place for what a step is about to print. */
int entry_state_begin(struct entry_state *state, struct sbx_error *err);

/* Bytes of it, as they come; those past the limit are dropped. */
int entry_state_add(struct entry_state *state, const void *bytes, size_t len, struct sbx_error *err);

/* The step ended well. Nothing printed is no state. "state_unreadable", "too_large" (77); where the table runs a sealed
 * plan and this is not the state that it was made against, the code of the part that differs (plan_part.h). */
int entry_state_judge(struct entry_state *state, const struct steps *table, struct sbx_error *err);

/* {"lineage":…,"serial":…,"sha256":…} of what was judged. */
int entry_state_json(const struct entry_state *state, struct buf *out, struct sbx_error *err);

void entry_state_clear(struct entry_state *state);

#endif
