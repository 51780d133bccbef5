/* Drift that is none. */
#include "plan_drift.h"

#include <string.h>

/* null, false, "", and what holds nothing else. */
static int is_nothing(const struct plan_tree *tree, const struct plan_node *node)
{
	if (node == NULL)
		return 1;
	for (const struct plan_node *n = node, *end = tree->nodes + node->next; n < end; n++)
		if (n->kind == PLAN_TRUE || n->kind == PLAN_NUMBER || (n->kind == PLAN_STRING && n->len > 0))
			return 0;
	return 1;
}

static int alike(const struct plan_tree *a, const struct plan_node *x, const struct plan_tree *b,
		 const struct plan_node *y);

static int arrays_alike(const struct plan_tree *a, const struct plan_node *x, const struct plan_tree *b,
			const struct plan_node *y)
{
	const struct plan_node *p = plan_tree_first(a, x), *q = plan_tree_first(b, y);

	for (; p != NULL && q != NULL; p = plan_tree_behind(a, x, p), q = plan_tree_behind(b, y, q))
		if (!alike(a, p, b, q))
			return 0;
	return p == NULL && q == NULL;
}

/* What X has, Y has: the objects are compared in both directions. */
static int has_all(const struct plan_tree *a, const struct plan_node *x, const struct plan_tree *b,
		   const struct plan_node *y)
{
	const struct plan_node *p = plan_tree_first(a, x), *hint = plan_tree_first(b, y);

	for (; p != NULL; p = plan_tree_behind(a, x, p)) {
		const char *name = plan_tree_name(a, p);
		const struct plan_node *q = hint;
		/* The same order, as a rule. */
		if (q == NULL || q->key_len != p->key_len || memcmp(plan_tree_name(b, q), name, q->key_len) != 0)
			q = plan_tree_member(b, y, name, p->key_len);
		if (!alike(a, p, b, q))
			return 0;
		hint = q != NULL ? plan_tree_behind(b, y, q) : hint;
	}
	return 1;
}

/* Depth is bounded by that of the text. */
static int alike(const struct plan_tree *a, const struct plan_node *x, const struct plan_tree *b,
		 const struct plan_node *y)
{
	if (is_nothing(a, x) || is_nothing(b, y))
		return is_nothing(a, x) && is_nothing(b, y);
	if (x->kind != y->kind)
		return 0;
	if (x->kind == PLAN_ARRAY)
		return arrays_alike(a, x, b, y);
	if (x->kind == PLAN_OBJECT)
		return has_all(a, x, b, y) && has_all(b, y, a, x);
	return plan_tree_equal(a, x, b, y);
}

int plan_drift_says_something(const struct plan_change *c)
{
	if (c->previous_address.len > 0 || PLAN_HAS(&c->actions, ACTION_DELETE) ||
	    PLAN_HAS(&c->actions, ACTION_FORGET) || PLAN_HAS(&c->actions, ACTION_CREATE))
		return 1;
	return !alike(&c->before, plan_tree_root(&c->before), &c->after, plan_tree_root(&c->after));
}
