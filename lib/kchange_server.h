/* One API server, and one request to it after the other. Where it is, who it must be and who we are is in one
 * kubeconfig file that was written for this process; nothing else is looked at. */
#ifndef SBX_KCHANGE_SERVER_H
#define SBX_KCHANGE_SERVER_H

#include "digest.h"
#include "kubeconfig.h"
#include "plan_tree.h"

/* Most bytes of one answer: an object, or a page of a list. An object has at most some 1.5 MiB (etcd), with what the
 * server keeps about its fields. */
#define KCHANGE_ANSWER_MAX ((size_t)8 << 20)

struct kchange_server {
	struct kube_access access;
	struct http_identity identity;
	struct http *http;
	char ca[DIGEST_HEX_SIZE]; /* SHA-256 of the authorities that it is known by; "": it names none */
};
#define KCHANGE_SERVER_INIT                                                                                            \
	{                                                                                                              \
		.access = KUBE_ACCESS_INIT                                                                             \
	}

/* KUBECONFIG is the path of the file. Nothing is sent yet. The errors of kubeconfig.h and http.h, "kubeconfig" also for
 * a file that names a program to start. */
int kchange_server_open(struct kchange_server *server, const char *kubeconfig, struct sbx_error *err);
void kchange_server_close(struct kchange_server *server);

struct kchange_question {
	const char *doing;		   /* "read the object": for messages */
	const char *method, *path, *query; /* query "": none */
	const char *content_type;	   /* NULL: no body */
	const char *accept;		   /* NULL: JSON */
	const struct buf *body;
	/* What changes nothing is asked again where the server was not reached or wants us to wait. */
	enum kchange_repeat { KCHANGE_AGAIN, KCHANGE_ONCE } repeat;
};

struct kchange_answer {
	int status; /* of HTTP */
	struct buf body;
	int is_unknown; /* no answer came, and the server may have done it */
};
#define KCHANGE_ANSWER_INIT                                                                                            \
	{                                                                                                              \
		.body = BUF_INIT(KCHANGE_ANSWER_MAX)                                                                   \
	}
void kchange_answer_clear(struct kchange_answer *answer);
#define auto_kchange_answer __attribute__((cleanup(kchange_answer_clear))) struct kchange_answer

/* 0: an answer, of whatever status. -1: none: "server_unreachable", "server_timeout", "server_cut" (69),
 * "server_not_trusted" (78), "too_large" (76). */
int kchange_ask(struct kchange_server *server, const struct kchange_question *question, struct kchange_answer *answer,
		struct sbx_error *err);

/* 0 for an answer of 2xx. For any other fill ERR with what it means, and return -1: "object_missing" (66; 404),
 * "object_moved" (65; 409, and 422 that names metadata.uid), "field_conflict" (65; 409 that names the managers),
 * "change_invalid" (65; 400, 422, and 500 for a field that the kind has not), "eviction_refused" (69; 429 of a
 * disruption budget), else as kube_read. The server's words are the hint; of an object that it finds invalid the fields
 * alone, since it repeats their values. */
int kchange_refused(const struct kchange_answer *answer, const char *doing, struct sbx_error *err);

/* The object of an answer of 2xx into TREE (initialised): -1 as kchange_refused, or "cluster_answer" (76), "too_large"
 * (65). */
int kchange_answer_read(const struct kchange_answer *answer, const char *doing, struct plan_tree *tree,
			struct sbx_error *err);

/* GET of PATH into TREE (initialised). 1; 0: there is none (404), TREE is empty; -1. */
int kchange_get(struct kchange_server *server, const char *path, const char *doing, struct plan_tree *tree,
		struct sbx_error *err);

/* The uid of the namespace kube-system, which is one cluster's alone; "" when we may not read it. */
enum { KCHANGE_UID_SIZE = 129 };
int kchange_cluster_uid(struct kchange_server *server, char uid[KCHANGE_UID_SIZE], struct sbx_error *err);

/* The text of NODE (a string without a NUL in it) as a C string of at most SIZE - 1 bytes in OUT; -1: it is none. */
int kchange_text(const struct plan_tree *tree, const struct plan_node *node, char *out, size_t size);

#endif
