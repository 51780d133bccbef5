/* Trees: what the lexer accepts is a tree of sound indexes (unless it is too large) which, written
 * as JSON in any order of members and read again, is the same value, and no other than it. */
#include <stdint.h>
#include <string.h>

#include "json_out.h"
#include "limit.h"
#include "plan_tree.h"

/* Every node ends behind its parts, and its texts are within the text. */
static void check_nodes(const struct plan_tree *tree)
{
	for (uint32_t i = 0; i < tree->count; i++) {
		const struct plan_node *node = &tree->nodes[i];
		if (node->next <= i || node->next > tree->count || node->kind > PLAN_OBJECT ||
		    (uint64_t)node->text + node->len > tree->text.len ||
		    (uint64_t)node->key + node->key_len > tree->text.len)
			abort();
		const struct plan_node *part = plan_tree_first(tree, node);
		uint32_t end = i + 1;
		for (uint32_t n = 0; part != NULL; part = plan_tree_behind(tree, node, part), n++) {
			end = part->next;
			if (node->kind == PLAN_ARRAY && n < 64 &&
			    plan_tree_element(tree, node, n) != part)
				abort();
			if (node->kind == PLAN_OBJECT && n < 64 &&
			    plan_tree_member(tree, node, plan_tree_name(tree, part),
					     part->key_len) != part)
				abort();
		}
		if (end != node->next)
			abort();
	}
}

enum order { FORTH, BACK };

static void write_value(const struct plan_tree *tree, const struct plan_node *node,
			enum order order, struct buf *out);

/* From PART to the last one; backwards by recursion. */
static void write_parts(const struct plan_tree *tree, const struct plan_node *node,
			const struct plan_node *part, enum order order, struct buf *out)
{
	struct sbx_error err = SBX_ERROR_INIT;

	for (; part != NULL; part = plan_tree_behind(tree, node, part)) {
		if (order == BACK && node->kind == PLAN_OBJECT)
			write_parts(tree, node, plan_tree_behind(tree, node, part), order, out);
		char last = out->data[out->len - 1];
		if (last != '{' && last != '[')
			buf_add_str(out, ",", &err);
		if (node->kind == PLAN_OBJECT) {
			json_out_string(out, plan_tree_name(tree, part), part->key_len, &err);
			buf_add_str(out, ":", &err);
		}
		write_value(tree, part, order, out);
		if (order == BACK && node->kind == PLAN_OBJECT)
			return;
	}
}

static void write_value(const struct plan_tree *tree, const struct plan_node *node,
			enum order order, struct buf *out)
{
	static const char *const words[] = {"null", "false", "true"};
	struct sbx_error err = SBX_ERROR_INIT;

	if (node->kind <= PLAN_TRUE) {
		buf_add_str(out, words[node->kind], &err);
	} else if (node->kind == PLAN_NUMBER) {
		buf_add(out, plan_tree_text(tree, node), node->len, &err);
	} else if (node->kind == PLAN_STRING) {
		json_out_string(out, plan_tree_text(tree, node), node->len, &err);
	} else {
		buf_add_str(out, node->kind == PLAN_OBJECT ? "{" : "[", &err);
		write_parts(tree, node, plan_tree_first(tree, node), order, out);
		buf_add_str(out, node->kind == PLAN_OBJECT ? "}" : "]", &err);
	}
}

static int equal(const struct plan_tree *a, const struct plan_tree *b)
{
	return plan_tree_equal(a, plan_tree_root(a), b, plan_tree_root(b));
}

/* TREE written and read again; and with another value in place of one scalar. */
static void check_again(const struct plan_tree *tree, enum order order, size_t which)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf text = BUF_INIT(1 << 24);
	struct plan_tree again;

	plan_tree_init(&again);
	write_value(tree, plan_tree_root(tree), order, &text);
	if (plan_tree_parse(&again, text.data, text.len, &err) < 0 || again.count != tree->count ||
	    !equal(tree, &again) || !equal(&again, tree))
		abort();
	struct plan_node *node = &again.nodes[which % again.count];
	if (node->kind <= PLAN_STRING) {
		node->kind = node->kind == PLAN_NULL ? PLAN_TRUE : PLAN_NULL;
		if (equal(tree, &again) || equal(&again, tree))
			abort();
	}
	plan_tree_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct plan_tree tree;

	plan_tree_init(&tree);
	if (plan_tree_parse(&tree, (const char *)data, size, &err) == 0) {
		check_nodes(&tree);
		if (!equal(&tree, &tree))
			abort();
		check_again(&tree, FORTH, size);
		check_again(&tree, BACK, size / 2);
	} else if (plan_tree_root(&tree) != NULL || err.class != SBX_BAD_REQUEST) {
		abort();
	}
	plan_tree_clear(&tree);
	return 0;
}
