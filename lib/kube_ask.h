/* One request to an API server after the other, as a credential provider makes them: each is waited for, and sent again
 * where it is sure that nothing was done. */
#ifndef SBX_KUBE_ASK_H
#define SBX_KUBE_ASK_H

#include "kube_api.h"

struct kube_request {
	const char *doing; /* "make the anchor": for messages */
	enum kube_verb { KUBE_CREATE, KUBE_DELETE, KUBE_TOKEN } verb;
	enum kube_kind kind; /* not for a token */
	const char *name;    /* of what is deleted, of the service account */
	jv body;	     /* borrowed; not to delete */
};

struct kube_reply {
	jv object;	      /* of a 2xx, without the secret */
	struct secret secret; /* the token */
	int is_unknown;	      /* 1: no answer says whether it was done */
};
#define KUBE_REPLY_INIT                                                                                                \
	{                                                                                                              \
		.secret = SECRET_INIT                                                                                  \
	}
void kube_reply_clear(struct kube_reply *reply);
#define auto_kube_reply __attribute__((cleanup(kube_reply_clear))) struct kube_reply

/* Into an empty REPLY, until DEADLINE (clock_mono_ms). What is made or minted is asked for again only when the server
 * was not reached or wants us to wait (429); what is deleted after every trouble that may pass. Errors: those of
 * kube_read. */
enum kube_answer kube_ask(const struct kube *kube, const struct kube_request *request, int64_t deadline,
			  struct kube_reply *reply, struct sbx_error *err);

#endif
