/* One change of a plan right before it is made: is its object still what was judged, and the request as it can be sent
 * now. Changes nothing.
 *
 * Judged was the object without its status (kchange_moved.h), and the version that it had then may be gone long before
 * a person signs. So what is sent names the version that is read and compared here: between this and the request
 * nothing comes without the server's refusing it. Where the version is another one, the server is asked once more what
 * becomes of it, for that depends on who keeps which field, too.
 *
 * Nobody is kept from writing to the status in between, which decides about no finding; from writing fields and their
 * keepers so that the object and what becomes of it are the same; or from changing an object that has no generation
 * there and back, if it has a status. Evictions are compared when they are checked; their requests name a uid alone. */
#ifndef SBX_KCHANGE_FRESH_H
#define SBX_KCHANGE_FRESH_H

#include "kchange_plan.h"

/* Look at the object of STEP, the change NUMBER of PLAN, which has a request. 0: it has not moved, and the request of
 * STEP names its version of now. 1: it has, and LINES says how. -1: those of kchange_ask and kchange_refused. */
int kchange_fresh(struct kchange_server *server, const struct kchange_plan *plan, uint32_t number,
		  struct kchange_step *step, struct buf *lines, struct sbx_error *err);

#endif
