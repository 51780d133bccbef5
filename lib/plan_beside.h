/* Two trees walked side by side: for each member or element of one, what stands at the same place in the other. Members
 * come in the same order as a rule, so a step costs the same however many there are. */
#ifndef SBX_PLAN_BESIDE_H
#define SBX_PLAN_BESIDE_H

#include "plan_tree.h"

struct plan_beside {
	const struct plan_tree *tree;
	const struct plan_node *parent; /* NULL: nothing stands beside anything */
	const struct plan_node *next;	/* the likely one */
};

struct plan_beside plan_beside_start(const struct plan_tree *tree, const struct plan_node *parent);

/* Beside CHILD of an object of OF (by its name); beside the next element of an array. NULL: nothing. */
const struct plan_node *plan_beside_member(struct plan_beside *beside, const struct plan_tree *of,
					   const struct plan_node *child);
const struct plan_node *plan_beside_element(struct plan_beside *beside);

/* One of the two, as the parent of CHILD is. */
const struct plan_node *plan_beside_child(struct plan_beside *beside, const struct plan_tree *of,
					  const struct plan_node *parent, const struct plan_node *child);

#endif
