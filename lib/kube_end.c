/* A table of ends. */
#include "kube_end.h"

#include <string.h>

static void tell(const struct kube_pod *pod, struct sbx_error *why, const char *hint)
{
	if (pod->said[0] != '\0')
		sbx_hint(why, "the cluster says: %s", pod->said);
	else if (hint != NULL)
		sbx_hint(why, "%s", hint);
}

void kube_why_error(const struct kube_pod *pod, struct sbx_error *why)
{
	const char *hint = NULL;

	switch (pod->why) {
	case KUBE_WHY_MEMORY:
		sbx_fail(why, SBX_COMMAND_FAILED, "out_of_memory",
			 "the sandbox was killed because it used all its memory");
		hint = "give the tool more: limits: {memory: …}";
		break;
	case KUBE_WHY_DEADLINE:
		sbx_fail(why, SBX_OUTCOME_UNKNOWN, "cluster_deadline",
			 "the cluster ended the sandbox because its time was over");
		break;
	case KUBE_WHY_EVICTED:
		sbx_fail(why, SBX_OUTCOME_UNKNOWN, "sandbox_evicted", "the cluster took the sandbox off its node");
		break;
	case KUBE_WHY_IMAGE:
		sbx_fail(why, SBX_CONFIG, "image_missing", "the sandbox's image cannot be had");
		hint = "drivers.kubernetes.image in sbx.yaml";
		break;
	case KUBE_WHY_START:
		sbx_fail(why, SBX_UNAVAILABLE, "sandbox_start", "the node cannot start the sandbox");
		break;
	case KUBE_WHY_NODE:
		sbx_fail(why, SBX_OUTCOME_UNKNOWN, "node_lost", "the sandbox's node is gone");
		break;
	case KUBE_WHY_DELETED:
		sbx_fail(why, SBX_OUTCOME_UNKNOWN, "sandbox_deleted", "somebody deleted the sandbox while it ran");
		break;
	case KUBE_WHY_UNSCHEDULED:
		sbx_fail(why, SBX_UNAVAILABLE, "unschedulable", "no node takes the sandbox");
		break;
	case KUBE_WHY_EXITED:
	case KUBE_WHY_NONE:
		sbx_fail(why, SBX_OUTCOME_UNKNOWN, "sandbox_died", "the sandbox ended without its last word");
		break;
	}
	tell(pod, why, hint);
}

void kube_why_no_pod(const char *said, struct sbx_error *why)
{
	if (strstr(said, "exceeded quota") != NULL)
		sbx_fail(why, SBX_UNAVAILABLE, "cluster_quota",
			 "no room for the sandbox: the namespace's quota is used up");
	else
		sbx_fail(why, SBX_DENIED, "cluster_admission", "the cluster does not admit the sandbox's Pod");
	sbx_hint(why, "the cluster says: %s", said);
}
