/* Each change in turn. */
#include "kchange_preview.h"

#include <string.h>

#include "kchange_beside.h"
#include "kchange_drain.h"
#include "kchange_manifest.h"
#include "limit.h"

/* Where the object of WISH is; its kind is one to which VERB is done. A namespace may be named as the one that it is
 * in.
 */
static int find_name(const struct kchange_wish *wish, struct kchange_name *name, struct sbx_error *err)
{
	const struct kchange_kind *kind = kchange_kind_for(wish->kind, wish->verb, err);

	if (kind == NULL)
		return -1;
	*name = (struct kchange_name){.kind = kind, .space = "", .name = wish->name};
	if (!kchange_is_name(wish->name))
		return sbx_fail(err, SBX_BAD_REQUEST, "bad_object_name", "this is no name of an object");
	if (kind->place == KCHANGE_IN_NAMESPACE) {
		if (!kchange_is_name(wish->space))
			return sbx_fail(err, SBX_BAD_REQUEST, "bad_object_name",
					"a %s is in a namespace, which is to be named", kind->kind);
		name->space = wish->space;
		return 0;
	}
	if (wish->space != NULL && (strcmp(kind->kind, "Namespace") != 0 || strcmp(wish->space, wish->name) != 0))
		return sbx_fail(err, SBX_BAD_REQUEST, "bad_object_name", "a %s is in no namespace", kind->kind);
	return 0;
}

static int get_live(struct kchange_server *server, const struct kchange_name *name, struct kchange_object *live,
		    struct sbx_error *err)
{
	int got = kchange_object_get(server, name, live, err);

	return got == 0 ? sbx_fail(err, SBX_NO_INPUT, "object_missing", "there is no such %s", name->kind->kind) : got;
}

/* Ask what REQUEST would do; TREE gets the object that comes of it; NULL: none does. */
static int try(struct kchange_server *server, const struct kchange_request *request, struct plan_tree *tree,
	       struct sbx_error *err)
{
	static const char doing[] = "see what it would do";
	auto_kchange_answer answer = KCHANGE_ANSWER_INIT;

	if (kchange_request_send(server, request, KCHANGE_DRY, &answer, err) < 0)
		return -1;
	return tree != NULL ? kchange_answer_read(&answer, doing, tree, err) : kchange_refused(&answer, doing, err);
}

/* The entry of LIVE (NULL: it is to be created) and of what becomes of it by REQUEST, which leaves an object. */
static int add_planned(struct kchange_server *server, const struct kchange_object *live,
		       const struct kchange_request *request, struct kchange_draft *draft, struct sbx_error *err)
{
	auto_buf was = BUF_INIT(LIMIT_CHANGE), is = BUF_INIT(LIMIT_CHANGE);
	struct plan_tree once, twice;
	int result = -1;

	plan_tree_init(&once);
	plan_tree_init(&twice);
	if (try(server, request, &once, err) == 0 && try(server, request, &twice, err) == 0 &&
	    (live == NULL || kchange_object_write(&was, live, err) == 0) &&
	    kchange_object_write_planned(&is, &once, &twice, live == NULL ? KCHANGE_IS_NEW : KCHANGE_EXISTS, err) == 0)
		result = kchange_draft_entry(draft, live == NULL ? NULL : &was, &is, err);
	plan_tree_clear(&once);
	plan_tree_clear(&twice);
	return result < 0 ? -1 : kchange_draft_request(draft, request, err);
}

/* One object, which stays. */
static int patch(struct kchange_server *server, const struct kchange_wish *wish, const struct kchange_name *name,
		 const struct kchange_object *live, struct kchange_draft *draft, struct sbx_error *err)
{
	struct kchange_request request;

	kchange_request_init(&request);
	int result = kchange_request_make(&request, wish->verb, name, live, wish->replicas, err);
	if (result == 0)
		result = add_planned(server, live, &request, draft, err);
	kchange_request_clear(&request);
	return result;
}

static int add_beside(struct kchange_server *server, const struct kchange_name *name, const struct kchange_object *live,
		      struct kchange_draft *draft, struct sbx_error *err)
{
	struct kchange_beside beside;

	kchange_beside_init(&beside);
	int result = kchange_beside_gather(server, name, live, &beside, err);
	if (result == 0)
		result = kchange_beside_add(&beside, draft, err);
	kchange_beside_clear(&beside);
	return result;
}

/* One object, which goes, and what goes with it. */
static int remove_object(struct kchange_server *server, const struct kchange_name *name,
			 const struct kchange_object *live, struct kchange_draft *draft, struct sbx_error *err)
{
	auto_buf was = BUF_INIT(LIMIT_CHANGE);
	struct kchange_request request;
	int result = -1;

	kchange_request_init(&request);
	if (kchange_request_make(&request, KCHANGE_DELETE, name, live, 0, err) == 0 &&
	    try(server, &request, NULL, err) == 0 && kchange_object_write(&was, live, err) == 0 &&
	    kchange_draft_entry(draft, &was, NULL, err) == 0 && kchange_draft_request(draft, &request, err) == 0)
		result = add_beside(server, name, live, draft, err);
	kchange_request_clear(&request);
	return result;
}

/* A manifest, to an object that is there or is not. */
static int apply(struct kchange_server *server, const struct kchange_wish *wish, struct kchange_draft *draft,
		 struct sbx_error *err)
{
	struct kchange_manifest manifest = {.object = jv_invalid()};
	struct kchange_request request;
	struct kchange_object live;
	int got = -1;

	kchange_object_init(&live);
	kchange_request_init(&request);
	if (kchange_manifest_read(&manifest, wish->manifest, wish->manifest_len, wish->space, err) == 0)
		got = kchange_object_get(server, &manifest.name, &live, err);
	const struct kchange_object *is = got == 1 ? &live : NULL;
	if (got >= 0 && kchange_manifest_request(&manifest, is, &request, err) < 0)
		got = -1;
	if (got >= 0)
		got = add_planned(server, is, &request, draft, err);
	kchange_request_clear(&request);
	kchange_object_clear(&live);
	kchange_manifest_clear(&manifest);
	return got < 0 ? -1 : 0;
}

int kchange_preview(struct kchange_server *server, const struct kchange_wish *wish, struct kchange_draft *draft,
		    struct buf *said, struct sbx_error *err)
{
	struct kchange_object live;
	struct kchange_name name;
	int result = -1;

	if (wish->verb == KCHANGE_APPLY)
		return apply(server, wish, draft, err);
	kchange_object_init(&live);
	if (find_name(wish, &name, err) == 0 && get_live(server, &name, &live, err) >= 0)
		result = wish->verb == KCHANGE_DELETE ? remove_object(server, &name, &live, draft, err)
						      : patch(server, wish, &name, &live, draft, err);
	if (result == 0 && wish->verb == KCHANGE_DRAIN)
		result = kchange_drain_add(server, name.name, draft, said, err);
	kchange_object_clear(&live);
	return result;
}
