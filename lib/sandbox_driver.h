/* Starting a driver, by the contract of sbx-helper(7). */
#ifndef SBX_SANDBOX_DRIVER_H
#define SBX_SANDBOX_DRIVER_H

#include "sandbox.h"
#include "spawn.h"

struct driver {
	struct child child;
	int frames;  /* its stdout; -1 when closed */
	int control; /* closing it means: stop, then remove everything */
};
#define DRIVER_NONE                                                                                                    \
	{                                                                                                              \
		.child = CHILD_NONE, .frames = -1, .control = -1                                                       \
	}

/* The driver that policy.run names is there: "missing_helper" (78). */
int driver_is_there(jv run, struct sbx_error *err);

/* Start it with the table and the inputs of JOB. */
int driver_start(struct driver *driver, const struct sandbox_job *job, struct sbx_error *err);

/* How long a run may take, and what it gets after the first signal (milliseconds). */
int64_t driver_deadline_ms(jv run);
int64_t driver_grace_ms(jv run);

/* `sbx-run-NAME --check` with {"settings": SETTINGS} on its stdin (drivers.NAME of sbx.yaml; invalid: an empty object)
 * and its stdout on OUT: its exit status, or -1 with ERR. */
int driver_check(const char *name, jv settings, int out, struct sbx_error *err);

/* `sbx-run-NAME --mend CALL`, with the same on its stdin: nothing of CALL's sandbox is left when it returns 0.
 * "mend_failed" (69). The local driver leaves nothing and is not asked. */
int driver_mend(const char *name, jv settings, const char *call, struct sbx_error *err);

void driver_clear(struct driver *driver);

#endif
