/* What changed outside of Terraform: whether an entry of resource_drift says that anything did. */
#ifndef SBX_PLAN_DRIFT_H
#define SBX_PLAN_DRIFT_H

#include "plan_change.h"

/* 1 when the values before and after differ in more than the spelling of nothing: the first plan after an apply lists
 * every object whose provider now says {} or "" where it said null, and Terraform 0.15.2 to 1.0.0 list every object. */
int plan_drift_says_something(const struct key_seed *seed, const struct plan_change *change);

#endif
