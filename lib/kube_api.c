/* Paths, and the Status objects of answers. */
#include "kube_api.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"

enum { PATH_MAX_BYTES = 2048, HINT_SIZE = 300, NAME_MAX_LEN = 253 };

/* The longest token of an API server that we know has 2 KiB; the answer repeats what was asked. */
static const size_t token_answer_max = (size_t)64 << 10;

static const char core[] = "/api/v1";
static const struct {
	const char *group, *name;
} collections[] = {
	[KUBE_JOB] = {"/apis/batch/v1", "jobs"},
	[KUBE_SECRET] = {core, "secrets"},
	[KUBE_POD] = {core, "pods"},
	[KUBE_EVENT] = {core, "events"},
	[KUBE_POLICY] = {"/apis/networking.k8s.io/v1", "networkpolicies"},
	[KUBE_ROLE_BINDING] = {"/apis/rbac.authorization.k8s.io/v1", "rolebindings"},
};

static int add_collection(struct buf *path, const struct kube *kube, enum kube_kind kind, struct sbx_error *err)
{
	if (buf_addf(path, err, "%s/namespaces/", collections[kind].group) < 0 ||
	    http_add_escaped(path, kube->namespace, err) < 0)
		return -1;
	return buf_addf(path, err, "/%s", collections[kind].name);
}

static int add_object(struct buf *path, const struct kube *kube, enum kube_kind kind, const char *name,
		      struct sbx_error *err)
{
	if (add_collection(path, kube, kind, err) < 0 || buf_add_str(path, "/", err) < 0)
		return -1;
	return http_add_escaped(path, name, err);
}

struct http_exchange *kube_create(const struct kube *kube, enum kube_kind kind, const void *body, size_t len,
				  enum http_repeat repeat, int64_t deadline, struct sbx_error *err)
{
	auto_buf path = BUF_INIT(PATH_MAX_BYTES);

	/* Strict: a member that this server does not know is an error and not a wish. */
	if (add_collection(&path, kube, kind, err) < 0 ||
	    buf_add_str(&path, "?fieldManager=sbx&fieldValidation=Strict", err) < 0)
		return NULL;
	struct http_request request = {.method = "POST",
				       .path = buf_str(&path),
				       .content_type = "application/json",
				       .body = body,
				       .body_len = len,
				       .deadline = deadline,
				       .max = 2 * KUBE_ANSWER_MAX,
				       .repeat = repeat};
	/* Of a Secret only its metadata comes back: the rest is what we sent. */
	if (kind == KUBE_SECRET)
		request.accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
	return http_start(kube->http, &request, err);
}

struct http_exchange *kube_token(const struct kube *kube, const char *account, const void *body, size_t len,
				 int64_t deadline, struct secret *answer, struct sbx_error *err)
{
	auto_buf path = BUF_INIT(PATH_MAX_BYTES);

	if (buf_addf(&path, err, "%s/namespaces/", core) < 0 || http_add_escaped(&path, kube->namespace, err) < 0 ||
	    buf_add_str(&path, "/serviceaccounts/", err) < 0 || http_add_escaped(&path, account, err) < 0 ||
	    buf_add_str(&path, "/token?fieldManager=sbx&fieldValidation=Strict", err) < 0)
		return NULL;
	const struct http_request request = {.method = "POST",
					     .path = buf_str(&path),
					     .content_type = "application/json",
					     .body = body,
					     .body_len = len,
					     .deadline = deadline,
					     .max = token_answer_max,
					     .answer = answer,
					     .repeat = HTTP_ONCE};
	return http_start(kube->http, &request, err);
}

static struct http_exchange *get(const struct kube *kube, const struct buf *path, int64_t deadline, http_sink *sink,
				 void *context, struct sbx_error *err)
{
	struct http_request request = {.method = "GET",
				       .path = buf_str(path),
				       .deadline = deadline,
				       .max = KUBE_ANSWER_MAX,
				       .sink = sink,
				       .context = context};

	return http_start(kube->http, &request, err);
}

struct http_exchange *kube_get(const struct kube *kube, enum kube_kind kind, const char *name, int64_t deadline,
			       struct sbx_error *err)
{
	auto_buf path = BUF_INIT(PATH_MAX_BYTES);

	return add_object(&path, kube, kind, name, err) < 0 ? NULL : get(kube, &path, deadline, NULL, NULL, err);
}

struct http_exchange *kube_list(const struct kube *kube, enum kube_kind kind, const char *query, int64_t deadline,
				struct sbx_error *err)
{
	auto_buf path = BUF_INIT(PATH_MAX_BYTES);

