/* One JSON value in memory as a flat tree: nodes in the order of the text, each with the index of what stands behind
 * it. Made for one change of a plan at a time: the memory is used again for the next value. */
#ifndef SBX_PLAN_TREE_H
#define SBX_PLAN_TREE_H

#include "plan_scan.h"

enum plan_kind { PLAN_NULL, PLAN_FALSE, PLAN_TRUE, PLAN_NUMBER, PLAN_STRING, PLAN_ARRAY, PLAN_OBJECT };

struct plan_node {
	uint32_t text, len;    /* a string (unescaped; may hold NUL) or number (as written) within the tree's text */
	uint32_t key, key_len; /* the name, for a member of an object */
	uint32_t next;	       /* index of the first node behind this one and all below it */
	uint32_t kind;	       /* enum plan_kind */
};

struct plan_tree {
	struct plan_node *nodes; /* owned */
	uint32_t count, cap;
	struct buf text; /* of strings, numbers and keys, one behind the other */
};

void plan_tree_init(struct plan_tree *tree);
void plan_tree_reset(struct plan_tree *tree); /* make it empty, keep the memory */
void plan_tree_clear(struct plan_tree *tree);

/* Read the value that comes next (_read), or whose first token was read (_read_rest), in place of what TREE holds.
 * "too_large" (65) beyond LIMIT_PLAN_TREE bytes of text or LIMIT_PLAN_TREE_NODES; otherwise as plan_next. */
int plan_tree_read(struct plan_scan *s, struct plan_tree *tree, struct sbx_error *err);
int plan_tree_read_rest(struct plan_scan *s, struct plan_tree *tree, struct sbx_error *err);

/* The same from a JSON text of its own, as strict: a document in a string. "json_*" or "too_large" (65). */
int plan_tree_parse(struct plan_tree *tree, const char *text, size_t len, struct sbx_error *err);

/* The value itself; NULL when TREE is empty. Nodes are valid until the tree is filled again. Every function below
 * takes NULL for "nothing there" and then gives NULL, 0 or "". */
const struct plan_node *plan_tree_root(const struct plan_tree *tree);

/* The first member or element of NODE; and the one behind CHILD in PARENT; NULL at the end and for scalars. */
static inline const struct plan_node *plan_tree_first(const struct plan_tree *tree,
						      const struct plan_node *node)
{
	return node == NULL || node + 1 == tree->nodes + node->next ? NULL : node + 1;
}

static inline const struct plan_node *plan_tree_behind(const struct plan_tree *tree,
						       const struct plan_node *parent,
						       const struct plan_node *child)
{
	if (parent == NULL || child == NULL || child->next == parent->next)
		return NULL;
	return tree->nodes + child->next;
}

const struct plan_node *plan_tree_member(const struct plan_tree *tree, const struct plan_node *object,
					 const char *name, size_t len);
const struct plan_node *plan_tree_element(const struct plan_tree *tree, const struct plan_node *array,
					  uint32_t index);

/* Text of a string or number (not closed by NUL: node->len bytes); name of a member (node->key_len bytes). */
const char *plan_tree_text(const struct plan_tree *tree, const struct plan_node *node);
const char *plan_tree_name(const struct plan_tree *tree, const struct plan_node *node);

/* 1 when both are the same JSON value, whatever the order of members; numbers are compared as written. 0 when they are
 * not, and when memory for members in different orders runs out: what differs is looked at. */
int plan_tree_equal(const struct plan_tree *a, const struct plan_node *x, const struct plan_tree *b,
		    const struct plan_node *y);

/* 1 when the members X and Y have the same name and the same value, with the members of every object in it in the same
 * order. */
int plan_tree_same_member(const struct plan_tree *a, const struct plan_node *x, const struct plan_tree *b,
			  const struct plan_node *y);

/* Before a node is written: what becomes of it. PLAN_INSTEAD: a text, which was appended to OUT, stands in its place. */
enum plan_edit { PLAN_AS_IT_IS, PLAN_LEFT_OUT /* a member only */, PLAN_INSTEAD, PLAN_EDIT_FAILED };
typedef enum plan_edit plan_editor(void *context, const struct plan_node *node, struct buf *out, struct sbx_error *err);

/* Append NODE of TREE to OUT as JSON: without white space, members in the byte order of their names, escapes as
 * json_out.h has them, numbers as they were written. EDIT may be NULL. "too_large", "no_memory". */
int plan_tree_write(struct buf *out, const struct plan_tree *tree, const struct plan_node *node, plan_editor *edit,
		    void *context, struct sbx_error *err);

#endif
