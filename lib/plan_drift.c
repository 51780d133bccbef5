/* Drift that is none: both values have the same hash when what holds nothing does not count. */
#include "plan_drift.h"

#include "key_hash.h"

static uint64_t hash_value(const struct key_seed *seed, const struct plan_tree *tree, const struct plan_node *node);

/* The members in any order: a sum. */
static uint64_t hash_object(const struct key_seed *seed, const struct plan_tree *tree, const struct plan_node *node)
{
	const struct plan_node *child = plan_tree_first(tree, node);
	uint64_t sum = 0;

	for (; child != NULL; child = plan_tree_behind(tree, node, child)) {
		uint64_t value = hash_value(seed, tree, child);
		if (value != 0)
			sum += key_hash(seed, value, plan_tree_name(tree, child), child->key_len);
	}
	return sum;
}

/* The elements in their order; those that hold nothing have a place all the same, but for the last ones. */
static uint64_t hash_array(const struct key_seed *seed, const struct plan_tree *tree, const struct plan_node *node)
{
	const struct plan_node *child = plan_tree_first(tree, node);
	uint64_t sum = 0;

	for (uint64_t i = 0; child != NULL; child = plan_tree_behind(tree, node, child), i++) {
		uint64_t value = hash_value(seed, tree, child);
		if (value != 0)
			sum += key_hash(seed, value, (const char *)&i, sizeof i);
	}
	return sum;
}

/* 0 for null, false, "" and what holds nothing else. Depth is bounded by that of the text. */
static uint64_t hash_value(const struct key_seed *seed, const struct plan_tree *tree, const struct plan_node *node)
{
	uint64_t inner = 0;

	if (node == NULL || node->kind == PLAN_NULL || node->kind == PLAN_FALSE ||
	    (node->kind == PLAN_STRING && node->len == 0))
		return 0;
	if (node->kind == PLAN_OBJECT || node->kind == PLAN_ARRAY) {
		inner = node->kind == PLAN_OBJECT ? hash_object(seed, tree, node) : hash_array(seed, tree, node);
		return inner == 0 ? 0 : key_hash(seed, inner, node->kind == PLAN_OBJECT ? "{" : "[", 1);
	}
	return key_hash(seed, node->kind, plan_tree_text(tree, node), node->len);
}

int plan_drift_says_something(const struct key_seed *seed, const struct plan_change *c)
{
	if (c->previous_address.len > 0 || PLAN_HAS(&c->actions, ACTION_DELETE) ||
	    PLAN_HAS(&c->actions, ACTION_FORGET) || PLAN_HAS(&c->actions, ACTION_CREATE))
		return 1;
	return hash_value(seed, &c->before, plan_tree_root(&c->before)) !=
	       hash_value(seed, &c->after, plan_tree_root(&c->after));
}
