/* The way along a path: through two objects at once, and the tree of what is known after apply only
 * beside them. */
#include <string.h>

#include "signal_match_impl.h"

static enum truth go(const struct walk *w, uint32_t i, struct cursor *at);

/* A longer text takes longer to parse and to copy. */
static const uint64_t bytes_in_step = 8;

int match_spend(struct signal_matcher *m, uint64_t n)
{
	/* One rule and change: some 10 ms. Changes of real plans need a few hundred. */
	static const uint64_t steps_max = (uint64_t)1 << 20;

	m->steps += n;
	return m->steps > steps_max ? -1 : 0;
}

enum signal_source match_source(struct signal_matcher *m, const struct cursor *at)
{
	const struct signal_subject *s = m->subject;
	enum signal_source source = s->source == NULL
					    ? SIGNAL_FROM_OBJECT
					    : s->source(s->context, m->places, at->places);

	m->met_unknown |= source != SIGNAL_FROM_PROVIDER;
	return source;
}

int match_has_unknown(struct signal_matcher *m, const struct plan_node *value)
{
	if (value == NULL)
		return 0;
	const struct plan_tree *tree = m->subject->unknown;
	for (const struct plan_node *n = value; n < tree->nodes + value->next; n++)
		if (match_spend(m, 1) < 0 || n->kind == PLAN_TRUE)
			return 1;
	return 0;
}

void spot_note(const struct walk *w, const struct cursor *at, enum truth answer)
{
	if (w->spot == NULL || answer == TRUTH_NO || (answer == TRUTH_UNKNOWN && w->spot->is_set))
		return;
	w->spot->is_set = 1;
	w->spot->count = at->places;
	memcpy(w->spot->places, w->m->places, at->places * sizeof *w->spot->places);
}

/* The step from AT to a value that stands at NAME (or INDEX) there. In a document there are no
 * places. */
static void enter(const struct walk *w, struct cursor *at, const struct plan_place *place)
{
	if (at->documents == 0 && !at->is_nowhere)
		w->m->places[at->places++] = *place;
}

static int is_kind(const struct plan_node *node, enum plan_kind kind)
{
	return node != NULL && node->kind == (uint32_t)kind;
}

const struct plan_node *match_member(struct signal_matcher *m, const struct plan_tree *tree,
				     const struct plan_node *object, const char *name, size_t len)
{
	const struct plan_node *child;
	uint64_t looked = 0;

	if (!is_kind(object, PLAN_OBJECT))
		return NULL;
	for (child = plan_tree_first(tree, object); child != NULL;
	     child = plan_tree_behind(tree, object, child)) {
		looked++;
		if (child->key_len == len && memcmp(plan_tree_name(tree, child), name, len) == 0)
			break;
	}
	return match_spend(m, looked) < 0 ? NULL : child;
}

/* To the value at a name. */
static void step_to_name(const struct walk *w, struct cursor *at, const char *name, size_t len)
{
	at->node = match_member(w->m, at->tree, at->node, name, len);
	if (at->unknown != NULL)
		at->unknown = match_member(w->m, w->m->subject->unknown, at->unknown, name, len);
	if (at->old != NULL)
		at->old = match_member(w->m, at->old_tree, at->old, name, len);
	enter(w, at, &(const struct plan_place){.name = name, .len = len});
}

static int step_to_index(const struct walk *w, struct cursor *at, uint32_t index)
{
	if (match_spend(w->m, index) < 0)
		return -1;
	at->node = plan_tree_element(at->tree, at->node, index);
	at->unknown = plan_tree_element(w->m->subject->unknown, at->unknown, index);
	at->old = plan_tree_element(at->old_tree, at->old, index);
	enter(w, at, &(const struct plan_place){.index = index});
	return 0;
}

/* Where an array or object has nothing in it, or is none: the rest of the path names one value that
 * is not there. */
static enum truth go_nowhere(const struct walk *w, uint32_t i, const struct cursor *from)
{
	struct cursor at = *from;

	at.node = at.unknown = NULL;
	at.is_nowhere = 1;
	return go(w, i + 1, &at);
}

