/* The way back of one lease, from wherever its mint had come to. */
#ifndef SBX_KUBE_CRED_REVOKE_H
#define SBX_KUBE_CRED_REVOKE_H

#include "kube_cred_mint.h"

/* Delete the binding, then the anchor, of JOURNAL (read), until the API server says that there is none: with the first
 * the token can do nothing more, with the second it is refused. The namespace of CRED is not looked at. "deferred" when
 * something is still there, or nothing can be deleted yet; "expires" for a token that is not bound, and for one that
 * ended by itself meanwhile; in both the proof says until when. -1 when the server could not be asked, "cluster_target"
 * (78) when it is another than the one that made it. */
int kube_cred_revoke(const struct kube_cred *cred, const struct provider_journal *journal,
		     struct provider_outcome *outcome, struct sbx_error *err);

#endif
