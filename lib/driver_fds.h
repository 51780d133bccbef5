/* The descriptors that sbx-run hands to a driver (sbx-helper(7)): options that every driver has, and all that stays open
 * when it forgets its caller. */
#ifndef SBX_DRIVER_FDS_H
#define SBX_DRIVER_FDS_H

#include <stddef.h>

#include "error.h"

/* Locks of stages, slot and state that a run holds on to while its driver works. */
#define DRIVER_LOCKS_MAX 16

/* Numbers; -1 where none was given. */
struct driver_fds {
	int entry, inputs, credentials, control;
	int locks[DRIVER_LOCKS_MAX];
	size_t lock_count;
};
#define DRIVER_FDS_NONE {.entry = -1, .inputs = -1, .credentials = -1, .control = -1}

/* For getopt_long: the options of these, with letters of their own. */
#define DRIVER_FDS_OPTIONS                                                                                             \
	{"entry-fd", required_argument, NULL, 'e'}, {"inputs-fd", required_argument, NULL, 'i'},                       \
		{"credentials-fd", required_argument, NULL, 'c'}, {"control-fd", required_argument, NULL, 'x'},        \
		{"lock-fd", required_argument, NULL, 'l'}

/* Take TEXT, the argument of the option LETTER. -1 when it is none of these letters, no open descriptor behind the
 * standard ones, or a lock too many. */
int driver_fds_take(struct driver_fds *fds, int letter, const char *text);

/* 1 when those that every run has were given. */
int driver_fds_are_given(const struct driver_fds *fds);

/* process_clean for the driver NAME, which keeps these. */
int driver_fds_clean(const struct driver_fds *fds, const char *name, struct sbx_error *err);

#endif
