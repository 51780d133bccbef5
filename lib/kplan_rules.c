/* Rules ask about parts; their answers are told with the way to the part in front. */
#include "kplan_rules.h"

#include <stdio.h>
#include <string.h>

#include "kplan_pod.h"
#include "secret_mask.h"

enum { BEFORE, AFTER, SIDES };

/* What the rules are asked about. */
struct subject {
	struct kplan_judge *judge;
	const struct plan_change *change;
	const struct plan_tree *trees[SIDES];
	struct plan_place ways[SIDES][KPLAN_POD_WAY + 2]; /* to their roots in the object */
	unsigned counts[SIDES];
};

/* The way of SIDE to PLACES; as many as there is room for. */
static unsigned whole_way(const struct subject *s, int side, const struct plan_place *places, unsigned count,
			  struct plan_place out[PLAN_PLACES])
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->counts[side]; i++)
		out[n++] = s->ways[side][i];
	for (unsigned i = 0; i < count && n < PLAN_PLACES; i++)
		out[n++] = places[i];
	return n;
}

/* The value of SIDE at PLACES, hidden where the mask says so. */
static struct plan_value take_value(const struct subject *s, int side, const struct plan_place *places, unsigned count)
{
	const struct plan_tree *tree = s->trees[side],
			       *mask = side == BEFORE ? &s->change->before_mask : &s->change->after_mask;
	struct plan_place way[PLAN_PLACES];
	unsigned n = whole_way(s, side, places, count, way);

	return secret_mask_value(tree, plan_place_find(tree, places, count), mask, way, n);
}

/* What is at PLACES is to blame: the index of the cause, or as plan_finding_cause. */
static int add_cause(const struct subject *s, const struct plan_place *places, unsigned count, struct sbx_error *err)
{
	const struct plan_value before = take_value(s, BEFORE, places, count),
				after = take_value(s, AFTER, places, count);
	int shown = plan_tree_root(s->trees[AFTER]) != NULL ? AFTER : BEFORE;
	struct plan_place way[PLAN_PLACES];
	unsigned n = whole_way(s, shown, places, count, way);

	return plan_finding_values(&s->judge->finding, way, n, &before, &after, err);
}

static int add_hit(void *context, const struct signal_hit *hit, struct sbx_error *err)
{
	const struct subject *s = context;
	struct plan_finding *f = &s->judge->finding;
	char may_be[PLAN_NOTE_SIZE];
	int cause = -1;

	if (hit->place_count > 0 && (cause = add_cause(s, hit->places, hit->place_count, err)) == -2)
		return -1;
	if (!hit->unknown) {
		plan_finding_signal(f, hit->verdict, hit->signal);
		plan_finding_note(f, hit->text, cause);
		return 0;
	}
	plan_finding_signal(f, PLAN_REVIEW, "not_readable");
	snprintf(may_be, sizeof may_be, "may be %s: %s", hit->signal, hit->doubt);
	plan_finding_note(f, may_be, cause);
	return 0;
}

static enum signal_action action_of(const struct subject *s)
{
	if (plan_tree_root(s->trees[AFTER]) == NULL)
		return SIGNAL_ON_DELETE;
	if (plan_tree_root(s->trees[BEFORE]) == NULL)
		return SIGNAL_ON_CREATE;
	return PLAN_HAS(&s->change->actions, ACTION_DELETE) ? SIGNAL_ON_REPLACE : SIGNAL_ON_UPDATE;
}

static int ask(struct subject *s, const char *type, size_t type_len, struct sbx_error *err)
{
	const struct plan_tree nothing = {.count = 0};
	const struct signal_subject subject = {
		.type = type,
		.type_len = type_len,
		.action = action_of(s),
		.before = s->trees[BEFORE],
		.after = s->trees[AFTER],
		.unknown = &nothing,
	};

	return signal_match(s->judge->matcher, &subject, add_hit, s, err);
}

