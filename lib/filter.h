/* The harness of the stages: first act, settings, state, one call in, seals, stage file, one call out, exit status.
 * sbx-policy makes the call itself and begins with filter_open; sbx-cred seals a second time behind filter_read. */
#ifndef SBX_FILTER_H
#define SBX_FILTER_H

#include "call.h"
#include "config.h"
#include "start.h"
#include "state.h"

struct filter {
	const char *name;	/* of the program */
	enum call_stage stage;	/* the seal it adds */
	struct started started;
	struct config config;
	struct state state;
	struct secret key;
	int run_fd;   /* state/runs/CALL, -1 before the call is known */
	int stage_fd; /* its stage file, locked */
	jv call;      /* the call as it came */
	int is_alone;	    /* 1: no call comes on stdin */
	int is_unread;	    /* 1: one does, and the stage could not be opened for it */
	int is_unfinished; /* 1: the stage ends without being done, so that mending goes on with what it leaves */
};
#define FILTER_INIT(program, seal_stage) \
	{.name = (program), .stage = (seal_stage), .state = STATE_NONE, .run_fd = -1, .stage_fd = -1}

/* First act with the reply moved aside, settings, state directory, seal key. KEEP: descriptors that options named. */
int filter_open(struct filter *f, const char *config_option, const int *keep, size_t keep_count, struct sbx_error *err);

/* Read the one call on stdin, verify its seals, begin the stage. 0: go on; 1: the call holds an error or is a bare one: pass it on with
 * filter_pass; -1: no call to seal (ERR). */
int filter_read(struct filter *f, struct sbx_error *err);

/* The end of a stage: seal CALL (consumed), mark the stage done (unless it is_unfinished), write the object and a line feed, check the write. Returns the exit status; a failed
 * write is 74. With ERR filled, it becomes the call's error first and is logged. */
int filter_finish(struct filter *f, jv call, struct sbx_error *err);

/* For a call that holds an error: add the seal, pass it on. */
int filter_pass(struct filter *f);

/* No call to seal: write {"sbx":1,"error":…} (or the bare error that came), log, return the class. After filter_open has failed the stage before is
 * waited for: what stops all of them is said by the first one alone, whose bare error is passed on. */
int filter_refuse(struct filter *f, const struct sbx_error *err);

/* The stage's name in error.stage and in runs/CALL. */
const char *filter_stage(const struct filter *f);

void filter_close(struct filter *f);

#endif
