/* The kinds of objects that a change may be about, where they stand on an API server, and what may be done to them. A
 * kind that is not here is refused: a Secret, the definition of a kind and its objects, and whatever holds for the
 * whole cluster. */
#ifndef SBX_KCHANGE_KIND_H
#define SBX_KCHANGE_KIND_H

#include "buf.h"

enum kchange_verb {
	KCHANGE_SCALE,
	KCHANGE_RESTART,
	KCHANGE_APPLY,
	KCHANGE_DELETE,
	KCHANGE_CORDON,
	KCHANGE_UNCORDON,
	KCHANGE_DRAIN,
	KCHANGE_VERBS
};
/* "scale", …; and the verb of a word, -1 for none. */
const char *kchange_verb_name(enum kchange_verb verb);
int kchange_verb_of(const char *word);

struct kchange_kind {
	const char *kind, *group, *version, *plural; /* group "": the core's */
	enum kchange_place { KCHANGE_IN_NAMESPACE, KCHANGE_IN_CLUSTER } place;
	unsigned may; /* bits: 1 << enum kchange_verb */
};

/* The kind that is called so; NULL: there is none. And the same with its group and version. */
const struct kchange_kind *kchange_kind_find(const char *kind);
const struct kchange_kind *kchange_kind_find_in(const char *kind, const char *api_version);

/* "kind_refused" (65) when VERB may not be done to what is called KIND. */
const struct kchange_kind *kchange_kind_for(const char *kind, enum kchange_verb verb, struct sbx_error *err);

/* Append the path of all of KIND (in SPACE; "" for all of the cluster), or of one; and "apps/v1", "v1". */
int kchange_kind_path(struct buf *out, const struct kchange_kind *kind, const char *space, const char *name,
		      struct sbx_error *err);
int kchange_kind_version(struct buf *out, const struct kchange_kind *kind, struct sbx_error *err);

#endif
