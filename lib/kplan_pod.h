/* The pods that an object runs: where their specification stands in it. */
#ifndef SBX_KPLAN_POD_H
#define SBX_KPLAN_POD_H

#include "kplan_object.h"
#include "plan_place.h"

/* A part of an object, and the way to it. */
enum { KPLAN_POD_WAY = 7 };
struct kplan_part {
	const struct plan_node *node; /* NULL: there is none */
	struct plan_place way[KPLAN_POD_WAY];
	unsigned count;
};

/* The specification of the pods of TREE, an object of type TYPE: that of a Pod, or whatever has containers where the
 * workloads of Kubernetes have a template. */
struct kplan_part kplan_pod_find(const struct plan_tree *tree, const struct buf *type);

/* Containers that are looked at in one list; more than any pod has. */
enum { KPLAN_CONTAINERS = 256 };

/* The lists of containers of a pod, by number: containers, initContainers, ephemeralContainers. */
enum { KPLAN_LISTS = 3 };
const char *kplan_pod_list(unsigned number);

/* The container of LIST (NULL: none) with the name of CONTAINER in OF; NULL. */
const struct plan_node *kplan_pod_container(const struct plan_tree *tree, const struct plan_node *list,
					    const struct plan_tree *of, const struct plan_node *container,
					    uint32_t *index);

#endif
