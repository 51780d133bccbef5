/* Templates of pods. */
#include "kplan_pod.h"

#include <string.h>

static const char *const lists[KPLAN_LISTS] = {"containers", "initContainers", "ephemeralContainers"};

const char *kplan_pod_list(unsigned number)
{
	return lists[number];
}

static struct kplan_part follow(const struct plan_tree *tree, const char *const *names)
{
	struct kplan_part part = {.node = plan_tree_root(tree)};

	for (; part.node != NULL && *names != NULL; names++) {
		part.way[part.count++] = (struct plan_place){.name = *names, .len = strlen(*names)};
		part.node = plan_tree_member(tree, part.node, *names, strlen(*names));
	}
	return part;
}

struct kplan_part kplan_pod_find(const struct plan_tree *tree, const struct buf *type)
{
	static const char *const of_pod[] = {"spec", NULL};
	static const char *const of_others[][KPLAN_POD_WAY] = {
		{"spec", "template", "spec", NULL},
		{"spec", "jobTemplate", "spec", "template", "spec", NULL},
		{"template", "spec", NULL},
	};

	if (kplan_text_is(type, "Pod"))
		return follow(tree, of_pod);
	for (size_t i = 0; i < ARRAY_LEN(of_others); i++) {
		struct kplan_part part = follow(tree, of_others[i]);
		for (unsigned list = 0; list < KPLAN_LISTS; list++)
			if (plan_tree_member(tree, part.node, lists[list], strlen(lists[list])) != NULL)
				return part;
	}
	return (struct kplan_part){.node = NULL};
}

static const struct plan_node *name_of(const struct plan_tree *tree, const struct plan_node *container)
{
	return plan_tree_member(tree, container, "name", 4);
}

const struct plan_node *kplan_pod_container(const struct plan_tree *tree, const struct plan_node *list,
					    const struct plan_tree *of, const struct plan_node *container,
					    uint32_t *index)
{
	const struct plan_node *name = name_of(of, container), *other = plan_tree_first(tree, list);

	for (*index = 0; name != NULL && other != NULL && *index < KPLAN_CONTAINERS;
	     other = plan_tree_behind(tree, list, other), ++*index) {
		const struct plan_node *found = name_of(tree, other);
		if (found != NULL && found->len == name->len &&
		    memcmp(plan_tree_text(tree, found), plan_tree_text(of, name), name->len) == 0)
			return other;
	}
	return NULL;
}
