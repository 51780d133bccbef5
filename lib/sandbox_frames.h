/* Inside of sandbox.c: one run while it goes on, and what its frames do to it. */
#ifndef SBX_SANDBOX_FRAMES_H
#define SBX_SANDBOX_FRAMES_H

#include "frame.h"
#include "sandbox_analyse.h"
#include "sandbox_driver.h"
#include "sandbox_output.h"

/* A driver that is past its own deadline and grace gets this to clean up (milliseconds). */
#define SANDBOX_SLACK_MS 15000

enum stop { STOP_NONE, STOP_CANCEL, STOP_DEADLINE };
enum told { TOLD_NOTHING, TOLD_FAILED, TOLD_LOST };

struct run {
	const struct sandbox_job *job;
	struct sandbox_outcome *outcome;
	struct driver driver;
	struct frame_reader frames;
	struct analysis analysis;
	struct capture out, err;
	unsigned step_count, exits; /* steps of the table; those that returned 0 */
	unsigned checks;	    /* how many of them come first and have no frame */
	int analysing;		    /* the step that runs is one */
	int err_came;		    /* it wrote some: what the scrubber held back then is not all there is */
	int reader_fd;		    /* -1 once it has gone */
	enum stop stop;		    /* why it was told to stop */
	int64_t guard;		    /* when we lose patience with the driver */
	int killed;		    /* we did */
	int died;		    /* by a signal that was not ours: it could not say what it left */
	enum told told;		    /* what the driver knows of an end that no frame tells */
	/* The artefact that is coming. */
	int artifact_fd;
	uint64_t artifact_left;
	jv artifact;
	struct sbx_error broken; /* our own or the driver's fault: the stream is no longer believed */
};

/* Tell the driver to stop, once; the first reason stands. */
void sandbox_stop(struct run *run, enum stop why);

/* After the streams are finished: the step that ended with a failure, with its last words, for the person who looks on.
 */
void sandbox_say_failure(const struct run *run);

/* After the streams are finished: what the check said that refused, as the hint of the refusal. */
void sandbox_hint_refusal(const struct run *run);

/* Serve the frames that are whole, until sbx-plan cannot take more. -1: run->broken says why the stream is not believed
 * any longer. */
int sandbox_take_frames(struct run *run);

#endif
