/* The way back of one lease, from wherever its mint had come to. */
#ifndef SBX_VAULT_REVOKE_H
#define SBX_VAULT_REVOKE_H

#include "provider_work.h"
#include "vault_login.h"

/* End what JOURNAL (read) says was made: the server's lease now, or, when the server cannot, queued there and looked up
 * until it is gone; then the child token, by its accessor or, when the answer with that was lost, by our lease in its
 * metadata. "deferred" when something is still there; else the journal's file can go. -1 when the server could not even
 * be asked. */
int vault_revoke(const struct vault *vault, const struct vault_session *session, const struct provider_journal *journal,
		 struct provider_outcome *outcome, struct sbx_error *err);

#endif
