/* Requests, and what their answers mean. */
#include "kchange_server.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "http_again.h"
#include "http_status.h"
#include "kplan_object.h"
#include "kube_api.h"

/* Of one request: admission webhooks may take 30 s (the API's own maximum) one after the other. */
static const int64_t request_ms = 60000;

enum { URL_MAX = 4096, SAID_SIZE = 300, FIELD_SIZE = 128 };

int kchange_server_open(struct kchange_server *server, const char *kubeconfig, struct sbx_error *err)
{
	struct kube_access *access = &server->access;

	if (kubeconfig_read(kubeconfig, NULL, access, err) < 0)
		return -1;
	if (access->exec.command != NULL)
		return sbx_fail(err, SBX_CONFIG, "kubeconfig",
				"the kubeconfig file gets its credential from another program");
	if (access->ca.len > 0)
		digest_sha256_hex(access->ca.data, access->ca.len, server->ca);
	server->identity = kube_identity(access);
	server->http = http_new(&server->identity, err);
	return server->http != NULL ? 0 : -1;
}

void kchange_server_close(struct kchange_server *server)
{
	http_free(server->http);
	server->http = NULL;
	kube_access_clear(&server->access);
}

void kchange_answer_clear(struct kchange_answer *answer)
{
	buf_clear(&answer->body);
	answer->status = answer->is_unknown = 0;
}

/* 0: an answer; 1: none, but another try is worth it; -1. */
static int ask_once(struct kchange_server *server, const struct kchange_question *q, const char *url, int64_t deadline,
		    struct kchange_answer *answer, int64_t *retry_ms, struct sbx_error *err)
{
	const struct http_request request = {
		.method = q->method,
		.path = url,
		.content_type = q->content_type,
		.accept = q->accept,
		.body = q->body != NULL ? buf_str(q->body) : NULL,
		.body_len = q->body != NULL ? q->body->len : 0,
		.deadline = deadline,
		.max = KCHANGE_ANSWER_MAX,
		.repeat = q->repeat == KCHANGE_ONCE ? HTTP_ONCE : HTTP_MAY_REPEAT,
	};
	struct http_exchange *x = http_start(server->http, &request, err);
	int result = -1;

	if (x == NULL)
		return -1;
	buf_reset(&answer->body);
	answer->is_unknown = 1;
	if (http_finish(server->http, x, err) < 0)
		goto out;
	*retry_ms = http_retry_ms(x);
	if (http_state(x) == HTTP_ANSWERED) {
		answer->is_unknown = 0;
		answer->status = http_status(x);
		result = buf_add(&answer->body, buf_str(http_body(x)), http_body(x)->len, err);
		goto out;
	}
	const struct sbx_error *why = http_trouble(x);
	answer->is_unknown = strcmp(why->code, "server_unreachable") != 0 &&
			     strcmp(why->code, "server_not_trusted") != 0 && q->repeat == KCHANGE_ONCE;
	*err = *why;
	sbx_wrap(err, "cannot %s", q->doing);
	result = why->class == SBX_UNAVAILABLE ? 1 : -1;
out:
	http_end(x);
	return result;
}

/* What may be another answer when it is asked again; a budget's 429 is for people to wait for. */
static int is_busy(const struct kchange_question *q, const struct kchange_answer *answer)
{
	return (answer->status >= STATUS_BAD_GATEWAY && answer->status <= STATUS_GATEWAY_TIMEOUT) ||
	       (answer->status == STATUS_TOO_MANY && strcmp(q->method, "GET") == 0);
}

int kchange_ask(struct kchange_server *server, const struct kchange_question *q, struct kchange_answer *answer,
		struct sbx_error *err)
{
	struct http_again again = HTTP_AGAIN_INIT;
	int64_t deadline = clock_mono_ms() + request_ms;
	auto_buf url = BUF_INIT(URL_MAX);

	if (buf_addf(&url, err, "%s%s%s", q->path, q->query[0] != '\0' ? "?" : "", q->query) < 0)
		return -1;
	for (;;) {
		int64_t retry_ms = 0;
		int got = ask_once(server, q, buf_str(&url), deadline, answer, &retry_ms, err);
		int busy = got == 1 || (got == 0 && is_busy(q, answer));
		if (!busy || q->repeat == KCHANGE_ONCE || http_again_wait(&again, retry_ms, deadline) < 0)
			return got == 0 ? 0 : -1;
		sbx_error_clear(err);
	}
}

