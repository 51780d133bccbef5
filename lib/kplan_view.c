/* Nodes copied, with the indexes that they hold. */
#include "kplan_view.h"

#include <stdlib.h>
#include <string.h>

static int make_room(struct plan_tree *tree, uint32_t count, struct sbx_error *err)
{
	if (tree->cap >= count)
		return 0;
	struct plan_node *grown = reallocarray(tree->nodes, count, sizeof *grown);
	if (grown == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	tree->nodes = grown;
	tree->cap = count;
	return 0;
}

int kplan_view_take(struct kplan_view *view, const struct plan_tree *tree, const struct plan_node *node,
		    struct sbx_error *err)
{
	struct plan_tree *to = &view->tree;

	to->count = 0;
	if (node == NULL)
		return 0;
	uint32_t base = (uint32_t)(node - tree->nodes), count = node->next - base;
	if (make_room(to, count, err) < 0)
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		to->nodes[i] = tree->nodes[base + i];
		to->nodes[i].next -= base;
	}
	to->count = count;
	to->text = tree->text;
	return 0;
}

void kplan_view_clear(struct kplan_view *view)
{
	free(view->tree.nodes);
	*view = (struct kplan_view){.tree = {.nodes = NULL}};
}

/* Nodes that are left out, ascending. */
#define GAPS 8
struct gaps {
	struct {
		uint32_t begin, end;
	} list[GAPS];
	unsigned count;
};

static void leave_out(struct gaps *gaps, const struct plan_tree *tree, const struct plan_node *node)
{
	gaps->list[gaps->count].begin = (uint32_t)(node - tree->nodes);
	gaps->list[gaps->count++].end = node->next;
}

static int is_named(const struct plan_tree *tree, const struct plan_node *node, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (node->key_len == strlen(names[i]) &&
		    memcmp(plan_tree_name(tree, node), names[i], node->key_len) == 0)
			return 1;
	return 0;
}

/* No key stands twice in an object, so there are at most as many gaps as names. */
static struct gaps find_gaps(const struct plan_tree *tree, enum kplan_status status)
{
	static const char *const kept_by_server[] = {"managedFields", "resourceVersion",   "generation",
						     "uid",	      "creationTimestamp", "selfLink"};
	static const char *const of_status[] = {"status"}, *const of_metadata[] = {"metadata"};
	const struct plan_node *root = plan_tree_root(tree), *member = plan_tree_first(tree, root);
	struct gaps gaps = {.count = 0};

	for (; member != NULL; member = plan_tree_behind(tree, root, member)) {
		if (status == STATUS_GOES && is_named(tree, member, of_status, 1))
			leave_out(&gaps, tree, member);
		if (!is_named(tree, member, of_metadata, 1) || member->kind != PLAN_OBJECT)
			continue;
		const struct plan_node *inner = plan_tree_first(tree, member);
		for (; inner != NULL; inner = plan_tree_behind(tree, member, inner))
			if (is_named(tree, inner, kept_by_server, ARRAY_LEN(kept_by_server)))
				leave_out(&gaps, tree, inner);
	}
	return gaps;
}

/* Where the node INDEX comes to stand. */
static uint32_t moved(const struct gaps *gaps, uint32_t index)
{
	uint32_t gone = 0;

	for (unsigned i = 0; i < gaps->count && gaps->list[i].begin < index; i++)
		gone += gaps->list[i].end - gaps->list[i].begin;
	return index - gone;
}

static int copy_text(struct plan_tree *to, const struct plan_tree *from, uint32_t *at, uint32_t len,
		     struct sbx_error *err)
{
	const char *text = buf_str(&from->text) + *at;

	*at = (uint32_t)to->text.len;
	return buf_add(&to->text, text, len, err);
}

int kplan_prune(struct plan_tree *to, const struct plan_tree *from, enum kplan_status status, struct sbx_error *err)
{
	const struct gaps gaps = find_gaps(from, status);
	unsigned gap = 0;

	plan_tree_reset(to);
	if (make_room(to, from->count, err) < 0)
		return -1;
	for (uint32_t i = 0; i < from->count;) {
		if (gap < gaps.count && gaps.list[gap].begin == i) {
			i = gaps.list[gap++].end;
			continue;
		}
		struct plan_node *node = &to->nodes[to->count++];
		*node = from->nodes[i++];
		node->next = moved(&gaps, node->next);
		if (copy_text(to, from, &node->key, node->key_len, err) < 0 ||
		    copy_text(to, from, &node->text, node->len, err) < 0)
			return -1;
	}
	return 0;
}
