/* Ways to values. */
#include "plan_place.h"

const struct plan_node *plan_place_in(const struct plan_tree *tree, const struct plan_node *node,
				      const struct plan_place *place)
{
	return place->name != NULL ? plan_tree_member(tree, node, place->name, place->len)
				   : plan_tree_element(tree, node, place->index);
}

const struct plan_node *plan_place_find(const struct plan_tree *tree,
					const struct plan_place *places, unsigned count)
{
	const struct plan_node *node = plan_tree_root(tree);

	for (unsigned i = 0; i < count && node != NULL; i++)
		node = plan_place_in(tree, node, &places[i]);
	return node;
}
