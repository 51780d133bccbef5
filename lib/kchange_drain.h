/* The pods of a node that is drained: each is evicted, so that disruption budgets hold; those of a DaemonSet, which
 * would come back, and those that the node runs by itself stay. */
#ifndef SBX_KCHANGE_DRAIN_H
#define SBX_KCHANGE_DRAIN_H

#include "kchange_plan.h"

/* Behind the node itself, DRAFT gets an eviction of each pod on NODE and the pods that stay, and SAID a line about each
 * of these. "eviction_refused" (69) when a budget does not allow one now; those of kchange_list; "cluster_forbidden"
 * (77) when the pods of all namespaces are not to be seen. */
int kchange_drain_add(struct kchange_server *server, const char *node, struct kchange_draft *draft, struct buf *said,
		      struct sbx_error *err);

/* 1 when a pod that would be evicted is on NODE and not in PLAN: LINES says which. 0, -1. */
int kchange_drain_moved(struct kchange_server *server, const char *node, const struct kchange_plan *plan,
			struct buf *lines, struct sbx_error *err);

#endif
