/* Rules about elements: which of the new ones the old value had already. */
#include "key_hash.h"
#include "signal_match_impl.h"

static const struct plan_node *key_member(struct signal_matcher *m, const struct signal_rule *rule,
					  uint32_t i, const struct plan_tree *tree,
					  const struct plan_node *node)
{
	const struct signal_text *name = &m->view.values[rule->key.first + i].text;

	return match_member(m, tree, node, m->view.text + name->at, name->len);
}

static uint64_t hash_key(struct signal_matcher *m, const struct signal_rule *rule,
			 const struct plan_tree *tree, const struct plan_node *node)
{
	uint64_t hash = 0;

	if (rule->key.count == 0)
		return held_hash(m, tree, node);
	for (uint32_t i = 0; i < rule->key.count; i++)
		hash = key_hash_mix(hash ^ held_hash(m, tree, key_member(m, rule, i, tree, node)));
	return hash;
}

static int is_null(const struct plan_node *node)
{
	return node == NULL || node->kind == PLAN_NULL;
}

/* Whether the member NAME of the element AT is OLD. A member that is known after apply only may be
 * anything; one that is left to the provider tells nothing apart. */
static enum truth same_member(struct signal_matcher *m, const struct cursor *at, const char *name,
			      size_t len, const struct plan_node *old)
{
	const struct plan_tree *unknown_tree = m->subject->unknown;
	const struct plan_node *unknown = match_member(m, unknown_tree, at->unknown, name, len);
	struct cursor member = *at;

	if (match_has_unknown(m, unknown)) {
		if (member.documents == 0 && member.places < PLAN_PLACES)
			m->places[member.places++] = (struct plan_place){.name = name, .len = len};
		return match_source(m, &member) != SIGNAL_FROM_PROVIDER ? TRUTH_UNKNOWN : TRUTH_YES;
	}
	const struct plan_node *new = match_member(m, at->tree, at->node, name, len);
	return held_same(m, at->tree, new, m->elements.tree, old) ? TRUTH_YES : TRUTH_NO;
}

static enum truth weaker(enum truth a, enum truth b)
{
	return a < b ? a : b;
}

/* The whole element AT, member by member. */
static enum truth same_members(struct signal_matcher *m, const struct cursor *at,
			       const struct plan_node *old)
{
	enum truth all = TRUTH_YES;
	const struct plan_node *n;

	if (at->node->kind != PLAN_OBJECT || old->kind != PLAN_OBJECT)
		return TRUTH_UNKNOWN;
	for (n = plan_tree_first(m->elements.tree, old); n != NULL;
	     n = plan_tree_behind(m->elements.tree, old, n))
		all = weaker(all, same_member(m, at, plan_tree_name(m->elements.tree, n),
					      n->key_len, n));
	for (n = plan_tree_first(at->tree, at->node); n != NULL;
	     n = plan_tree_behind(at->tree, at->node, n)) {
		const char *name = plan_tree_name(at->tree, n);
		if (match_member(m, m->elements.tree, old, name, n->key_len) == NULL)
			all = weaker(all, same_member(m, at, name, n->key_len, NULL));
	}
	return all;
}

/* Whether the element OLD is the new one AT, something in which is known after apply only. */
static enum truth same_but_unknown(struct signal_matcher *m, const struct signal_rule *rule,
				   const struct cursor *at, const struct plan_node *old)
{
	enum truth all = TRUTH_YES;

	if (match_spend(m, 1) < 0)
		return TRUTH_UNKNOWN;
	if (rule->key.count == 0)
		return same_members(m, at, old);
	for (uint32_t i = 0; i < rule->key.count; i++) {
		const struct signal_text *name = &m->view.values[rule->key.first + i].text;
		all = weaker(all, same_member(m, at, m->view.text + name->at, name->len,
					      key_member(m, rule, i, m->elements.tree, old)));
	}
	return all;
}

static int same_key(struct signal_matcher *m, const struct signal_rule *rule,
		    const struct cursor *at, const struct plan_node *old)
{
	if (rule->key.count == 0)
		return held_same(m, at->tree, at->node, m->elements.tree, old);
	for (uint32_t i = 0; i < rule->key.count; i++)
		if (!held_same(m, at->tree, key_member(m, rule, i, at->tree, at->node),
			       m->elements.tree, key_member(m, rule, i, m->elements.tree, old)))
			return 0;
	return 1;
}

/* Whether something in the key of AT is known after apply only. */
static int has_unknown_key(struct signal_matcher *m, const struct signal_rule *rule,
			   const struct cursor *at)
{
	int any = 0;

	if (rule->key.count == 0)
		return match_has_unknown(m, at->unknown);
	for (uint32_t i = 0; i < rule->key.count; i++)
		any |= match_has_unknown(m,
					 key_member(m, rule, i, m->subject->unknown, at->unknown));
	return any;
}

/* An old element: keep it when the condition held for it, or may have. */
static enum truth hold_element(const struct walk *w, const struct cursor *at)
{
	struct signal_matcher *m = w->m;
	enum truth truth = TRUTH_YES;

	if (is_null(at->node))
		return TRUTH_NO;
	if (!w->rule->relative && w->rule->when != SIGNAL_ALWAYS)
		truth = condition_ask(m, w->rule->when, at);
	if (truth != TRUTH_NO)
		held_add(m, &m->elements, at, hash_key(m, w->rule, at->tree, at->node), truth);
	return TRUTH_NO;
}

