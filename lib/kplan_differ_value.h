/* Two values that differ, as entries of a list: one, or one for each line of a text. */
#ifndef SBX_KPLAN_DIFFER_VALUE_H
#define SBX_KPLAN_DIFFER_VALUE_H

#include "kplan_differ.h"
#include "plan_place.h"

/* Where the two stand. */
struct kplan_spot {
	const struct plan_node *nodes[PLAN_SIDES]; /* NULL: nothing */
	struct plan_place ways[PLAN_SIDES][PLAN_PLACES];
	unsigned depth;
	struct buf path; /* whole */
};

/* Append to DIFFERENCES what differs at SPOT. "no_memory" (71), "too_large" (65). */
int kplan_differ_value(struct plan_differences *differences, const struct kplan_sides *sides,
		       const struct kplan_spot *spot, struct sbx_error *err);

#endif
