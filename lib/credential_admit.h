/* What must hold before sbx-cred mints anything: the approval, the command that is to have the credentials, and a free
 * slot. */
#ifndef SBX_CREDENTIAL_ADMIT_H
#define SBX_CREDENTIAL_ADMIT_H

#include "config.h"
#include "state.h"

/* CALL is allowed without an approval, or its approval is claimed; else "not_approved" (77). */
int admit_approval(jv call, struct sbx_error *err);

/* The program for COMMAND, owned by the caller: "sbx-run" is the one beside this program; anything else must be a path
 * that the settings list under commands. "command_not_allowed" (77), "missing_helper" (78). */
char *admit_command(const struct config *config, const char *command, struct sbx_error *err);

/* One of the four files state/slots/PRINCIPAL/1…4, as slot_take has it: a descriptor owned by the caller. */
int admit_slot(const struct state *state, const char *principal, struct sbx_error *err);

#endif
