/* A way to a value in a tree: names and indexes. */
#ifndef SBX_PLAN_PLACE_H
#define SBX_PLAN_PLACE_H

#include "plan_tree.h"

/* One name or index on the way. */
struct plan_place {
	const char *name; /* NULL: an index */
	size_t len;
	uint32_t index;
};
#define PLAN_PLACES 16 /* of a way that is held; a longer one is no attribute's */

/* What stands in NODE of TREE at one place; and at COUNT places from the root. NULL: nothing. */
const struct plan_node *plan_place_in(const struct plan_tree *tree, const struct plan_node *node,
				      const struct plan_place *place);
const struct plan_node *plan_place_find(const struct plan_tree *tree,
					const struct plan_place *places, unsigned count);

#endif
