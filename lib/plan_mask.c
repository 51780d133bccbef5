/* Walks over masks and values side by side. Depth is bounded by that of the text. */
#include "plan_mask.h"

#include "plan_beside.h"

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

/* The node at the places, or the first true one on the way. */
static const struct plan_node *descend(const struct plan_tree *mask, const struct plan_place *places, unsigned count)
{
	const struct plan_node *node = plan_tree_root(mask);

	for (unsigned i = 0; i < count && node != NULL && !is_true(node); i++)
		node = plan_place_in(mask, node, &places[i]);
	return node;
}

int plan_mask_covers(const struct plan_tree *mask, const struct plan_place *places, unsigned count)
{
	return is_true(descend(mask, places, count));
}

int plan_mask_touches(const struct plan_tree *mask, const struct plan_place *places, unsigned count)
{
	const struct plan_node *node = descend(mask, places, count);

	for (const struct plan_node *end = node != NULL ? mask->nodes + node->next : NULL; node < end; node++)
		if (is_true(node))
			return 1;
	return 0;
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
	struct plan_beside hides = plan_beside_start(mask, hidden);
	for (; child != NULL; child = plan_tree_behind(after, node, child))
		if (shows(after, child, mask, plan_beside_child(&hides, after, node, child)))
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
	const struct plan_tree *was = &c->before_mask;
	const struct plan_node *child = plan_tree_first(was, at.was);
	struct plan_beside after = plan_beside_start(&c->after, at.after),
			   unknown = plan_beside_start(&c->unknown, at.unknown),
			   hides = plan_beside_start(&c->after_mask, at.hidden);
	for (; child != NULL; child = plan_tree_behind(was, at.was, child)) {
		const struct places below = {
			.was = child,
			.after = plan_beside_child(&after, was, at.was, child),
			.unknown = is_true(at.unknown) ? at.unknown : plan_beside_child(&unknown, was, at.was, child),
			.hidden = plan_beside_child(&hides, was, at.was, child),
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
	return hash_set_has(&a->survey->referring, plan_survey_argument(a->seed, a->config, names));
}

static int is_named(const struct arguments *a, uint64_t names)
{
	return hash_set_has(&a->survey->named, plan_survey_argument(a->seed, a->config, names));
}

/* What is wholly unknown may be a block with such an argument in it. */
static int refers_below(const struct arguments *a, uint64_t names)
{
	return hash_set_has(&a->survey->above_referring, plan_survey_argument(a->seed, a->config, names));
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
		/* A block that is not in the configuration and known in part is a dynamic one: Terraform does not say
		 * what is in it. */
		int dynamic = names == PLAN_HASH_PATH && !is_named(a, inner) && !is_true(child);
		if (unknown_argument(a, unknown, child, inner, referring || dynamic || refers(a, inner)))
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

/* More blocks than the configuration shows: some of them are dynamic. */
static int has_dynamic_blocks(const struct arguments *a, uint64_t names, const struct plan_tree *after,
			      const struct plan_node *array)
{
	uint64_t argument = plan_survey_argument(a->seed, a->config, names), count = 0;

	if (!hash_set_has(&a->survey->blocks, plan_survey_blocks(a->seed, argument, PLAN_SOME_BLOCKS)))
		return 0;
	const struct plan_node *block = plan_tree_first(after, array);
	for (; block != NULL; block = plan_tree_behind(after, array, block))
		count++;
	return !hash_set_has(&a->survey->blocks, plan_survey_blocks(a->seed, argument, count));
}

/* How many of the places are names. */
static unsigned names_in(const struct plan_place *places, unsigned count)
{
	unsigned names = 0;

	for (unsigned i = 0; i < count; i++)
		names += places[i].name != NULL;
	return names;
}

enum signal_source plan_mask_source(const struct plan_change *change, const struct plan_survey *survey,
				    const struct key_seed *seed, uint64_t config, const struct plan_place *places,
				    unsigned count)
{
	const struct arguments a = {.survey = survey, .seed = seed, .config = config};
	const struct plan_node *after = plan_tree_root(&change->after), *before = plan_tree_root(&change->before);
	uint64_t names = PLAN_HASH_PATH;

	if (!hash_set_has(&survey->configured, config) || count == 0 || places[0].name == NULL)
		return SIGNAL_FROM_ANYTHING;
	for (unsigned i = 0; i < count; i++) {
		if (places[i].name == NULL && has_dynamic_blocks(&a, names, &change->after, after))
			return SIGNAL_FROM_ANYTHING;
		after = plan_place_in(&change->after, after, &places[i]);
		before = plan_place_in(&change->before, before, &places[i]);
		if (places[i].name == NULL)
			continue;
		names = key_hash(seed, names, places[i].name, places[i].len);
		if (refers(&a, names))
			return hash_set_has(&survey->opaque, plan_survey_argument(seed, config, names))
				       ? SIGNAL_FROM_ANYTHING
				       : SIGNAL_FROM_OBJECT;
		/* Not in the configuration: left to the provider, which keeps what it chose before; or, when it is
		 * known in part, a dynamic block. */
		if (!is_named(&a, names))
			return names_in(places + i + 1, count - i - 1) > 0 ||
					       (before != NULL && before->kind != PLAN_NULL)
				       ? SIGNAL_FROM_ANYTHING
				       : SIGNAL_FROM_PROVIDER;
	}
	return SIGNAL_FROM_ANYTHING;
}
