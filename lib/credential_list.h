/* sbx-cred list. */
#ifndef SBX_CREDENTIAL_LIST_H
#define SBX_CREDENTIAL_LIST_H

#include "buf.h"
#include "state.h"

enum credential_list_form { CREDENTIAL_LIST_TEXT, CREDENTIAL_LIST_JSON };

/* Into OUT a line for each lease that is live, the one that ends first above: until when, whether its call still works
 * ("running") or died ("left": mending revokes it), how far it came ("requested", "issued", "deferred"), whose, for
 * which call, of which provider, scope, namespace and target. As JSON one object a line. Texts that people or policy
 * chose are quoted. -1 as lease_each, and OUT has the others. */
int credential_list(const struct state *state, enum credential_list_form form, struct buf *out, struct sbx_error *err);

#endif
