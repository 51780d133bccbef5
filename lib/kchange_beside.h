/* What goes with an object that is deleted: what it owns, all that a namespace holds, and the volumes of claims among
 * these, whether they are retained or not. */
#ifndef SBX_KCHANGE_BESIDE_H
#define SBX_KCHANGE_BESIDE_H

#include "hash_set.h"
#include "kchange_plan.h"
#include "key_hash.h"

struct kchange_beside {
	struct key_seed seed;
	struct kchange_found *items; /* owned; in the order of their texts */
	size_t count, cap;
	struct hash_set seen, going; /* of uids */
	int is_whole;		     /* 0: some lists were not to be seen, so there may be more */
};
void kchange_beside_init(struct kchange_beside *beside);
void kchange_beside_clear(struct kchange_beside *beside);

/* Fill BESIDE (initialised) with what goes with LIVE, an object of NAME. "too_large" (65), and the errors of
 * kchange_list. */
int kchange_beside_gather(struct kchange_server *server, const struct kchange_name *name,
			  const struct kchange_object *live, struct kchange_beside *beside, struct sbx_error *err);

/* Add it to DRAFT; of an object its name, uid and owners, of a volume its claim and what becomes of it too. */
int kchange_beside_add(const struct kchange_beside *beside, struct kchange_draft *draft, struct sbx_error *err);

/* 1 when BESIDE (now) has something that does not stand in PLAN so: an object that is not the same, or one more, but
 * for those that a controller makes by itself and that hold no data. LINES says which. What is gone already is no
 * matter. */
int kchange_beside_moved(const struct kchange_beside *beside, const struct kchange_plan *plan, struct buf *lines,
			 struct sbx_error *err);

#endif
