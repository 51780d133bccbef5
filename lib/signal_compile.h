/* policy/signals/NAME.yaml into the flat table that sbx-plan reads. */
#ifndef SBX_SIGNAL_COMPILE_H
#define SBX_SIGNAL_COMPILE_H

#include "policy.h"
#include "signal_format.h"

/* Compile the files "signals/..." of POLICY (policy_read is enough; none is fine and gives a table
 * without rules), run every example against it, and append the block to OUT. "policy_invalid" (78)
 * with FILE:LINE and a hint, for an example that does not hold too. */
int signal_compile(const struct policy_files *policy, struct buf *out, struct sbx_error *err);

/* The same, kept as cache/POLICY_SHA256/signals in the state directory: made when it is not there
 * yet. */
int signal_compile_kept(const struct policy_files *policy, const struct state *state,
			struct sbx_error *err);

/* The files of the directory DIR, which holds nothing else, into the file OUTPUT, whoever may write
 * them. */
int signal_compile_directory(const char *dir, const char *output, struct sbx_error *err);

/* Compile and run every example; EACH gets one line's worth, the file and the signal as NAME, and
 * NULL as PROBLEM for one that holds. *FAILED gets the number of the others. */
int signal_check(const struct policy_files *policy,
		 void (*each)(void *context, const char *name, int number, const char *problem),
		 void *context, int *failed, struct sbx_error *err);

#endif
