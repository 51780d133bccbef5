/* What to do about a machine on which no sandbox can be made. */
#ifndef SBX_ISOLATE_REMEDY_H
#define SBX_ISOLATE_REMEDY_H

#include "error.h"
#include "isolate_sys.h"

/* Fill ERR with "cannot_isolate" (69): the failing step, and the remedy as far as the kernel's settings tell it.
 * Returns -1. */
int isolate_remedy(const struct isolate_failure *f, struct sbx_error *err);

#endif
