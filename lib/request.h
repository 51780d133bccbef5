/* What sbx-policy is asked, by whom: a JSON object on a descriptor or words of a command line, and the principal, who
 * is never taken from either. */
#ifndef SBX_REQUEST_H
#define SBX_REQUEST_H

#include "policy.h"
#include "principal.h"

#define REQUEST_TOOL_MAX 128   /* bytes of a tool's name, which need not exist */
#define REQUEST_CLIENT_MAX 256 /* bytes of what a client calls itself */
/* All parameters together: they stand in the call, the record and the review text. */
#define REQUEST_PARAMS_MAX ((size_t)64 << 10)

struct request {
	jv params; /* an object */
	enum policy_typing typing;
	char tool[REQUEST_TOOL_MAX + 1];
	char client[REQUEST_CLIENT_MAX + 1]; /* "" when it does not say */
	struct principal asker; /* filled in by the caller (principal.h), never from what is read here */
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

void request_clear(struct request *r);

#endif
