/* What goes with an object, in a plan, and beside one. */
#include <string.h>

#include "kchange_beside.h"
#include "kchange_found.h"
#include "kchange_moved.h"

static const struct plan_node *member(const struct plan_tree *tree, const struct plan_node *object, const char *name)
{
	return plan_tree_member(tree, object, name, strlen(name));
}

int kchange_beside_add(const struct kchange_beside *b, struct kchange_draft *draft, struct sbx_error *err)
{
	for (size_t i = 0; i < b->count; i++) {
		const struct buf text = {.data = b->items[i].text, .len = b->items[i].len, .max = KCHANGE_FOUND_TEXT};
		if (kchange_draft_beside(draft, &text, err) < 0)
			return -1;
	}
	return b->is_whole ? kchange_draft_beside(draft, NULL, err) : 0;
}

/* The texts and uids of what stands beside in PLAN; *IS_WHOLE when it says that this is all. */
static int read_planned(const struct kchange_beside *b, const struct kchange_plan *plan, struct hash_set *texts,
			struct hash_set *uids, int *is_whole, struct sbx_error *err)
{
	const struct plan_tree *tree = &plan->tree;
	const struct plan_node *entry = plan_tree_first(tree, plan->objects);
	auto_buf text = BUF_INIT(KCHANGE_FOUND_TEXT);

	*is_whole = 0;
	for (; entry != NULL; entry = plan_tree_behind(tree, plan->objects, entry)) {
		const struct plan_node *object = member(tree, entry, "beside");
		uint64_t uid = kchange_found_uid(b, tree, member(tree, member(tree, object, "metadata"), "uid"));
		*is_whole |= object != NULL && object->kind == PLAN_NULL;
		if (uid == 0)
			continue;
		buf_reset(&text);
		if (plan_tree_write(&text, tree, object, NULL, NULL, err) < 0 || hash_set_add(uids, uid, err) < 0 ||
		    hash_set_add(texts, kchange_found_hash(b, text.data, text.len), err) < 0)
			return -1;
	}
	return 0;
}

static int add_line(const struct kchange_found *f, const char *words, struct buf *lines, struct sbx_error *err)
{
	struct kplan_object names;
	struct plan_tree tree;
	int result = -1;

	kplan_object_init(&names);
	plan_tree_init(&tree);
	if (plan_tree_parse(&tree, f->text, f->len, err) == 0 && kplan_object_read(&names, &tree, err) == 0)
		result = kchange_moved_line(lines, &names.address, words, err);
	kplan_object_clear(&names);
	plan_tree_clear(&tree);
	return result;
}

static int compare(const struct kchange_beside *b, const struct hash_set *texts, const struct hash_set *uids,
		   struct buf *lines, struct sbx_error *err)
{
	int moved = 0;

	for (size_t i = 0; i < b->count; i++) {
		const struct kchange_found *f = &b->items[i];
		int was_there = hash_set_has(uids, f->uid);
		if (hash_set_has(texts, kchange_found_hash(b, f->text, f->len)) || (!was_there && f->origin == MADE))
			continue;
		moved = 1;
		if (add_line(f, was_there ? "goes with it, and is not as it was" : "goes with it now, and did not",
			     lines, err) < 0)
			return -1;
	}
	return moved;
}

int kchange_beside_moved(const struct kchange_beside *b, const struct kchange_plan *plan, struct buf *lines,
			 struct sbx_error *err)
{
	struct hash_set texts = {.slots = NULL}, uids = {.slots = NULL};
	int was_whole, moved;

	moved = read_planned(b, plan, &texts, &uids, &was_whole, err);
	if (moved == 0)
		moved = compare(b, &texts, &uids, lines, err);
	hash_set_clear(&texts);
	hash_set_clear(&uids);
	if (moved >= 0 && was_whole && !b->is_whole)
		return buf_add_str(lines, "what goes with it cannot be seen any more\n", err) < 0 ? -1 : 1;
	return moved;
}
