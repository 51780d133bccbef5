/* Reading a plan: strictly, for what it says is sent. */
#include "kchange_plan.h"

#include <string.h>

#include "io.h"
#include "limit.h"

static int malformed(struct sbx_error *err, const char *what)
{
	return sbx_fail(err, SBX_BAD_REQUEST, "plan_malformed", "the plan has %s", what);
}

void kchange_plan_init(struct kchange_plan *plan)
{
	*plan = (struct kchange_plan){.verb = KCHANGE_VERBS};
	plan_tree_init(&plan->tree);
}

void kchange_plan_clear(struct kchange_plan *plan)
{
	plan_tree_clear(&plan->tree);
}

/* The member NAME of OBJECT, of kind KIND; *COUNT says how many were found. */
static const struct plan_node *member(const struct kchange_plan *plan, const struct plan_node *object, const char *name,
				      enum plan_kind kind, unsigned *count)
{
	const struct plan_node *node = plan_tree_member(&plan->tree, object, name, strlen(name));

	*count += node != NULL;
	return node != NULL && node->kind == kind ? node : NULL;
}

static unsigned count_members(const struct plan_tree *tree, const struct plan_node *object)
{
	unsigned count = 0;

	for (const struct plan_node *m = plan_tree_first(tree, object); m != NULL;
	     m = plan_tree_behind(tree, object, m))
		count++;
	return count;
}

/* A text, or null, which is "". */
static int read_maybe(const struct kchange_plan *plan, const struct plan_node *object, const char *name, char *out,
		      size_t size)
{
	const struct plan_node *node = plan_tree_member(&plan->tree, object, name, strlen(name));

	out[0] = '\0';
	return node != NULL && node->kind == PLAN_NULL ? 0 : kchange_text(&plan->tree, node, out, size);
}

static int read_head(struct kchange_plan *plan, struct sbx_error *err)
{
	const struct plan_tree *tree = &plan->tree;
	const struct plan_node *root = plan_tree_root(tree);
	char word[sizeof KCHANGE_FORMAT];
	unsigned count = 0;

	const struct plan_node *format = member(plan, root, "format", PLAN_STRING, &count),
			       *change = member(plan, root, "change", PLAN_STRING, &count),
			       *cluster = member(plan, root, "cluster", PLAN_OBJECT, &count);
	plan->objects = member(plan, root, "objects", PLAN_ARRAY, &count);
	plan->requests = member(plan, root, "requests", PLAN_ARRAY, &count);
	if (kchange_text(tree, format, word, sizeof word) < 0 || strcmp(word, KCHANGE_FORMAT) != 0)
		return malformed(err, "another format than " KCHANGE_FORMAT);
	int verb = kchange_text(tree, change, word, sizeof word) < 0 ? -1 : kchange_verb_of(word);
	if (verb < 0 || cluster == NULL || plan->objects == NULL || plan->requests == NULL ||
	    count_members(tree, root) != count || count_members(tree, cluster) != 3 ||
	    read_maybe(plan, cluster, "server", plan->server, sizeof plan->server) < 0 ||
	    read_maybe(plan, cluster, "ca_sha256", plan->ca, sizeof plan->ca) < 0 ||
	    read_maybe(plan, cluster, "uid", plan->uid, sizeof plan->uid) < 0)
		return malformed(err, "not the members of its format");
	plan->verb = (enum kchange_verb)verb;
	return 0;
}

/* Every change of it, before anything is done with one. */
static int read_steps(const struct kchange_plan *plan, struct sbx_error *err)
{
	struct kchange_step step;
	uint32_t count = 0;
	int more;

	kchange_step_init(&step);
	while ((more = kchange_plan_step(plan, count, &step, err)) == 1)
		count++;
	kchange_step_clear(&step);
	return more;
}

int kchange_plan_read(struct kchange_plan *plan, int fd, struct sbx_error *err)
{
	auto_free char *text = NULL;
	size_t len;

	if (io_read_all(fd, LIMIT_CHANGE, &text, &len, err) < 0 || plan_tree_parse(&plan->tree, text, len, err) < 0)
		return -1;
	return read_head(plan, err) < 0 ? -1 : read_steps(plan, err);
}

int kchange_plan_line(struct buf *out, const struct kchange_plan *plan, const struct plan_node *node,
		      struct sbx_error *err)
{
	return plan_tree_write(out, &plan->tree, node, NULL, NULL, err) < 0 ? -1 : buf_add(out, "\n", 1, err);
}

/* --- a change of it --- */

void kchange_step_init(struct kchange_step *step)
{
	*step = (struct kchange_step){.is_live = 0};
	kchange_object_init(&step->live);
	kchange_request_init(&step->request);
}

void kchange_step_clear(struct kchange_step *step)
{
	kchange_object_clear(&step->live);
	kchange_request_clear(&step->request);
}

/* Which object NODE is; its names go to STEP. */
static int read_name(struct kchange_step *step, const struct plan_tree *tree, const struct plan_node *node,
		     struct sbx_error *err)
{
	const struct plan_node *metadata = plan_tree_member(tree, node, "metadata", 8);
	const struct plan_node *space = plan_tree_member(tree, metadata, "namespace", 9);
	char version[128];

