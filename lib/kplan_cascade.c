/* A graph of hashes: an object is its uid, and what holds it is one too: its owners, its namespace, its kind, its node.
 */
#include "kplan_cascade.h"

#include <string.h>

#include "io.h"

/* What a hash stands for. */
enum { OF_UID = 1, OF_SPACE, OF_KIND, OF_NODE, OF_ADDRESS };

struct edge {
	uint64_t from, to;
};

void kplan_cascade_init(struct kplan_cascade *c)
{
	*c = (struct kplan_cascade){.is_whole = 0};
	io_random(&c->seed, sizeof c->seed);
}

void kplan_cascade_clear(struct kplan_cascade *c)
{
	plan_list_clear(&c->edges);
	hash_set_clear(&c->going);
	hash_set_clear(&c->changed);
	hash_set_clear(&c->addresses);
	hash_set_clear(&c->retained);
	hash_set_clear(&c->told);
}

static uint64_t hash_text(const struct kplan_cascade *c, uint64_t kind, const char *text, size_t len)
{
	return key_hash(&c->seed, kind, text, len);
}

/* An object that has no uid is its address. */
static uint64_t hash_object(const struct kplan_cascade *c, const struct kplan_object *o)
{
	return o->uid.len > 0 ? hash_text(c, OF_UID, o->uid.data, o->uid.len)
			      : hash_text(c, OF_ADDRESS, buf_str(&o->address), o->address.len);
}

static const struct plan_node *text_at(const struct plan_tree *tree, const char *const *names)
{
	const struct plan_node *node = kplan_at(tree, names);

	return node != NULL && node->kind == PLAN_STRING && node->len > 0 ? node : NULL;
}

static uint64_t hash_node(const struct kplan_cascade *c, uint64_t kind, const struct plan_tree *tree,
			  const struct plan_node *node)
{
	return node == NULL ? 0 : hash_text(c, kind, plan_tree_text(tree, node), node->len);
}

static const char *const node_name[] = {"spec", "nodeName", NULL};
static const char *const claim_uid[] = {"spec", "claimRef", "uid", NULL};
static const char *const reclaim_policy[] = {"spec", "persistentVolumeReclaimPolicy", NULL};

static int is_retained(const struct plan_tree *tree)
{
	const struct plan_node *policy = text_at(tree, reclaim_policy);

	return policy != NULL && policy->len == 6 && memcmp(plan_tree_text(tree, policy), "Retain", 6) == 0;
}

/* What an object is to others beside itself: 0, or the hash of its namespace, kind or node. */
static uint64_t hash_role(const struct kplan_cascade *c, const struct kplan_entry *e)
{
	static const char *const group_name[] = {"spec", "group", NULL}, *const kind_name[] = {"spec", "names", "kind",
											       NULL};
	const struct kplan_object *o = &e->live;
	const struct plan_tree *tree = &e->change.before;

	if (kplan_text_is(&o->type, "Namespace"))
		return hash_text(c, OF_SPACE, o->name.data, o->name.len);
	if (kplan_text_is(&o->type, "Node"))
		return hash_text(c, OF_NODE, o->name.data, o->name.len);
	if (!kplan_text_is(&o->type, "CustomResourceDefinition.apiextensions.k8s.io"))
		return 0;
	const struct plan_node *group = text_at(tree, group_name), *kind = text_at(tree, kind_name);
	if (group == NULL || kind == NULL)
		return 0;
	return hash_text(c, hash_node(c, OF_KIND, tree, kind), plan_tree_text(tree, group), group->len);
}

/* The kind that an object is of, as hash_role gives it. */
static uint64_t hash_kind(const struct kplan_cascade *c, const struct kplan_object *o)
{
	const char *type = buf_str(&o->type), *dot = memchr(type, '.', o->type.len);

	if (dot == NULL)
		return 0;
	size_t kind = (size_t)(dot - type);
	return hash_text(c, hash_text(c, OF_KIND, type, kind), dot + 1, o->type.len - kind - 1);
}

static int add_edge(struct kplan_cascade *c, uint64_t from, uint64_t to, struct sbx_error *err)
{
	if (from == 0 || to == 0)
		return 0;
	return plan_list_add(&c->edges, from, err) < 0 ? -1 : plan_list_add(&c->edges, to, err);
}

