/* Two trees, walked side by side. */
#include "kplan_differ.h"

#include <stdlib.h>
#include <string.h>

#include "kplan_differ_value.h"
#include "plan_path.h"
#include "secret_text.h"

/* Elements of a list that are looked up by their names, and bytes of a name: more than any of the API has. */
enum { NAMED_MAX = 256, NAME_MAX_BYTES = 128 };

struct walk {
	struct plan_differences *list;
	const struct kplan_sides *sides;
	struct kplan_spot spot;
};

/* The elements of a list; NAMES where each has one of its own. */
struct elements {
	const struct plan_node **at; /* owned */
	uint32_t count;
	int are_named;
};

static int walk(struct walk *w, const struct plan_node *was, const struct plan_node *is, struct sbx_error *err);

/* --- one place further --- */

/* PLACES: of either side. */
static int descend(struct walk *w, const struct plan_place places[PLAN_SIDES], const char *shown, size_t shown_len,
		   const struct plan_node *was, const struct plan_node *is, struct sbx_error *err)
{
	struct kplan_spot *spot = &w->spot;
	size_t before = spot->path.len;
	int result;

	for (int side = 0; side < PLAN_SIDES; side++)
		spot->ways[side][spot->depth] = places[side];
	if (shown != NULL)
		result = buf_addf(&spot->path, err, "[%.*s]", (int)shown_len, shown);
	else
		result = plan_path_add(&spot->path, &places[is != NULL ? PLAN_IS : PLAN_WAS], err);
	if (result < 0)
		return -1;
	spot->depth++;
	result = walk(w, was, is, err);
	spot->depth--;
	spot->path.len = before;
	return result;
}

/* --- members --- */

static int is_metadata(const struct plan_tree *tree, const struct plan_node *node)
{
	static const char name[] = "metadata";

	return node->key_len == sizeof name - 1 && memcmp(plan_tree_name(tree, node), name, sizeof name - 1) == 0;
}

static int compare_names(const struct plan_tree *a, const struct plan_node *x, const struct plan_tree *b,
			 const struct plan_node *y)
{
	size_t len = x->key_len < y->key_len ? x->key_len : y->key_len;
	int order = memcmp(plan_tree_name(a, x), plan_tree_name(b, y), len);

	return order != 0 ? order : (x->key_len > y->key_len) - (x->key_len < y->key_len);
}

/* Members of an object that are asked for one after the other. An API server gives those of a map in the order of their
 * names: then each is found behind the last one, however many there are. */
struct members {
	const struct plan_tree *tree;
	const struct plan_node *parent, *next;
	int are_sorted;
};

static struct members members_of(const struct plan_tree *tree, const struct plan_node *parent)
{
	const struct plan_node *node = plan_tree_first(tree, parent), *behind;
	struct members m = {.tree = tree, .parent = parent, .next = node, .are_sorted = 1};

	for (; node != NULL && m.are_sorted; node = behind) {
		behind = plan_tree_behind(tree, parent, node);
		m.are_sorted = behind == NULL || compare_names(tree, node, tree, behind) < 0;
	}
	return m;
}

/* The one with the name of CHILD in OF, whose own are asked for in their order; NULL. */
static const struct plan_node *find_member(struct members *m, const struct plan_tree *of, const struct plan_node *child,
					   int is_next_in_order)
{
	if (!m->are_sorted || !is_next_in_order)
		return plan_tree_member(m->tree, m->parent, plan_tree_name(of, child), child->key_len);
	while (m->next != NULL && compare_names(m->tree, m->next, of, child) < 0)
		m->next = plan_tree_behind(m->tree, m->parent, m->next);
	return m->next != NULL && compare_names(m->tree, m->next, of, child) == 0 ? m->next : NULL;
}

/* The members of one side beside those of the other, of which those of PLAN_IS alone are left. */
static int walk_side(struct walk *w, const struct plan_node *parents[PLAN_SIDES], enum plan_side side, int of_metadata,
		     struct sbx_error *err)
{
	const struct plan_tree *const *trees = w->sides->trees, *tree = trees[side];
	struct members own = members_of(tree, parents[side]), others = members_of(trees[!side], parents[!side]);
	const struct plan_node *child = plan_tree_first(tree, parents[side]);

	for (; child != NULL; child = plan_tree_behind(tree, parents[side], child)) {
		if (is_metadata(tree, child) != of_metadata)
			continue;
		const struct plan_node *other = find_member(&others, tree, child, own.are_sorted);
		const struct plan_place place = {.name = plan_tree_name(tree, child), .len = child->key_len},
					places[PLAN_SIDES] = {place, place};
		if (side == PLAN_IS && other != NULL)
			continue; /* was compared from the other side */
		if (descend(w, places, NULL, 0, side == PLAN_WAS ? child : other, side == PLAN_WAS ? other : child,
			    err) < 0)
			return -1;
	}
	return 0;
}

