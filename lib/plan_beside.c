/* Walking two trees side by side. */
#include "plan_beside.h"

#include <string.h>

struct plan_beside plan_beside_start(const struct plan_tree *tree, const struct plan_node *parent)
{
	return (struct plan_beside){.tree = tree, .parent = parent, .next = plan_tree_first(tree, parent)};
}

static void step(struct plan_beside *b, const struct plan_node *taken)
{
	if (taken != NULL)
		b->next = plan_tree_behind(b->tree, b->parent, taken);
}

const struct plan_node *plan_beside_member(struct plan_beside *b, const struct plan_tree *of,
					   const struct plan_node *child)
{
	const char *name = plan_tree_name(of, child);
	const struct plan_node *node = b->next;

	if (b->parent == NULL || b->parent->kind != PLAN_OBJECT)
		return NULL;
	if (node == NULL || node->key_len != child->key_len ||
	    memcmp(plan_tree_name(b->tree, node), name, child->key_len) != 0)
		node = plan_tree_member(b->tree, b->parent, name, child->key_len);
	step(b, node);
	return node;
}

const struct plan_node *plan_beside_element(struct plan_beside *b)
{
	const struct plan_node *node = b->parent != NULL && b->parent->kind == PLAN_ARRAY ? b->next : NULL;

	step(b, node);
	return node;
}

const struct plan_node *plan_beside_child(struct plan_beside *b, const struct plan_tree *of,
					  const struct plan_node *parent, const struct plan_node *child)
{
	return parent->kind == PLAN_OBJECT ? plan_beside_member(b, of, child) : plan_beside_element(b);
}
