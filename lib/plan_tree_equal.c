/* Whether two trees are the same value. Members come in the same order as a rule (Terraform sorts
 * them): they are compared in pairs as long as the names agree, and what is left of both objects is
 * sorted once they do not. So the time stays within n log n, whatever the order. */
#include "plan_tree.h"

#include <stdlib.h>
#include <string.h>

struct side {
	const struct plan_tree *tree;
	const struct plan_node *node;
};

static int by_name(const struct plan_tree *a, const struct plan_node *x, const struct plan_tree *b,
		   const struct plan_node *y)
{
	if (x->key_len != y->key_len)
		return x->key_len < y->key_len ? -1 : 1;
	return memcmp(plan_tree_name(a, x), plan_tree_name(b, y), x->key_len);
}

static void sift_down(const struct plan_tree *tree, const struct plan_node **heap, size_t at,
		      size_t count)
{
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && by_name(tree, heap[child], tree, heap[child + 1]) < 0)
			child++;
		if (by_name(tree, heap[at], tree, heap[child]) >= 0)
			return;
		const struct plan_node *held = heap[at];
		heap[at] = heap[child];
		heap[child] = held;
	}
}

/* A heap sort: qsort asks the system how much memory there is, which the reader of plans may not.
 */
static void sort_by_name(const struct plan_tree *tree, const struct plan_node **members,
			 size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		sift_down(tree, members, i, count);
	for (size_t last = count; last-- > 1;) {
		const struct plan_node *held = members[0];
		members[0] = members[last];
		members[last] = held;
		sift_down(tree, members, 0, last);
	}
}

/* MEMBER and all members behind it, sorted; NULL when there is no memory. */
static const struct plan_node **sorted_from(struct side object, const struct plan_node *member,
					    size_t *count)
{
	size_t i = 0;

	*count = 0;
	for (const struct plan_node *m = member; m != NULL;
	     m = plan_tree_behind(object.tree, object.node, m))
		++*count;
	const struct plan_node **members = calloc(*count + 1, sizeof(const struct plan_node *));
	if (members == NULL)
		return NULL;
	for (; member != NULL; member = plan_tree_behind(object.tree, object.node, member))
		members[i++] = member;
	sort_by_name(object.tree, members, *count);
	return members;
}

/* X and Y are the first members that are left of the objects A and B. */
static int equal_unordered(struct side a, const struct plan_node *x, struct side b,
			   const struct plan_node *y)
{
	size_t count, other;
	const struct plan_node **xs = sorted_from(a, x, &count), **ys = sorted_from(b, y, &other);
	int equal = xs != NULL && ys != NULL && count == other;

	for (size_t i = 0; equal && i < count; i++)
		equal = by_name(a.tree, xs[i], b.tree, ys[i]) == 0 &&
			plan_tree_equal(a.tree, xs[i], b.tree, ys[i]);
	free(xs);
	free(ys);
	return equal;
}

static int equal_parts(struct side a, struct side b)
{
	const struct plan_node *x = plan_tree_first(a.tree, a.node),
			       *y = plan_tree_first(b.tree, b.node);

	while (x != NULL && y != NULL) {
		if (a.node->kind == PLAN_OBJECT && by_name(a.tree, x, b.tree, y) != 0)
			return equal_unordered(a, x, b, y);
		if (!plan_tree_equal(a.tree, x, b.tree, y))
			return 0;
		x = plan_tree_behind(a.tree, a.node, x);
		y = plan_tree_behind(b.tree, b.node, y);
	}
	return x == NULL && y == NULL;
}

/* Recursion is bounded by the depth limit of the lexer. */
int plan_tree_equal(const struct plan_tree *a, const struct plan_node *x, const struct plan_tree *b,
		    const struct plan_node *y)
{
	if (x == NULL || y == NULL)
		return 0;
	if (x->kind != y->kind || x->len != y->len ||
	    x->next - (x - a->nodes) != y->next - (y - b->nodes))
		return 0;
	if (x->kind == PLAN_OBJECT || x->kind == PLAN_ARRAY)
		return equal_parts((struct side){a, x}, (struct side){b, y});
	return memcmp(plan_tree_text(a, x), plan_tree_text(b, y), x->len) == 0;
}

/* Nodes and texts of a member stand one behind the other, its name first. */
int plan_tree_same_member(const struct plan_tree *a, const struct plan_node *x,
			  const struct plan_tree *b, const struct plan_node *y)
{
	const uint32_t count = x->next - (uint32_t)(x - a->nodes);
	size_t len = 0;

	if (count != y->next - (uint32_t)(y - b->nodes))
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		if (x[i].kind != y[i].kind || x[i].len != y[i].len ||
		    x[i].key_len != y[i].key_len || x[i].next - x->next != y[i].next - y->next)
			return 0;
		len += x[i].len + x[i].key_len;
	}
	return memcmp(plan_tree_name(a, x), plan_tree_name(b, y), len) == 0;
}
