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

/* "resourceVersion":"…","uid":"…" of LIVE; of a node the uid alone. */
static int add_identity(struct buf *out, const struct kchange_kind *kind, const struct kchange_object *live,
			struct sbx_error *err)
{
	if (strcmp(kind->kind, "Node") != 0 && json_out_member(out, "resourceVersion", live->version, err) < 0)
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

static int make_deletion(struct kchange_request *r, const struct kchange_name *name, const struct kchange_object *live,
			 struct sbx_error *err)
{
	r->form = KCHANGE_DELETION;
	if (buf_add_str(&r->body, "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"preconditions\":{", err) < 0 ||
	    add_identity(&r->body, name->kind, live, err) < 0)
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
		return make_deletion(r, name, live, err);
	r->form = KCHANGE_MERGE;
	if (buf_add_str(&r->body, "{\"metadata\":{", err) < 0 || add_identity(&r->body, name->kind, live, err) < 0 ||
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

/* What the body takes for granted. */
static const char *const *identity_at(enum kchange_form form)
{
	static const char *const metadata[] = {"metadata", NULL}, *const preconditions[] = {"preconditions", NULL},
				 *const of_eviction[] = {"deleteOptions", "preconditions", NULL};

	return form == KCHANGE_DELETION ? preconditions : form == KCHANGE_EVICTION ? of_eviction : metadata;
}

static int fits_body(const struct kchange_request *r, const struct kchange_name *name,
		     const struct kchange_object *live, struct sbx_error *err)
{
	char uid[KCHANGE_UID_SIZE], version[KCHANGE_VERSION_SIZE];
	struct plan_tree tree;
	int fits = 0;

	plan_tree_init(&tree);
	if (plan_tree_parse(&tree, buf_str(&r->body), r->body.len, err) == 0) {
		const struct plan_node *at = kplan_at(&tree, identity_at(r->form));
		int no_uid = kchange_text(&tree, plan_tree_member(&tree, at, "uid", 3), uid, sizeof uid) < 0;
		int no_version = kchange_text(&tree, plan_tree_member(&tree, at, "resourceVersion", 15), version,
					      sizeof version) < 0;
		if (live == NULL)
			fits = no_uid && strcmp(version, KCHANGE_NO_VERSION) == 0 && r->form == KCHANGE_APPLIED;
		else
			fits = kplan_text_is(&live->names.uid, uid) &&
			       (r->form == KCHANGE_EVICTION || strcmp(name->kind->kind, "Node") == 0
					? no_version
					: strcmp(version, live->version) == 0);
	}
	plan_tree_clear(&tree);
	return fits ? 0 : malformed(err, "a request that does not say which object it is for");
}

int kchange_request_fits(const struct kchange_request *r, const struct kchange_name *name,
			 const struct kchange_object *live, struct sbx_error *err)
{
	auto_buf path = BUF_INIT(PATH_SIZE);

	if (kchange_kind_path(&path, name->kind, name->space, name->name, err) < 0 ||
	    (r->form == KCHANGE_EVICTION && buf_add_str(&path, eviction, err) < 0))
		return -1;
	if (!kplan_text_same(&path, &r->path))
		return malformed(err, "a request for another object than it shows");
	return fits_body(r, name, live, err);
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
