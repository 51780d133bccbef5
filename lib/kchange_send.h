/* The requests of a plan, one after the other, each done once. */
#ifndef SBX_KCHANGE_SEND_H
#define SBX_KCHANGE_SEND_H

#include "kchange_plan.h"

/* What was answered, a line without its line feed; -1 with ERR ends it. */
typedef int kchange_say(void *context, const char *line, struct sbx_error *err);

/* Each object is looked at right before (kchange_fresh.h), but for pods that are evicted, which their uid is enough
 * for; and again where it was written to between that and the request, which the server refused then: a few times.
 * LINES says how one has moved.
 *
 * 0: everything was done. -1: "other_cluster", "object_moved" (65), "eviction_refused" (69; after LIMIT_EVICTIONS_MS of
 * trying), "change_unknown" (3; no answer says whether it was done), or what kchange_refused says. The rest of the
 * requests are not sent then; but what concerns one eviction stops no other. */
int kchange_send(struct kchange_server *server, const struct kchange_plan *plan, kchange_say *say, void *context,
		 struct buf *lines, struct sbx_error *err);

#endif
