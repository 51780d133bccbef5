/* What is different between an object as it was planned with and as it is now, for people.
 *
 * It is the same as long as its uid, its generation and all of it but its status are: what controllers and kubelets
 * report about an object is no part of what was judged, and a workload under a rollout or a node with its heartbeats is
 * written to all the time. What the server keeps about the writing (resourceVersion, managedFields) is none either. An
 * object that has neither a generation nor a status (a ConfigMap) is written to by nobody but who changes it: of that
 * the resourceVersion has to be the same. */
#ifndef SBX_KCHANGE_MOVED_H
#define SBX_KCHANGE_MOVED_H

#include "kchange_plan.h"

/* 1 when IS (now; NULL: it is not there) is not the object that STEP was planned with: LINES gets at least one line, at
 * most some ten, each `"ADDRESS": "PATH" (WAS -> IS)`, printable ASCII, and nothing that is secret (secret_mask.h). 0:
 * it is the same. -1: "no_memory", "too_large". */
int kchange_moved(const struct kchange_step *step, const struct kchange_object *is, struct buf *lines,
		  struct sbx_error *err);

/* The same for what becomes of it: 1 when AGAIN, what the server says now, is not what PLANNED (in the plan) says, but
 * for what it was known to choose anew (kchange_object_write_planned). */
int kchange_moved_planned(const struct kchange_step *step, const struct plan_tree *planned,
			  const struct plan_tree *again, struct buf *lines, struct sbx_error *err);

/* Append a line about the object ADDRESS: WORDS. */
int kchange_moved_line(struct buf *lines, const struct buf *address, const char *words, struct sbx_error *err);

#endif