static const struct plan_node *first_of(const struct plan_tree *tree, const struct plan_node *array)
{
	return is_kind(array, PLAN_ARRAY) ? plan_tree_first(tree, array) : NULL;
}

/* A value that is no array stands for itself; its older one may have been an array of one. */
static void step_to_single(struct cursor *at)
{
	if (is_kind(at->old, PLAN_ARRAY))
		at->old = plan_tree_first(at->old_tree, at->old);
}

static enum truth go_elements(const struct walk *w, uint32_t i, const struct cursor *at)
{
	const struct plan_tree *unknown_tree = w->m->subject->unknown;
	const struct plan_node *node = first_of(at->tree, at->node),
			       *old = first_of(at->old_tree, at->old),
			       *unknown = first_of(unknown_tree, at->unknown);
	enum truth best = TRUTH_NO;
	int count = 0;

	for (uint32_t index = 0; node != NULL || unknown != NULL || (w->unites && old != NULL);
	     index++) {
		struct cursor child = *at;
		child.node = node;
		child.unknown = unknown;
		child.old =
			old == NULL && index == 0 && !is_kind(at->old, PLAN_ARRAY) ? at->old : old;
		enter(w, &child, &(const struct plan_place){.index = index});
		if (node != NULL || match_has_unknown(w->m, unknown) ||
		    (w->unites && old != NULL)) {
			count++;
			enum truth answer = go(w, i + 1, &child);
			if (answer > best)
				best = answer;
		}
		if (best == TRUTH_YES || w->m->failed)
			return best;
		node = plan_tree_behind(at->tree, at->node, node);
		unknown = plan_tree_behind(unknown_tree, at->unknown, unknown);
		old = plan_tree_behind(at->old_tree, at->old, old);
	}
	return count > 0 ? best : go_nowhere(w, i, at);
}

enum wanted {
	WANT_ALL,
	WANT_MISSING, /* in the new value */
	WANT_UNKNOWN, /* missing there, and with something unknown */
};

/* To the members of OBJECT that are WANTED. */
static enum truth go_members_of(const struct walk *w, uint32_t i, const struct cursor *at,
				const struct plan_tree *tree, const struct plan_node *object,
				enum wanted wanted, int *count)
{
	const struct plan_node *child =
		is_kind(object, PLAN_OBJECT) ? plan_tree_first(tree, object) : NULL;
	enum truth best = TRUTH_NO;

	for (; child != NULL && best < TRUTH_YES && !w->m->failed;
	     child = plan_tree_behind(tree, object, child)) {
		const char *name = plan_tree_name(tree, child);
		if (match_spend(w->m, 1) < 0)
			return TRUTH_UNKNOWN;
		if (wanted == WANT_UNKNOWN && !match_has_unknown(w->m, child))
			continue;
		if (wanted != WANT_ALL &&
		    match_member(w->m, at->tree, at->node, name, child->key_len) != NULL)
			continue;
		++*count;
		struct cursor inner = *at;
		step_to_name(w, &inner, name, child->key_len);
		enum truth answer = go(w, i + 1, &inner);
		if (answer > best)
			best = answer;
	}
	return best;
}

static enum truth go_members(const struct walk *w, uint32_t i, const struct cursor *at)
{
	const struct plan_tree *unknown_tree = w->m->subject->unknown;
	int count = 0;
	enum truth best = go_members_of(w, i, at, at->tree, at->node, WANT_ALL, &count),
		   more = TRUTH_NO;

	if (best < TRUTH_YES)
		more = go_members_of(w, i, at, unknown_tree, at->unknown, WANT_UNKNOWN, &count);
	best = more > best ? more : best;
	if (best < TRUTH_YES && w->unites)
		more = go_members_of(w, i, at, at->old_tree, at->old, WANT_MISSING, &count);
	best = more > best ? more : best;
	return count > 0 ? best : go_nowhere(w, i, at);
}