static int hold_elements(struct walk *w, const struct cursor *object)
{
	struct signal_matcher *m = w->m;
	struct cursor old = {
		.tree = object->old_tree,
		.node = object->old,
		.side = SIDE_OLD,
		.number = object->old_number,
	};

	held_reset(&m->elements);
	w->end = hold_element;
	if (object->has_old)
		m->elements.unknown = walk_from(w, &old) == TRUTH_UNKNOWN;
	return m->failed ? -1 : held_chain(m, &m->elements);
}

/* Whether the condition held for an old element with the key of AT. */
static enum truth held_before(struct signal_matcher *m, const struct signal_rule *rule,
			      const struct cursor *at)
{
	const struct held_set *set = &m->elements;
	enum truth best = set->unknown ? TRUTH_UNKNOWN : TRUTH_NO;

	if (has_unknown_key(m, rule, at)) {
		for (uint32_t i = 0; i < set->count && best < TRUTH_YES; i++) {
			const struct held *held = &set->items[i];
			enum truth found =
				weaker(same_but_unknown(m, rule, at, held->node), held->truth);
			best = found > best ? found : best;
		}
		return match_spend(m, 0) < 0 ? TRUTH_UNKNOWN : best;
	}
	struct held *held = held_first(m, set, hash_key(m, rule, at->tree, at->node));
	for (; held != NULL && best < TRUTH_YES; held = held_next(m, set, held))
		if (held->truth > best && same_key(m, rule, at, held->node))
			best = held->truth;
	/* Members were not found when no step was left, and looked equal for that. */
	return match_spend(m, 0) < 0 ? TRUTH_UNKNOWN : best;
}

/* The first old element with the key of AT that no other one has for its own; NULL without one. */
static struct held *find_pair(struct signal_matcher *m, const struct signal_rule *rule,
			      const struct cursor *at)
{
	struct held *held = held_first(m, &m->elements, hash_key(m, rule, at->tree, at->node));

	while (held != NULL && (held->is_paired || !same_key(m, rule, at, held->node)))
		held = held_next(m, &m->elements, held);
	return held;
}

/* The place of ANSWER will be told. */
static int is_wanted(const struct walk *w, enum truth answer)
{
	return w->spot != NULL &&
	       (answer == TRUTH_YES || (answer == TRUTH_UNKNOWN && !w->spot->is_set));
}

/* A condition that compares: asked of the element and the old one with its key. */
static enum truth ask_pair(const struct walk *w, struct cursor at, struct spot *spot)
{
	struct signal_matcher *m = w->m;
	int unsure =
		m->elements.unknown || (m->elements.count > 0 && has_unknown_key(m, w->rule, &at));
	struct held *pair = unsure ? NULL : find_pair(m, w->rule, &at);

	at.has_old = pair != NULL;
	if (m->subject->action == SIGNAL_ON_DELETE) {
		at.old_tree = at.tree;
		at.old = at.node;
		at.old_number = at.number;
	} else if (pair != NULL) {
		pair->is_paired = 1;
		at.old_tree = m->elements.tree;
		at.old = pair->node;
		at.old_number = m->elements.number;
	}
	if (unsure || match_spend(m, 0) < 0)
		return TRUTH_UNKNOWN;
	enum truth answer = condition_ask(m, w->rule->when, &at);
	if (is_wanted(w, answer))
		condition_explain(m, w->rule->when, &at, answer, spot);
	return answer;
}

static enum truth ask_new(const struct walk *w, const struct cursor *at, struct spot *spot)
{
	struct signal_matcher *m = w->m;
	enum truth now = TRUTH_YES;

	if (w->rule->when != SIGNAL_ALWAYS)
		now = condition_ask(m, w->rule->when, at);
	if (now == TRUTH_NO)
		return TRUTH_NO;
	enum truth before = held_before(m, w->rule, at);
	if (before == TRUTH_YES)
		return TRUTH_NO;
	enum truth answer = before == TRUTH_UNKNOWN ? TRUTH_UNKNOWN : now;
	if (w->rule->when != SIGNAL_ALWAYS && is_wanted(w, answer))
		condition_explain(m, w->rule->when, at, now, spot);
	return answer;
}

static enum truth ask_element(const struct walk *w, const struct cursor *at)
{
	struct spot *inner = &w->m->part;

	if (is_null(at->node))
		return TRUTH_NO;
	inner->is_set = 0;
	/* Walks inside the element write places behind its own alone. */
	enum truth answer = w->rule->relative ? ask_pair(w, *at, inner) : ask_new(w, at, inner);
	if (is_wanted(w, answer) && inner->is_set && inner->count > at->places)
		*w->spot = *inner;
	else
		spot_note(w, at, answer);
	return answer;
}

enum truth each_ask(struct signal_matcher *m, const struct signal_rule *rule,
		    const struct cursor *object, struct spot *spot)
{
	struct walk w = {
		.m = m,
		.steps = m->view.steps + rule->each.first,
		.count = rule->each.count,
		.rule = rule,
	};

	struct cursor at = *object;

	if (hold_elements(&w, object) < 0)
		return TRUTH_UNKNOWN;
	w.end = ask_element;
	w.spot = spot;
	return walk_from(&w, &at);
}
