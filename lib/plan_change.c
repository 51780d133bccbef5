/* One change: its words, and the trees beside it. */
#include "plan_change.h"

#include <string.h>

#include "limit.h"

static const char *const action_names[PLAN_ACTIONS] = {"no-op", "create", "read", "update", "delete", "forget"};

const char *plan_action_name(enum plan_action action)
{
	return action_names[action];
}

/* The texts and the trees of a change, for what is done to all of them. */
#define TEXTS 9
#define TREES 7
static void parts_of(struct plan_change *c, struct buf *texts[TEXTS], struct plan_tree *trees[TREES])
{
	struct buf *const all_texts[TEXTS] = {&c->address, &c->module, &c->name,     &c->previous_address,
					      &c->deposed, &c->mode,   &c->type,     &c->provider,
					      &c->reason};
	struct plan_tree *const all_trees[TREES] = {&c->before,	    &c->after,	       &c->unknown,  &c->before_mask,
						    &c->after_mask, &c->replace_paths, &c->importing};

	memcpy(texts, all_texts, sizeof all_texts);
	memcpy(trees, all_trees, sizeof all_trees);
}

void plan_change_init(struct plan_change *change)
{
	struct buf *texts[TEXTS];
	struct plan_tree *trees[TREES];

	*change = (struct plan_change){.actions = {.count = 0}};
	parts_of(change, texts, trees);
	for (size_t i = 0; i < TEXTS; i++)
		*texts[i] = (struct buf)BUF_INIT(LIMIT_PLAN_ADDRESS);
	for (size_t i = 0; i < TREES; i++)
		plan_tree_init(trees[i]);
}

void plan_change_clear(struct plan_change *change)
{
	struct buf *texts[TEXTS];
	struct plan_tree *trees[TREES];

	parts_of(change, texts, trees);
	for (size_t i = 0; i < TEXTS; i++)
		buf_clear(texts[i]);
	for (size_t i = 0; i < TREES; i++)
		plan_tree_clear(trees[i]);
}

void plan_change_reset(struct plan_change *change)
{
	struct buf *texts[TEXTS];
	struct plan_tree *trees[TREES];

	parts_of(change, texts, trees);
	for (size_t i = 0; i < TEXTS; i++)
		buf_reset(texts[i]);
	for (size_t i = 0; i < TREES; i++)
		plan_tree_reset(trees[i]);
	change->actions.count = change->actions.bits = 0;
}

static int read_actions(struct plan_scan *s, struct plan_actions *actions, struct sbx_error *err)
{
	int element;

	if (plan_expect(s, JSON_ARRAY_OPEN, "actions that are no array", err) < 0)
		return -1;
	while ((element = plan_element(s, err)) == 1) {
		int action = s->token == JSON_STRING ? plan_name(s, action_names, ARRAY_LEN(action_names)) : -1;
		if (action < 0)
			return plan_refuse(s, "plan_action", "an action that is not known", err);
		if (actions->count == PLAN_CHANGE_ACTIONS)
			return plan_refuse(s, "plan_action", "more actions than any change has", err);
		actions->list[actions->count++] = (unsigned char)action;
		actions->bits |= PLAN_ACTION_BIT((unsigned)action);
	}
	if (element == 0 && actions->count == 0)
		return plan_refuse(s, "plan_action", "a change without an action", err);
	return element;
}

/* A mask may hold arrays, objects and truth values. */
static int read_mask(struct plan_scan *s, struct plan_tree *mask, struct sbx_error *err)
{
	if (plan_tree_read(s, mask, err) < 0)
		return -1;
	for (uint32_t i = 0; i < mask->count; i++)
		if (mask->nodes[i].kind == PLAN_STRING || mask->nodes[i].kind == PLAN_NUMBER)
			return plan_refuse(s, "plan_kind", "a mask that is no truth value, before", err);
	return 0;
}

static int read_replace_paths(struct plan_scan *s, struct plan_tree *paths, struct sbx_error *err)
{
	if (plan_expect(s, JSON_ARRAY_OPEN, "replace_paths that are no array", err) < 0 ||
	    plan_tree_read_rest(s, paths, err) < 0)
		return -1;
	const struct plan_node *all = plan_tree_root(paths), *path = plan_tree_first(paths, all);
	for (; path != NULL; path = plan_tree_behind(paths, all, path)) {
		if (path->kind != PLAN_ARRAY)
			return plan_refuse(s, "plan_kind", "a path that is no array, before", err);
		const struct plan_node *step = plan_tree_first(paths, path);
		for (; step != NULL; step = plan_tree_behind(paths, path, step))
			if (step->kind != PLAN_STRING && step->kind != PLAN_NUMBER)
				return plan_refuse(s, "plan_kind",
						   "a step of a path that is neither name nor index, before", err);
	}
	return 0;
}

