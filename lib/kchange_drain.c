/* Pods of a node. */
#include "kchange_drain.h"

#include <string.h>

#include "kchange_list.h"
#include "kchange_moved.h"
#include "limit.h"

enum { QUERY_SIZE = 512 };

struct draining {
	struct kchange_server *server;
	struct kchange_draft *draft;
	struct kchange_draft staying; /* stand behind the others */
	const struct kchange_plan *plan;
	struct buf *said; /* or the lines of what moved */
	int moved;
};

/* Why it stays; NULL: it is evicted. */
static const char *reason_to_stay(const struct plan_tree *tree)
{
	static const char *const mirror[] = {"metadata", "annotations", "kubernetes.io/config.mirror", NULL},
				 *const owners[] = {"metadata", "ownerReferences", NULL};
	const struct plan_node *list = kplan_at(tree, owners), *owner = plan_tree_first(tree, list);
	char kind[64];

	if (kplan_at(tree, mirror) != NULL)
		return "stays: the node runs it by itself";
	for (; owner != NULL; owner = plan_tree_behind(tree, list, owner)) {
		const struct plan_node *controls = plan_tree_member(tree, owner, "controller", 10);
		if (controls != NULL && controls->kind == PLAN_TRUE &&
		    kchange_text(tree, plan_tree_member(tree, owner, "kind", 4), kind, sizeof kind) == 0 &&
		    strcmp(kind, "DaemonSet") == 0)
			return "stays: its DaemonSet would bring it back";
	}
	return NULL;
}

/* A pod out of a list, which leaves out what is the same in each. */
struct pod {
	struct kchange_object object;
	char space[64], text[KCHANGE_NAME_SIZE];
	struct kchange_name name;
};

static int read_pod(struct pod *pod, const struct plan_tree *tree, const struct plan_node *item, struct sbx_error *err)
{
	static const char head[] = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",";
	const struct plan_node *metadata = plan_tree_member(tree, item, "metadata", 8);
	auto_buf inside = BUF_INIT(LIMIT_CHANGE), text = BUF_INIT(LIMIT_CHANGE);

	pod->name = (struct kchange_name){.kind = kchange_kind_find("Pod"), .space = pod->space, .name = pod->text};
	if (plan_tree_member(tree, item, "kind", 4) != NULL ||
	    kchange_text(tree, plan_tree_member(tree, metadata, "name", 4), pod->text, sizeof pod->text) < 0 ||
	    kchange_text(tree, plan_tree_member(tree, metadata, "namespace", 9), pod->space, sizeof pod->space) < 0 ||
	    !kchange_is_name(pod->text) || !kchange_is_name(pod->space))
		return sbx_fail(err, SBX_PROTOCOL, "cluster_answer", "the API server's answer is no list of pods");
	if (plan_tree_write(&inside, tree, item, NULL, NULL, err) < 0 || buf_add_str(&text, head, err) < 0 ||
	    buf_add(&text, inside.data + 1, inside.len - 1, err) < 0 ||
	    plan_tree_parse(&pod->object.tree, text.data, text.len, err) < 0)
		return -1;
	return kchange_object_read(&pod->object, &pod->name, err);
}

static int try_eviction(const struct draining *d, const struct pod *pod, struct sbx_error *err)
{
	auto_kchange_answer answer = KCHANGE_ANSWER_INIT;
	struct kchange_request request;
	int result = -1;

	kchange_request_init(&request);
	if (kchange_request_evict(&request, &pod->name, &pod->object, err) == 0 &&
	    kchange_request_send(d->server, &request, KCHANGE_DRY, &answer, err) == 0 &&
	    kchange_refused(&answer, "evict the pod", err) == 0)
		result = kchange_draft_request(d->draft, &request, err);
	kchange_request_clear(&request);
	return result < 0 ? sbx_wrap(err, "%s/Pod/%s", pod->space, pod->text) : 0;
}

static int add_pod(struct draining *d, const struct pod *pod, struct sbx_error *err)
{
	const char *why = reason_to_stay(&pod->object.tree);
	auto_buf text = BUF_INIT(LIMIT_CHANGE);

	if (kchange_object_write(&text, &pod->object, err) < 0)
		return -1;
	if (why == NULL)
		return try_eviction(d, pod, err) < 0 ? -1 : kchange_draft_entry(d->draft, &text, NULL, err);
	return kchange_moved_line(d->said, &pod->object.names.address, why, err) < 0
		       ? -1
		       : kchange_draft_entry(&d->staying, &text, &text, err);
}

/* 1 when PLAN has an entry of a pod with this uid. */
static int is_planned(const struct kchange_plan *plan, const struct buf *uid)
{
	const struct plan_tree *tree = &plan->tree;
	const struct plan_node *entry = plan_tree_first(tree, plan->objects);

	for (; entry != NULL; entry = plan_tree_behind(tree, plan->objects, entry)) {
		const struct plan_node *live = plan_tree_member(tree, entry, "live", 4),
				       *metadata = plan_tree_member(tree, live, "metadata", 8),
				       *node = plan_tree_member(tree, metadata, "uid", 3);
		if (node != NULL && node->len == uid->len &&
		    memcmp(plan_tree_text(tree, node), buf_str(uid), uid->len) == 0)
			return 1;
	}
	return 0;
}

static int look_for_pod(struct draining *d, const struct pod *pod, struct sbx_error *err)
{
	if (reason_to_stay(&pod->object.tree) != NULL || is_planned(d->plan, &pod->object.names.uid))
		return 0;
	d->moved = 1;
	return kchange_moved_line(d->said, &pod->object.names.address, "is on the node now, and was not", err);
}

static int take_pod(void *context, const struct plan_tree *tree, const struct plan_node *item, struct sbx_error *err)
{
	struct draining *d = context;
	struct pod pod;

	kchange_object_init(&pod.object);
	int result = read_pod(&pod, tree, item, err);
	if (result == 0)
		result = d->plan == NULL ? add_pod(d, &pod, err) : look_for_pod(d, &pod, err);
	kchange_object_clear(&pod.object);
	return result;
}

static int each_pod(struct draining *d, const char *node, struct sbx_error *err)
{
	auto_buf query = BUF_INIT(QUERY_SIZE);
	unsigned left = KCHANGE_LISTED_MAX;

	if (buf_addf(&query, err, "fieldSelector=spec.nodeName%%3D%s", node) < 0)
		return -1;
	int got = kchange_list(d->server, "/api/v1/pods", buf_str(&query), KCHANGE_WHOLE, &left, take_pod, d, err);
	return got != 0 ? got
			: sbx_fail(err, SBX_DENIED, "cluster_forbidden",
				   "cannot list the pods of the node: sbx has no right to");
}

int kchange_drain_add(struct kchange_server *server, const char *node, struct kchange_draft *draft, struct buf *said,
		      struct sbx_error *err)
{
	struct draining d = {.server = server, .draft = draft, .said = said};

	kchange_draft_init(&d.staying);
	int result = each_pod(&d, node, err) < 0 ? -1 : 0;
	if (result == 0 && d.staying.objects.len > 0)
		result = kchange_draft_append(draft, &d.staying, err);
	kchange_draft_clear(&d.staying);
	return result;
}

int kchange_drain_moved(struct kchange_server *server, const char *node, const struct kchange_plan *plan,
			struct buf *lines, struct sbx_error *err)
{
	struct draining d = {.server = server, .plan = plan, .said = lines};

	return each_pod(&d, node, err) < 0 ? -1 : d.moved;
}
