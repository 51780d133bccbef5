/* What plan.c, plan_sweep.c and plan_room.c share: what lies in state/plans/ beside the plans themselves, and one look at
 * all of it. Beside them fetched_room.c looks, for what the plans were made with. */
#ifndef SBX_PLAN_KEPT_H
#define SBX_PLAN_KEPT_H

#include "json.h"
#include "state.h"

#define PLAN_HALF_MADE ".new-" /* prefix of a directory that is not whole yet */
#define PLAN_TAKEN ".used-"    /* and of one that a run has taken */
#define PLAN_SWEPT ".swept"    /* its time is when somebody looked last for what has expired */

/* plan_drop_expired, with EACH (may be NULL) for every plan that stays: its directory, and its seal, which is as it was
 * read; nobody has looked at its MAC. */
typedef void plan_stays_fn(int dir_fd, jv seal, void *context);
int plan_drop_expired_of(const struct state *state, plan_stays_fn *each, void *context, struct sbx_error *err);

#endif
