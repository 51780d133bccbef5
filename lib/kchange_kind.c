/* The list. */
#include "kchange_kind.h"

#include <string.h>

#include "http.h"

static const char *const verbs[KCHANGE_VERBS] = {"scale", "restart", "apply", "delete", "cordon", "uncordon", "drain"};

enum {
	SCALE = 1 << KCHANGE_SCALE,
	RESTART = 1 << KCHANGE_RESTART,
	APPLY = 1 << KCHANGE_APPLY,
	DELETE = 1 << KCHANGE_DELETE,
	NODE = 1 << KCHANGE_CORDON | 1 << KCHANGE_UNCORDON | 1 << KCHANGE_DRAIN,
};

static const struct kchange_kind kinds[] = {
	{"Deployment", "apps", "v1", "deployments", KCHANGE_IN_NAMESPACE, SCALE | RESTART | APPLY | DELETE},
	{"StatefulSet", "apps", "v1", "statefulsets", KCHANGE_IN_NAMESPACE, SCALE | RESTART | APPLY | DELETE},
	{"DaemonSet", "apps", "v1", "daemonsets", KCHANGE_IN_NAMESPACE, RESTART | APPLY | DELETE},
	{"ReplicaSet", "apps", "v1", "replicasets", KCHANGE_IN_NAMESPACE, SCALE | DELETE},
	{"Pod", "", "v1", "pods", KCHANGE_IN_NAMESPACE, APPLY | DELETE},
	{"Job", "batch", "v1", "jobs", KCHANGE_IN_NAMESPACE, APPLY | DELETE},
	{"CronJob", "batch", "v1", "cronjobs", KCHANGE_IN_NAMESPACE, APPLY | DELETE},
	{"Service", "", "v1", "services", KCHANGE_IN_NAMESPACE, APPLY | DELETE},
	{"ConfigMap", "", "v1", "configmaps", KCHANGE_IN_NAMESPACE, APPLY | DELETE},
	{"PersistentVolumeClaim", "", "v1", "persistentvolumeclaims", KCHANGE_IN_NAMESPACE, APPLY | DELETE},
	{"Ingress", "networking.k8s.io", "v1", "ingresses", KCHANGE_IN_NAMESPACE, APPLY | DELETE},
	{"NetworkPolicy", "networking.k8s.io", "v1", "networkpolicies", KCHANGE_IN_NAMESPACE, APPLY | DELETE},
	{"PodDisruptionBudget", "policy", "v1", "poddisruptionbudgets", KCHANGE_IN_NAMESPACE, APPLY | DELETE},
	{"HorizontalPodAutoscaler", "autoscaling", "v2", "horizontalpodautoscalers", KCHANGE_IN_NAMESPACE,
	 APPLY | DELETE},
	{"ServiceAccount", "", "v1", "serviceaccounts", KCHANGE_IN_NAMESPACE, APPLY | DELETE},
	{"ResourceQuota", "", "v1", "resourcequotas", KCHANGE_IN_NAMESPACE, APPLY | DELETE},
	{"LimitRange", "", "v1", "limitranges", KCHANGE_IN_NAMESPACE, APPLY | DELETE},
	{"Role", "rbac.authorization.k8s.io", "v1", "roles", KCHANGE_IN_NAMESPACE, APPLY | DELETE},
	{"RoleBinding", "rbac.authorization.k8s.io", "v1", "rolebindings", KCHANGE_IN_NAMESPACE, APPLY | DELETE},
	{"Namespace", "", "v1", "namespaces", KCHANGE_IN_CLUSTER, APPLY | DELETE},
	{"PersistentVolume", "", "v1", "persistentvolumes", KCHANGE_IN_CLUSTER, DELETE},
	{"Node", "", "v1", "nodes", KCHANGE_IN_CLUSTER, NODE},
};

const char *kchange_verb_name(enum kchange_verb verb)
{
	return verbs[verb];
}

int kchange_verb_of(const char *word)
{
	for (int i = 0; i < KCHANGE_VERBS; i++)
		if (strcmp(word, verbs[i]) == 0)
			return i;
	return -1;
}

const struct kchange_kind *kchange_kind_find(const char *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			return &kinds[i];
	return NULL;
}

const struct kchange_kind *kchange_kind_find_in(const char *kind, const char *api_version)
{
	const struct kchange_kind *found = kchange_kind_find(kind);
	size_t group = found != NULL ? strlen(found->group) : 0;

	if (found == NULL)
		return NULL;
	if (group > 0) {
		if (strncmp(api_version, found->group, group) != 0 || api_version[group] != '/')
			return NULL;
		api_version += group + 1;
	}
	return strcmp(api_version, found->version) == 0 ? found : NULL;
}

const struct kchange_kind *kchange_kind_for(const char *kind, enum kchange_verb verb, struct sbx_error *err)
{
	const struct kchange_kind *found = kchange_kind_find(kind);
	char quoted[SBX_QUOTE_SIZE];

	if (found != NULL && (found->may & 1U << verb) != 0)
		return found;
	sbx_fail(err, SBX_BAD_REQUEST, "kind_refused", "no %s of %s", verbs[verb],
		 sbx_quote(quoted, kind, strlen(kind)));
	sbx_hint(err, "sbx-change-kubernetes(8) lists the kinds");
	return NULL;
}

int kchange_kind_version(struct buf *out, const struct kchange_kind *kind, struct sbx_error *err)
{
	return kind->group[0] == '\0' ? buf_add_str(out, kind->version, err)
				      : buf_addf(out, err, "%s/%s", kind->group, kind->version);
}

int kchange_kind_path(struct buf *out, const struct kchange_kind *kind, const char *space, const char *name,
		      struct sbx_error *err)
{
	if (buf_addf(out, err, "/api%s/", kind->group[0] == '\0' ? "" : "s") < 0 ||
	    kchange_kind_version(out, kind, err) < 0)
		return -1;
	if (space[0] != '\0' && (buf_add_str(out, "/namespaces/", err) < 0 || http_add_escaped(out, space, err) < 0))
		return -1;
	if (buf_addf(out, err, "/%s", kind->plural) < 0)
		return -1;
	if (name == NULL)
		return 0;
	return buf_add_str(out, "/", err) < 0 ? -1 : http_add_escaped(out, name, err);
}
