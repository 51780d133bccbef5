/* What sbx-policy is asked, by whom: a JSON object on a descriptor or words of a command line, and the principal, who
 * is never taken from either. */
#ifndef SBX_REQUEST_H
#define SBX_REQUEST_H

#include <sys/types.h>

#include "policy.h"

#define REQUEST_TOOL_MAX 128   /* bytes of a tool's name, which need not exist */
#define REQUEST_CLIENT_MAX 256 /* bytes of what a client calls itself */
#define REQUEST_NAME_MAX 64    /* bytes of a principal's name */
/* All parameters together: they stand in the call, the record and the review text. */
#define REQUEST_PARAMS_MAX ((size_t)64 << 10)

struct request {
	jv params; /* an object */
	enum policy_typing typing;
	char tool[REQUEST_TOOL_MAX + 1];
	char client[REQUEST_CLIENT_MAX + 1]; /* "" when it does not say */
	char principal[REQUEST_NAME_MAX + 1];
	uid_t uid;	 /* of the peer, or our own real one */
	const char *via; /* "line", "peer", "uid" */
};
#define REQUEST_NONE                                                                                                   \
	{                                                                                                              \
		.params = jv_invalid()                                                                                 \
	}

/* {"tool":…,"params":{…},"client":…} on FD, to its end. "no_input" (66), "bad_request", "unknown_member", "too_large",
 * "json_*" (65). */
int request_read(struct request *r, int fd, struct sbx_error *err);

/* TOOL KEY=VALUE…: COUNT words, which are changed. "usage" (64), "bad_request", "too_large" (65). */
int request_words(struct request *r, char **words, int count, struct sbx_error *err);

/* 1 when NAME may be a principal: letters, digits, . _ @ -, not beginning with a mark. */
int request_is_principal(const char *name);

/* Fill in who asks: PRINCIPAL when the line that started us says one (checked), else ASKER. "no_principal" (77). */
enum request_asker {
	REQUEST_UID,	/* the real uid's name */
	REQUEST_PEER,	/* who holds the other end of stdin, a socket */
	REQUEST_NOBODY, /* in the toolkit's own account there must be a better answer */
};
int request_ask(struct request *r, const char *principal, enum request_asker asker, struct sbx_error *err);

void request_clear(struct request *r);

#endif
