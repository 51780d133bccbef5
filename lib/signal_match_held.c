/* Parts of the old value, found by their hashes. */
#include <stdlib.h>
#include <string.h>

#include "key_hash.h"
#include "signal_match_impl.h"

/* Who finds values with equal hashes makes a rule unknown, and no better verdict: the seed need not
 * be secret. */
static const struct key_seed seed = {{0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu}};

static const uint32_t first_items = 64, first_heads = 16;

static int is_null(const struct plan_node *node)
{
	return node == NULL || node->kind == PLAN_NULL;
}

uint64_t held_hash(struct signal_matcher *m, const struct plan_tree *tree,
		   const struct plan_node *value)
{
	uint64_t sum = 1;

	if (is_null(value))
		return 0;
	for (const struct plan_node *n = value;
	     n < tree->nodes + value->next && match_spend(m, 1) == 0; n++) {
		uint64_t start = n->kind;
		if (n != value && n->key_len > 0)
			start = key_hash(&seed, start, plan_tree_name(tree, n), n->key_len);
		sum += key_hash(&seed, start, plan_tree_text(tree, n), n->len);
	}
	return sum;
}

int held_same(struct signal_matcher *m, const struct plan_tree *a, const struct plan_node *x,
	      const struct plan_tree *b, const struct plan_node *y)
{
	if (is_null(x) || is_null(y))
		return is_null(x) && is_null(y);
	if (match_spend(m, x->next - (uint64_t)(x - a->nodes)) < 0)
		return 0;
	return plan_tree_equal(a, x, b, y);
}

static int no_memory(struct signal_matcher *m)
{
	m->failed = 1;
	return sbx_fail(m->err, SBX_OS, "no_memory", "out of memory");
}

void held_reset(struct held_set *set)
{
	set->count = 0;
	set->tree = NULL;
	set->number = 0;
	set->unknown = 0;
}

void held_clear(struct held_set *set)
{
	free(set->items);
	free(set->heads);
	*set = (struct held_set){.items = NULL};
}

int held_add(struct signal_matcher *m, struct held_set *set, const struct cursor *at, uint64_t hash,
	     enum truth truth)
{
	if (set->count == set->cap) {
		uint32_t cap = set->cap > 0 ? set->cap * 2 : first_items;
		struct held *grown = reallocarray(set->items, cap, sizeof *grown);
		if (grown == NULL)
			return no_memory(m);
		set->items = grown;
		set->cap = cap;
	}
	set->tree = at->tree;
	set->number = at->number;
	set->items[set->count++] = (struct held){.node = at->node, .hash = hash, .truth = truth};
	return 0;
}

int held_chain(struct signal_matcher *m, struct held_set *set)
{
	uint32_t count = first_heads;

	while (count < set->count)
		count *= 2;
	if (count > set->head_cap) {
		uint32_t *grown = reallocarray(set->heads, count, sizeof *grown);
		if (grown == NULL)
			return no_memory(m);
		set->heads = grown;
		set->head_cap = count;
	}
	set->head_count = count;
	memset(set->heads, 0, count * sizeof *set->heads);
	for (uint32_t i = set->count; i-- > 0;) {
		uint32_t *head = &set->heads[set->items[i].hash & (count - 1)];
		set->items[i].next = *head;
		*head = i + 1;
	}
	return 0;
}

/* From the one with INDEX, plus 1, on. */
static struct held *find(struct signal_matcher *m, const struct held_set *set, uint32_t index,
			 uint64_t hash)
{
	for (; index > 0; index = set->items[index - 1].next) {
		if (match_spend(m, 1) < 0)
			return NULL;
		if (set->items[index - 1].hash == hash)
			return &set->items[index - 1];
	}
	return NULL;
}

struct held *held_first(struct signal_matcher *m, const struct held_set *set, uint64_t hash)
{
	return set->count == 0 ? NULL
			       : find(m, set, set->heads[hash & (set->head_count - 1)], hash);
}

struct held *held_next(struct signal_matcher *m, const struct held_set *set,
		       const struct held *held)
{
	return find(m, set, held->next, held->hash);
}