static int ask_container(const struct subject *pod, const char *list, const struct plan_node *nodes[SIDES],
			 const uint32_t indexes[SIDES], struct sbx_error *err)
{
	static const char type[] = "Container";
	struct subject s = *pod;

	for (int side = 0; side < SIDES; side++) {
		struct kplan_view *view = &s.judge->container[side];
		if (kplan_view_take(view, pod->trees[side], nodes[side], err) < 0)
			return -1;
		s.trees[side] = &view->tree;
		s.ways[side][s.counts[side]++] = (struct plan_place){.name = list, .len = strlen(list)};
		s.ways[side][s.counts[side]++] = (struct plan_place){.index = indexes[side]};
	}
	if (ask(&s, type, sizeof type - 1, err) < 0)
		return -1;
	/* A pod that comes or goes as a whole has all of its containers come or go. */
	if (plan_tree_root(pod->trees[BEFORE]) == NULL || plan_tree_root(pod->trees[AFTER]) == NULL ||
	    (nodes[BEFORE] != NULL && nodes[AFTER] != NULL))
		return 0;
	const struct plan_place image[] = {{.name = "image", .len = 5}};
	int cause = add_cause(&s, image, 1, err), comes = nodes[BEFORE] == NULL;
	if (cause == -2)
		return -1;
	plan_finding_signal(&s.judge->finding, PLAN_REVIEW, comes ? "container_added" : "container_removed");
	plan_finding_note(&s.judge->finding, comes ? "runs one more container" : "runs one container less", cause);
	return 0;
}

static void too_many(const struct subject *pod)
{
	plan_finding_signal(&pod->judge->finding, PLAN_REVIEW, "not_readable");
	plan_finding_note(&pod->judge->finding, "has more containers than are looked at", -1);
}

/* The containers of one list, each beside the one of its name; of SIDE alone those that have none. */
static int ask_containers(const struct subject *pod, const char *list, struct sbx_error *err)
{
	const struct plan_node *lists[SIDES];

	for (int side = 0; side < SIDES; side++)
		lists[side] = plan_tree_member(pod->trees[side], plan_tree_root(pod->trees[side]), list, strlen(list));
	for (int side = AFTER; side >= BEFORE; side--) {
		const struct plan_tree *tree = pod->trees[side], *other = pod->trees[!side];
		const struct plan_node *container = plan_tree_first(tree, lists[side]);
		uint32_t index = 0;
		for (; container != NULL; container = plan_tree_behind(tree, lists[side], container), index++) {
			const struct plan_node *nodes[SIDES];
			uint32_t indexes[SIDES];
			if (index == KPLAN_CONTAINERS) {
				too_many(pod);
				break;
			}
			nodes[side] = container;
			indexes[side] = index;
			nodes[!side] = kplan_pod_container(other, lists[!side], tree, container, &indexes[!side]);
			if (nodes[!side] != NULL && side == BEFORE)
				continue; /* was asked about with the new one */
			if (ask_container(pod, list, nodes, indexes, err) < 0)
				return -1;
		}
	}
	return 0;
}

static int ask_pod(const struct subject *object, struct sbx_error *err)
{
	static const char type[] = "PodSpec";
	struct subject s = *object;
	int any = 0;

	for (int side = 0; side < SIDES; side++) {
		const struct kplan_part part = kplan_pod_find(object->trees[side], &object->change->type);
		struct kplan_view *view = &s.judge->pod[side];
		if (kplan_view_take(view, object->trees[side], part.node, err) < 0)
			return -1;
		s.trees[side] = &view->tree;
		memcpy(s.ways[side], part.way, sizeof part.way);
		s.counts[side] = part.count;
		any |= part.node != NULL;
	}
	if (!any)
		return 0;
	if (ask(&s, type, sizeof type - 1, err) < 0)
		return -1;
	for (unsigned i = 0; i < KPLAN_LISTS; i++)
		if (ask_containers(&s, kplan_pod_list(i), err) < 0)
			return -1;
	return 0;
}

int kplan_rules_ask(struct kplan_judge *judge, const struct kplan_entry *entry, struct sbx_error *err)
{
	const struct plan_change *c = &entry->change;
	struct subject s = {.judge = judge, .change = c, .trees = {&c->before, &c->after}};

	if (ask(&s, buf_str(&c->type), c->type.len, err) < 0)
		return -1;
	return ask_pod(&s, err);
}