	step->space[0] = '\0';
	if (kchange_text(tree, plan_tree_member(tree, node, "kind", 4), step->kind, sizeof step->kind) < 0 ||
	    kchange_text(tree, plan_tree_member(tree, node, "apiVersion", 10), version, sizeof version) < 0 ||
	    kchange_text(tree, plan_tree_member(tree, metadata, "name", 4), step->text, sizeof step->text) < 0 ||
	    (space != NULL && kchange_text(tree, space, step->space, sizeof step->space) < 0))
		return malformed(err, "an object without a name");
	const struct kchange_kind *kind = kchange_kind_find_in(step->kind, version);
	if (kind == NULL || !kchange_is_name(step->text) ||
	    (kind->place == KCHANGE_IN_NAMESPACE ? !kchange_is_name(step->space) : space != NULL))
		return malformed(err, "an object that no change is made to");
	step->name = (struct kchange_name){.kind = kind, .space = step->space, .name = step->text};
	return 0;
}

/* A copy of NODE as a tree of its own. */
static int copy_tree(struct plan_tree *to, const struct plan_tree *tree, const struct plan_node *node,
		     struct sbx_error *err)
{
	auto_buf text = BUF_INIT(LIMIT_CHANGE);

	return plan_tree_write(&text, tree, node, NULL, NULL, err) < 0 ? -1
								       : plan_tree_parse(to, text.data, text.len, err);
}

/* The copies that an object is to have; 0 where it says nothing of any. */
static int64_t replicas_of(const struct plan_tree *tree, const struct plan_node *object)
{
	const struct plan_node *spec = plan_tree_member(tree, object, "spec", 4),
			       *node = plan_tree_member(tree, spec, "replicas", 8);
	char digits[16];
	uint64_t number;

	if (node == NULL || node->kind != PLAN_NUMBER || node->len >= sizeof digits)
		return 0;
	memcpy(digits, plan_tree_text(tree, node), node->len);
	digits[node->len] = '\0';
	return io_parse_u64(digits, 0, INT32_MAX, &number) == 0 ? (int64_t)number : 0;
}

int kchange_plan_step(const struct kchange_plan *plan, uint32_t number, struct kchange_step *step,
		      struct sbx_error *err)
{
	const struct plan_tree *tree = &plan->tree;
	const struct plan_node *entry = plan_tree_element(tree, plan->objects, number),
			       *request = plan_tree_element(tree, plan->requests, number);
	const struct plan_node *live = plan_tree_member(tree, entry, "live", 4),
			       *planned = plan_tree_member(tree, entry, "planned", 7);
	struct sbx_error why = SBX_ERROR_INIT;

	kchange_step_clear(step);
	kchange_step_init(step);
	if (live == NULL || planned == NULL)
		return number == 0 || request != NULL ? malformed(err, "a request that shows nothing") : 0;
	step->is_live = live->kind == PLAN_OBJECT;
	if (read_name(step, tree, step->is_live ? live : planned, err) < 0)
		return -1;
	if (step->is_live && (copy_tree(&step->live.tree, tree, live, err) < 0 ||
			      kchange_object_read(&step->live, &step->name, &why) < 0))
		return malformed(err, "an object that is not as the server gave it");
	step->has_request = request != NULL;
	if (!step->has_request)
		return plan_tree_equal(tree, live, tree, planned) ? 1 : malformed(err, "a change without a request");
	if (kchange_request_read(&step->request, tree, request, err) < 0 ||
	    kchange_request_fits(&step->request, plan->verb, &step->name, step->is_live ? &step->live : NULL,
				 replicas_of(tree, planned), err) < 0)
		return -1;
	return 1;
}

int kchange_plan_planned(const struct kchange_plan *plan, uint32_t number, struct plan_tree *to, struct sbx_error *err)
{
	const struct plan_tree *tree = &plan->tree;
	const struct plan_node *entry = plan_tree_element(tree, plan->objects, number),
			       *planned = plan_tree_member(tree, entry, "planned", 7);

	plan_tree_reset(to);
	return planned == NULL || planned->kind != PLAN_OBJECT ? 0 : copy_tree(to, tree, planned, err);
}

static int other(struct sbx_error *err, const char *what)
{
	return sbx_fail(err, SBX_BAD_REQUEST, "other_cluster", "the plan is for a cluster of another %s", what);
}

int kchange_plan_is_for(const struct kchange_plan *plan, struct kchange_server *server, struct sbx_error *err)
{
	char uid[KCHANGE_UID_SIZE];

	if (strcmp(plan->server, server->access.server) != 0)
		return other(err, "address");
	if (strcmp(plan->ca, server->ca) != 0)
		return other(err, "authority");
	if (plan->uid[0] == '\0')
		return 0;
	if (kchange_cluster_uid(server, uid, err) < 0)
		return -1;
	return strcmp(plan->uid, uid) == 0 ? 0 : other(err, "identity");
}
