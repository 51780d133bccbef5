/* Objects of a call, made on a cluster several side by side while the loop goes on; each again where that may help. */
#ifndef SBX_KUBE_MAKE_H
#define SBX_KUBE_MAKE_H

#include "kube_loop.h"

struct kube_making {
	enum kube_kind kind;
	const void *body; /* borrowed */
	size_t len;
	const char *doing;	      /* "create the Job": for messages */
	struct http_exchange *answer; /* in the end: a 2xx, or the 409 of what is there already; the caller's */
	/* kube_make's own: */
	struct http_exchange *running;
	int tries;
	int64_t until, at, pause; /* of the request that runs, of the next one, and after that */
	struct sbx_error why;	  /* the last one failed */
};

/* Make all COUNT of LIST, whose other members are zero; in its order, but a few at once. A create may have reached the
 * server although its answer did not reach us, and libcurl may have sent it again: what is there already may be ours,
 * and the caller looks. -1: one was not made, or the loop is to end and not all were sent (ERR stays empty when it was
 * stopped). Whatever was sent has been answered then, for what reached the server later would be nobody's. */
int kube_make(struct kube_loop *loop, struct kube_making *list, size_t count, struct sbx_error *err);
void kube_make_clear(struct kube_making *list, size_t count);

#endif
