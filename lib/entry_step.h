/* One step in the sandbox: started alone, watched, ended with everything that it started, its products taken. */
#ifndef SBX_ENTRY_STEP_H
#define SBX_ENTRY_STEP_H

#include "entry_inputs.h"
#include "frame.h"

struct entry_run {
	const struct steps *table;
	const char *nonce;
	int frames_fd;
	int control_fd; /* closed or written to: stop; -1 once it was heard */
	int signal_fd;	/* SIGCHLD, which is blocked */
	int cwd_fd;	/* the steps' working directory, which is this process's, too */
	const char *const *envp;
	struct artifacts artifacts;
	const struct secret *credentials; /* NULL: none */
	int relayed;	     /* a relay of the driver leads out, for steps that do not analyse */
	const char *covered; /* directory that steps must not see (entry_fence.h); NULL: the driver has seen to it */
	uint64_t way_back;   /* most bytes of an analysed output that the frames' way takes; 0: no such bound */
	int stopped;
};

enum step_outcome {
	STEP_DONE,   /* it ended with 0 and its products are there */
	STEP_FAILED, /* told in its exit frame: the sequence ends */
};

/* Run STEP as number NUMBER (from 1). The calling process must be the first of its pid namespace: it kills all others
 * there. -1 when the frames cannot be written any more. */
int entry_step(struct entry_run *run, unsigned number, const struct step *step, enum step_outcome *outcome,
	       struct sbx_error *err);

/* 1 when a stop was asked for; does not wait. */
int entry_stop_wanted(struct entry_run *run);

#endif
