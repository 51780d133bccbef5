/* Bodies and paths. */
#include "kchange_request.h"

#include <string.h>

#include "json_out.h"

enum { PATH_SIZE = 1024, QUERY_SIZE = 128 };
static const size_t body_max = (size_t)4 << 20;

/* Strict: a member that this server does not know is an error and not a wish. */
#define AS_SBX "fieldManager=sbx&fieldValidation=Strict"

static const struct form {
	const char *method, *content_type, *query, *doing;
} forms[KCHANGE_FORMS] = {
	[KCHANGE_MERGE] = {"PATCH", "application/merge-patch+json", AS_SBX, "change the object"},
	[KCHANGE_APPLIED] = {"PATCH", "application/apply-patch+yaml", AS_SBX, "apply the object"},
	[KCHANGE_DELETION] = {"DELETE", "application/json", "", "delete the object"},
	[KCHANGE_EVICTION] = {"POST", "application/json", AS_SBX, "evict the pod"},
};

static const char eviction[] = "/eviction";

void kchange_request_init(struct kchange_request *r)
{
	*r = (struct kchange_request){.path = BUF_INIT(PATH_SIZE), .body = BUF_INIT(body_max)};
}

void kchange_request_clear(struct kchange_request *r)
{
	buf_clear(&r->path);
	buf_clear(&r->body);
}

const char *kchange_request_method(const struct kchange_request *r)
{
	return forms[r->form].method;
}

/* --- made --- */

/* "resourceVersion":"…","uid":"…" of LIVE. */
static int add_identity(struct buf *out, const struct kchange_object *live, struct sbx_error *err)
{
	if (json_out_member(out, "resourceVersion", live->version, err) < 0)
		return -1;
	return json_out_member(out, "uid", buf_str(&live->names.uid), err);
}

/* The part of a patch that is the change itself. What a restart writes is the version that it restarts, so that it is
 * another text each time, and the same one for the same object. */
static int add_change(struct buf *out, enum kchange_verb verb, const struct kchange_object *live, int64_t replicas,
		      struct sbx_error *err)
{
	switch (verb) {
	case KCHANGE_SCALE:
		return buf_addf(out, err, "{\"replicas\":%lld}", (long long)replicas);
	case KCHANGE_RESTART:
		return buf_addf(out, err,
				"{\"template\":{\"metadata\":{\"annotations\":{\"sbx/restarted-from\":\"%s\"}}}}",
				live->version);
	case KCHANGE_CORDON:
	case KCHANGE_DRAIN:
		return buf_add_str(out, "{\"unschedulable\":true}", err);
	case KCHANGE_UNCORDON:
		return buf_add_str(out, "{\"unschedulable\":null}", err);
	case KCHANGE_APPLY:
	case KCHANGE_DELETE:
	case KCHANGE_VERBS:
		break;
	}
	return sbx_fail(err, SBX_BUG, "bug", "no patch does this");
}

static int make_deletion(struct kchange_request *r, const struct kchange_object *live, struct sbx_error *err)
{
	r->form = KCHANGE_DELETION;
	if (buf_add_str(&r->body, "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"preconditions\":{", err) < 0 ||
	    add_identity(&r->body, live, err) < 0)
		return -1;
	/* Without it the pods of a Job would be orphaned. */
	return buf_add_str(&r->body, "},\"propagationPolicy\":\"Background\"}", err);
}

int kchange_request_make(struct kchange_request *r, enum kchange_verb verb, const struct kchange_name *name,
			 const struct kchange_object *live, int64_t replicas, struct sbx_error *err)
{
	if (kchange_kind_path(&r->path, name->kind, name->space, name->name, err) < 0)
		return -1;
	if (verb == KCHANGE_DELETE)
		return make_deletion(r, live, err);
	r->form = KCHANGE_MERGE;
	if (buf_add_str(&r->body, "{\"metadata\":{", err) < 0 || add_identity(&r->body, live, err) < 0 ||
	    buf_add_str(&r->body, "},\"spec\":", err) < 0 || add_change(&r->body, verb, live, replicas, err) < 0)
		return -1;
	return buf_add_str(&r->body, "}", err);
}

int kchange_request_evict(struct kchange_request *r, const struct kchange_name *name, const struct kchange_object *pod,
			  struct sbx_error *err)
{
	r->form = KCHANGE_EVICTION;
	if (kchange_kind_path(&r->path, name->kind, name->space, name->name, err) < 0 ||
	    buf_add_str(&r->path, eviction, err) < 0)
		return -1;
	return buf_addf(&r->body, err,
			"{\"apiVersion\":\"policy/v1\",\"deleteOptions\":{\"preconditions\":{\"uid\":\"%s\"}},"
			"\"kind\":\"Eviction\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"}}",
			buf_str(&pod->names.uid), name->name, name->space);
}

