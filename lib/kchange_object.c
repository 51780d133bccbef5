/* Objects out of answers, and as they stand in a plan. */
#include "kchange_object.h"

#include <string.h>

#include "kube_api.h"

enum { PATH_SIZE = 1024 };

int kchange_is_name(const char *text)
{
	size_t len = text != NULL ? strlen(text) : 0;

	return kube_is_name(text) && strchr("-.", text[0]) == NULL && strchr("-.", text[len - 1]) == NULL &&
	       strstr(text, "..") == NULL;
}

int kchange_name_write(struct buf *out, const struct kchange_name *name, struct sbx_error *err)
{
	const char *group = name->kind->group;

	return buf_addf(out, err, "%s%s%s%s%s/%s", name->space, name->space[0] != '\0' ? "/" : "", name->kind->kind,
			group[0] != '\0' ? "." : "", group, name->name);
}

void kchange_object_init(struct kchange_object *object)
{
	plan_tree_init(&object->tree);
	kplan_object_init(&object->names);
	object->version[0] = '\0';
}

void kchange_object_clear(struct kchange_object *object)
{
	plan_tree_clear(&object->tree);
	kplan_object_clear(&object->names);
}

/* 1 when TYPE is Kind.group of KIND. */
static int is_type(const struct buf *type, const struct kchange_kind *kind)
{
	size_t len = strlen(kind->kind), group = strlen(kind->group);
	const char *text = buf_str(type);

	if (group == 0)
		return kplan_text_is(type, kind->kind);
	return type->len == len + 1 + group && memcmp(text, kind->kind, len) == 0 && text[len] == '.' &&
	       memcmp(text + len + 1, kind->group, group) == 0;
}

int kchange_object_read(struct kchange_object *object, const struct kchange_name *name, struct sbx_error *err)
{
	static const char *const at[] = {"metadata", "resourceVersion", NULL};
	const struct kplan_object *names = &object->names;
	struct sbx_error why = SBX_ERROR_INIT;

	if (kplan_object_read(&object->names, &object->tree, &why) == 0 && is_type(&names->type, name->kind) &&
	    kplan_text_is(&names->version, name->kind->version) && kplan_text_is(&names->space, name->space) &&
	    kplan_text_is(&names->name, name->name) && names->uid.len > 0 && names->uid.len < KCHANGE_UID_SIZE &&
	    kchange_text(&object->tree, kplan_at(&object->tree, at), object->version, sizeof object->version) == 0 &&
	    object->version[0] != '\0')
		return 0;
	return sbx_fail(err, SBX_PROTOCOL, "cluster_answer",
			"the API server's answer is not the object it was asked for");
}

int kchange_object_get(struct kchange_server *server, const struct kchange_name *name, struct kchange_object *object,
		       struct sbx_error *err)
{
	auto_buf path = BUF_INIT(PATH_SIZE);

	if (kchange_kind_path(&path, name->kind, name->space, name->name, err) < 0)
		return -1;
	int got = kchange_get(server, buf_str(&path), "read the object", &object->tree, err);
	return got == 1 && kchange_object_read(object, name, err) < 0 ? -1 : got;
}

/* --- as text --- */

struct edits {
	const struct plan_tree *tree;
	const struct plan_node *fields, *time, *uid; /* NULL: none */
	const struct plan_list *chosen;		     /* indexes of nodes, in their order */
};

static int is_chosen(const struct edits *e, const struct plan_node *node)
{
	uint64_t index = (uint64_t)(node - e->tree->nodes);
	size_t low = 0, high = e->chosen != NULL ? e->chosen->count : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (e->chosen->items[middle] == index)
			return 1;
		if (e->chosen->items[middle] < index)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

static enum plan_edit edit(void *context, const struct plan_node *node, struct buf *out, struct sbx_error *err)
{
	const struct edits *e = context;
	const char *instead;

	if (node == e->fields || node == e->time)
		return PLAN_LEFT_OUT;
	if (node == e->uid)
		instead = "\"" KCHANGE_NO_UID "\"";
	else if (is_chosen(e, node))
		instead = node->kind == PLAN_STRING ? "\"" KCHANGE_CHOSEN "\"" : "null";
	else
		return PLAN_AS_IT_IS;
	return buf_add_str(out, instead, err) < 0 ? PLAN_EDIT_FAILED : PLAN_INSTEAD;
}

static const struct plan_node *in_metadata(const struct plan_tree *tree, const char *name)
{
	const char *const names[] = {"metadata", name, NULL};

	return kplan_at(tree, names);
}

int kchange_object_write(struct buf *out, const struct kchange_object *object, struct sbx_error *err)
{
	const struct plan_tree *tree = &object->tree;
	struct edits edits = {.tree = tree, .fields = in_metadata(tree, "managedFields")};

	return plan_tree_write(out, tree, plan_tree_root(tree), edit, &edits, err);
}

/* Nodes below X that Y does not have the same of. */
static int find_chosen(const struct plan_tree *a, const struct plan_node *x, const struct plan_tree *b,
		       const struct plan_node *y, struct plan_list *chosen, struct sbx_error *err)
{
	const struct plan_node *child = plan_tree_first(a, x), *other = plan_tree_first(b, y);
	int is_array = x->kind == PLAN_ARRAY;

	if (plan_tree_equal(a, x, b, y))
		return 0;
	if (y == NULL || x->kind != y->kind || (!is_array && x->kind != PLAN_OBJECT))
		return plan_list_add(chosen, (uint64_t)(x - a->nodes), err);
	for (; child != NULL; child = plan_tree_behind(a, x, child)) {
		if (!is_array)
			other = plan_tree_member(b, y, plan_tree_name(a, child), child->key_len);
		if (find_chosen(a, child, b, other, chosen, err) < 0)
			return -1;
		if (is_array)
			other = plan_tree_behind(b, y, other);
	}
	return 0;
}

int kchange_object_write_planned(struct buf *out, const struct plan_tree *once, const struct plan_tree *twice,
				 enum kchange_age age, struct sbx_error *err)
{
	const struct plan_node *root = plan_tree_root(once);
	struct plan_list chosen = {.items = NULL};
	struct edits edits = {.tree = once, .fields = in_metadata(once, "managedFields"), .chosen = &chosen};
	int result;

	if (age == KCHANGE_IS_NEW) {
		edits.time = in_metadata(once, "creationTimestamp");
		edits.uid = in_metadata(once, "uid");
	}
	result = find_chosen(once, root, twice, plan_tree_root(twice), &chosen, err);
	if (result == 0)
		result = plan_tree_write(out, once, root, edit, &edits, err);
	plan_list_clear(&chosen);
	return result;
}
