/* One credential of a cluster: an empty Secret as its anchor, where the scope wants it a RoleBinding, and a token of a
 * service account that is bound to the anchor (TokenRequest, authentication.k8s.io/v1). The API server refuses the
 * token when the anchor is gone. Whatever goes wrong on the way is left as it is: kube_cred_revoke finds all of it. */
#ifndef SBX_KUBE_CRED_MINT_H
#define SBX_KUBE_CRED_MINT_H

#include "kube_api.h"
#include "kube_cred_settings.h"
#include "provider_work.h"

#define KUBE_CRED_NAME_SIZE 48
/* Of the anchor and of the binding: "sbx-cred-LEASE". */
void kube_cred_name(const char *lease, char out[KUBE_CRED_NAME_SIZE]);

struct kube_cred {
	struct kube kube;   /* its namespace is the scope's */
	const char *server; /* where its http goes */
	int64_t deadline;   /* clock_mono_ms, for all requests together */
};

/* JOURNAL is begun here. Errors: those of kube_read and of the journal; "token_unbound" (76) when the token is not
 * bound to the anchor, "token_short" (78) when it would end before its action. */
int kube_cred_mint(const struct kube_cred *cred, const struct kube_cred_scope *scope, const struct provider_wish *wish,
		   struct provider_journal *journal, struct provider_minted *minted, struct sbx_error *err);

#endif