/* --- in a plan --- */

int kchange_request_write(struct buf *out, const struct kchange_request *r, struct sbx_error *err)
{
	const struct form *form = &forms[r->form];

	if (buf_add_str(out, "{\"body\":", err) < 0 || buf_add(out, buf_str(&r->body), r->body.len, err) < 0 ||
	    json_out_member(out, "content_type", form->content_type, err) < 0 ||
	    json_out_member(out, "method", form->method, err) < 0 ||
	    json_out_member(out, "path", buf_str(&r->path), err) < 0 ||
	    json_out_member(out, "query", form->query, err) < 0)
		return -1;
	return buf_add_str(out, "}", err);
}

static int malformed(struct sbx_error *err, const char *what)
{
	return sbx_fail(err, SBX_BAD_REQUEST, "plan_malformed", "the plan has %s", what);
}

/* The form of which METHOD, CONTENT_TYPE and QUERY are; evictions and other POSTs differ by their path. */
static int find_form(const char *method, const char *content_type, const char *query)
{
	for (int i = 0; i < KCHANGE_FORMS; i++)
		if (strcmp(forms[i].method, method) == 0 && strcmp(forms[i].content_type, content_type) == 0 &&
		    strcmp(forms[i].query, query) == 0)
			return i;
	return -1;
}

int kchange_request_read(struct kchange_request *r, const struct plan_tree *tree, const struct plan_node *node,
			 struct sbx_error *err)
{
	const struct plan_node *body = plan_tree_member(tree, node, "body", 4);
	char method[8], type[64], query[QUERY_SIZE], path[PATH_SIZE];

	if (kchange_text(tree, plan_tree_member(tree, node, "method", 6), method, sizeof method) < 0 ||
	    kchange_text(tree, plan_tree_member(tree, node, "content_type", 12), type, sizeof type) < 0 ||
	    kchange_text(tree, plan_tree_member(tree, node, "query", 5), query, sizeof query) < 0 ||
	    kchange_text(tree, plan_tree_member(tree, node, "path", 4), path, sizeof path) < 0 || body == NULL ||
	    body->kind != PLAN_OBJECT || find_form(method, type, query) < 0)
		return malformed(err, "a request of no known form");
	r->form = (enum kchange_form)find_form(method, type, query);
	return buf_add_str(&r->path, path, err) < 0 ? -1 : plan_tree_write(&r->body, tree, body, NULL, NULL, err);
}

/* 1 when the member NAME of NODE is exactly TEXT; NULL: there is none. */
static int has_text(const struct plan_tree *tree, const struct plan_node *node, const char *name, const char *text)
{
	const struct plan_node *member = plan_tree_member(tree, node, name, strlen(name));

	if (text == NULL || member == NULL)
		return member == NULL && text == NULL;
	return member->kind == PLAN_STRING && member->len == strlen(text) &&
	       memcmp(plan_tree_text(tree, member), text, member->len) == 0;
}

static int applies_to(const struct plan_tree *tree, const struct kchange_name *name, const struct kchange_object *live,
		      const char *version)
{
	const struct plan_node *root = plan_tree_root(tree), *metadata = plan_tree_member(tree, root, "metadata", 8);

	return has_text(tree, root, "apiVersion", version) && has_text(tree, root, "kind", name->kind->kind) &&
	       has_text(tree, metadata, "name", name->name) &&
	       has_text(tree, metadata, "namespace", name->space[0] != '\0' ? name->space : NULL) &&
	       has_text(tree, metadata, "uid", live != NULL ? buf_str(&live->names.uid) : NULL) &&
	       has_text(tree, metadata, "resourceVersion", live != NULL ? live->version : KCHANGE_NO_VERSION);
}

static int fits_manifest(const struct kchange_request *r, const struct kchange_name *name,
			 const struct kchange_object *live, struct sbx_error *err)
{
	auto_buf path = BUF_INIT(PATH_SIZE), version = BUF_INIT(PATH_SIZE);
	struct plan_tree tree;
	int fits = -1;

	plan_tree_init(&tree);
	if (kchange_kind_path(&path, name->kind, name->space, name->name, err) == 0 &&
	    kchange_kind_version(&version, name->kind, err) == 0 &&
	    plan_tree_parse(&tree, buf_str(&r->body), r->body.len, err) == 0)
		fits = kplan_text_same(&path, &r->path) && applies_to(&tree, name, live, buf_str(&version));
	plan_tree_clear(&tree);
	return fits;
}

