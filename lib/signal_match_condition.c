/* Conditions, in three-valued logic. */
#include "signal_match_impl.h"

/* Of two places that a condition needs both, the one where something changes tells more. */
static int is_change(const struct signal_matcher *m, const struct spot *spot)
{
	const struct plan_tree *before = m->subject->before, *after = m->subject->after;

	return !value_same(before, plan_place_find(before, spot->places, spot->count), after,
			   plan_place_find(after, spot->places, spot->count));
}

static void choose_spot(const struct signal_matcher *m, struct spot *spot, const struct spot *other)
{
	if (!other->is_set)
		return;
	if (!spot->is_set || is_change(m, other) || !is_change(m, spot))
		*spot = *other;
}

static int has_unknown_part(const struct walk *w, const struct cursor *at)
{
	if (!match_has_unknown(w->m, at->unknown))
		return 0;
	enum signal_source source = match_source(w->m, at);
	return source != SIGNAL_FROM_PROVIDER && !(w->known && source == SIGNAL_FROM_OBJECT);
}

/* A value at the path in the old object, for `appears`. */
static enum truth hold_value(const struct walk *w, const struct cursor *at)
{
	if (!value_is_unset(at->tree, at->node))
		held_add(w->m, &w->m->values, at, held_hash(w->m, at->tree, at->node), TRUTH_YES);
	return TRUTH_NO;
}

static int hold_values(const struct walk *test, const struct cursor *at)
{
	struct signal_matcher *m = test->m;
	struct walk w = {.m = m, .steps = test->steps, .count = test->count, .end = hold_value};
	struct cursor old = {
		.tree = at->old_tree,
		.node = at->old,
		.side = SIDE_OLD,
		.number = at->old_number,
		.places = at->places,
		.documents = at->documents,
	};

	held_reset(&m->values);
	m->values.unknown = walk_from(&w, &old) == TRUTH_UNKNOWN;
	return m->failed ? -1 : held_chain(m, &m->values);
}

/* None of the old values at the path, wherever it stood. */
static enum truth test_appears(const struct walk *w, const struct cursor *at)
{
	struct signal_matcher *m = w->m;

	if (has_unknown_part(w, at))
		return TRUTH_UNKNOWN;
	if (value_is_unset(at->tree, at->node))
		return TRUTH_NO;
	struct held *held = held_first(m, &m->values, held_hash(m, at->tree, at->node));
	while (held != NULL && !held_same(m, at->tree, at->node, m->values.tree, held->node))
		held = held_next(m, &m->values, held);
	if (held != NULL)
		return TRUTH_NO;
	return m->values.unknown || match_spend(m, 0) < 0 ? TRUTH_UNKNOWN : TRUTH_YES;
}

static enum truth test_relative(const struct walk *w, const struct cursor *at)
{
	if (w->test->test == SIGNAL_APPEARS)
		return test_appears(w, at);
	if (w->test->test != SIGNAL_CHANGES) {
		int order = value_compare(at->tree, at->node, at->old_tree, at->old);
		return order == (w->test->test == SIGNAL_SHRINKS ? -1 : 1) ? TRUTH_YES : TRUTH_NO;
	}
	if (has_unknown_part(w, at))
		return TRUTH_UNKNOWN;
	return value_same(at->tree, at->node, at->old_tree, at->old) ? TRUTH_NO : TRUTH_YES;
}

static enum truth test_value(const struct walk *w, const struct cursor *at)
{
	enum truth answer;

	if (signal_is_relative(w->test))
		answer = test_relative(w, at);
	else if (w->test->test == SIGNAL_SET && value_is_unset(at->tree, at->node) &&
		 has_unknown_part(w, at))
		answer = TRUTH_UNKNOWN;
	else if (w->test->test == SIGNAL_PREFIX_BELOW)
		answer = at->node == NULL || at->node->kind != PLAN_STRING
				 ? TRUTH_NO
				 : value_is_wide(plan_tree_text(at->tree, at->node), at->node->len,
						 (uint32_t)w->test->number);
	else
		answer = value_meets(w->m, w->test, at->tree, at->node) ? TRUTH_YES : TRUTH_NO;
	spot_note(w, at, answer);
	return answer;
}

/* What was no number can neither shrink nor grow, whatever it becomes. */
static enum truth test_unknown(const struct walk *w, const struct cursor *at, uint32_t step)
{
	if (step == w->count &&
	    (w->test->test == SIGNAL_SHRINKS || w->test->test == SIGNAL_GROWS) &&
	    value_compare(at->old_tree, at->old, at->old_tree, at->old) != 0)
		return TRUTH_NO;
	return TRUTH_UNKNOWN;
}

