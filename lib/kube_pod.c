/* Reading Pods. The order of the questions is the order of certainty: what the kubelet says of the container comes
 * before what controllers say of the Pod. */
#include "kube_pod.h"

#include <stdio.h>
#include <string.h>

#include "kube_api.h"

static void say(struct kube_pod *pod, enum kube_why why, const char *text)
{
	pod->why = why;
	if (text != NULL)
		kube_printable(text, pod->said, sizeof pod->said);
}

static int is_one_of(const char *text, const char *const *list)
{
	for (; text != NULL && *list != NULL; list++)
		if (strcmp(text, *list) == 0)
			return 1;
	return 0;
}

/* It has not started, and some reasons never pass. */
static void read_waiting(struct kube_pod *pod, jv waiting)
{
	/* One failed pull may be the network's; the back-off says that it failed again. */
	static const char *const image[] = {"ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName", NULL};
	static const char *const start[] = {"CreateContainerError", "CreateContainerConfigError", "RunContainerError",
					    "CrashLoopBackOff", NULL};
	const char *reason = json_str(waiting, "reason"), *message = json_str(waiting, "message");

	if (is_one_of(reason, image))
		say(pod, KUBE_WHY_IMAGE, message);
	else if (is_one_of(reason, start))
		say(pod, KUBE_WHY_START, message);
}

static void read_terminated(struct kube_pod *pod, jv terminated)
{
	static const char *const start[] = {"ContainerCannotRun", "StartError", "CreateContainerError", NULL};
	const char *reason = json_str(terminated, "reason"), *message = json_str(terminated, "message");

	pod->ended = 1;
	if (reason != NULL && strcmp(reason, "OOMKilled") == 0)
		say(pod, KUBE_WHY_MEMORY, message);
	else if (is_one_of(reason, start))
		say(pod, KUBE_WHY_START, message);
	else
		say(pod, KUBE_WHY_EXITED, message);
}

static void read_container(struct kube_pod *pod, jv status)
{
	auto_jv list = json_array(status, "containerStatuses"), first = json_at(list, 0);
	auto_jv state = json_object(first, "state"), waiting = json_object(state, "waiting");
	auto_jv terminated = json_object(state, "terminated");

	if (jv_is_valid(waiting))
		read_waiting(pod, waiting);
	if (jv_is_valid(terminated))
		read_terminated(pod, terminated);
}

/* Reasons that stand on the Pod itself. */
static void read_reason(struct kube_pod *pod, jv status)
{
	const char *phase = json_str(status, "phase"), *reason = json_str(status, "reason");
	const char *message = json_str(status, "message");

	if (phase != NULL && (strcmp(phase, "Failed") == 0 || strcmp(phase, "Succeeded") == 0))
		pod->ended = 1;
	if (reason == NULL)
		return;
	if (strcmp(reason, "Evicted") == 0)
		say(pod, KUBE_WHY_EVICTED, message);
	else if (strcmp(reason, "DeadlineExceeded") == 0)
		say(pod, KUBE_WHY_DEADLINE, message);
	else if (strcmp(reason, "NodeLost") == 0)
		say(pod, KUBE_WHY_NODE, message);
}

static void read_conditions(struct kube_pod *pod, jv status)
{
	auto_jv list = json_array(status, "conditions");

	for (int i = 0, n = json_length(list); i < n; i++) {
		auto_jv condition = json_at(list, i);
		const char *type = json_str(condition, "type"), *value = json_str(condition, "status");
		const char *reason = json_str(condition, "reason"), *message = json_str(condition, "message");
		if (type == NULL || value == NULL)
			continue;
		if (strcmp(type, "PodScheduled") == 0 && strcmp(value, "False") == 0 && !pod->placed)
			say(pod, KUBE_WHY_UNSCHEDULED, message);
		/* Taints, preemption and node pressure announce themselves; a node that went away does it by the
		 * controller. */
		if (strcmp(type, "DisruptionTarget") == 0 && strcmp(value, "True") == 0)
			say(pod,
			    reason != NULL && strcmp(reason, "DeletionByTaintManager") == 0 ? KUBE_WHY_NODE
											    : KUBE_WHY_EVICTED,
			    message);
	}
}

