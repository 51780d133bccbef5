/* Lists of an API server: the objects of one kind, page by page; and which kinds there are. */
#ifndef SBX_KCHANGE_LIST_H
#define SBX_KCHANGE_LIST_H

#include "kchange_server.h"

/* Of every list in a process together: more is not a change that a person can judge. */
enum { KCHANGE_LISTED_MAX = 20000 };

/* One object of a list, at ITEM of TREE. Its kind may not stand in it. -1 ends the list. */
typedef int kchange_each(void *context, const struct plan_tree *tree, const struct plan_node *item,
			 struct sbx_error *err);

/* What comes of each object: all of it, or its name, uid and owners alone. */
enum kchange_part { KCHANGE_WHOLE, KCHANGE_METADATA };

/* Every object at PATH that QUERY selects ("": all): 1; 0: the server does not say, for we have no right to, or it has
 * no such list; -1. *LEFT is how many may still come, and becomes less: "too_large" (65). */
int kchange_list(struct kchange_server *server, const char *path, const char *query, enum kchange_part part,
		 unsigned *left, kchange_each *each, void *context, struct sbx_error *err);

/* A kind that is in namespaces and can be listed. */
struct kchange_served {
	char group[254], version[64], kind[64], plural[64];
};
typedef int kchange_each_kind(void *context, const struct kchange_served *served, struct sbx_error *err);

/* Every such kind, in every version: 1; 0: the server does not say all of them, or calls one by what is no name; -1. */
int kchange_kinds(struct kchange_server *server, kchange_each_kind *each, void *context, struct sbx_error *err);

#endif