int kchange_text(const struct plan_tree *tree, const struct plan_node *node, char *out, size_t size)
{
	out[0] = '\0';
	if (node == NULL || node->kind != PLAN_STRING || node->len >= size ||
	    memchr(plan_tree_text(tree, node), '\0', node->len) != NULL)
		return -1;
	memcpy(out, plan_tree_text(tree, node), node->len);
	out[node->len] = '\0';
	return 0;
}

/* --- what is said when it is refused --- */

/* The Status of an answer: its message, and its causes. */
struct said {
	char message[SAID_SIZE];
	char fields[SAID_SIZE]; /* "REASON FIELD, …" */
	int of_uid, of_manager, of_budget, of_policy;
};

/* The words of an admission policy stand in a cause without a reason, which what is not valid never is. By the message
 * alone nobody could tell: what is not valid is quoted there, with all of the object around it. */
static int is_of_policy(const char *reason, const char *message)
{
	static const char begins[] = "ValidatingAdmissionPolicy '";

	return reason[0] == '\0' && strncmp(message, begins, sizeof begins - 1) == 0;
}

static void add_cause(struct said *said, const struct plan_tree *tree, const struct plan_node *cause)
{
	char reason[FIELD_SIZE], field[FIELD_SIZE], message[SAID_SIZE];
	size_t used = strlen(said->fields);

	(void)kchange_text(tree, plan_tree_member(tree, cause, "reason", 6), reason, sizeof reason);
	(void)kchange_text(tree, plan_tree_member(tree, cause, "field", 5), field, sizeof field);
	(void)kchange_text(tree, plan_tree_member(tree, cause, "message", 7), message, sizeof message);
	said->of_uid |= strcmp(field, "metadata.uid") == 0;
	said->of_manager |= strcmp(reason, "FieldManagerConflict") == 0;
	said->of_budget |= strcmp(reason, "DisruptionBudget") == 0;
	said->of_policy |= is_of_policy(reason, message);
	if (strcmp(reason, "FieldManagerConflict") == 0 || strcmp(reason, "DisruptionBudget") == 0)
		snprintf(said->fields + used, sizeof said->fields - used, "%s%s %s", used > 0 ? ", " : "", message,
			 field);
	else
		snprintf(said->fields + used, sizeof said->fields - used, "%s%s %s", used > 0 ? ", " : "", reason,
			 field);
}

static void read_said(struct said *said, const struct kchange_answer *answer)
{
	static const char *const message[] = {"message", NULL}, *const causes[] = {"details", "causes", NULL};
	struct sbx_error unread = SBX_ERROR_INIT;
	struct plan_tree tree;

	*said = (struct said){.message = ""};
	plan_tree_init(&tree);
	if (plan_tree_parse(&tree, buf_str(&answer->body), answer->body.len, &unread) == 0) {
		const struct plan_node *text = kplan_at(&tree, message), *list = kplan_at(&tree, causes), *cause;
		if (text != NULL && text->kind == PLAN_STRING)
			snprintf(said->message, sizeof said->message, "%.*s", (int)text->len,
				 plan_tree_text(&tree, text));
		if (list != NULL && list->kind == PLAN_ARRAY)
			for (cause = plan_tree_first(&tree, list); cause != NULL;
			     cause = plan_tree_behind(&tree, list, cause))
				add_cause(said, &tree, cause);
	}
	plan_tree_clear(&tree);
}

static int fail_saying(struct sbx_error *err, enum sbx_class class, const char *code, const char *doing,
		       const char *why, const char *said)
{
	char clean[SAID_SIZE];

	sbx_fail(err, class, code, "cannot %s: %s", doing, why);
	kube_printable(said, clean, sizeof clean);
	return clean[0] != '\0' ? sbx_hint(err, "the API server says: %s", clean) : -1;
}

/* What an apply has that the kind does not is answered with 500 (1.36): "failed to create typed patch object (…): PATH:
 * WHY", and WHY may repeat the value. Makes MESSAGE the path; 0: it is something else. */
static int is_untyped(char *message)
{
	static const char begins[] = "failed to create typed patch object (";
	char *path = strncmp(message, begins, sizeof begins - 1) == 0 ? strstr(message, "): ") : NULL;

	if (path == NULL)
		return 0;
	path += 3;
	path[strcspn(path, ": ")] = '\0';
	memmove(message, path, strlen(path) + 1);
	return 1;
}

