/* Before the first credential. */
#include "credential_admit.h"

#include <string.h>

#include "call.h"
#include "process.h"
#include "slot.h"

enum { SLOTS = 4 /* calls of one principal at once */ };

/* The seals say that sbx-approve let it pass; what it must have said is looked at all the same, because here is where
 * credentials begin. */
int admit_approval(jv call, struct sbx_error *err)
{
	if (call_may_run(call))
		return 0;
	sbx_fail(err, SBX_DENIED, "not_approved",
		 "the call is neither allowed without an approval nor holds a claimed one");
	return sbx_hint(err, "the order of the stages is sbx-policy, sbx-approve, sbx-cred");
}

char *admit_command(const struct config *config, const char *command, struct sbx_error *err)
{
	if (strcmp(command, "sbx-run") == 0)
		return process_helper(command, err);
	for (int i = 0; i < json_length(config->commands); i++) {
		auto_jv allowed = json_at(config->commands, i);
		if (strcmp(json_text(allowed), command) != 0)
			continue;
		char *path = strdup(command);
		if (path == NULL)
			sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		return path;
	}
	sbx_fail(err, SBX_DENIED, "command_not_allowed", "the settings do not allow that command to have credentials");
	sbx_hint(err, "use sbx-run, or list the absolute path under commands: in %s", config->file);
	return NULL;
}

int admit_slot(const struct state *state, const char *principal, struct sbx_error *err)
{
	return slot_take(state, principal, "", SLOTS, err);
}
