/* Is the cluster still what a change was planned with? Changes nothing. */
#ifndef SBX_KCHANGE_CHECK_H
#define SBX_KCHANGE_CHECK_H

#include "kchange_plan.h"

/* 0: it is. -1: "object_moved" (65), LINES says what is different (kchange_moved.h); "other_cluster" (65); or no answer
 * says so, as kchange_ask and kchange_refused. */
int kchange_check(struct kchange_server *server, const struct kchange_plan *plan, struct buf *lines,
		  struct sbx_error *err);

#endif
