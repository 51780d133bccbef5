/* What is different between an object as it was planned with and as it is now, for people. */
#ifndef SBX_KCHANGE_MOVED_H
#define SBX_KCHANGE_MOVED_H

#include "kchange_plan.h"

/* What of an object has to be the same. */
enum kchange_same {
	KCHANGE_SAME_VERSION, /* uid and resourceVersion */
	KCHANGE_SAME_SPEC,    /* of a node: uid and spec; it is written to with each heartbeat */
	KCHANGE_SAME_UID,     /* of a pod that is evicted */
};

/* 1 when IS (now; NULL: it is not there) is not the object that STEP was planned with: LINES gets at least one line, at
 * most some ten, each `"ADDRESS": "PATH" (WAS -> IS)`, printable ASCII, and nothing that is secret (kplan_mask.h). 0:
 * it is the same. -1: "no_memory", "too_large". */
int kchange_moved(const struct kchange_step *step, const struct kchange_object *is, enum kchange_same same,
		  struct buf *lines, struct sbx_error *err);

/* Append a line about the object ADDRESS: WORDS. */
int kchange_moved_line(struct buf *lines, const struct buf *address, const char *words, struct sbx_error *err);

#endif