	if (add_collection(&path, kube, kind, err) < 0 || (query != NULL && buf_addf(&path, err, "?%s", query) < 0))
		return NULL;
	return get(kube, &path, deadline, NULL, NULL, err);
}

struct http_exchange *kube_watch(const struct kube *kube, enum kube_kind kind, const char *query, http_sink *sink,
				 void *context, struct sbx_error *err)
{
	auto_buf path = BUF_INIT(PATH_MAX_BYTES);

	if (add_collection(&path, kube, kind, err) < 0 || buf_addf(&path, err, "?watch=1&%s", query) < 0)
		return NULL;
	return get(kube, &path, -1, sink, context, err);
}

struct http_exchange *kube_log(const struct kube *kube, const char *pod, const char *container, http_sink *sink,
			       void *context, struct sbx_error *err)
{
	auto_buf path = BUF_INIT(PATH_MAX_BYTES);

	if (add_object(&path, kube, KUBE_POD, pod, err) < 0 ||
	    buf_add_str(&path, "/log?follow=true&container=", err) < 0 || http_add_escaped(&path, container, err) < 0)
		return NULL;
	struct http_request request = {.method = "GET",
				       .path = buf_str(&path),
				       .accept = "text/plain, application/json",
				       .deadline = -1,
				       .sink = sink,
				       .context = context};
	return http_start(kube->http, &request, err);
}

struct http_exchange *kube_delete(const struct kube *kube, enum kube_kind kind, const char *name, int grace_s,
				  int64_t deadline, struct sbx_error *err)
{
	/* Literals, for the body outlives this function. Without the policy a Job's Pods would be orphaned. */
	static const char at_once[] =
		"{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"propagationPolicy\":\"Background\","
		"\"gracePeriodSeconds\":0}";
	static const char gently[] =
		"{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"propagationPolicy\":\"Background\"}";
	auto_buf path = BUF_INIT(PATH_MAX_BYTES);

	if (add_object(&path, kube, kind, name, err) < 0)
		return NULL;
	struct http_request request = {.method = "DELETE",
				       .path = buf_str(&path),
				       .content_type = "application/json",
				       .body = grace_s == 0 ? at_once : gently,
				       .body_len = grace_s == 0 ? sizeof at_once - 1 : sizeof gently - 1,
				       .deadline = deadline,
				       .max = KUBE_ANSWER_MAX};
	return http_start(kube->http, &request, err);
}

/* --- answers --- */

void kube_printable(const char *text, char *out, size_t size)
{
	size_t used = 0;

	for (const char *p = text; *p != '\0' && used + 1 < size; p++)
		out[used++] = *p == '"' || *p == '\\' ? '\'' : *p < 0x20 || *p > 0x7e ? '?' : *p;
	out[used] = '\0';
}

int kube_object_of(const struct buf *body, jv *object, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;

	if (json_parse_foreign(buf_str(body), body->len, body->max, object, &why) == 0 &&
	    jv_get_kind(*object) == JV_KIND_OBJECT)
		return 0;
	jv_free(take_jv(object));
	return sbx_fail(err, SBX_PROTOCOL, "cluster_answer", "the API server's answer is no object");
}

int kube_object(const struct http_exchange *exchange, jv *object, struct sbx_error *err)
{
	return kube_object_of(http_body(exchange), object, err);
}

/* The message of a Status, printable; "" when the body is none, such as the page of a proxy. */
static void status_message(const struct buf *body, char out[HINT_SIZE])
{
	auto_jv object = jv_invalid();
	struct sbx_error ignored = SBX_ERROR_INIT;
	const char *message = kube_object_of(body, &object, &ignored) == 0 ? json_str(object, "message") : NULL;

	kube_printable(message != NULL ? message : "", out, HINT_SIZE);
}

static const char admission_policy[] = "ValidatingAdmissionPolicy";

static enum kube_answer forbidden(const char *said, const char *doing, struct sbx_error *err)
{
	if (strstr(said, "exceeded quota") != NULL) {
		sbx_fail(err, SBX_UNAVAILABLE, "cluster_quota", "cannot %s: the namespace's quota is used up", doing);
		return KUBE_REFUSED;
	}
	/* An admission policy and RBAC both say 403. */
	if (strstr(said, admission_policy) != NULL || strstr(said, "denied the request") != NULL ||
	    strstr(said, "violates PodSecurity") != NULL)
		sbx_fail(err, SBX_DENIED, "cluster_admission", "cannot %s: the cluster does not admit it", doing);
	else
		sbx_fail(err, SBX_DENIED, "cluster_forbidden", "cannot %s: sbx has no right to", doing);
	return KUBE_REFUSED;
}

