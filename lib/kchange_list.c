/* Pages, and aggregated discovery (Kubernetes 1.27 and later). */
#include "kchange_list.h"

#include <string.h>

#include "http_status.h"
#include "kchange_object.h"

/* A page but the last has 500; so many on the average end a list of a server that always has another one. */
enum { PAGE_LEAST = 100 };
enum { QUERY_SIZE = 2048, CONTINUE_SIZE = 1024, WORD_SIZE = 64 };

static const char metadata_alone[] = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
static const char all_kinds[] = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
				"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/* Fill TREE: 1; 0: we may not see it, or it is not there. */
static int get(struct kchange_server *server, const char *path, const char *query, const char *accept,
	       struct plan_tree *tree, struct sbx_error *err)
{
	const struct kchange_question q = {
		.doing = "read a list", .method = "GET", .path = path, .query = query, .accept = accept};
	auto_kchange_answer answer = KCHANGE_ANSWER_INIT;

	plan_tree_reset(tree);
	if (kchange_ask(server, &q, &answer, err) < 0)
		return -1;
	if (answer.status == STATUS_FORBIDDEN || answer.status == STATUS_NOT_FOUND || answer.status == STATUS_NOT_ALLOWED)
		return 0;
	return kchange_answer_read(&answer, q.doing, tree, err) < 0 ? -1 : 1;
}

static int too_many(struct sbx_error *err)
{
	return sbx_fail(err, SBX_BAD_REQUEST, "too_large", "more objects than a person can judge");
}

static int each_item(const struct plan_tree *tree, unsigned *left, kchange_each *each, void *context,
		     struct sbx_error *err)
{
	static const char *const items[] = {"items", NULL};
	const struct plan_node *list = kplan_at(tree, items), *item;
	unsigned count = 0;

	if (list != NULL && list->kind == PLAN_NULL)
		return 0;
	if (list == NULL || list->kind != PLAN_ARRAY)
		return sbx_fail(err, SBX_PROTOCOL, "cluster_answer", "the API server's answer is no list");
	for (item = plan_tree_first(tree, list); item != NULL; item = plan_tree_behind(tree, list, item)) {
		if (count++ == *left)
			return too_many(err);
		if (each(context, tree, item, err) < 0)
			return -1;
	}
	*left -= count;
	return 0;
}

/* The query of the page behind the last one; 0: that was the last. */
static int next_page(const struct plan_tree *tree, const char *selection, struct buf *query, struct sbx_error *err)
{
	static const char *const at[] = {"metadata", "continue", NULL};
	char mark[CONTINUE_SIZE];

	buf_reset(query);
	if (buf_addf(query, err, "limit=500%s%s", selection[0] != '\0' ? "&" : "", selection) < 0)
		return -1;
	if (tree == NULL)
		return 1;
	const struct plan_node *node = kplan_at(tree, at);
	if (node == NULL || node->kind != PLAN_STRING || node->len == 0)
		return 0;
	if (kchange_text(tree, node, mark, sizeof mark) < 0)
		return sbx_fail(err, SBX_PROTOCOL, "cluster_answer", "the API server's answer is no list");
	return buf_add_str(query, "&continue=", err) < 0 || http_add_escaped(query, mark, err) < 0 ? -1 : 1;
}

int kchange_list(struct kchange_server *server, const char *path, const char *selection, enum kchange_part part,
		 unsigned *left, kchange_each *each, void *context, struct sbx_error *err)
{
	const char *accept = part == KCHANGE_METADATA ? metadata_alone : NULL;
	auto_buf query = BUF_INIT(QUERY_SIZE);
	struct plan_tree tree;
	unsigned pages = KCHANGE_LISTED_MAX / PAGE_LEAST;
	int result;

	plan_tree_init(&tree);
	result = next_page(NULL, selection, &query, err);
	while (result == 1) {
		int got = pages-- == 0 ? too_many(err) : get(server, path, buf_str(&query), accept, &tree, err);
		if (got != 1) {
			plan_tree_clear(&tree);
			return got;
		}
		result = each_item(&tree, left, each, context, err) < 0 ? -1 : next_page(&tree, selection, &query, err);
	}
	plan_tree_clear(&tree);
	return result < 0 ? -1 : 1;
}

/* --- kinds --- */

