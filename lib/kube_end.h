/* Every end of a sandbox on a cluster that no frame tells, as an error with a code of its own. */
#ifndef SBX_KUBE_END_H
#define SBX_KUBE_END_H

#include "kube_pod.h"

/* WHY a Pod ended, or never began: "out_of_memory", "sandbox_evicted", "image_missing", "sandbox_start", "node_lost",
 * "sandbox_deleted", "cluster_deadline", "unschedulable", "sandbox_died". Those of class 3 leave open what the steps
 * did. */
void kube_why_error(const struct kube_pod *pod, struct sbx_error *why);

/* The same where the Job's events say that no Pod was made: "cluster_quota", "cluster_admission". */
void kube_why_no_pod(const char *said, struct sbx_error *why);

#endif