static enum truth ask_test(struct signal_matcher *m, const struct signal_condition *test,
			   const struct cursor *at, struct spot *spot)
{
	const struct walk w = {
		.m = m,
		.steps = m->view.steps + test->path.first,
		.count = test->path.count,
		.follows = signal_is_relative(test) && test->test != SIGNAL_APPEARS,
		.unites = test->test == SIGNAL_CHANGES,
		.end = test_value,
		.unknown = test_unknown,
		.test = test,
		.known = test->known != 0,
		.spot = spot,
	};
	struct cursor from = *at;

	if (test->kind == SIGNAL_WAS) {
		from.tree = at->old_tree;
		from.node = at->old;
		from.side = SIDE_OLD;
		from.number = at->old_number;
		from.unknown = NULL;
		from.has_old = 0;
	}
	if (signal_is_relative(test) && !from.has_old)
		return TRUTH_NO;
	if (test->test == SIGNAL_APPEARS && hold_values(&w, at) < 0)
		return TRUTH_UNKNOWN;
	return walk_from(&w, &from);
}

static enum truth ask_any(struct signal_matcher *m, uint32_t first, uint32_t end,
			  const struct cursor *at)
{
	enum truth any = TRUTH_NO;

	for (uint32_t i = first; i < end && any < TRUTH_YES; i = m->view.conditions[i].end) {
		enum truth answer = condition_ask(m, i, at);
		any = answer > any ? answer : any;
	}
	return any;
}

static enum truth ask_all(struct signal_matcher *m, uint32_t first, uint32_t end,
			  const struct cursor *at)
{
	enum truth all = TRUTH_YES;

	for (uint32_t i = first; i < end && all > TRUTH_NO; i = m->view.conditions[i].end) {
		enum truth answer = condition_ask(m, i, at);
		all = answer < all ? answer : all;
	}
	return all;
}

/* The recursion is as deep as conditions are nested, at most SIGNAL_DEPTH. */
enum truth condition_ask(struct signal_matcher *m, uint32_t index, const struct cursor *at)
{
	const struct signal_condition *condition = &m->view.conditions[index];
	enum truth any;

	switch ((enum signal_condition_kind)condition->kind) {
	case SIGNAL_ALL:
		return ask_all(m, index + 1, condition->end, at);
	case SIGNAL_ANY:
		return ask_any(m, index + 1, condition->end, at);
	case SIGNAL_NONE:
		any = ask_any(m, index + 1, condition->end, at);
		return any == TRUTH_UNKNOWN ? any : any == TRUTH_YES ? TRUTH_NO : TRUTH_YES;
	case SIGNAL_AT:
	case SIGNAL_WAS:
		break;
	}
	return ask_test(m, condition, at, NULL);
}

/* The place of the first part between FIRST and END that gives ANSWER. */
static void explain_first(struct signal_matcher *m, uint32_t first, uint32_t end,
			  const struct cursor *at, enum truth answer, struct spot *spot)
{
	for (uint32_t i = first; i < end; i = m->view.conditions[i].end)
		if (condition_ask(m, i, at) == answer) {
			condition_explain(m, i, at, answer, spot);
			return;
		}
}

static void explain_all(struct signal_matcher *m, uint32_t first, uint32_t end,
			const struct cursor *at, struct spot *spot)
{
	for (uint32_t i = first; i < end; i = m->view.conditions[i].end) {
		struct spot part = {.is_set = 0};
		condition_explain(m, i, at, TRUTH_YES, &part);
		choose_spot(m, spot, &part);
	}
}

void condition_explain(struct signal_matcher *m, uint32_t index, const struct cursor *at,
		       enum truth answer, struct spot *spot)
{
	const struct signal_condition *condition = &m->view.conditions[index];

	if (condition->kind == SIGNAL_AT || condition->kind == SIGNAL_WAS)
		ask_test(m, condition, at, spot);
	else if (condition->kind == SIGNAL_ALL && answer == TRUTH_YES)
		explain_all(m, index + 1, condition->end, at, spot);
	else if (condition->kind != SIGNAL_NONE ||
		 answer == TRUTH_UNKNOWN) /* what is not there has no place */
		explain_first(m, index + 1, condition->end, at, answer, spot);
}
