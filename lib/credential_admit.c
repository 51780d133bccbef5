/* Before the first credential. */
#include "credential_admit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "call.h"
#include "digest.h"
#include "io.h"
#include "process.h"

enum {
	SLOTS = 4,	    /* calls of one principal at once */
	PRINCIPAL_MAX = 64, /* longer names are hashed for their slot */
};

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

/* A principal's name becomes the name of a directory: as it is when it cannot be anything else, else hashed. */
static void slot_name(const char *principal, char out[PRINCIPAL_MAX + 1])
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.@";

	if (principal[0] != '.' && strlen(principal) < PRINCIPAL_MAX && strspn(principal, safe) == strlen(principal))
		snprintf(out, PRINCIPAL_MAX + 1, "%s", principal);
	else
		digest_sha256_hex(principal, strlen(principal), out);
}

int admit_slot(const struct state *state, const char *principal, struct sbx_error *err)
{
	char directory[PRINCIPAL_MAX + 1];

	if (principal == NULL || principal[0] == '\0')
		return sbx_fail(err, SBX_PROTOCOL, "bad_call", "the call names no principal");
	slot_name(principal, directory);
	auto_fd slots = state_dir(state, "slots", err);
	if (slots < 0)
		return -1;
	auto_fd mine = io_open_dir(slots, directory, IO_CREATE, err);
	if (mine < 0)
		return -1;
	for (int i = 1; i <= SLOTS; i++) {
		const char number[2] = {(char)('0' + i), '\0'};
		auto_fd fd = openat(mine, number, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot make a slot");
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return take_fd(&fd);
	}
	sbx_fail(err, SBX_UNAVAILABLE, "too_many_calls", "this principal has %d calls running", SLOTS);
	return sbx_hint(err, "wait until one has ended");
}
