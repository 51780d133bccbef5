/* Verdicts. What no rule names is not known, and what was not given by the server is not what will be: neither is ever
 * safe. */
#include "kplan_judge.h"

#include <string.h>

#include "kplan_differ.h"
#include "kplan_rules.h"
#include "secret_mask.h"

void kplan_judge_init(struct kplan_judge *j)
{
	plan_finding_init(&j->finding);
	memset(j->pod, 0, sizeof j->pod);
	memset(j->container, 0, sizeof j->container);
}

void kplan_judge_clear(struct kplan_judge *j)
{
	plan_finding_clear(&j->finding);
	for (int side = 0; side < 2; side++) {
		kplan_view_clear(&j->pod[side]);
		kplan_view_clear(&j->container[side]);
	}
}

static void add_action(struct plan_actions *actions, enum plan_action action)
{
	actions->list[actions->count++] = (unsigned char)action;
	actions->bits |= PLAN_ACTION_BIT((unsigned)action);
}

static enum plan_count decide_actions(struct kplan_entry *e)
{
	struct plan_change *c = &e->change;

	if (!e->planned.there) {
		add_action(&c->actions, ACTION_DELETE);
		return COUNT_DELETE;
	}
	if (!e->live.there) {
		add_action(&c->actions, ACTION_CREATE);
		return COUNT_CREATE;
	}
	if (kplan_entry_is_another(e)) {
		add_action(&c->actions, ACTION_DELETE);
		add_action(&c->actions, ACTION_CREATE);
		return COUNT_REPLACE;
	}
	if (plan_tree_equal(&c->before, plan_tree_root(&c->before), &c->after, plan_tree_root(&c->after))) {
		add_action(&c->actions, ACTION_NO_OP);
		return COUNT_NO_OP;
	}
	add_action(&c->actions, ACTION_UPDATE);
	return COUNT_UPDATE;
}

static int keep_secrets(struct kplan_judge *j, struct kplan_entry *e, struct sbx_error *err)
{
	struct plan_change *c = &e->change;
	struct plan_secrets *secrets = &j->report->secrets;

	if (secret_mask(&c->before_mask, &c->before, &c->type, err) < 0 ||
	    secret_mask(&c->after_mask, &c->after, &c->type, err) < 0 ||
	    secret_mask_keep(secrets, &c->before, &c->before_mask, &c->type, err) < 0)
		return -1;
	return secret_mask_keep(secrets, &c->after, &c->after_mask, &c->type, err);
}

/* A cause in the object itself; -1 when memory is out. */
static int add_cause(struct kplan_judge *j, const struct kplan_entry *e, const struct plan_place *places,
		     unsigned count, const char *note, struct sbx_error *err)
{
	int cause = plan_finding_cause(&j->finding, &e->change, places, count, err);

	if (cause == -2)
		return -1;
	plan_finding_note(&j->finding, note, cause);
	return 0;
}

static int differs(const struct plan_change *c, const char *const *names)
{
	const struct plan_node *was = kplan_at(&c->before, names), *is = kplan_at(&c->after, names);

	if (was == NULL || is == NULL)
		return was != is;
	return !plan_tree_equal(&c->before, was, &c->after, is);
}

/* Has what is created finalizers that the server does not give it by itself? */
static int has_own_finalizers(const struct plan_tree *tree)
{
	static const char *const at[] = {"metadata", "finalizers", NULL};
	static const char *const of_server[] = {"kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"};
	const struct plan_node *list = kplan_at(tree, at), *one = plan_tree_first(tree, list);

	for (; one != NULL; one = plan_tree_behind(tree, list, one)) {
		size_t i = 0;
		while (i < ARRAY_LEN(of_server) && (one->len != strlen(of_server[i]) ||
						    memcmp(plan_tree_text(tree, one), of_server[i], one->len) != 0))
			i++;
		if (i == ARRAY_LEN(of_server))
			return 1;
	}
	return 0;
}

/* What decides when an object goes, whoever deletes what: finalizers and owners. Of what is created they are chosen by
 * whoever wrote the manifest. */
static int judge_ties(struct kplan_judge *j, const struct kplan_entry *e, struct sbx_error *err)
{
	static const struct {
		const char *member, *signal, *text;
	} ties[] = {
		{"finalizers", "finalizers_changed", "has other finalizers: what has to happen before it goes"},
		{"ownerReferences", "owners_changed", "goes with another owner than before"},
	};

	for (size_t i = 0; i < ARRAY_LEN(ties); i++) {
		const char *const names[] = {"metadata", ties[i].member, NULL};
		const struct plan_place places[] = {{.name = "metadata", .len = 8},
						    {.name = ties[i].member, .len = strlen(ties[i].member)}};
		if (!differs(&e->change, names) || (!e->live.there && i == 0 && !has_own_finalizers(&e->change.after)))
			continue;
		plan_finding_signal(&j->finding, PLAN_REVIEW, ties[i].signal);
		if (add_cause(j, e, places, ARRAY_LEN(places), ties[i].text, err) < 0)
			return -1;
	}
	return 0;
}

