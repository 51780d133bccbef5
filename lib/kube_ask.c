/* Send, wait, read. */
#include "kube_ask.h"

#include <string.h>

#include "http_again.h"
#include "http_status.h"
#include "json_secret.h"

enum { BODY_MAX = 8192 };

void kube_reply_clear(struct kube_reply *reply)
{
	jv_free(take_jv(&reply->object));
	secret_clear(&reply->secret);
	reply->is_unknown = 0;
}

static struct http_exchange *begin(const struct kube *kube, const struct kube_request *request, const struct buf *body,
				   int64_t deadline, struct secret *answer, struct sbx_error *err)
{
	switch (request->verb) {
	case KUBE_CREATE:
		return kube_create(kube, request->kind, body->data, body->len, HTTP_ONCE, deadline, err);
	case KUBE_DELETE:
		return kube_delete(kube, request->kind, request->name, -1, deadline, err);
	case KUBE_TOKEN:
		break;
	}
	return kube_token(kube, request->name, body->data, body->len, deadline, answer, err);
}

/* What may be shown of an answer that has the token. */
static int split(struct secret *answer, struct kube_reply *reply, struct buf *rest, struct sbx_error *err)
{
	if (json_take_secret(answer, "status", "token", &reply->secret, err) < 0)
		return -1;
	return buf_add(rest, answer->data, answer->len, err);
}

static int is_undone(const struct http_exchange *x)
{
	if (http_state(x) == HTTP_ANSWERED)
		return http_status(x) < 500;
	return strcmp(http_trouble(x)->code, "server_unreachable") == 0 ||
	       strcmp(http_trouble(x)->code, "server_not_trusted") == 0;
}

static enum kube_answer read_answer(const struct kube_request *request, const struct http_exchange *x,
				    struct secret *answer, struct kube_reply *reply, struct sbx_error *err)
{
	auto_buf rest = BUF_INIT(KUBE_ANSWER_MAX);
	const struct buf *body = http_body(x);
	struct sbx_error why = SBX_ERROR_INIT;

	if (request->verb == KUBE_TOKEN) {
		body = &rest;
		if (split(answer, reply, &rest, &why) < 0)
			buf_reset(&rest);
	}
	enum kube_answer got = kube_read_body(x, body, request->doing, err);
	reply->is_unknown = got != KUBE_OK && !is_undone(x);
	if (got != KUBE_OK || kube_object_of(body, &reply->object, err) == 0)
		return got;
	sbx_wrap(err, "cannot %s", request->doing);
	reply->is_unknown = 1;
	return KUBE_REFUSED;
}

static enum kube_answer try_once(const struct kube *kube, const struct kube_request *request, const struct buf *body,
				 int64_t deadline, struct kube_reply *reply, int64_t *retry_ms, struct sbx_error *err)
{
	auto_secret answer = SECRET_INIT;
	struct http_exchange *x = begin(kube, request, body, deadline, &answer, err);

	if (x == NULL)
		return KUBE_REFUSED;
	enum kube_answer got = KUBE_REFUSED;
	if (http_finish(kube->http, x, err) < 0)
		reply->is_unknown = 1;
	else
		got = read_answer(request, x, &answer, reply, err);
	*retry_ms = http_retry_ms(x);
	/* What the token was to be bound to has changed: it would be refused again. */
	if (request->verb == KUBE_TOKEN && http_status(x) == STATUS_CONFLICT)
		got = KUBE_REFUSED;
	http_end(x);
	return got;
}

enum kube_answer kube_ask(const struct kube *kube, const struct kube_request *request, int64_t deadline,
			  struct kube_reply *reply, struct sbx_error *err)
{
	struct http_again again = HTTP_AGAIN_INIT;
	auto_buf body = BUF_INIT(BODY_MAX);

	if (request->verb != KUBE_DELETE && json_write(request->body, &body, err) < 0)
		return KUBE_REFUSED;
	for (;;) {
		int64_t retry_ms = 0;
		enum kube_answer got = try_once(kube, request, &body, deadline, reply, &retry_ms, err);
		if (got != KUBE_AGAIN || (request->verb != KUBE_DELETE && reply->is_unknown) ||
		    http_again_wait(&again, retry_ms, deadline) < 0)
			return got;
		kube_reply_clear(reply);
		sbx_error_clear(err);
	}
}
