/* A JSON value as an array of nodes. */
#include "plan_tree.h"

#include <stdlib.h>
#include <string.h>

#include "limit.h"

static const uint32_t first_nodes = 256;
static const uint32_t no_node = UINT32_MAX;

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

static int grow(struct plan_tree *tree, struct sbx_error *err)
{
	uint32_t cap = tree->cap > 0 ? tree->cap * 2 : first_nodes;

	if (tree->cap >= LIMIT_PLAN_TREE_NODES)
		return sbx_fail(err, SBX_BAD_REQUEST, "too_large", "a value of more than %u parts",
				tree->cap);
	if (cap > LIMIT_PLAN_TREE_NODES)
		cap = LIMIT_PLAN_TREE_NODES;
	struct plan_node *grown = realloc(tree->nodes, cap * sizeof *grown);
	if (grown == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	tree->nodes = grown;
	tree->cap = cap;
	return 0;
}

/* The text of the last token behind the others; *AT and *LEN say where. Most find room, and need no
 * call. */
static inline int add_text(const struct plan_scan *s, struct plan_tree *tree, uint32_t *at,
			   uint32_t *len, struct sbx_error *err)
{
	struct buf *text = &tree->text;

	*at = (uint32_t)text->len;
	*len = (uint32_t)s->len;
	if (text->cap - text->len <= s->len || text->cap > text->max)
		return buf_add(text, s->text, s->len, err);
	memcpy(text->data + text->len, s->text, s->len + 1);
	text->len += s->len;
	return 0;
}

static const unsigned char kinds[] = {
	[JSON_END] = PLAN_NULL,		 [JSON_OBJECT_OPEN] = PLAN_OBJECT,
	[JSON_OBJECT_CLOSE] = PLAN_NULL, [JSON_ARRAY_OPEN] = PLAN_ARRAY,
	[JSON_ARRAY_CLOSE] = PLAN_NULL,	 [JSON_KEY] = PLAN_NULL,
	[JSON_STRING] = PLAN_STRING,	 [JSON_NUMBER] = PLAN_NUMBER,
	[JSON_TRUE] = PLAN_TRUE,	 [JSON_FALSE] = PLAN_FALSE,
	[JSON_NULL] = PLAN_NULL,
};

/* The value whose first token was read, as the next node, which has its name already. While it is
 * open, its `next` is the node around it. */
static inline int add_value(const struct plan_scan *s, struct plan_tree *tree, uint32_t *open,
			    struct sbx_error *err)
{
	struct plan_node *node = &tree->nodes[tree->count];
	enum plan_kind kind = kinds[s->token];

	node->kind = (uint32_t)kind;
	node->text = node->len = 0;
	if ((kind == PLAN_STRING || kind == PLAN_NUMBER) &&
	    add_text(s, tree, &node->text, &node->len, err) < 0)
		return -1;
	node->next = tree->count + 1;
	if (kind == PLAN_OBJECT || kind == PLAN_ARRAY) {
		node->next = *open;
		*open = tree->count;
	}
	tree->count++;
	return 0;
}

/* What the last token adds to TREE. */
static inline int add_token(struct plan_scan *s, struct plan_tree *tree, uint32_t *open,
			    struct sbx_error *err)
{
	if (s->token == JSON_OBJECT_CLOSE || s->token == JSON_ARRAY_CLOSE) {
		struct plan_node *closed = &tree->nodes[*open];
		*open = closed->next;
		closed->next = tree->count;
		return 0;
	}
	if (tree->count == tree->cap && grow(tree, err) < 0)
		return -1;
	struct plan_node *node = &tree->nodes[tree->count];
	node->key = node->key_len = 0;
	if (s->token == JSON_KEY &&
	    (add_text(s, tree, &node->key, &node->key_len, err) < 0 || plan_next(s, err) < 0))
		return -1;
	return add_value(s, tree, open, err);
}

int plan_tree_read_rest(struct plan_scan *s, struct plan_tree *tree, struct sbx_error *err)
{
	uint32_t open = no_node;

	plan_tree_reset(tree);
	while (add_token(s, tree, &open, err) == 0) {
		if (open == no_node)
			return 0;
		if (plan_next(s, err) < 0)
			break;
	}
	plan_tree_reset(tree);
	return -1;
}

int plan_tree_read(struct plan_scan *s, struct plan_tree *tree, struct sbx_error *err)
{
	plan_tree_reset(tree);
	return plan_next(s, err) < 0 ? -1 : plan_tree_read_rest(s, tree, err);
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
