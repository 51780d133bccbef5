/* Room for what is fetched (fetched.h): so many products and bytes of one principal, so many bytes of all; of the principal
 * who has most, what was not used for the longest time goes first. Never goes what a person has put there, what a kept plan was made with, and what a run
 * uses now. */
#ifndef SBX_FETCHED_ROOM_H
#define SBX_FETCHED_ROOM_H

#include "state.h"

/* Make room for one more product of PRINCIPAL with BYTES bytes, in the place of KEY's where there is one.
 * "fetched_full" (69) when there is none. Removes what a crash left, too. Two calls that ask at once may both be let
 * in. */
int fetched_make_room(const struct state *state, const char *principal, uint64_t bytes, const char *key,
		      struct sbx_error *err);

/* Remove what CALL, which is over, has left half made; absent is fine. */
int fetched_forget(const struct state *state, const char *call, struct sbx_error *err);

/* Remove ALL/NAME, which nobody finds any more from its first moment on; what a run still uses, a later look removes.
 */
int fetched_drop(int all, const char *name, struct sbx_error *err);

#endif
