/* Limits and rights of the processes in a sandbox, taken on by the child itself before it starts sbx-entry. */
#ifndef SBX_ISOLATE_LIMITS_H
#define SBX_ISOLATE_LIMITS_H

#include "isolate.h"
#include "isolate_sys.h"

/* Resource limits: no core, data per process, processes, open files, file size. */
int isolate_limits(const struct isolate *what, struct isolate_failure *f);

/* No capability, neither now nor by any exec: every set emptied, the bounding set too, and no_new_privs. */
int isolate_privileges(struct isolate_failure *f);

/* An extra wall behind the mounts: writing only where a step may write, no TCP but to the ports of what->listen, no abstract socket or signal out.
 * Returns the ABI level used, 0 where the kernel has no Landlock. */
int isolate_landlock(const struct isolate *what, struct isolate_failure *f);

#endif
