/* What a call's scopes would become, for people. */
#ifndef SBX_CREDENTIAL_EXPLAIN_H
#define SBX_CREDENTIAL_EXPLAIN_H

#include "credential.h"

/* Lines of text into OUT, after the same checks as before a mint; nothing is asked of a provider. Everything that
 * policy or settings chose is quoted. Errors: those of credential_plan. */
int credential_explain(const struct credential_broker *broker, jv call, struct buf *out, struct sbx_error *err);

#endif
