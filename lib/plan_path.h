/* Ways to values as texts: spec.replicas, tags["a.b"], ports[0].name. */
#ifndef SBX_PLAN_PATH_H
#define SBX_PLAN_PATH_H

#include "plan_place.h"

/* Bytes of an address, a path or a reason that are kept; the longest real addresses have some 300. */
#define PLAN_TEXT_MAX 512

/* Of a path before it is cut: its keys are as long as the plan's author likes. */
#define PLAN_PATH_MAX ((size_t)3 << 20)

/* One name or index more behind PATH. "no_memory", "too_large". */
int plan_path_add(struct buf *path, const struct plan_place *place, struct sbx_error *err);

/* OUT (emptied) gets TEXT; of more than PLAN_TEXT_MAX bytes the first ones and the digest of all, so that two of them
 * never look the same. */
int plan_path_cut(struct buf *out, const char *text, size_t len, struct sbx_error *err);

#endif
