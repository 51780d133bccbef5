/* Parts of a tree as trees of their own. */
#ifndef SBX_KPLAN_VIEW_H
#define SBX_KPLAN_VIEW_H

#include "plan_tree.h"

/* The value at a node of another tree, as the root of a tree: nodes of its own, texts of the other. Zeroed is empty,
 * which is "nothing there". Valid as long as the other tree is. */
struct kplan_view {
	struct plan_tree tree; /* owns its nodes alone */
};

/* Make VIEW that of NODE (NULL: empty) of TREE. "no_memory" (71). */
int kplan_view_take(struct kplan_view *view, const struct plan_tree *tree, const struct plan_node *node,
		    struct sbx_error *err);
void kplan_view_clear(struct kplan_view *view);

/* What of an object says something about it: TO (initialised) gets FROM without what the server keeps by itself,
 * metadata.managedFields, .resourceVersion, .generation, .uid, .creationTimestamp and .selfLink, and with STATUS_GOES
 * without status. "no_memory" (71), "too_large" (65). */
enum kplan_status { STATUS_STAYS, STATUS_GOES };
int kplan_prune(struct plan_tree *to, const struct plan_tree *from, enum kplan_status status, struct sbx_error *err);

#endif