/* Made once more, it is the same. */
static int fits_verb(const struct kchange_request *r, enum kchange_verb verb, const struct kchange_name *name,
		     const struct kchange_object *live, int64_t replicas, struct sbx_error *err)
{
	int is_eviction = verb == KCHANGE_DRAIN && strcmp(name->kind->kind, "Pod") == 0;
	struct kchange_request made;
	int fits = -1;

	if (live == NULL || (!is_eviction && (name->kind->may & 1U << verb) == 0))
		return 0;
	kchange_request_init(&made);
	if ((is_eviction ? kchange_request_evict(&made, name, live, err)
			 : kchange_request_make(&made, verb, name, live, replicas, err)) == 0)
		fits = made.form == r->form && kplan_text_same(&made.path, &r->path) &&
		       kplan_text_same(&made.body, &r->body);
	kchange_request_clear(&made);
	return fits;
}

int kchange_request_fits(const struct kchange_request *r, enum kchange_verb verb, const struct kchange_name *name,
			 const struct kchange_object *live, int64_t replicas, struct sbx_error *err)
{
	int fits = verb != KCHANGE_APPLY	? fits_verb(r, verb, name, live, replicas, err)
		   : r->form == KCHANGE_APPLIED ? fits_manifest(r, name, live, err)
						: 0;

	return fits == 0 ? malformed(err, "a request that does something else than it shows") : fits < 0 ? -1 : 0;
}

/* --- as it can be sent now --- */

int kchange_request_leaves(const struct kchange_request *r)
{
	return r->form == KCHANGE_MERGE || r->form == KCHANGE_APPLIED;
}

struct renewal {
	const struct plan_node *node; /* of the version; NULL: there is none */
	const char *version;
};

static enum plan_edit renew(void *context, const struct plan_node *node, struct buf *out, struct sbx_error *err)
{
	const struct renewal *renewal = context;

	if (node != renewal->node)
		return PLAN_AS_IT_IS;
	return json_out_string(out, renewal->version, strlen(renewal->version), err) < 0 ? PLAN_EDIT_FAILED
											 : PLAN_INSTEAD;
}

int kchange_request_renew(struct kchange_request *r, const char *version, struct sbx_error *err)
{
	static const char *const of_object[] = {"metadata", "resourceVersion", NULL}, *const of_deletion[] = {
											      "preconditions",
											      "resourceVersion", NULL};
	auto_buf body = BUF_INIT(body_max);
	struct renewal renewal = {.version = version};
	struct plan_tree tree;
	int result = -1;

	plan_tree_init(&tree);
	if (plan_tree_parse(&tree, buf_str(&r->body), r->body.len, err) == 0) {
		renewal.node = kplan_at(&tree, r->form == KCHANGE_DELETION ? of_deletion : of_object);
		result = plan_tree_write(&body, &tree, plan_tree_root(&tree), renew, &renewal, err);
	}
	plan_tree_clear(&tree);
	if (result < 0)
		return -1;
	buf_reset(&r->body);
	return buf_add(&r->body, buf_str(&body), body.len, err);
}

/* --- sent --- */

int kchange_request_send(struct kchange_server *server, const struct kchange_request *r, enum kchange_run run,
			 struct kchange_answer *answer, struct sbx_error *err)
{
	const struct form *form = &forms[r->form];
	auto_buf query = BUF_INIT(QUERY_SIZE), body = BUF_INIT(body_max + QUERY_SIZE);
	struct kchange_question q = {.doing = form->doing,
				     .method = form->method,
				     .path = buf_str(&r->path),
				     .query = form->query,
				     .content_type = form->content_type,
				     .body = &r->body,
				     .repeat = KCHANGE_ONCE};

	if (run == KCHANGE_FOR_REAL)
		return kchange_ask(server, &q, answer, err);
	/* Of a DELETE that has a body the query is not looked at. */
	if (r->form == KCHANGE_DELETION) {
		if (buf_add_str(&body, "{\"dryRun\":[\"All\"],", err) < 0 ||
		    buf_add(&body, r->body.data + 1, r->body.len - 1, err) < 0)
			return -1;
		q.body = &body;
	} else {
		if (buf_addf(&query, err, "%s&dryRun=All", form->query) < 0)
			return -1;
		q.query = buf_str(&query);
	}
	q.repeat = KCHANGE_AGAIN;
	return kchange_ask(server, &q, answer, err);
}
