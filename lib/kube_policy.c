/* One policy is enough: those beside it can only add destinations for what they select. */
#include "kube_policy.h"

#include <string.h>

static int is_empty(jv object, const char *key)
{
	auto_jv value = json_get(object, key);

	return !jv_is_valid(value) || jv_get_kind(value) == JV_KIND_NULL || json_length(value) == 0;
}

static int has_type(jv spec, const char *type)
{
	auto_jv list = json_array(spec, "policyTypes");

	for (int i = 0, n = json_length(list); i < n; i++) {
		auto_jv entry = json_at(list, i);
		if (json_text(entry) != NULL && strcmp(json_text(entry), type) == 0)
			return 1;
	}
	return 0;
}

static int closes(jv policy)
{
	auto_jv spec = json_object(policy, "spec"), selector = json_object(spec, "podSelector");

	return jv_is_valid(selector) && is_empty(selector, "matchLabels") && is_empty(selector, "matchExpressions") &&
	       has_type(spec, "Egress") && has_type(spec, "Ingress") && is_empty(spec, "egress") &&
	       is_empty(spec, "ingress");
}

int kube_policy_closed(jv list, struct sbx_error *err)
{
	auto_jv items = json_array(list, "items");

	for (int i = 0, n = json_length(items); i < n; i++) {
		auto_jv policy = json_at(items, i);
		if (closes(policy))
			return 0;
	}
	sbx_fail(err, SBX_CONFIG, "policy_missing", "no network policy closes the namespace of the sandboxes");
	return sbx_hint(err, "make up applies the policies of cluster/; kubectl get networkpolicies shows them");
}
