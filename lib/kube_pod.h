/* The Pod of a call as its watch tells it: whether it can be asked for its log, and, when it ended or never began, why.
 */
#ifndef SBX_KUBE_POD_H
#define SBX_KUBE_POD_H

#include "json.h"

enum { KUBE_UID_SIZE = 64 };

enum kube_why {
	KUBE_WHY_NONE,	      /* it lives, or waits for nothing bad */
	KUBE_WHY_EXITED,      /* its process ended by itself */
	KUBE_WHY_MEMORY,      /* killed for its memory: 137 under runc, 128 under gVisor */
	KUBE_WHY_DEADLINE,    /* the Job's own deadline */
	KUBE_WHY_EVICTED,     /* the node needed the place */
	KUBE_WHY_IMAGE,	      /* no such image */
	KUBE_WHY_START,	      /* the runtime could not start it */
	KUBE_WHY_NODE,	      /* the node is gone: nobody knows what runs there */
	KUBE_WHY_DELETED,     /* somebody removed it */
	KUBE_WHY_UNSCHEDULED, /* no node takes it, so far */
};

struct kube_pod {
	char name[254]; /* "" until it is known */
	int placed;	/* it has a node */
	int ended;	/* its container, or the whole, is over */
	int gone;	/* the object is deleted */
	enum kube_why why;
	char said[200]; /* the cluster's own words, printable */
};
/* A watch, cut into its lines. Labels are what anybody may write who may make a Pod: the call's own is the one that the
 * Job OWNER controls, and of any other nothing is taken. */
struct kube_watch {
	char owner[KUBE_UID_SIZE]; /* the Job's uid; "": no Pod is ours */
	struct buf line;
	struct kube_pod pod;
	int again; /* the server wants the watch to begin anew (ERROR, 410) */
};
#define KUBE_WATCH_INIT                                                                                                \
	{                                                                                                              \
		.line = BUF_INIT(KUBE_EVENT_MAX)                                                                       \
	}
/* One event: a Pod with its managed fields has some 10 KB. */
#define KUBE_EVENT_MAX ((size_t)1 << 20)

/* An http_sink; CONTEXT is a struct kube_watch. */
int kube_watch_feed(void *context, const char *bytes, size_t len, struct sbx_error *err);
/* Before the watch begins anew: what is known of the Pod stays. */
void kube_watch_reset(struct kube_watch *watch);
void kube_watch_clear(struct kube_watch *watch);

/* Take what the object POD says. */
void kube_pod_read(struct kube_pod *to, jv pod);

/* Why there is no Pod yet, from a list of the Job's events: the newest FailedCreate's words, printable; "" when there
 * is none. */
void kube_failed_create(jv events, char *said, size_t size);

#endif