static int judge_oddities(struct kplan_judge *j, const struct kplan_entry *e, struct sbx_error *err)
{
	struct plan_finding *f = &j->finding;

	if (!signal_matcher_knows(j->matcher, buf_str(&e->change.type), e->change.type.len))
		plan_finding_signal(f, PLAN_REVIEW, "unknown_kind");
	if (!e->planned.there)
		return 0;
	if (e->planned.uid.len == 0 || (e->live.there && e->live.uid.len == 0))
		plan_finding_signal(f, PLAN_REVIEW, "not_previewed");
	if (e->live.there && !kplan_text_same(&e->live.version, &e->planned.version))
		plan_finding_signal(f, PLAN_REVIEW, "versions_differ");
	return PLAN_HAS(&e->change.actions, ACTION_DELETE) ? 0 : judge_ties(j, e, err);
}

static int judge_data(struct kplan_judge *j, const struct kplan_entry *e, struct sbx_error *err)
{
	const struct buf *type = &e->change.type;
	int holds = signal_matcher_holds_data(j->matcher, buf_str(type), type->len, err);

	if (holds <= 0 || !PLAN_HAS(&e->change.actions, ACTION_DELETE))
		return holds;
	if (kplan_cascade_keeps_data(j->cascade, e)) {
		plan_finding_signal(&j->finding, PLAN_SAFE, "data_elsewhere");
		return 0;
	}
	j->finding.holds_data = 1;
	j->report->data_destroyed++;
	return 0;
}

/* The finding is complete. */
static int add_finding(struct kplan_judge *j, const struct kplan_entry *e, struct sbx_error *err)
{
	const struct plan_change *c = &e->change;

	if (plan_finding_set(&j->finding, c->address.data, c->address.len, c, err) < 0)
		return -1;
	return plan_report_add(j->report, &j->finding, err);
}

/* What is new, and what becomes other. Of what goes its finding says that it does. */
static int tell_differences(struct kplan_judge *j, const struct kplan_entry *e, struct sbx_error *err)
{
	const struct plan_change *c = &e->change;
	const struct kplan_sides sides = {.trees = {&c->before, &c->after},
					  .masks = {&c->before_mask, &c->after_mask},
					  .secrets = &j->report->secrets,
					  .address = &c->address};

	return e->planned.there ? kplan_differ(&j->report->differences, &sides, err) : 0;
}

int kplan_judge_change(struct kplan_judge *j, struct kplan_entry *e, struct sbx_error *err)
{
	struct plan_finding *f = &j->finding;
	enum plan_count count = decide_actions(e);

	j->report->counts[count]++;
	if (keep_secrets(j, e, err) < 0)
		return -1;
	if (count == COUNT_NO_OP)
		return 0;
	if (count == COUNT_DELETE || count == COUNT_REPLACE) {
		plan_finding_signal(f, PLAN_DESTRUCTIVE, count == COUNT_DELETE ? "delete" : "replace");
		if (!j->cascade->is_whole)
			plan_finding_signal(f, PLAN_DESTRUCTIVE, "cascade_unknown");
	}
	if (tell_differences(j, e, err) < 0 || kplan_rules_ask(j, e, err) < 0 || judge_oddities(j, e, err) < 0 ||
	    judge_data(j, e, err) < 0)
		return -1;
	if (f->verdict > PLAN_SAFE)
		return add_finding(j, e, err);
	plan_finding_clear(f);
	plan_finding_init(f);
	return plan_report_add_safe(j->report, &e->change, err);
}

int kplan_judge_cascade(struct kplan_judge *j, struct kplan_entry *e, const struct kplan_way *way,
			struct sbx_error *err)
{
	add_action(&e->change.actions, ACTION_DELETE);
	j->report->counts[COUNT_DELETE]++;
	if (keep_secrets(j, e, err) < 0)
		return -1;
	plan_finding_signal(&j->finding, PLAN_DESTRUCTIVE, "cascade");
	if (add_cause(j, e, way->places, way->count, "goes with what it belongs to", err) < 0 ||
	    kplan_rules_ask(j, e, err) < 0 || judge_oddities(j, e, err) < 0 || judge_data(j, e, err) < 0)
		return -1;
	return add_finding(j, e, err);
}
