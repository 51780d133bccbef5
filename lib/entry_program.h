/* The program of one step while it runs: started, watched, its output passed on in frames, ended with everything that it
 * started. What comes of it is the step's (entry_step.h) or the check's (entry_check.h). */
#ifndef SBX_ENTRY_PROGRAM_H
#define SBX_ENTRY_PROGRAM_H

#include "clock.h"
#include "entry_inputs.h"
#include "entry_state.h"
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

enum stream { STREAM_OUT, STREAM_ERR, STREAMS };

struct pipe_end {
	int fd; /* read end; -1: at its end */
	uint64_t sent, dropped;
};

struct running {
	struct entry_run *run;
	unsigned number;
	struct pipe_end streams[STREAMS];
	pid_t pid; /* 0 when it has ended */
	int status;
	int64_t kill_at; /* after a stop; -1: none */
	int64_t started;
	const char *failed;	/* code of what was wrong, though it may have ended with 0; NULL */
	struct sbx_error found; /* why, where the code does not say all */
	struct entry_state state;
	struct buf *heard;  /* takes its stderr, as far as it fits, and no frame does; NULL */
	const char *lock;   /* what SLOT_LOCK becomes */
	const char *artifact; /* the one that was looked at last */
};
#define RUNNING_INIT(entry_run, step_number)                                                                           \
	{                                                                                                              \
		.run = (entry_run), .number = (step_number), .kill_at = -1, .started = clock_mono_ms(),                \
		.found = SBX_ERROR_INIT, .state = ENTRY_STATE_NONE,                                                    \
		.streams = {[STREAM_OUT] = {.fd = -1}, [STREAM_ERR] = {.fd = -1}}                                      \
	}

/* Run STEP's program to its end, with the credentials if the step may have them. R then has its status, what was dropped
 * of its output, and in .failed "cannot_start" (told on its stderr; the status is 127), or what entry_state_judge says of the
 * state that it printed (more in .found). The calling process must be the first of its pid namespace: it kills all others
 * there. -1 when the frames cannot be written any more. */
int entry_program_run(struct running *r, const struct step *step, struct sbx_error *err);

void entry_program_clear(struct running *r);

/* 1 when a stop was asked for; does not wait. */
int entry_stop_wanted(struct entry_run *run);

#endif
