/* A JSON value as an array of nodes. */
#include "plan_tree.h"

#include <stdlib.h>
#include <string.h>

#include "limit.h"

void plan_tree_init(struct plan_tree *tree)
{
	*tree = (struct plan_tree){.text = BUF_INIT(LIMIT_PLAN_TREE)};
}

void plan_tree_reset(struct plan_tree *tree)
{
	tree->count = 0;
	buf_reset(&tree->text);
}

void plan_tree_clear(struct plan_tree *tree)
{
	free(tree->nodes);
	buf_clear(&tree->text);
	plan_tree_init(tree);
}

int plan_tree_parse(struct plan_tree *tree, const char *text, size_t len, struct sbx_error *err)
{
	static const struct json_lex_limits limits = {.bytes = LIMIT_PLAN_TREE,
						      .depth = LIMIT_PLAN_DEPTH,
						      .string = LIMIT_PLAN_TREE,
						      .integers = JSON_ANY_NUMBER};
	auto_json_lex *lex = json_lex_memory(text, len, &limits, err);
	struct plan_scan s = {.lex = lex};

	plan_tree_reset(tree);
	if (lex == NULL || plan_tree_read(&s, tree, err) < 0)
		return -1;
	/* The lexer refuses whatever follows the one value. */
	if (plan_next(&s, err) == 0)
		return 0;
	plan_tree_reset(tree);
	return -1;
}

const struct plan_node *plan_tree_root(const struct plan_tree *tree)
{
	return tree == NULL || tree->count == 0 ? NULL : tree->nodes;
}

const struct plan_node *plan_tree_member(const struct plan_tree *tree,
					 const struct plan_node *object, const char *name,
					 size_t len)
{
	const struct plan_node *member;

	if (object == NULL || object->kind != PLAN_OBJECT)
		return NULL;
	for (member = plan_tree_first(tree, object); member != NULL;
	     member = plan_tree_behind(tree, object, member))
		if (member->key_len == len && memcmp(plan_tree_name(tree, member), name, len) == 0)
			return member;
	return NULL;
}

const struct plan_node *plan_tree_element(const struct plan_tree *tree,
					  const struct plan_node *array, uint32_t index)
{
	const struct plan_node *element;

	if (array == NULL || array->kind != PLAN_ARRAY)
		return NULL;
	for (element = plan_tree_first(tree, array); element != NULL && index > 0; index--)
		element = plan_tree_behind(tree, array, element);
	return element;
}

const char *plan_tree_text(const struct plan_tree *tree, const struct plan_node *node)
{
	return node == NULL ? "" : buf_str(&tree->text) + node->text;
}

const char *plan_tree_name(const struct plan_tree *tree, const struct plan_node *node)
{
	return node == NULL ? "" : buf_str(&tree->text) + node->key;
}
