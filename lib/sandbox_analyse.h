/* sbx-plan beside a run: the stdout of an analysing step goes to it alone, and its answer comes back. */
#ifndef SBX_SANDBOX_ANALYSE_H
#define SBX_SANDBOX_ANALYSE_H

#include "json.h"
#include "spawn.h"

struct analysis {
	struct child child;
	int in, out;	    /* our ends of its stdin and stdout; -1 when closed */
	struct buf pending; /* bytes of the step that it has not taken */
	size_t sent;	    /* of these */
	struct buf answer;
	uint64_t total; /* bytes that the step gave */
	int overrun;	/* more than LIMIT_PLAN_JSON: the rest is thrown away, the plan is unreadable */
};

void analysis_init(struct analysis *analysis);
/* Start sbx-plan for plans of FORMAT (plan_format.h) with the signal table in the file SIGNALS; it confines itself
 * before it reads the first byte. */
int analysis_start(struct analysis *analysis, const char *format, const char *signals, struct sbx_error *err);
int analysis_running(const struct analysis *analysis);

/* Hand over bytes; no more may come while analysis_blocked says 1 (so that memory stays bounded). */
int analysis_give(struct analysis *analysis, const char *bytes, size_t len, struct sbx_error *err);
int analysis_blocked(const struct analysis *analysis);
/* Move what can be moved without waiting, after poll reported the two descriptors. */
int analysis_pump(struct analysis *analysis, struct sbx_error *err);

/* The step has ended: give it the rest and the end of input, wait until DEADLINE (clock_mono_ms) for the answer. 0:
 * *ANSWER is the caller's: an object with a verdict, data_destroyed, both digests and findings. -1: "plan_unreadable"
 * (1; the class of a failed command), "timeout" (69). */
int analysis_finish(struct analysis *analysis, int64_t deadline, jv *answer, struct sbx_error *err);

void analysis_clear(struct analysis *analysis);

#endif