static enum kube_answer read_status(int status, const char *said, const char *doing, struct sbx_error *err)
{
	if (status >= 300 && status < 400) {
		sbx_fail(err, SBX_CONFIG, "cluster_redirect", "cannot %s: the server sends us elsewhere", doing);
		sbx_hint(err, "no token goes where the settings do not say: they must name the API server itself");
		return KUBE_REFUSED;
	}
	if (status == 429 || status >= 500) {
		sbx_fail(err, SBX_UNAVAILABLE, "cluster_busy", "cannot %s: the API server answers with %d", doing,
			 status);
		return KUBE_AGAIN;
	}
	switch (status) {
	case 401:
		sbx_fail(err, SBX_CONFIG, "cluster_unauthenticated", "cannot %s: the API server does not know us",
			 doing);
		sbx_hint(err, "the credential in the kubeconfig is wrong, or its time is over; make up writes another one "
			      "for the driver");
		return KUBE_REFUSED;
	case 403:
		return forbidden(said, doing, err);
	case 404:
		sbx_fail(err, SBX_CONFIG, "cluster_missing", "cannot %s: it, or its namespace, is not there", doing);
		return KUBE_NOT_FOUND;
	case 409:
		/* A quota that others changed at the same moment says 409, too. */
		if (strstr(said, "already exists") == NULL) {
			sbx_fail(err, SBX_UNAVAILABLE, "cluster_busy", "cannot %s: others changed the same", doing);
			return KUBE_AGAIN;
		}
		sbx_fail(err, SBX_CANNOT_CREATE, "cluster_exists", "cannot %s: there is one of this name", doing);
		return KUBE_EXISTS;
	case 410:
		sbx_fail(err, SBX_UNAVAILABLE, "cluster_busy", "cannot %s: the API server has forgotten where it was",
			 doing);
		return KUBE_GONE;
	case 400:
		sbx_fail(err, SBX_PROTOCOL, "cluster_invalid", "cannot %s: the API server does not accept it", doing);
		return strstr(said, "waiting to start") != NULL || strstr(said, "does not have a host") != NULL ||
				       strstr(said, "is not available") != NULL
			       ? KUBE_NOT_READY
			       : KUBE_REFUSED;
	case 422:
		/* What an admission policy says that names no reason of its own. */
		if (strstr(said, admission_policy) != NULL)
			return forbidden(said, doing, err);
		sbx_fail(err, SBX_PROTOCOL, "cluster_invalid", "cannot %s: the API server does not accept it", doing);
		return KUBE_REFUSED;
	default:
		sbx_fail(err, SBX_PROTOCOL, "cluster_answer", "cannot %s: the server answers with %d", doing, status);
		return KUBE_REFUSED;
	}
}

enum kube_answer kube_read(const struct http_exchange *exchange, const char *doing, struct sbx_error *err)
{
	return kube_read_body(exchange, http_body(exchange), doing, err);
}

enum kube_answer kube_read_body(const struct http_exchange *exchange, const struct buf *body, const char *doing,
				struct sbx_error *err)
{
	char said[HINT_SIZE];
	int status = http_status(exchange);

	if (http_state(exchange) != HTTP_ANSWERED) {
		const struct sbx_error *why = http_trouble(exchange);
		if (err->class == SBX_OK)
			*err = *why;
		sbx_wrap(err, "cannot %s", doing);
		return why->class == SBX_UNAVAILABLE ? KUBE_AGAIN : KUBE_REFUSED;
	}
	if (status >= 200 && status < 300)
		return KUBE_OK;
	status_message(body, said);
	return kube_read_status(status, said, doing, err);
}

enum kube_answer kube_read_status(int status, const char *said, const char *doing, struct sbx_error *err)
{
	if (status >= 200 && status < 300)
		return KUBE_OK;
	enum kube_answer answer = read_status(status, said, doing, err);
	if (said[0] != '\0' && err->hint[0] == '\0')
		sbx_hint(err, "the API server says: %s", said);
	return answer;
}

int kube_add_selector(struct buf *query, const char *label, const char *value, struct sbx_error *err)
{
	auto_buf plain = BUF_INIT(512);

	if (buf_addf(&plain, err, "%s=%s", label, value) < 0 || buf_add_str(query, "labelSelector=", err) < 0)
		return -1;
	return http_add_escaped(query, buf_str(&plain), err);
}

int kube_is_name(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
	size_t len = text != NULL ? strlen(text) : 0;

	return len > 0 && len <= NAME_MAX_LEN && strspn(text, allowed) == len;
}