/* Every owner of the object at hand; EACH says 1 to stop. */
static int each_owner(const struct kplan_cascade *c, const struct plan_tree *tree,
		      int (*each)(void *context, uint64_t owner, uint32_t index, struct sbx_error *err), void *context,
		      struct sbx_error *err)
{
	static const char *const owners[] = {"metadata", "ownerReferences", NULL};
	const struct plan_node *list = kplan_at(tree, owners), *owner;
	uint32_t index = 0;

	if (list == NULL || list->kind != PLAN_ARRAY)
		return 0;
	for (owner = plan_tree_first(tree, list); owner != NULL; owner = plan_tree_behind(tree, list, owner), index++) {
		const struct plan_node *uid = plan_tree_member(tree, owner, "uid", 3);
		if (uid == NULL || uid->kind != PLAN_STRING)
			continue;
		int result = each(context, hash_node(c, OF_UID, tree, uid), index, err);
		if (result != 0)
			return result;
	}
	return 0;
}

struct owned {
	struct kplan_cascade *cascade;
	uint64_t object;
};

static int add_owner(void *context, uint64_t owner, uint32_t index, struct sbx_error *err)
{
	struct owned *owned = context;

	(void)index;
	return add_edge(owned->cascade, owner, owned->object, err);
}

/* Everything with which the live object of E would go. */
static int add_edges(struct kplan_cascade *c, const struct kplan_entry *e, struct sbx_error *err)
{
	const struct kplan_object *o = &e->live;
	const struct plan_tree *tree = &e->change.before;
	struct owned owned = {.cascade = c, .object = hash_object(c, o)};
	int is_volume = kplan_text_is(&o->type, "PersistentVolume");
	uint64_t space = o->space.len > 0 ? hash_text(c, OF_SPACE, o->space.data, o->space.len) : 0;
	uint64_t node = kplan_text_is(&o->type, "Pod") ? hash_node(c, OF_NODE, tree, text_at(tree, node_name)) : 0;
	uint64_t claim = is_volume ? hash_node(c, OF_UID, tree, text_at(tree, claim_uid)) : 0;

	if (claim != 0 && is_retained(tree)) {
		if (hash_set_add(&c->retained, claim, err) < 0)
			return -1;
		claim = 0;
	}
	if (each_owner(c, tree, add_owner, &owned, err) < 0 || add_edge(c, space, owned.object, err) < 0 ||
	    add_edge(c, hash_kind(c, o), owned.object, err) < 0 || add_edge(c, node, owned.object, err) < 0 ||
	    add_edge(c, claim, owned.object, err) < 0)
		return -1;
	return add_edge(c, owned.object, hash_role(c, e), err);
}

static int note_change(struct kplan_cascade *c, const struct kplan_entry *e, struct sbx_error *err)
{
	uint64_t address = hash_text(c, OF_ADDRESS, buf_str(&e->change.address), e->change.address.len);

	c->changes++;
	if (hash_set_has(&c->addresses, address))
		return sbx_fail(err, SBX_BAD_REQUEST, "plan_malformed", "an object is changed twice");
	if (hash_set_add(&c->addresses, address, err) < 0)
		return -1;
	if (!e->live.there)
		return 0;
	if (hash_set_add(&c->changed, hash_object(c, &e->live), err) < 0)
		return -1;
	if (e->planned.there && !kplan_entry_is_another(e))
		return 0;
	if (hash_set_add(&c->going, hash_object(c, &e->live), err) < 0)
		return -1;
	return add_edges(c, e, err);
}

int kplan_cascade_note(struct kplan_cascade *c, const struct kplan_entry *e, struct sbx_error *err)
{
	if (e->kind == KPLAN_CHANGE)
		return note_change(c, e, err);
	if (c->is_whole)
		return sbx_fail(err, SBX_BAD_REQUEST, "plan_malformed", "an object beside stands behind their end");
	if (e->kind == KPLAN_BESIDE)
		return add_edges(c, e, err);
	c->is_whole = 1;
	return 0;
}

static void swap(struct edge *a, struct edge *b)
{
	const struct edge was = *a;

	*a = *b;
	*b = was;
}

/* EDGES are a heap but for the one at TOP. */
static void sift(struct edge *edges, size_t top, size_t count)
{
	for (size_t child; (child = 2 * top + 1) < count; top = child) {
		if (child + 1 < count && edges[child].from < edges[child + 1].from)
			child++;
		if (edges[top].from >= edges[child].from)
			return;
		swap(&edges[top], &edges[child]);
	}
}

/* By what they come from. A heap sort of our own: that of the C library asks the system how much memory there is, which
 * this process may not. */
