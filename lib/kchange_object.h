/* One object of a cluster, as a change sees it: now, and as the server says that it would become. */
#ifndef SBX_KCHANGE_OBJECT_H
#define SBX_KCHANGE_OBJECT_H

#include "kchange_kind.h"
#include "kchange_server.h"
#include "kplan_object.h"

enum { KCHANGE_NAME_SIZE = 254, KCHANGE_VERSION_SIZE = 65 };

/* The object that a change is about. SPACE is "" for one of the whole cluster. */
struct kchange_name {
	const struct kchange_kind *kind;
	const char *space, *name; /* borrowed */
};

/* Append its address as sbx-plan writes it: namespace/Kind.group/name. */
int kchange_name_write(struct buf *out, const struct kchange_name *name, struct sbx_error *err);

/* 1 when TEXT is a name that is safe as a part of a path: of letters, digits, '-' and '.' (RFC 1123), also in front and
 * at its end. */
int kchange_is_name(const char *text);

struct kchange_object {
	struct plan_tree tree;
	struct kplan_object names;
	char version[KCHANGE_VERSION_SIZE]; /* its resourceVersion */
};
void kchange_object_init(struct kchange_object *object);
void kchange_object_clear(struct kchange_object *object);

/* The tree of OBJECT was filled: is it the one that NAME says, with a uid and a resourceVersion of the server's?
 * "cluster_answer" (76). */
int kchange_object_read(struct kchange_object *object, const struct kchange_name *name, struct sbx_error *err);

/* Ask for it: 1, 0 when it is not there, -1. */
int kchange_object_get(struct kchange_server *server, const struct kchange_name *name, struct kchange_object *object,
		       struct sbx_error *err);

/* Append it as JSON (plan_tree_write) without metadata.managedFields, which are large and say who, not what. */
int kchange_object_write(struct buf *out, const struct kchange_object *object, struct sbx_error *err);

/* The same for what the server says that it would become, asked TWICE. Where the two answers differ, the server chose
 * by chance or by its clock, and will choose otherwise when it is done: a text is KCHANGE_CHOSEN then, everything else
 * null. An object that does not exist yet (IS_NEW) has KCHANGE_NO_UID and no time. */
#define KCHANGE_CHOSEN "(chosen by the server)"
#define KCHANGE_NO_UID "00000000-0000-0000-0000-000000000000"
enum kchange_age { KCHANGE_EXISTS, KCHANGE_IS_NEW };
int kchange_object_write_planned(struct buf *out, const struct plan_tree *once, const struct plan_tree *twice,
				 enum kchange_age age, struct sbx_error *err);

#endif
