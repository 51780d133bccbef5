/* Which rules a change meets. */
#include "signal_match.h"

#include <stdlib.h>
#include <string.h>

#include "signal_match_impl.h"

struct signal_matcher *signal_matcher_new(const struct signal_table *table, struct sbx_error *err)
{
	struct signal_matcher *m = calloc(1, sizeof *m);

	if (m != NULL)
		m->view = signal_view(table);
	if (m == NULL || type_rules_init(m) < 0) {
		free(m);
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		return NULL;
	}
	for (int side = 0; side < SIDES; side++)
		for (int i = 0; i < SIGNAL_DOCUMENTS; i++)
			plan_tree_init(&m->documents[side][i].tree);
	return m;
}

void signal_matcher_free(struct signal_matcher *m)
{
	if (m == NULL)
		return;
	for (int side = 0; side < SIDES; side++)
		for (int i = 0; i < SIGNAL_DOCUMENTS; i++)
			plan_tree_clear(&m->documents[side][i].tree);
	type_rules_clear(m);
	held_clear(&m->elements);
	held_clear(&m->values);
	free(m);
}

/* The member of the object in which PATH begins, in TREE; NULL when there is none. */
static const struct plan_node *root_member(const struct signal_matcher *m, struct signal_range path,
					   const struct plan_tree *tree)
{
	const struct signal_text *name = &m->view.steps[path.first].name;

	return plan_tree_member(tree, plan_tree_root(tree), m->view.text + name->at, name->len);
}

static int same_before(struct signal_matcher *m, struct signal_range path)
{
	const struct signal_subject *s = m->subject;

	if (path.count == 0 || m->view.steps[path.first].kind != SIGNAL_NAME)
		return 0;
	m->steps = 0; /* what follows takes no longer than the object is large */
	return !match_has_unknown(m, root_member(m, path, s->unknown)) &&
	       value_same(s->before, root_member(m, path, s->before), s->after,
			  root_member(m, path, s->after));
}

/* Nothing changes of what the rule looks at, so whatever it is, it is not new. */
static int is_unchanged(struct signal_matcher *m, const struct signal_rule *rule)
{
	if (rule->each.count > 0)
		return same_before(m, rule->each);
	for (uint32_t i = rule->when; i < m->view.conditions[rule->when].end; i++)
		if (m->view.conditions[i].kind >= SIGNAL_AT &&
		    !same_before(m, m->view.conditions[i].path))
			return 0;
	return 1;
}

/* The condition WHEN holds, and did not before. */
static enum truth ask_newly(struct signal_matcher *m, const struct signal_rule *rule, uint32_t when,
			    const struct cursor *at, struct spot *spot)
{
	const struct cursor old = {
		.tree = at->old_tree, .node = at->old, .side = SIDE_OLD, .number = at->old_number};
	enum truth now = condition_ask(m, when, at), before = TRUTH_NO;

	if (now == TRUTH_NO)
		return TRUTH_NO;
	if (!rule->relative && at->has_old)
		before = condition_ask(m, when, &old);
	if (before == TRUTH_YES)
		return TRUTH_NO;
	condition_explain(m, when, at, now, spot);
	return before == TRUTH_UNKNOWN ? TRUTH_UNKNOWN : now;
}

/* Each part of an `any` is a question of its own: that one of them held before excuses no other. */
static enum truth ask_object(struct signal_matcher *m, const struct signal_rule *rule,
			     const struct cursor *at, struct spot *spot)
{
	const struct signal_condition *conditions = m->view.conditions;
	enum truth any = TRUTH_NO;

	if (rule->when == SIGNAL_ALWAYS)
		return TRUTH_YES;
	if (conditions[rule->when].kind != SIGNAL_ANY)
		return ask_newly(m, rule, rule->when, at, spot);
	for (uint32_t i = rule->when + 1; i < conditions[rule->when].end && any < TRUTH_YES;
	     i = conditions[i].end) {
		m->part.is_set = 0;
		enum truth answer = ask_newly(m, rule, i, at, &m->part);
		if (answer > any) {
			any = answer;
			*spot = m->part;
		}
	}
	return any;
}

static const struct plan_node *object_of(const struct plan_tree *tree)
{
	const struct plan_node *root = plan_tree_root(tree);

	return root == NULL || root->kind == PLAN_NULL ? NULL : root;
}

