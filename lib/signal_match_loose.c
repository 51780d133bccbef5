/* What a rule need not be asked, because nothing changes of what it looks at. */
#include <string.h>

#include "signal_match_impl.h"

static int order_of(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

static int is_loose(const struct loose_members *loose, const char *name, size_t len)
{
	if (loose->state == LOOSE_ALL)
		return 1;
	for (unsigned i = 0; i < loose->count; i++)
		if (loose->names[i].len == len && memcmp(loose->names[i].name, name, len) == 0)
			return 1;
	return 0;
}

static void add_member(struct loose_members *loose, const struct plan_tree *tree,
		       const struct plan_node *member)
{
	const char *name = plan_tree_name(tree, member);

	if (is_loose(loose, name, member->key_len))
		return;
	if (loose->count == ARRAY_LEN(loose->names)) {
		loose->state = LOOSE_ALL;
		return;
	}
	loose->names[loose->count].name = name;
	loose->names[loose->count++].len = member->key_len;
}

/* Both are walked in step, as they are sorted. Where they are not, members miss each other, and
 * count as changed. */
static void add_changed(struct loose_members *loose, const struct plan_tree *before,
			const struct plan_tree *after)
{
	const struct plan_node *old = plan_tree_root(before), *new = plan_tree_root(after),
			       *x = plan_tree_first(before, old), *y = plan_tree_first(after, new);

	while (x != NULL || y != NULL) {
		int order = x == NULL	? 1
			    : y == NULL ? -1
					: order_of(plan_tree_name(before, x), x->key_len,
						   plan_tree_name(after, y), y->key_len);
		if (order < 0)
			add_member(loose, before, x);
		else if (order > 0 || !plan_tree_same_member(before, x, after, y))
			add_member(loose, after, y);
		x = order <= 0 ? plan_tree_behind(before, old, x) : x;
		y = order >= 0 ? plan_tree_behind(after, new, y) : y;
	}
}

static void add_unknown(struct loose_members *loose, const struct plan_tree *unknown)
{
	const struct plan_node *root = plan_tree_root(unknown),
			       *member = plan_tree_first(unknown, root);

	for (; member != NULL; member = plan_tree_behind(unknown, root, member)) {
		const struct plan_node *n = member, *end = unknown->nodes + member->next;
		while (n < end && n->kind != PLAN_TRUE)
			n++;
		if (n < end)
			add_member(loose, unknown, member);
	}
}

static int is_object(const struct plan_tree *tree)
{
	const struct plan_node *root = plan_tree_root(tree);

	return root != NULL && root->kind == PLAN_OBJECT;
}

static void list_members(struct loose_members *loose, const struct signal_subject *s)
{
	const struct plan_node *unknown = plan_tree_root(s->unknown);

	loose->count = 0;
	loose->state = LOOSE_LISTED;
	if (!is_object(s->before) || !is_object(s->after) ||
	    (unknown != NULL && unknown->kind != PLAN_OBJECT && unknown->kind != PLAN_NULL &&
	     unknown->kind != PLAN_FALSE)) {
		loose->state = LOOSE_ALL;
		return;
	}
	add_changed(loose, s->before, s->after);
	add_unknown(loose, s->unknown);
}

/* The value at PATH is there before and after, spelled the same and known, or on neither side. */
static int is_steady(struct signal_matcher *m, struct signal_range path)
{
	const struct signal_step *first = &m->view.steps[path.first];

	if (path.count == 0 || first->kind != SIGNAL_NAME)
		return 0;
	if (m->loose.state == LOOSE_NOT_LISTED)
		list_members(&m->loose, m->subject);
	return !is_loose(&m->loose, m->view.text + first->name.at, first->name.len);
}

/* It is asked of the same values twice, and gives the same answer twice. */
static int is_not_new(struct signal_matcher *m, const struct signal_rule *rule)
{
	if (rule->each.count > 0)
		return is_steady(m, rule->each);
	if (rule->when == SIGNAL_ALWAYS)
		return 0;
	for (uint32_t i = rule->when; i < m->view.conditions[rule->when].end; i++)
		if (m->view.conditions[i].kind >= SIGNAL_AT &&
		    !is_steady(m, m->view.conditions[i].path))
			return 0;
	return 1;
}

/* A document in a string may be one that nobody can read: that is an answer of its own. */
static int enters_document(const struct signal_matcher *m, struct signal_range path)
{
	for (uint32_t i = 0; i < path.count; i++)
		if (m->view.steps[path.first + i].kind == SIGNAL_JSON)
			return 1;
	return 0;
}

/* A test that compares finds no difference in ROOT, or nothing to compare with. */
static int finds_nothing(struct signal_matcher *m, const struct signal_condition *test,
			 struct signal_range root, int has_old)
{
	if (!signal_is_relative(test))
		return 0;
	return !has_old || (is_steady(m, root) && !enters_document(m, test->path));
}

/* The condition with INDEX is false, whatever the tests in it say that do not compare. The
 * recursion is as deep as conditions are nested. */
static int is_false(struct signal_matcher *m, const struct signal_rule *rule, uint32_t index,
		    int has_old)
{
	const struct signal_condition *all = m->view.conditions, *c = &all[index];

	if (c->kind >= SIGNAL_AT)
		return finds_nothing(m, c, rule->each.count > 0 ? rule->each : c->path, has_old);
	if (c->kind == SIGNAL_NONE)
		return 0;
	/* One false part will do for `all`; each has to be for `any`. */
	for (uint32_t i = index + 1; i < c->end; i = all[i].end)
		if (is_false(m, rule, i, has_old) == (c->kind == SIGNAL_ALL))
			return c->kind == SIGNAL_ALL;
	return c->kind == SIGNAL_ANY;
}

int rule_is_settled(struct signal_matcher *m, const struct signal_rule *rule,
		    const struct cursor *object)
{
	if (!rule->relative)
		return object->has_old && is_not_new(m, rule);
	if (rule->when == SIGNAL_ALWAYS)
		return 0;
	/* What the elements are is a question too, which a document or something unknown may leave
	 * open. */
	if (rule->each.count > 0 &&
	    (!object->has_old || !is_steady(m, rule->each) || enters_document(m, rule->each)))
		return 0;
	return is_false(m, rule, rule->when, object->has_old);
}
