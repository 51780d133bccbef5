/* What a change would do, asked of the server, which does nothing of it. */
#ifndef SBX_KCHANGE_PREVIEW_H
#define SBX_KCHANGE_PREVIEW_H

#include "kchange_plan.h"

struct kchange_wish {
	enum kchange_verb verb;
	const char *space;	 /* NULL: none */
	const char *kind, *name; /* not for an apply */
	int64_t replicas;	 /* scale */
	const char *manifest;	 /* apply: a manifest's text */
	size_t manifest_len;
};

/* DRAFT (initialised) gets the requests and the objects of what WISH asks for. SAID gets lines for people: what is left
 * out. Errors: "kind_refused", "bad_object_name", "manifest_refused" (65), "object_missing" (66), those of
 * kchange_refused and kchange_ask. */
int kchange_preview(struct kchange_server *server, const struct kchange_wish *wish, struct kchange_draft *draft,
		    struct buf *said, struct sbx_error *err);

#endif