/* What a rule looks at. An object that goes is asked as it was. */
static struct cursor cursor_of(const struct signal_subject *s)
{
	struct cursor at = {
		.tree = s->after,
		.node = object_of(s->after),
		.side = SIDE_NEW,
		.unknown = object_of(s->unknown),
		.old_tree = s->before,
		.old = object_of(s->before),
	};

	at.has_old = at.old != NULL;
	if (s->action == SIGNAL_ON_DELETE) {
		at.tree = s->before;
		at.node = at.old;
		at.side = SIDE_OLD;
		at.unknown = NULL;
		at.has_old = 0;
	}
	return at;
}

static enum truth ask_rule(struct signal_matcher *m, const struct signal_rule *rule,
			   struct spot *spot)
{
	const struct cursor at = cursor_of(m->subject);

	if (rule_is_settled(m, rule, &at))
		return TRUTH_NO;
	m->steps = 0;
	m->met_unknown = 0;
	enum truth answer = rule->each.count > 0 ? each_ask(m, rule, &at, spot)
						 : ask_object(m, rule, &at, spot);
	if (answer != TRUTH_UNKNOWN || m->failed)
		return answer;
	m->gave_up = match_spend(m, 0) < 0;
	if (m->gave_up)
		spot->is_set = 0; /* where it gave up is no place that decides */
	return at.has_old && !rule->relative && is_unchanged(m, rule) ? TRUTH_NO : TRUTH_UNKNOWN;
}

static const char *doubt(const struct signal_matcher *m)
{
	if (m->gave_up)
		return "what decides is too large to be looked at";
	return m->met_unknown ? "what decides is known after apply only"
			      : "what decides cannot be read";
}

static int report(struct signal_matcher *m, const struct signal_rule *rule, enum truth answer,
		  const struct spot *spot,
		  int (*each)(void *context, const struct signal_hit *hit, struct sbx_error *err),
		  void *context)
{
	struct signal_hit hit = {
		.signal = m->view.text + rule->signal.at,
		.verdict = answer == TRUTH_UNKNOWN ? PLAN_REVIEW : (enum plan_verdict)rule->verdict,
		.text = m->view.text + rule->text.at,
		.rule = (uint32_t)(rule - m->view.rules),
		.unknown = answer == TRUTH_UNKNOWN,
		.unread = answer == TRUTH_UNKNOWN && (m->gave_up || !m->met_unknown),
		.doubt = answer == TRUTH_UNKNOWN ? doubt(m) : NULL,
		.place_count = spot->is_set ? spot->count : 0,
	};

	memcpy(hit.places, spot->places, hit.place_count * sizeof *hit.places);
	return each(context, &hit, m->err);
}

static void forget_documents(struct signal_matcher *m)
{
	for (int side = 0; side < SIDES; side++)
		for (int i = 0; i < SIGNAL_DOCUMENTS; i++)
			m->documents[side][i].source = NULL;
}

int signal_match(struct signal_matcher *m, const struct signal_subject *subject,
		 int (*each)(void *context, const struct signal_hit *hit, struct sbx_error *err),
		 void *context, struct sbx_error *err)
{
	m->subject = subject;
	m->err = err;
	m->failed = 0;
	m->loose.state = LOOSE_NOT_LISTED;
	forget_documents(m);
	const struct type_rules *of = type_rules_of(m, subject->type, subject->type_len);
	for (uint32_t i = 0; of != NULL && i < of->count; i++) {
		const struct signal_rule *rule = &m->view.rules[of->rules[i]];
		if ((rule->on & (uint32_t)subject->action) == 0)
			continue;
		m->spot.is_set = 0;
		enum truth answer = ask_rule(m, rule, &m->spot);
		if (m->failed ||
		    (answer != TRUTH_NO && report(m, rule, answer, &m->spot, each, context) < 0))
			return -1;
	}
	return of == NULL ? -1 : 0;
}

int signal_matcher_knows(const struct signal_matcher *m, const char *type, size_t len)
{
	return signal_find_type(&m->view, type, len) != NULL;
}

int signal_matcher_holds_data(struct signal_matcher *m, const char *type, size_t len,
			      struct sbx_error *err)
{
	m->err = err;
	const struct type_rules *of = type_rules_of(m, type, len);
	return of == NULL ? -1 : of->holds_data;
}
