/* The few requests that we make to a Kubernetes API server, and what its answers mean. Paths are built here
 * alone; names go into them escaped. */
#ifndef SBX_KUBE_API_H
#define SBX_KUBE_API_H

#include "http.h"
#include "json.h"

struct kube {
	struct http *http;
	const char *namespace;
};

enum kube_kind { KUBE_JOB, KUBE_SECRET, KUBE_POD, KUBE_EVENT, KUBE_POLICY, KUBE_ROLE_BINDING };

/* Most bytes of one object, or of one list, that we read. */
#define KUBE_ANSWER_MAX ((size_t)1 << 20)

/* POST of an object; BODY is borrowed until the exchange ends. */
struct http_exchange *kube_create(const struct kube *kube, enum kube_kind kind, const void *body, size_t len,
				  enum http_repeat repeat, int64_t deadline, struct sbx_error *err);
struct http_exchange *kube_get(const struct kube *kube, enum kube_kind kind, const char *name, int64_t deadline,
			       struct sbx_error *err);
/* List by QUERY ("labelSelector=…", escaped by the caller; NULL: all). */
struct http_exchange *kube_list(const struct kube *kube, enum kube_kind kind, const char *query, int64_t deadline,
				struct sbx_error *err);
/* Changes of what QUERY selects, each a line of JSON, first what there is. */
struct http_exchange *kube_watch(const struct kube *kube, enum kube_kind kind, const char *query, http_sink *sink,
				 void *context, struct sbx_error *err);
/* Background propagation: the object goes now, what it owns behind it. GRACE_S -1: the object's own. */
struct http_exchange *kube_delete(const struct kube *kube, enum kube_kind kind, const char *name, int grace_s,
				  int64_t deadline, struct sbx_error *err);
/* POST of a TokenRequest for a service account, at most once; the answer, which has the token, goes into an empty
 * ANSWER.
 */
struct http_exchange *kube_token(const struct kube *kube, const char *account, const void *body, size_t len,
				 int64_t deadline, struct secret *answer, struct sbx_error *err);
/* The log of container CONTAINER from its first byte, followed to its end. */
struct http_exchange *kube_log(const struct kube *kube, const char *pod, const char *container, http_sink *sink,
			       void *context, struct sbx_error *err);

/* What a finished exchange means. */
enum kube_answer {
	KUBE_OK,	/* 2xx */
	KUBE_NOT_FOUND, /* 404 */
	KUBE_EXISTS,	/* 409 of a create */
	KUBE_GONE,	/* 410: a watch must begin again */
	KUBE_NOT_READY, /* 400 of a log: its container has not started */
	KUBE_AGAIN,	/* 429, 5xx, or no answer: worth another try */
	KUBE_REFUSED,	/* everything else */
};
/* DOING ("create the Job") stands in the message. For all but KUBE_OK, ERR is filled: "cluster_unauthenticated",
 * "cluster_redirect" (78), "cluster_forbidden", "cluster_quota", "cluster_admission" (77), "cluster_missing" (78),
 * "cluster_exists" (73), "cluster_busy" (69), "cluster_invalid", "cluster_answer" (76), or what http.h says. The
 * server's own words are the hint, as printable ASCII. */
enum kube_answer kube_read(const struct http_exchange *exchange, const char *doing, struct sbx_error *err);
/* The same where the body went elsewhere: BODY is what may be shown of it. */
enum kube_answer kube_read_body(const struct http_exchange *exchange, const struct buf *body, const char *doing,
				struct sbx_error *err);

/* The same for an answer that somebody else waited for: its status, and SAID, what may be shown of its words ("": none).
 */
enum kube_answer kube_read_status(int status, const char *said, const char *doing, struct sbx_error *err);

/* The object of a finished exchange, and that of a text; the caller's. */
int kube_object(const struct http_exchange *exchange, jv *object, struct sbx_error *err);
int kube_object_of(const struct buf *body, jv *object, struct sbx_error *err);

/* 1 for a DNS label or subdomain (RFC 1123), as names of Kubernetes are; 0 for anything else, NULL too. */
int kube_is_name(const char *text);

/* "sbx%2Fcall%3DCALL" and its like, for a query; appended. */
int kube_add_selector(struct buf *query, const char *label, const char *value, struct sbx_error *err);

/* TEXT, which came from a server, as printable ASCII without quotes, cut to SIZE. */
void kube_printable(const char *text, char *out, size_t size);

#endif
