/* A change to a cluster as it is kept and signed: what is sent, and what it would do, in one canonical JSON object.
 *   {"change":VERB, "cluster":{"ca_sha256":…, "server":…, "uid":…}, "format":"sbx-change/1",
 *    "objects":[ENTRY, …], "requests":[REQUEST, …]}
 * An entry is a line for sbx-plan --format kubernetes: {"live":…,"planned":…}, then {"beside":…}. Request I does what
 * entry I says; further changes, in which live and planned are the same, are objects that were looked at and are left
 * as they are. cluster.ca_sha256 and .uid are null where they are not known. */
#ifndef SBX_KCHANGE_PLAN_H
#define SBX_KCHANGE_PLAN_H

#include "kchange_request.h"

#define KCHANGE_FORMAT "sbx-change/1"

/* --- made --- */

struct kchange_draft {
	struct buf requests, objects; /* the insides of the two arrays */
};
void kchange_draft_init(struct kchange_draft *draft);
void kchange_draft_clear(struct kchange_draft *draft);

int kchange_draft_request(struct kchange_draft *draft, const struct kchange_request *request, struct sbx_error *err);
/* LIVE and PLANNED are JSON texts; NULL: null. */
int kchange_draft_entry(struct kchange_draft *draft, const struct buf *live, const struct buf *planned,
			struct sbx_error *err);
int kchange_draft_beside(struct kchange_draft *draft, const struct buf *object, struct sbx_error *err);
/* The objects of MORE behind those of DRAFT; it has no requests. */
int kchange_draft_append(struct kchange_draft *draft, const struct kchange_draft *more, struct sbx_error *err);
/* The whole into an empty OUT, which has LIMIT_CHANGE as its maximum. Asks SERVER which cluster it is. */
int kchange_draft_finish(const struct kchange_draft *draft, enum kchange_verb verb, struct kchange_server *server,
			 struct buf *out, struct sbx_error *err);

/* --- read --- */

struct kchange_plan {
	enum kchange_verb verb;
	struct plan_tree tree;
	const struct plan_node *objects, *requests;		       /* the arrays */
	char server[1024], ca[DIGEST_HEX_SIZE], uid[KCHANGE_UID_SIZE]; /* "": not known */
};
void kchange_plan_init(struct kchange_plan *plan);
void kchange_plan_clear(struct kchange_plan *plan);

/* Read FD to its end, and all of its changes. "plan_malformed" (65) for anything else than what a draft becomes, also
 * for a request that does something else than is shown. */
int kchange_plan_read(struct kchange_plan *plan, int fd, struct sbx_error *err);

/* Append the entry at NODE as a line. */
int kchange_plan_line(struct buf *out, const struct kchange_plan *plan, const struct plan_node *node,
		      struct sbx_error *err);

/* One change of it: an entry, and its request where there is one. */
struct kchange_step {
	char kind[64], space[64], text[KCHANGE_NAME_SIZE]; /* of NAME */
	struct kchange_name name;
	int is_live;		    /* 0: it is to be created */
	struct kchange_object live; /* as it was seen */
	int has_request;	    /* 0: it is left as it is */
	struct kchange_request request;
};
void kchange_step_init(struct kchange_step *step);
void kchange_step_clear(struct kchange_step *step);

/* Fill STEP (initialised) with the change NUMBER, from 0: 1, 0 when there are no more, -1. */
int kchange_plan_step(const struct kchange_plan *plan, uint32_t number, struct kchange_step *step,
		      struct sbx_error *err);

/* TREE (initialised) gets what becomes of the object of the change NUMBER, as the plan says; empty: nothing does. */
int kchange_plan_planned(const struct kchange_plan *plan, uint32_t number, struct plan_tree *tree,
			 struct sbx_error *err);

/* Is SERVER the cluster of PLAN? By its address and authorities, which is sent nothing, then by its uid:
 * "other_cluster" (65), "cluster_*" and those of kchange_ask. */
int kchange_plan_is_for(const struct kchange_plan *plan, struct kchange_server *server, struct sbx_error *err);

#endif
