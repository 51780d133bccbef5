/* Objects that go with one that is deleted, as kchange_beside.c finds them and kchange_beside_plan.c knows them again. */
#ifndef SBX_KCHANGE_FOUND_H
#define SBX_KCHANGE_FOUND_H

#include "kchange_beside.h"

/* Bytes of the text of one. */
#define KCHANGE_FOUND_TEXT ((size_t)64 << 10)

struct kchange_found {
	uint64_t uid;
	struct plan_list owners; /* their uids */
	char *text;		 /* owned */
	size_t len;
	enum {
		MADE,  /* by a controller, again whenever it goes */
		LOOSE, /* by somebody, or it holds data */
	} origin;
	int is_claim;
};

/* A text, and the uid at NODE (0: there is none), by the seed of BESIDE. */
uint64_t kchange_found_hash(const struct kchange_beside *beside, const char *text, size_t len);
uint64_t kchange_found_uid(const struct kchange_beside *beside, const struct plan_tree *tree,
			   const struct plan_node *node);

#endif
