/* How much one principal may do at once: locks on the files of state/slots/PRINCIPAL/. */
#ifndef SBX_SLOT_H
#define SBX_SLOT_H

#include "state.h"

/* A lock on one of the COUNT files KIND1, KIND2, … of PRINCIPAL: a descriptor owned by the caller; the slot is free again
 * when it and every copy given to another process are closed. None is free: "too_many_calls" (69). "bad_call" (76) without
 * a principal; "cannot_create" (73). */
int slot_take(const struct state *state, const char *principal, const char *kind, int count, struct sbx_error *err);

#endif
