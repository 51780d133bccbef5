/* One request to HashiCorp Vault or OpenBao, and what its answer means. Answers hold tokens: they stand in locked
 * memory, and what is read of them as JSON has its secrets taken out first. No redirect is followed, and nothing is
 * sent again that the server may have done. */
#ifndef SBX_VAULT_API_H
#define SBX_VAULT_API_H

#include "http.h"
#include "json.h"

struct vault {
	struct http *http;
	const char *namespace; /* X-Vault-Namespace; NULL: none */
	int64_t deadline;      /* clock_mono_ms, for all requests together */
};

/* Most bytes of one answer: a list of ten thousand accessors is the longest. */
#define VAULT_ANSWER_MAX ((size_t)512 << 10)

enum { VAULT_SECRETS = 4 /* of one answer */ };

struct vault_request {
	const char *doing;	    /* "make the child token": for messages */
	const char *method;	    /* "GET", "POST" */
	const char *path;	    /* behind "/v1/", percent-encoded where need be */
	const struct secret *token; /* NULL or empty: none, or that of the agent behind a socket */
	const void *body;	    /* JSON; borrowed; NULL: none */
	size_t body_len;
	int64_t at_most_ms; /* 0: what is left of the whole */
	enum http_repeat repeat;
	const char *outer;		  /* where the answer has secrets (json_secret.h); NULL: nowhere */
	const char *inner[VAULT_SECRETS]; /* the last ones NULL */
};

struct vault_reply {
	jv object; /* of a 2xx: its body without the secrets, an empty object where there is none */
	struct secret secrets[VAULT_SECRETS]; /* in the order of the request; empty where the answer has none */
	int status;
	char said[300]; /* the server's own words, printable; "" without any */
};
#define VAULT_REPLY_INIT                                                                                               \
	{                                                                                                              \
		.status = 0                                                                                            \
	}
void vault_reply_clear(struct vault_reply *reply);
#define auto_vault_reply __attribute__((cleanup(vault_reply_clear))) struct vault_reply

enum vault_answer {
	VAULT_OK,      /* 2xx */
	VAULT_REFUSED, /* nothing was done */
	VAULT_UNKNOWN, /* it may have been done */
};

/* Ask, and ask again, as long as time is left, where it is sure that nothing was done (no connection, no active server,
 * a rate limit). REPLY is empty before, and its owner clears it. For all but VAULT_OK, ERR is filled: "vault_token",
 * "vault_missing", "vault_refused", "vault_redirect" (78), "vault_denied" (77), "vault_sealed", "vault_standby",
 * "vault_busy", "vault_failed" (69), "vault_answer" (76), or what http.h says. The server's own words are the hint. */
enum vault_answer vault_ask(const struct vault *vault, const struct vault_request *request, struct vault_reply *reply,
			    struct sbx_error *err);

/* PATH/NAME with NAME percent-encoded, but for slashes where NAME is a path itself (that of a mount); appended. */
enum vault_name { VAULT_SEGMENT, VAULT_PATH };
int vault_add_name(struct buf *path, const char *name, enum vault_name kind, struct sbx_error *err);

#endif
