/* Which object of a cluster a JSON value is. */
#ifndef SBX_KPLAN_OBJECT_H
#define SBX_KPLAN_OBJECT_H

#include "plan_tree.h"

struct kplan_object {
	int there;	    /* 0: there is none; everything else is empty then */
	struct buf type;    /* Kind.group, and Kind where the group is the core's */
	struct buf version; /* within the group */
	struct buf space;   /* its namespace; empty: it is in none */
	struct buf name, uid;
	struct buf address; /* namespace/Kind.group/name, Kind.group/name */
};

void kplan_object_init(struct kplan_object *object);
void kplan_object_clear(struct kplan_object *object);
void kplan_object_reset(struct kplan_object *object);

/* Of the root of TREE: "plan_malformed" (65) when it is no one object with names as the API gives them (apiVersion,
 * kind, metadata.name; metadata.namespace and .uid where they are), a list of objects among these. */
int kplan_object_read(struct kplan_object *object, const struct plan_tree *tree, struct sbx_error *err);

/* 1 when both are the same object, whatever its version and uid; when two texts are equal; when one is exactly WORD. */
int kplan_object_same(const struct kplan_object *a, const struct kplan_object *b);
int kplan_text_same(const struct buf *a, const struct buf *b);
int kplan_text_is(const struct buf *text, const char *word);

/* The value at names from the root of TREE, the last of which is followed by NULL; NULL: nothing. */
const struct plan_node *kplan_at(const struct plan_tree *tree, const char *const *names);

#endif
