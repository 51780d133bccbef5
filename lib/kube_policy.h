/* Is there a NetworkPolicy that closes a namespace? The probe in the sandbox sees whether one is in force at that
 * moment; this sees that it is meant to stay: an enforcer that is still starting is silent, too, and opens when nothing
 * selects the Pod. */
#ifndef SBX_KUBE_POLICY_H
#define SBX_KUBE_POLICY_H

#include "json.h"

/* LIST is the namespace's NetworkPolicyList. 0 when one selects every Pod, for Egress and Ingress, and allows nothing;
 * "policy_missing" (78). */
int kube_policy_closed(jv list, struct sbx_error *err);

#endif