static int read_inner_member(struct plan_scan *s, struct plan_change *change, struct sbx_error *err)
{
	const struct {
		const char *name;
		struct plan_tree *tree;
		int (*read)(struct plan_scan *s, struct plan_tree *tree, struct sbx_error *err);
	} members[] = {
		{"before", &change->before, plan_tree_read},
		{"after", &change->after, plan_tree_read},
		{"after_unknown", &change->unknown, read_mask},
		{"before_sensitive", &change->before_mask, read_mask},
		{"after_sensitive", &change->after_mask, read_mask},
		{"replace_paths", &change->replace_paths, read_replace_paths},
		{"importing", &change->importing, plan_tree_read},
	};

	if (plan_is(s, "actions"))
		return read_actions(s, &change->actions, err);
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (plan_is(s, members[i].name))
			return members[i].read(s, members[i].tree, err);
	return plan_skip(s, err);
}

static int read_inner_object(struct plan_scan *s, struct plan_change *change, struct sbx_error *err)
{
	int key;

	while ((key = plan_key(s, err)) == 1)
		if (read_inner_member(s, change, err) < 0)
			return -1;
	if (key == 0 && change->actions.count == 0)
		return plan_refuse(s, "plan_malformed", "a change without actions", err);
	return key;
}

int plan_change_read_inner(struct plan_scan *s, struct plan_change *change, struct sbx_error *err)
{
	plan_change_reset(change);
	return read_inner_object(s, change, err);
}

/* In the order of parts_of. */
static const char *const text_names[TEXTS] = {"address", "module_address", "name", "previous_address", "deposed",
					      "mode",	 "type",	   "provider_name", "action_reason"};

static struct buf *text_member(struct plan_change *change, const struct plan_scan *s)
{
	struct buf *texts[TEXTS];
	struct plan_tree *trees[TREES];
	int member = plan_name(s, text_names, ARRAY_LEN(text_names));

	parts_of(change, texts, trees);
	return member < 0 ? NULL : texts[member];
}

int plan_change_is_text(const struct plan_scan *s)
{
	return plan_name(s, text_names, ARRAY_LEN(text_names)) >= 0;
}

static int read_entry(struct plan_scan *s, struct plan_change *change, struct sbx_error *err)
{
	int key, has_change = 0;

	plan_change_reset(change);
	while ((key = plan_key(s, err)) == 1) {
		struct buf *text = text_member(change, s);
		int result;
		if (text != NULL) {
			result = plan_string(s, text, "a part of a change that is no string", err);
		} else if (plan_is(s, "change")) {
			has_change = 1;
			result = plan_expect(s, JSON_OBJECT_OPEN, "a change that is no object", err) < 0
					 ? -1
					 : read_inner_object(s, change, err);
		} else {
			result = plan_skip(s, err);
		}
		if (result < 0)
			return -1;
	}
	if (key == 0 && !has_change)
		return plan_refuse(s, "plan_malformed", "an entry without a change", err);
	return key;
}

int plan_change_read(struct plan_scan *s, struct plan_change *change, struct sbx_error *err)
{
	if (read_entry(s, change, err) < 0)
		return -1;
	return change->address.len > 0 ? 0 : plan_refuse(s, "plan_malformed", "an entry without an address", err);
}

int plan_change_read_drift(struct plan_scan *s, struct plan_change *change, struct sbx_error *err)
{
	struct buf *address = &change->address;

	if (read_entry(s, change, err) < 0)
		return -1;
	if (address->len > 0)
		return 0;
	if (change->type.len == 0 || change->name.len == 0)
		return plan_refuse(s, "plan_malformed", "an entry without an address", err);
	if (change->module.len > 0 && (buf_add(address, change->module.data, change->module.len, err) < 0 ||
				       buf_add(address, ".", 1, err) < 0))
		return -1;
	if (buf_add(address, change->type.data, change->type.len, err) < 0 || buf_add(address, ".", 1, err) < 0)
		return -1;
	return buf_add(address, change->name.data, change->name.len, err);
}

int plan_change_imports(const struct plan_change *change)
{
	const struct plan_node *root = plan_tree_root(&change->importing);

	return root != NULL && root->kind != PLAN_NULL;
}
