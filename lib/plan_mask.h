/* The trees beside a change's values: what is sensitive before and after, what is known after apply only, and which
 * values there are. Of all of them only the paths count. Lists are used again for the next change. */
#ifndef SBX_PLAN_MASK_H
#define SBX_PLAN_MASK_H

#include "limit.h"
#include "plan_scan.h"
#include "plan_survey.h"

/* Hashes of the path to one open level of the tree being read. */
struct plan_level {
	uint64_t path;	/* with indexes */
	uint64_t names; /* without */
	uint64_t index; /* of the next element of an array */
	int array;
};

struct plan_masks {
	struct plan_list after;	       /* paths at which the new value holds something */
	struct plan_list unknown;      /* paths known after apply only, */
	struct plan_list unknown_name; /* and for each the names on the way to it, from the first, closed by 0 */
	struct plan_list before;       /* for each path that was sensitive every path on the way to it, closed by 0 */
	struct plan_list after_mask;   /* paths that will be sensitive */
	struct plan_level levels[LIMIT_PLAN_DEPTH + 1];
	unsigned depth;
};

enum plan_mask { PLAN_MASK_AFTER, PLAN_MASK_UNKNOWN, PLAN_MASK_BEFORE_SENSITIVE, PLAN_MASK_AFTER_SENSITIVE };

/* Right behind the key: read the value as part PART. A mask that holds anything but truth values is "plan_kind". */
int plan_masks_read(struct plan_scan *s, enum plan_mask part, struct plan_masks *masks, struct sbx_error *err);

/* 1 when something that was sensitive stays in the object (or will be known after apply) and is not sensitive any more;
 * 0, or -1 with "no_memory". */
int plan_masks_exposed(const struct plan_masks *masks, struct sbx_error *err);

/* 1 when an argument of the object (configuration address CONFIG) that refers to something is known after apply only.
 */
int plan_masks_unknown_argument(const struct plan_masks *masks, const struct plan_survey *survey,
				const struct key_seed *seed, uint64_t config);

/* Make them empty, keeping the memory; or give it back. */
void plan_masks_reset(struct plan_masks *masks);
void plan_masks_clear(struct plan_masks *masks);

#endif
