/* A manifest that is to be applied: YAML (or JSON) of exactly one object, of a kind that may be applied, with a name of
 * its own and nothing that is the server's to say. What is sent is this object, not these bytes: where two YAML readers
 * would differ about a manifest, it is refused. */
#ifndef SBX_KCHANGE_MANIFEST_H
#define SBX_KCHANGE_MANIFEST_H

#include "json.h"
#include "kchange_request.h"

struct kchange_manifest {
	jv object;		  /* owned */
	struct kchange_name name; /* borrowed from OBJECT and from the caller's namespace */
};
void kchange_manifest_clear(struct kchange_manifest *manifest);

/* Read TEXT of LEN bytes, which is to be applied in namespace SPACE (NULL: in none). "manifest_refused",
 * "kind_refused", "bad_object_name" (65). MANIFEST is the caller's to clear in any case. */
int kchange_manifest_read(struct kchange_manifest *manifest, const char *text, size_t len, const char *space,
			  struct sbx_error *err);

/* REQUEST (empty) becomes the one that applies it to LIVE; NULL: to nothing, and only as long as there is none. */
int kchange_manifest_request(const struct kchange_manifest *manifest, const struct kchange_object *live,
			     struct kchange_request *request, struct sbx_error *err);

#endif
