/* The trees of truth values beside a change's values: what is sensitive before and after, and what is known after apply
 * only. */
#ifndef SBX_PLAN_MASK_H
#define SBX_PLAN_MASK_H

#include "plan_change.h"
#include "plan_survey.h"
#include "signal_match.h"

/* 1 when something in MASK (a tree of truth values) is true. */
int plan_mask_any(const struct plan_tree *mask);

/* 1 when MASK is true at these places or above them; and the same, or anything below them. */
int plan_mask_covers(const struct plan_tree *mask, const struct plan_place *places, unsigned count);
int plan_mask_touches(const struct plan_tree *mask, const struct plan_place *places, unsigned count);

/* 1 when something that was sensitive stays in the object (or will be known after apply) and is not sensitive any more.
 */
int plan_mask_exposed(const struct plan_change *change);

/* 1 when an argument of the object (configuration address CONFIG) that is no constant is known after apply only. */
int plan_mask_unknown_argument(const struct plan_change *change, const struct plan_survey *survey,
			       const struct key_seed *seed, uint64_t config);

/* What a value that is known after apply only comes from. What the configuration does not describe may have been given
 * anything. */
enum signal_source plan_mask_source(const struct plan_change *change, const struct plan_survey *survey,
				    const struct key_seed *seed, uint64_t config, const struct plan_place *places,
				    unsigned count);

#endif