static void sort_edges(struct edge *edges, size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		sift(edges, i, count);
	while (count > 1) {
		swap(&edges[0], &edges[--count]);
		sift(edges, 0, count);
	}
}

/* The first edge from FROM or behind it. */
static size_t find_edge(const struct edge *edges, size_t count, uint64_t from)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (edges[middle].from < from)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int kplan_cascade_settle(struct kplan_cascade *c, struct sbx_error *err)
{
	struct edge *edges = (struct edge *)c->edges.items;
	size_t count = c->edges.count / 2;
	struct plan_list open = {.items = NULL};
	int result = 0;

	sort_edges(edges, count);
	for (size_t i = 0; i < c->going.size && result == 0; i++)
		if (c->going.slots[i] != 0)
			result = plan_list_add(&open, c->going.slots[i], err);
	while (open.count > 0 && result == 0) {
		uint64_t from = open.items[--open.count];
		for (size_t i = find_edge(edges, count, from); i < count && edges[i].from == from && result == 0; i++) {
			if (hash_set_has(&c->going, edges[i].to))
				continue;
			result = hash_set_add(&c->going, edges[i].to, err);
			if (result == 0)
				result = plan_list_add(&open, edges[i].to, err);
		}
	}
	plan_list_clear(&open);
	return result;
}

static int goes(const struct kplan_cascade *c, uint64_t hash)
{
	return hash != 0 && hash_set_has(&c->going, hash);
}

static struct plan_place place(const char *name)
{
	return (struct plan_place){.name = name, .len = strlen(name)};
}

struct look {
	const struct kplan_cascade *cascade;
	struct kplan_way *way;
};

static int take_owner(void *context, uint64_t owner, uint32_t index, struct sbx_error *err)
{
	struct look *look = context;

	(void)err;
	if (!goes(look->cascade, owner))
		return 0;
	look->way->places[0] = place("metadata");
	look->way->places[1] = place("ownerReferences");
	look->way->places[2] = (struct plan_place){.index = index};
	look->way->places[3] = place("name");
	look->way->count = 4;
	return 1;
}

/* Up to three names, closed by NULL. */
static void set_way(struct kplan_way *way, const char *const *names)
{
	for (way->count = 0; *names != NULL; names++)
		way->places[way->count++] = place(*names);
}

static void find_way(const struct kplan_cascade *c, const struct kplan_entry *e, struct kplan_way *way)
{
	static const char *const of_space[] = {"metadata", "namespace", NULL}, *const of_kind[] = {"kind", NULL},
				 *const of_claim[] = {"spec", "claimRef", "name", NULL};
	const struct plan_tree *tree = &e->change.before;
	struct look look = {.cascade = c, .way = way};
	struct sbx_error none = SBX_ERROR_INIT;

	way->count = 0;
	if (e->live.space.len > 0 && goes(c, hash_text(c, OF_SPACE, e->live.space.data, e->live.space.len)))
		set_way(way, of_space);
	else if (each_owner(c, tree, take_owner, &look, &none) == 1)
		return;
	else if (goes(c, hash_kind(c, &e->live)))
		set_way(way, of_kind);
	else if (kplan_text_is(&e->live.type, "Pod") && goes(c, hash_node(c, OF_NODE, tree, text_at(tree, node_name))))
		set_way(way, node_name);
	else
		set_way(way, of_claim);
}

int kplan_cascade_takes(struct kplan_cascade *c, const struct kplan_entry *e, struct kplan_way *way,
			struct sbx_error *err)
{
	uint64_t object = hash_object(c, &e->live);

	if (!goes(c, object) || hash_set_has(&c->changed, object) || hash_set_has(&c->told, object))
		return 0;
	find_way(c, e, way);
	return hash_set_add(&c->told, object, err) < 0 ? -1 : 1;
}

int kplan_cascade_keeps_data(const struct kplan_cascade *c, const struct kplan_entry *e)
{
	const struct plan_tree *tree = &e->change.before;
	const struct buf *type = &e->live.type;

	if (kplan_text_is(type, "PersistentVolumeClaim"))
		return hash_set_has(&c->retained, hash_object(c, &e->live));
	if (kplan_text_is(type, "PersistentVolume"))
		return is_retained(tree) || goes(c, hash_node(c, OF_UID, tree, text_at(tree, claim_uid)));
	return c->is_whole && hash_role(c, e) != 0;
}
