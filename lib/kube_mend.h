/* What a killed driver has left on a cluster. */
#ifndef SBX_KUBE_MEND_H
#define SBX_KUBE_MEND_H

#include "kube_api.h"

/* Remove what there is of CALL, and wait until it is gone: "cluster_lingers" (69) when it is not by DEADLINE
 * (clock_mono_ms); the answer to the last question may come 3 s later. */
int kube_mend(const struct kube *kube, const char *call, int64_t deadline, struct sbx_error *err);

#endif