int kchange_refused(const struct kchange_answer *answer, const char *doing, struct sbx_error *err)
{
	char clean[SAID_SIZE];
	struct said said;

	if (answer->status >= 200 && answer->status < 300)
		return 0;
	read_said(&said, answer);
	if (answer->status == STATUS_NOT_FOUND)
		return fail_saying(err, SBX_NO_INPUT, "object_missing", doing, "it is not there", said.message);
	if (answer->status == STATUS_CONFLICT && said.of_manager)
		return fail_saying(err, SBX_BAD_REQUEST, "field_conflict", doing,
				   "others keep these fields, and nothing is forced", said.fields);
	if (answer->status == STATUS_CONFLICT || (answer->status == STATUS_INVALID && said.of_uid))
		return fail_saying(err, SBX_BAD_REQUEST, "object_moved", doing,
				   "it is not what it was when this was planned", said.message);
	if (answer->status == STATUS_INVALID && !said.of_policy)
		return fail_saying(err, SBX_BAD_REQUEST, "change_invalid", doing, "the API server does not accept it",
				   said.fields);
	if (answer->status == STATUS_BROKEN && is_untyped(said.message))
		return fail_saying(err, SBX_BAD_REQUEST, "change_invalid", doing,
				   "the kind has no such field, or not with such a value", said.message);
	if (answer->status == STATUS_BAD_REQUEST)
		return fail_saying(err, SBX_BAD_REQUEST, "change_invalid", doing, "the API server does not accept it",
				   said.message);
	if (answer->status == STATUS_TOO_MANY && said.of_budget)
		return fail_saying(err, SBX_UNAVAILABLE, "eviction_refused", doing,
				   "a disruption budget does not allow it now", said.fields);
	kube_printable(said.message, clean, sizeof clean);
	(void)kube_read_status(answer->status, clean, doing, err);
	return -1;
}

/* --- reading --- */

int kchange_answer_read(const struct kchange_answer *answer, const char *doing, struct plan_tree *tree,
			struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;

	if (kchange_refused(answer, doing, err) < 0)
		return -1;
	if (plan_tree_parse(tree, buf_str(&answer->body), answer->body.len, &why) == 0)
		return 0;
	if (strncmp(why.code, "json_", 5) == 0)
		return sbx_fail(err, SBX_PROTOCOL, "cluster_answer", "cannot %s: the API server's answer is no object",
				doing);
	*err = why;
	return sbx_wrap(err, "cannot %s", doing);
}

static int read_tree(struct kchange_server *server, const struct kchange_question *q, struct plan_tree *tree,
		     struct sbx_error *err)
{
	auto_kchange_answer answer = KCHANGE_ANSWER_INIT;

	plan_tree_reset(tree);
	if (kchange_ask(server, q, &answer, err) < 0)
		return -1;
	if (answer.status == STATUS_NOT_FOUND)
		return 0;
	return kchange_answer_read(&answer, q->doing, tree, err) < 0 ? -1 : 1;
}

int kchange_get(struct kchange_server *server, const char *path, const char *doing, struct plan_tree *tree,
		struct sbx_error *err)
{
	const struct kchange_question q = {.doing = doing, .method = "GET", .path = path, .query = ""};

	return read_tree(server, &q, tree, err);
}

int kchange_cluster_uid(struct kchange_server *server, char uid[KCHANGE_UID_SIZE], struct sbx_error *err)
{
	static const char *const at[] = {"metadata", "uid", NULL};
	const struct kchange_question q = {.doing = "read which cluster it is",
					   .method = "GET",
					   .path = "/api/v1/namespaces/kube-system",
					   .query = "",
					   .accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"};
	struct plan_tree tree;
	int got;

	uid[0] = '\0';
	plan_tree_init(&tree);
	got = read_tree(server, &q, &tree, err);
	if (got == 1)
		(void)kchange_text(&tree, kplan_at(&tree, at), uid, KCHANGE_UID_SIZE);
	plan_tree_clear(&tree);
	if (got < 0 && err->class == SBX_DENIED) {
		sbx_error_clear(err);
		return 0;
	}
	return got < 0 ? -1 : 0;
}
