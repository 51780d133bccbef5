/* A tree as text again. Depth is bounded by that of the text it came from (LIMIT_PLAN_DEPTH). */
#include "plan_tree.h"

#include <string.h>

#include "json_out.h"

struct writing {
	struct buf *out;
	const struct plan_tree *tree;
	plan_editor *edit;
	void *context;
};

static int write_node(const struct writing *w, const struct plan_node *node, struct sbx_error *err);

static int by_name(const void *x, const void *y, void *context)
{
	const struct plan_tree *tree = context;
	const struct plan_node *a = *(const struct plan_node *const *)x, *b = *(const struct plan_node *const *)y;
	size_t least = a->key_len < b->key_len ? a->key_len : b->key_len;
	int order = memcmp(plan_tree_name(tree, a), plan_tree_name(tree, b), least);

	return order != 0 ? order : a->key_len < b->key_len ? -1 : a->key_len > b->key_len;
}

/* The members of OBJECT in their order; *COUNT of them. The caller's; NULL with an error, or when there are none. */
static const struct plan_node **sorted(const struct plan_tree *tree, const struct plan_node *object, size_t *count,
				       struct sbx_error *err)
{
	const struct plan_node **list = NULL, *member = plan_tree_first(tree, object);

	*count = 0;
	for (; member != NULL; member = plan_tree_behind(tree, object, member))
		++*count;
	if (*count == 0)
		return NULL;
	list = reallocarray(NULL, *count, sizeof *list);
	if (list == NULL) {
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		return NULL;
	}
	*count = 0;
	for (member = plan_tree_first(tree, object); member != NULL; member = plan_tree_behind(tree, object, member))
		list[(*count)++] = member;
	qsort_r(list, *count, sizeof *list, by_name, (void *)tree);
	return list;
}

/* One member, with the comma where FIRST does not say that none is due; *FIRST becomes 0 when it was written. */
static int write_member(const struct writing *w, const struct plan_node *member, int *first, struct sbx_error *err)
{
	size_t before = w->out->len;

	if ((!*first && buf_add(w->out, ",", 1, err) < 0) ||
	    json_out_string(w->out, plan_tree_name(w->tree, member), member->key_len, err) < 0 ||
	    buf_add(w->out, ":", 1, err) < 0)
		return -1;
	switch (w->edit != NULL ? w->edit(w->context, member, w->out, err) : PLAN_AS_IT_IS) {
	case PLAN_LEFT_OUT:
		w->out->len = before;
		return 0;
	case PLAN_EDIT_FAILED:
		return -1;
	case PLAN_AS_IT_IS:
		if (write_node(w, member, err) < 0)
			return -1;
		break;
	case PLAN_INSTEAD:
		break;
	}
	*first = 0;
	return 0;
}

static int write_object(const struct writing *w, const struct plan_node *object, struct sbx_error *err)
{
	size_t count;
	auto_free const struct plan_node **list = sorted(w->tree, object, &count, err);
	int first = 1;

	if (err->class != SBX_OK || buf_add(w->out, "{", 1, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (write_member(w, list[i], &first, err) < 0)
			return -1;
	return buf_add(w->out, "}", 1, err);
}

static int write_array(const struct writing *w, const struct plan_node *array, struct sbx_error *err)
{
	const struct plan_node *element = plan_tree_first(w->tree, array);

	if (buf_add(w->out, "[", 1, err) < 0)
		return -1;
	for (int first = 1; element != NULL; element = plan_tree_behind(w->tree, array, element), first = 0) {
		if (!first && buf_add(w->out, ",", 1, err) < 0)
			return -1;
		enum plan_edit how = w->edit != NULL ? w->edit(w->context, element, w->out, err) : PLAN_AS_IT_IS;
		if (how == PLAN_EDIT_FAILED || (how != PLAN_INSTEAD && write_node(w, element, err) < 0))
			return -1;
	}
	return buf_add(w->out, "]", 1, err);
}

static int write_node(const struct writing *w, const struct plan_node *node, struct sbx_error *err)
{
	switch ((enum plan_kind)node->kind) {
	case PLAN_NULL:
		return buf_add_str(w->out, "null", err);
	case PLAN_FALSE:
		return buf_add_str(w->out, "false", err);
	case PLAN_TRUE:
		return buf_add_str(w->out, "true", err);
	case PLAN_NUMBER:
		return buf_add(w->out, plan_tree_text(w->tree, node), node->len, err);
	case PLAN_STRING:
		return json_out_string(w->out, plan_tree_text(w->tree, node), node->len, err);
	case PLAN_ARRAY:
		return write_array(w, node, err);
	case PLAN_OBJECT:
		break;
	}
	return write_object(w, node, err);
}

int plan_tree_write(struct buf *out, const struct plan_tree *tree, const struct plan_node *node, plan_editor *edit,
		    void *context, struct sbx_error *err)
{
	const struct writing w = {.out = out, .tree = tree, .edit = edit, .context = context};

	return write_node(&w, node, err);
}
