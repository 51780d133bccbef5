/* The requests of which changes are made, each with what it takes for granted in it: the server does nothing of it to
 * an object that is not the one that was seen.
 *
 * PATCH (RFC 7396): metadata.uid and metadata.resourceVersion.
 *
 * PATCH (server-side apply): metadata.uid and metadata.resourceVersion; for an object that is to be created the
 * resourceVersion "1", which no object has.
 *
 * DELETE: preconditions.uid and preconditions.resourceVersion.
 *
 * POST of an eviction: deleteOptions.preconditions.uid. */
#ifndef SBX_KCHANGE_REQUEST_H
#define SBX_KCHANGE_REQUEST_H

#include "kchange_object.h"

/* The version of an object that is to be created; no object has it. */
#define KCHANGE_NO_VERSION "1"

enum kchange_form { KCHANGE_MERGE, KCHANGE_APPLIED, KCHANGE_DELETION, KCHANGE_EVICTION, KCHANGE_FORMS };

struct kchange_request {
	enum kchange_form form;
	struct buf path, body;
};
void kchange_request_init(struct kchange_request *request);
void kchange_request_clear(struct kchange_request *request);

/* REQUEST (empty) becomes the one that does VERB to LIVE, an object of NAME; scale: to REPLICAS. Not for apply. */
int kchange_request_make(struct kchange_request *request, enum kchange_verb verb, const struct kchange_name *name,
			 const struct kchange_object *live, int64_t replicas, struct sbx_error *err);

/* The eviction of POD, an object of NAME. */
int kchange_request_evict(struct kchange_request *request, const struct kchange_name *name,
			  const struct kchange_object *pod, struct sbx_error *err);

/* Does an object come of REQUEST, which the server answers with? */
int kchange_request_leaves(const struct kchange_request *request);

/* Make it take VERSION for granted instead of the one that it names; an eviction, and what is to be created, name none
 * of an object and stay as they are. */
int kchange_request_renew(struct kchange_request *request, const char *version, struct sbx_error *err);

/* Append {"body":…,"content_type":…,"method":…,"path":…,"query":…}. */
int kchange_request_write(struct buf *out, const struct kchange_request *request, struct sbx_error *err);

/* Fill REQUEST (empty) from such an object: -1 when it is none of the forms. */
int kchange_request_read(struct kchange_request *request, const struct plan_tree *tree, const struct plan_node *node,
			 struct sbx_error *err);

/* 0 when REQUEST is the one that does VERB to LIVE (an object of NAME in a plan; NULL: there is none), or in a drain
 * the eviction of it, byte for byte; of an apply, whose body is a manifest, when it applies to that object alone. Else
 * "plan_malformed" (65). */
int kchange_request_fits(const struct kchange_request *request, enum kchange_verb verb, const struct kchange_name *name,
			 const struct kchange_object *live, int64_t replicas, struct sbx_error *err);

/* Send it, so that the server says what it would do and does nothing; or so that it does, once. As kchange_ask. */
enum kchange_run { KCHANGE_DRY, KCHANGE_FOR_REAL };
int kchange_request_send(struct kchange_server *server, const struct kchange_request *request, enum kchange_run run,
			 struct kchange_answer *answer, struct sbx_error *err);

/* "PATCH". */
const char *kchange_request_method(const struct kchange_request *request);

#endif
