/* What is different between two objects of a cluster, value by value: for the person who signs a change, and for
 * whoever is told that an object has moved.
 *
 * A value is told at its whole way, also in what comes or goes as a whole; of texts of more than one line the lines
 * that are not the same; elements of a list that have names (containers, env, ports) beside those of the same name, the
 * others beside those at the same place, without what is the same at both ends. Metadata come behind everything else,
 * so that nobody fills a list with labels in front of what matters. */
#ifndef SBX_KPLAN_DIFFER_H
#define SBX_KPLAN_DIFFER_H

#include "plan_difference.h"

/* 1 when the two, of which neither is missing, are the same though they differ. */
typedef int kplan_alike(const struct plan_tree *const trees[PLAN_SIDES], const struct plan_node *was,
			const struct plan_node *is);

struct kplan_sides {
	const struct plan_tree *trees[PLAN_SIDES]; /* an empty one: there is no object */
	const struct plan_tree *masks[PLAN_SIDES]; /* secret_mask.h */
	const struct plan_secrets *secrets;	   /* of both (secret_mask_keep), and more */
	const struct buf *address;		   /* of the object */
	kplan_alike *alike;			   /* NULL: none */
};

/* Append to DIFFERENCES. "no_memory" (71), "too_large" (65). */
int kplan_differ(struct plan_differences *differences, const struct kplan_sides *sides, struct sbx_error *err);

#endif
