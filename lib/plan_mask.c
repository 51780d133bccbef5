/* Walks over masks and values side by side. Depth is bounded by that of the text. */
#include "plan_mask.h"

int plan_mask_any(const struct plan_tree *mask)
{
	for (uint32_t i = 0; i < mask->count; i++)
		if (mask->nodes[i].kind == PLAN_TRUE)
			return 1;
	return 0;
}

static int is_true(const struct plan_node *node)
{
	return node != NULL && node->kind == PLAN_TRUE;
}

/* What stands in NODE of TREE at one place. */
static const struct plan_node *step(const struct plan_tree *tree, const struct plan_node *node,
				    const struct signal_place *place)
{
	return place->name != NULL ? plan_tree_member(tree, node, place->name, place->len)
				   : plan_tree_element(tree, node, place->index);
}

/* The node at the places, or the first true one on the way. */
static const struct plan_node *descend(const struct plan_tree *mask, const struct signal_place *places, unsigned count)
{
	const struct plan_node *node = plan_tree_root(mask);

	for (unsigned i = 0; i < count && node != NULL && !is_true(node); i++)
		node = step(mask, node, &places[i]);
	return node;
}

int plan_mask_covers(const struct plan_tree *mask, const struct signal_place *places, unsigned count)
{
	return is_true(descend(mask, places, count));
}

int plan_mask_touches(const struct plan_tree *mask, const struct signal_place *places, unsigned count)
{
	const struct plan_node *node = descend(mask, places, count);

	for (const struct plan_node *end = node != NULL ? mask->nodes + node->next : NULL; node < end; node++)
		if (is_true(node))
			return 1;
	return 0;
}

/* The member of OBJECT, or element of ARRAY, that CHILD (number INDEX of its parent) is in another tree. */
static const struct plan_node *like(const struct plan_tree *tree, const struct plan_node *parent,
				    const struct plan_tree *of, const struct plan_node *child_parent,
				    const struct plan_node *child, uint32_t index)
{
	if (child_parent->kind == PLAN_OBJECT)
		return plan_tree_member(tree, parent, plan_tree_name(of, child), child->key_len);
	return plan_tree_element(tree, parent, index);
}

/* 1 when there is a value at or below NODE that MASK does not hide. */
static int shows(const struct plan_tree *after, const struct plan_node *node, const struct plan_tree *mask,
		 const struct plan_node *hidden)
{
	if (node == NULL || node->kind == PLAN_NULL || is_true(hidden))
		return 0;
	const struct plan_node *child = plan_tree_first(after, node);
	if (hidden == NULL || hidden->kind == PLAN_FALSE || child == NULL)
		return 1;
	for (uint32_t i = 0; child != NULL; child = plan_tree_behind(after, node, child), i++)
		if (shows(after, child, mask, like(mask, hidden, after, node, child, i)))
			return 1;
	return 0;
}

/* The four trees at one place. */
struct places {
	const struct plan_node *was, *after, *unknown, *hidden;
};

static int exposed(const struct plan_change *c, struct places at)
{
	if (is_true(at.hidden))
		return 0;
	if (is_true(at.was))
		return is_true(at.unknown) || shows(&c->after, at.after, &c->after_mask, at.hidden);
	const struct plan_node *child = plan_tree_first(&c->before_mask, at.was);
	for (uint32_t i = 0; child != NULL; child = plan_tree_behind(&c->before_mask, at.was, child), i++) {
		const struct places below = {
			.was = child,
			.after = like(&c->after, at.after, &c->before_mask, at.was, child, i),
			.unknown = is_true(at.unknown)
					   ? at.unknown
					   : like(&c->unknown, at.unknown, &c->before_mask, at.was, child, i),
			.hidden = like(&c->after_mask, at.hidden, &c->before_mask, at.was, child, i),
		};
		if (exposed(c, below))
			return 1;
	}
	return 0;
}

int plan_mask_exposed(const struct plan_change *c)
{
	if (!plan_mask_any(&c->before_mask))
		return 0;
	return exposed(c, (struct places){.was = plan_tree_root(&c->before_mask),
					  .after = plan_tree_root(&c->after),
					  .unknown = plan_tree_root(&c->unknown),
					  .hidden = plan_tree_root(&c->after_mask)});
}

struct arguments {
	const struct plan_survey *survey;
	const struct key_seed *seed;
	uint64_t config;
};

static int refers(const struct arguments *a, uint64_t names)
{
	return plan_set_has(&a->survey->referring, plan_survey_argument(a->seed, a->config, names));
}

/* What is wholly unknown may be a block with such an argument in it. */
static int refers_below(const struct arguments *a, uint64_t names)
{
	return plan_set_has(&a->survey->above_referring, plan_survey_argument(a->seed, a->config, names));
}

/* NAMES hashes the names on the way to NODE, which is not the whole object. */
static int unknown_argument(const struct arguments *a, const struct plan_tree *unknown, const struct plan_node *node,
			    uint64_t names, int referring)
{
	if (is_true(node))
		return referring || refers_below(a, names);
	const struct plan_node *child = plan_tree_first(unknown, node);
	for (; child != NULL; child = plan_tree_behind(unknown, node, child)) {
		uint64_t inner = node->kind == PLAN_OBJECT
					 ? key_hash(a->seed, names, plan_tree_name(unknown, child), child->key_len)
					 : names;
		if (unknown_argument(a, unknown, child, inner, referring || refers(a, inner)))
			return 1;
	}
	return 0;
}

int plan_mask_unknown_argument(const struct plan_change *change, const struct plan_survey *survey,
			       const struct key_seed *seed, uint64_t config)
{
	const struct arguments a = {.survey = survey, .seed = seed, .config = config};
	const struct plan_node *root = plan_tree_root(&change->unknown);

	return is_true(root) || unknown_argument(&a, &change->unknown, root, PLAN_HASH_PATH, 0);
}

int plan_mask_is_argument(const struct plan_survey *survey, const struct key_seed *seed, uint64_t config,
			  const struct signal_place *places, unsigned count)
{
	const struct arguments a = {.survey = survey, .seed = seed, .config = config};
	uint64_t names = PLAN_HASH_PATH;
	int named = 0;

	if (!plan_set_has(&survey->configured, config))
		return 1;
	for (unsigned i = 0; i < count; i++) {
		if (places[i].name == NULL)
			continue;
		named = 1;
		names = key_hash(seed, names, places[i].name, places[i].len);
		if (refers(&a, names))
			return 1;
	}
	return !named || refers_below(&a, names);
}