static int has_verb(const struct plan_tree *tree, const struct plan_node *resource, const char *wanted)
{
	const struct plan_node *list = plan_tree_member(tree, resource, "verbs", 5), *verb;
	char word[WORD_SIZE];

	for (verb = plan_tree_first(tree, list); verb != NULL; verb = plan_tree_behind(tree, list, verb))
		if (kchange_text(tree, verb, word, sizeof word) == 0 && strcmp(word, wanted) == 0)
			return 1;
	return 0;
}

/* What goes into paths and into the plan is a name, whoever serves the kind. */
static int is_kind(const struct kchange_served *served)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	return served->kind[strspn(served->kind, letters)] == '\0' && served->kind[0] != '\0' &&
	       kchange_is_name(served->plural);
}

static int read_resource(const struct plan_tree *tree, const struct plan_node *resource, struct kchange_served *served)
{
	const struct plan_node *kind = plan_tree_member(tree, resource, "responseKind", 12);
	char scope[WORD_SIZE];

	return kchange_text(tree, plan_tree_member(tree, resource, "scope", 5), scope, sizeof scope) == 0 &&
	       strcmp(scope, "Namespaced") == 0 && has_verb(tree, resource, "list") &&
	       kchange_text(tree, plan_tree_member(tree, resource, "resource", 8), served->plural,
			    sizeof served->plural) == 0 &&
	       kchange_text(tree, plan_tree_member(tree, kind, "kind", 4), served->kind, sizeof served->kind) == 0;
}

/* The kinds of one group. */
static int each_of_group(const struct plan_tree *tree, const struct plan_node *group, kchange_each_kind *each,
			 void *context, struct sbx_error *err)
{
	const struct plan_node *metadata = plan_tree_member(tree, group, "metadata", 8),
			       *versions = plan_tree_member(tree, group, "versions", 8),
			       *version = plan_tree_first(tree, versions), *resources, *resource;
	struct kchange_served served = {.group = ""};
	char fresh[WORD_SIZE];
	int whole = 1;

	(void)kchange_text(tree, plan_tree_member(tree, metadata, "name", 4), served.group, sizeof served.group);
	for (; version != NULL; version = plan_tree_behind(tree, versions, version)) {
		if (kchange_text(tree, plan_tree_member(tree, version, "version", 7), served.version,
				 sizeof served.version) < 0 ||
		    !kchange_is_name(served.version) || (served.group[0] != '\0' && !kchange_is_name(served.group)))
			return 0;
		(void)kchange_text(tree, plan_tree_member(tree, version, "freshness", 9), fresh, sizeof fresh);
		whole &= strcmp(fresh, "Stale") != 0;
		resources = plan_tree_member(tree, version, "resources", 9);
		resource = plan_tree_first(tree, resources);
		for (; resource != NULL; resource = plan_tree_behind(tree, resources, resource))
			if (read_resource(tree, resource, &served)) {
				if (!is_kind(&served))
					whole = 0;
				else if (each(context, &served, err) < 0)
					return -1;
			}
	}
	return whole;
}

static int each_at(struct kchange_server *server, const char *path, kchange_each_kind *each, void *context,
		   struct sbx_error *err)
{
	static const char *const at_kind[] = {"kind", NULL}, *const items[] = {"items", NULL};
	struct plan_tree tree;
	char kind[WORD_SIZE];
	int whole;

	plan_tree_init(&tree);
	whole = get(server, path, "", all_kinds, &tree, err);
	if (whole == 1) {
		const struct plan_node *list = kplan_at(&tree, items), *group = plan_tree_first(&tree, list);
		/* An older server answers with another list. */
		(void)kchange_text(&tree, kplan_at(&tree, at_kind), kind, sizeof kind);
		whole = strcmp(kind, "APIGroupDiscoveryList") == 0;
		for (int one; whole >= 0 && group != NULL; group = plan_tree_behind(&tree, list, group)) {
			one = each_of_group(&tree, group, each, context, err);
			whole = one < 0 ? -1 : whole & one;
		}
	}
	plan_tree_clear(&tree);
	return whole;
}

int kchange_kinds(struct kchange_server *server, kchange_each_kind *each, void *context, struct sbx_error *err)
{
	int core = each_at(server, "/api", each, context, err);
	int groups = core < 0 ? -1 : each_at(server, "/apis", each, context, err);

	return groups < 0 ? -1 : core & groups;
}