static int walk_members(struct walk *w, const struct plan_node *was, const struct plan_node *is, struct sbx_error *err)
{
	const struct plan_node *parents[PLAN_SIDES] = {was, is};

	for (int of_metadata = 0; of_metadata < 2; of_metadata++)
		if (walk_side(w, parents, PLAN_WAS, of_metadata, err) < 0 ||
		    walk_side(w, parents, PLAN_IS, of_metadata, err) < 0)
			return -1;
	return 0;
}

/* --- elements --- */

static const struct plan_node *name_of(const struct plan_tree *tree, const struct plan_node *element)
{
	const struct plan_node *name = plan_tree_member(tree, element, "name", 4);

	return name != NULL && name->kind == PLAN_STRING ? name : NULL;
}

static int has_same_name(const struct plan_tree *a, const struct plan_node *x, const struct plan_tree *b,
			 const struct plan_node *y)
{
	const struct plan_node *first = name_of(a, x), *second = name_of(b, y);

	return first != NULL && second != NULL && first->len == second->len &&
	       memcmp(plan_tree_text(a, first), plan_tree_text(b, second), first->len) == 0;
}

/* A name that can stand in a path as it is, and is no number of an element. */
static int is_plain_name(const struct plan_tree *tree, const struct plan_node *name, const struct plan_secrets *secrets)
{
	static const char inside[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-",
			  digits[] = "0123456789";
	const char *text = name != NULL ? plan_tree_text(tree, name) : "";
	int is_number = 1;

	if (name == NULL || name->len == 0 || name->len > NAME_MAX_BYTES)
		return 0;
	for (size_t i = 0; i < name->len; i++) {
		if (text[i] == '\0' || strchr(inside, text[i]) == NULL)
			return 0;
		is_number &= strchr(digits, text[i]) != NULL;
	}
	return !is_number && !secret_text_is(text, name->len) && !plan_secrets_in(secrets, text, name->len);
}

/* Has each a name, that no other has? */
static int are_named(const struct elements *e, const struct plan_tree *tree, const struct plan_secrets *secrets)
{
	if (e->count > NAMED_MAX)
		return 0;
	for (uint32_t i = 0; i < e->count; i++) {
		if (!is_plain_name(tree, name_of(tree, e->at[i]), secrets))
			return 0;
		for (uint32_t j = 0; j < i; j++)
			if (has_same_name(tree, e->at[i], tree, e->at[j]))
				return 0;
	}
	return 1;
}

static int find_elements(struct elements *e, const struct plan_tree *tree, const struct plan_node *array,
			 const struct plan_secrets *secrets, struct sbx_error *err)
{
	const struct plan_node *child = plan_tree_first(tree, array);

	*e = (struct elements){.at = NULL};
	for (; child != NULL; child = plan_tree_behind(tree, array, child))
		e->count++;
	if (e->count > 0 && (e->at = calloc(e->count, sizeof *e->at)) == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	child = plan_tree_first(tree, array);
	for (uint32_t i = 0; i < e->count; i++, child = plan_tree_behind(tree, array, child))
		e->at[i] = child;
	e->are_named = are_named(e, tree, secrets);
	return 0;
}

static int walk_element(struct walk *w, const struct elements *e, uint32_t was, uint32_t is, struct sbx_error *err)
{
	const struct plan_place places[PLAN_SIDES] = {{.index = was}, {.index = is}};
	const struct plan_node *x = was < e[PLAN_WAS].count ? e[PLAN_WAS].at[was] : NULL,
			       *y = is < e[PLAN_IS].count ? e[PLAN_IS].at[is] : NULL;
	enum plan_side side = y != NULL ? PLAN_IS : PLAN_WAS;
	const struct plan_tree *tree = w->sides->trees[side];
	const struct plan_node *name = e[side].are_named ? name_of(tree, y != NULL ? y : x) : NULL;

	return descend(w, places, name != NULL ? plan_tree_text(tree, name) : NULL, name != NULL ? name->len : 0, x, y,
		       err);
}

/* The element of OTHER with the name of this one; OTHER->count: none. */
static uint32_t find_name(const struct elements *other, const struct plan_tree *of, const struct plan_tree *tree,
			  const struct plan_node *element)
{
	uint32_t i = 0;

	while (i < other->count && !has_same_name(of, other->at[i], tree, element))
		i++;
	return i;
}

/* Both sides are named, and those that are on both stand in the same order: else the order is what is different. */
static int are_in_order(const struct walk *w, const struct elements e[PLAN_SIDES])
{
	const struct plan_tree *const *trees = w->sides->trees;
	uint32_t last = 0;

	if (!e[PLAN_WAS].are_named || !e[PLAN_IS].are_named)
		return 0;
	for (uint32_t i = 0; i < e[PLAN_WAS].count; i++) {
		uint32_t at = find_name(&e[PLAN_IS], trees[PLAN_IS], trees[PLAN_WAS], e[PLAN_WAS].at[i]);
		if (at < e[PLAN_IS].count && at < last)
			return 0;
		last = at < e[PLAN_IS].count ? at : last;
	}
	return 1;
}

static int walk_named(struct walk *w, const struct elements e[PLAN_SIDES], struct sbx_error *err)
{
	const struct plan_tree *const *trees = w->sides->trees;

	for (uint32_t i = 0; i < e[PLAN_WAS].count; i++)
		if (walk_element(w, e, i, find_name(&e[PLAN_IS], trees[PLAN_IS], trees[PLAN_WAS], e[PLAN_WAS].at[i]),
				 err) < 0)
			return -1;
	for (uint32_t i = 0; i < e[PLAN_IS].count; i++) {
		uint32_t none = e[PLAN_WAS].count;
		if (find_name(&e[PLAN_WAS], trees[PLAN_WAS], trees[PLAN_IS], e[PLAN_IS].at[i]) == none &&
		    walk_element(w, e, none, i, err) < 0)
			return -1;
	}
	return 0;
}

static int walk_places(struct walk *w, struct elements e[PLAN_SIDES], struct sbx_error *err)
{
	const struct plan_tree *const *trees = w->sides->trees;
	uint32_t was = e[PLAN_WAS].count, is = e[PLAN_IS].count, at = 0;

	/* A name would be that of one of the two alone. */
	e[PLAN_WAS].are_named = e[PLAN_IS].are_named = 0;
	while (at < was && at < is &&
	       plan_tree_equal(trees[PLAN_WAS], e[PLAN_WAS].at[at], trees[PLAN_IS], e[PLAN_IS].at[at]))
		at++;
	while (was > at && is > at &&
	       plan_tree_equal(trees[PLAN_WAS], e[PLAN_WAS].at[was - 1], trees[PLAN_IS], e[PLAN_IS].at[is - 1])) {
		was--;
		is--;
	}
	for (; at < was || at < is; at++)
		if (walk_element(w, e, at < was ? at : e[PLAN_WAS].count, at < is ? at : e[PLAN_IS].count, err) < 0)
			return -1;
	return 0;
}

static int walk_elements(struct walk *w, const struct plan_node *was, const struct plan_node *is, struct sbx_error *err)
{
	struct elements e[PLAN_SIDES] = {{.at = NULL}, {.at = NULL}};
	int result = -1;

	if (find_elements(&e[PLAN_WAS], w->sides->trees[PLAN_WAS], was, w->sides->secrets, err) == 0 &&
	    find_elements(&e[PLAN_IS], w->sides->trees[PLAN_IS], is, w->sides->secrets, err) == 0)
		result = are_in_order(w, e) ? walk_named(w, e, err) : walk_places(w, e, err);
	free(e[PLAN_WAS].at);
	free(e[PLAN_IS].at);
	return result;
}

/* --- any two --- */

/* Has it values in it, each of which is told? */
static int has_inside(const struct plan_tree *tree, const struct plan_node *node)
{
	return plan_tree_first(tree, node) != NULL;
}

static int are_same(const struct walk *w, const struct plan_node *was, const struct plan_node *is)
{
	const struct plan_tree *const *trees = w->sides->trees;

	if (was == NULL || is == NULL)
		return was == is;
	return (w->sides->alike != NULL && w->sides->alike(trees, was, is)) ||
	       plan_tree_equal(trees[PLAN_WAS], was, trees[PLAN_IS], is);
}

static int walk(struct walk *w, const struct plan_node *was, const struct plan_node *is, struct sbx_error *err)
{
	const struct plan_tree *const *trees = w->sides->trees;

	if (are_same(w, was, is))
		return 0;
	if (w->spot.depth == PLAN_PLACES || (!has_inside(trees[PLAN_WAS], was) && !has_inside(trees[PLAN_IS], is))) {
		w->spot.nodes[PLAN_WAS] = was;
		w->spot.nodes[PLAN_IS] = is;
		return kplan_differ_value(w->list, w->sides, &w->spot, err);
	}
	if (was != NULL && is != NULL && was->kind != is->kind)
		return walk(w, was, NULL, err) < 0 ? -1 : walk(w, NULL, is, err);
	return (was != NULL ? was : is)->kind == PLAN_OBJECT ? walk_members(w, was, is, err)
							     : walk_elements(w, was, is, err);
}

int kplan_differ(struct plan_differences *differences, const struct kplan_sides *sides, struct sbx_error *err)
{
	struct walk w = {.list = differences, .sides = sides, .spot.path = BUF_INIT(PLAN_PATH_MAX)};
	int result = walk(&w, plan_tree_root(sides->trees[PLAN_WAS]), plan_tree_root(sides->trees[PLAN_IS]), err);

	buf_clear(&w.spot.path);
	return result;
}
