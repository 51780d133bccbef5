/* Filling a tree. Whole runs of tokens are taken from the lexer's block as they stand there; those
 * that are left, and all where the tokens are added to a digest, come one by one. */
#include "plan_tree.h"

#include <stdlib.h>
#include <string.h>

#include "json_lex_pass.h"
#include "limit.h"

static const uint32_t first_nodes = 256;
static const uint32_t no_node = UINT32_MAX;

struct filling {
	struct plan_tree *tree;
	uint32_t
		open; /* the innermost node that is; while it is, its `next` is the one around it */
	int is_named; /* the next node has its name already */
};

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

/* A text behind the others; *AT and *AT_LEN say where. Most find room, and need no call. */
static inline int add_text(struct plan_tree *tree, const char *text, size_t len, uint32_t *at,
			   uint32_t *at_len, struct sbx_error *err)
{
	struct buf *all = &tree->text;

	*at = (uint32_t)all->len;
	*at_len = (uint32_t)len;
	if (all->cap - all->len <= len || all->cap > all->max)
		return buf_add(all, text, len, err);
	memcpy(all->data + all->len, text, len);
	all->len += len;
	all->data[all->len] = '\0';
	return 0;
}

/* The node that comes next, with a name or none; NULL on failure. */
static inline struct plan_node *next_node(struct filling *f, struct sbx_error *err)
{
	struct plan_tree *tree = f->tree;

	if (tree->count == tree->cap && grow(tree, err) < 0)
		return NULL;
	struct plan_node *node = &tree->nodes[tree->count];
	if (!f->is_named)
		node->key = node->key_len = 0;
	return node;
}

static inline int add_name(void *of, const char *text, size_t len, struct sbx_error *err)
{
	struct filling *f = of;
	struct plan_node *node = next_node(f, err);

	f->is_named = 1;
	return node == NULL ? -1 : add_text(f->tree, text, len, &node->key, &node->key_len, err);
}

static inline int add_scalar(struct filling *f, enum plan_kind kind, const char *text, size_t len,
			     struct sbx_error *err)
{
	struct plan_node *node = next_node(f, err);

	if (node == NULL)
		return -1;
	f->is_named = 0;
	node->kind = (uint32_t)kind;
	node->text = node->len = 0;
	node->next = ++f->tree->count;
	return text == NULL ? 0 : add_text(f->tree, text, len, &node->text, &node->len, err);
}

static inline int add_string(void *of, const char *text, size_t len, struct sbx_error *err)
{
	return add_scalar(of, PLAN_STRING, text, len, err);
}

static inline int add_number(void *of, const char *text, size_t len, struct sbx_error *err)
{
	return add_scalar(of, PLAN_NUMBER, text, len, err);
}

static inline int add_word(void *of, enum json_token token, struct sbx_error *err)
{
	enum plan_kind kind = token == JSON_TRUE    ? PLAN_TRUE
			      : token == JSON_FALSE ? PLAN_FALSE
						    : PLAN_NULL;

	return add_scalar(of, kind, NULL, 0, err);
}

static inline int add_open(void *of, enum json_token token, struct sbx_error *err)
{
	struct filling *f = of;
	struct plan_node *node = next_node(f, err);

	if (node == NULL)
		return -1;
	f->is_named = 0;
	node->kind = token == JSON_OBJECT_OPEN ? PLAN_OBJECT : PLAN_ARRAY;
	node->text = node->len = 0;
	node->next = f->open;
	f->open = f->tree->count++;
	return 0;
}

static inline void add_close(void *of)
{
	struct filling *f = of;
	struct plan_node *closed = &f->tree->nodes[f->open];

	f->open = closed->next;
	closed->next = f->tree->count;
}

/* What the last token adds. */
static int add_token(struct filling *f, const struct plan_scan *s, struct sbx_error *err)
{
	switch (s->token) {
	case JSON_KEY:
		return add_name(f, s->text, s->len, err);
	case JSON_STRING:
		return add_string(f, s->text, s->len, err);
	case JSON_NUMBER:
		return add_number(f, s->text, s->len, err);
	case JSON_OBJECT_OPEN:
	case JSON_ARRAY_OPEN:
		return add_open(f, s->token, err);
	case JSON_OBJECT_CLOSE:
	case JSON_ARRAY_CLOSE:
		add_close(f);
		return 0;
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
	case JSON_END:
		break;
	}
	return add_word(f, s->token, err);
}

/* What is left of the value that is open, but for what the slow reader has to read: 1 when it is
 * complete, 0, -1. */
static int take_run(struct filling *f, struct plan_scan *s, unsigned depth, struct sbx_error *err)
{
	/* Texts with escapes are the slow reader's. */
	static const struct json_lex_visitor fill = {
		.key = add_name,
		.string = add_string,
		.number = add_number,
		.word = add_word,
		.open = add_open,
		.close = add_close,
	};

	return s->effect != NULL ? 0 : json_lex_pass(s->lex, depth, &fill, f, err);
}

static int fill(struct filling *f, struct plan_scan *s, struct sbx_error *err)
{
	unsigned depth = json_lex_depth(s->lex) - 1;
	int complete = 0;

	if (add_token(f, s, err) < 0)
		return -1;
	while (f->open != no_node) {
		if ((complete = take_run(f, s, depth, err)) != 0)
			return complete < 0 ? -1 : 0;
		if (plan_next(s, err) < 0 || add_token(f, s, err) < 0)
			return -1;
	}
	return 0;
}

int plan_tree_read_rest(struct plan_scan *s, struct plan_tree *tree, struct sbx_error *err)
{
	struct filling f = {.tree = tree, .open = no_node};

	plan_tree_reset(tree);
	if (fill(&f, s, err) == 0)
		return 0;
	plan_tree_reset(tree);
	return -1;
}

int plan_tree_read(struct plan_scan *s, struct plan_tree *tree, struct sbx_error *err)
{
	plan_tree_reset(tree);
	return plan_next(s, err) < 0 ? -1 : plan_tree_read_rest(s, tree, err);
}
