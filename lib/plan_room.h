/* Room for kept plans: so many of one principal, and so many bytes. */
#ifndef SBX_PLAN_ROOM_H
#define SBX_PLAN_ROOM_H

#include "state.h"

/* Whether PRINCIPAL may keep one more plan of BYTES bytes: LIMIT_KEPT_PLANS and
 * LIMIT_KEPT_PLAN_BYTES, counted after what has expired was removed. "too_many_plans" (69). Two
 * calls that ask at the same moment may both be let in; there are no more of a principal's at once
 * than its call slots. What a seal says of its owner is believed without its MAC: the count is no
 * authority. */
int plan_make_room(const struct state *state, const char *principal, uint64_t bytes,
		   struct sbx_error *err);

#endif