void kube_pod_read(struct kube_pod *to, jv pod)
{
	auto_jv metadata = json_object(pod, "metadata"), spec = json_object(pod, "spec"),
		status = json_object(pod, "status");
	const char *name = json_str(metadata, "name");

	if (name != NULL)
		snprintf(to->name, sizeof to->name, "%s", name);
	to->placed = json_str(spec, "nodeName") != NULL;
	to->why = KUBE_WHY_NONE;
	read_container(to, status);
	read_conditions(to, status);
	read_reason(to, status);
}

static int is_controlled_by(jv metadata, const char *uid)
{
	auto_jv list = json_array(metadata, "ownerReferences");

	for (int i = 0, n = json_length(list); i < n; i++) {
		auto_jv owner = json_at(list, i);
		const char *its = json_str(owner, "uid");
		if (its != NULL && strcmp(its, uid) == 0 && json_bool(owner, "controller") == 1)
			return 1;
	}
	return 0;
}

static int read_line(struct kube_watch *watch, struct sbx_error *err)
{
	auto_jv event = jv_invalid();

	if (watch->line.len == 0)
		return 0;
	if (json_parse_foreign(buf_str(&watch->line), watch->line.len, KUBE_EVENT_MAX, &event, err) < 0)
		return -1;
	const char *type = json_str(event, "type");
	auto_jv object = json_object(event, "object");
	if (type == NULL || !jv_is_valid(object))
		return sbx_fail(err, SBX_PROTOCOL, "cluster_answer",
				"the API server's watch holds something else than events");
	auto_jv metadata = json_object(object, "metadata");
	const char *name = json_str(metadata, "name");
	if (strcmp(type, "ERROR") == 0) {
		watch->again = 1;
		return 0;
	}
	/* A Pod that is being removed may have lost its owner before it was seen again. */
	int is_known = watch->pod.name[0] != '\0' && name != NULL && strcmp(name, watch->pod.name) == 0;
	if (strcmp(type, "BOOKMARK") == 0 ||
	    (!is_known && (watch->pod.name[0] != '\0' || !is_controlled_by(metadata, watch->owner))))
		return 0;
	kube_pod_read(&watch->pod, object);
	if (strcmp(type, "DELETED") == 0) {
		watch->pod.gone = 1;
		if (!watch->pod.ended && watch->pod.why == KUBE_WHY_NONE)
			watch->pod.why = KUBE_WHY_DELETED;
		watch->pod.ended = 1;
	}
	return 0;
}

int kube_watch_feed(void *context, const char *bytes, size_t len, struct sbx_error *err)
{
	struct kube_watch *watch = context;

	while (len > 0) {
		const char *end = memchr(bytes, '\n', len);
		size_t n = end != NULL ? (size_t)(end - bytes) : len;
		if (buf_add(&watch->line, bytes, n, err) < 0)
			return -1;
		if (end == NULL)
			return 0;
		if (read_line(watch, err) < 0)
			return -1;
		buf_reset(&watch->line);
		bytes += n + 1;
		len -= n + 1;
	}
	return 0;
}

void kube_watch_reset(struct kube_watch *watch)
{
	buf_reset(&watch->line);
	watch->again = 0;
}

void kube_watch_clear(struct kube_watch *watch)
{
	buf_clear(&watch->line);
}

void kube_failed_create(jv events, char *said, size_t size)
{
	auto_jv list = json_array(events, "items");

	said[0] = '\0';
	for (int i = 0, n = json_length(list); i < n; i++) {
		auto_jv event = json_at(list, i);
		const char *reason = json_str(event, "reason"), *message = json_str(event, "message");
		/* Whatever else kept a Pod from being made, such as a quota that others changed meanwhile, passes. */
		if (reason != NULL && strcmp(reason, "FailedCreate") == 0 && message != NULL &&
		    strstr(message, "is forbidden") != NULL)
			kube_printable(message, said, size);
	}
}
