/* What a driver does while its sandbox runs: copy whole frames, stop it when asked or when its time is over, and wait
 * until it is gone. */
#ifndef SBX_DRIVE_H
#define SBX_DRIVE_H

#include "egress_relay.h"
#include "frame.h"
#include "spawn.h"

struct drive {
	int frames;	     /* read end of sbx-entry's stdout; owned by the caller */
	int out;	     /* where frames go */
	int control;	     /* the caller's caller closes it (or writes): stop; -1: none */
	int *stop;	     /* write end of sbx-entry's control pipe; closed to ask it to stop */
	struct child *child; /* first process of the sandbox; reaped unless the stream was complete */
	/* What leads out, each an event "connection" at its end; count 0: nothing does. */
	const struct egress_destination *destinations;
	const int *listeners;
	size_t destination_count;
	struct egress_limits egress;
	int64_t deadline;    /* clock_mono_ms */
	int64_t grace_ms;    /* for sbx-entry's own stopping */
};

enum drive_end {
	DRIVE_COMPLETE, /* the stream ended in end or refused: sbx-entry, then alone in the sandbox, has nothing left to
			   do but to exit */
	DRIVE_CUT,	/* it did not: killed, or died */
};

/* TERM, INT and HUP stop it like the control pipe does; they stay blocked afterwards. -1: frames that nothing of ours
 * writes ("bad_frame", 76), or a reader that is gone or takes nothing ("io_error", 74); the sandbox is dead in any
 * case. */
int drive(const struct drive *d, enum drive_end *end, struct sbx_error *err);

#endif