static int parse(struct signal_matcher *m, struct document *d, const struct plan_tree *tree,
		 const struct plan_node *string, uint64_t of)
{
	struct sbx_error refused = SBX_ERROR_INIT;

	if (d->source == string && d->of == of)
		return d->is_good ? 0 : -1;
	d->source = NULL;
	if (match_spend(m, string->len / bytes_in_step) < 0)
		return -1;
	d->is_good =
		plan_tree_parse(&d->tree, plan_tree_text(tree, string), string->len, &refused) == 0;
	if (!d->is_good && refused.class == SBX_OS) {
		*m->err = refused;
		m->failed = 1;
		return -1;
	}
	d->source = string;
	d->of = of;
	d->number = ++m->document_count;
	return d->is_good ? 0 : -1;
}

/* *NODE in *TREE becomes the value in the string that it is; -1 when there is none in it. Anything
 * but a string stands for itself, and an empty one is nothing. */
static int open_document(struct signal_matcher *m, struct document *d,
			 const struct plan_tree **tree, const struct plan_node **node,
			 uint64_t *number)
{
	if (!is_kind(*node, PLAN_STRING))
		return 0;
	if ((*node)->len == 0) {
		*node = NULL;
		return 0;
	}
	if (parse(m, d, *tree, *node, *number) < 0)
		return -1;
	*tree = &d->tree;
	*node = plan_tree_root(&d->tree);
	*number = d->number;
	return 0;
}

static int step_to_document(const struct walk *w, struct cursor *at)
{
	struct signal_matcher *m = w->m;
	struct cursor in = *at;

	if (open_document(m, &m->documents[at->side][at->documents], &in.tree, &in.node,
			  &in.number) < 0 ||
	    (w->follows && open_document(m, &m->documents[SIDE_OLD][at->documents], &in.old_tree,
					 &in.old, &in.old_number) < 0)) {
		spot_note(w, at, TRUTH_UNKNOWN);
		return -1;
	}
	*at = in;
	at->unknown = NULL;
	at->documents++;
	return 0;
}

static enum truth meet_unknown(const struct walk *w, uint32_t i, const struct cursor *at)
{
	/* What the provider chooses cannot be said, and is no setting of this plan. */
	enum signal_source source = match_source(w->m, at);
	if (source == SIGNAL_FROM_PROVIDER || (w->known && source == SIGNAL_FROM_OBJECT))
		return TRUTH_NO;
	enum truth answer = w->unknown == NULL ? TRUTH_UNKNOWN : w->unknown(w, at, i);
	spot_note(w, at, answer);
	return answer;
}

static int stands_for_itself(const struct plan_node *node)
{
	return node != NULL && node->kind != PLAN_ARRAY && node->kind != PLAN_NULL;
}

/* From behind step I - 1 on; AT is moved. The recursion is as deep as the path has steps to more
 * than one value, at most SIGNAL_STEPS. */
static enum truth go(const struct walk *w, uint32_t i, struct cursor *at)
{
	for (;; i++) {
		if (match_spend(w->m, 1) < 0)
			return TRUTH_UNKNOWN;
		if (!w->follows)
			at->old = NULL;
		if (is_kind(at->unknown, PLAN_TRUE))
			return meet_unknown(w, i, at);
		if (i == w->count)
			return w->end(w, at);
		const struct signal_step *step = &w->steps[i];
		switch ((enum signal_step_kind)step->kind) {
		case SIGNAL_NAME:
			step_to_name(w, at, w->m->view.text + step->name.at, step->name.len);
			break;
		case SIGNAL_INDEX:
			if (step_to_index(w, at, step->index) < 0)
				return TRUTH_UNKNOWN;
			break;
		case SIGNAL_ELEMENTS:
			if (!stands_for_itself(at->node))
				return go_elements(w, i, at);
			step_to_single(at);
			break;
		case SIGNAL_MEMBERS:
			return go_members(w, i, at);
		case SIGNAL_JSON:
			if (step_to_document(w, at) < 0)
				return TRUTH_UNKNOWN;
			break;
		default:
			return TRUTH_UNKNOWN;
		}
	}
}

enum truth walk_from(const struct walk *w, struct cursor *at)
{
	return go(w, 0, at);
}
