/* What every program does before it does anything: nothing of the caller's environment, descriptors, signals or modes reaches our code or our children. And
 * where its helpers are. */
#ifndef SBX_PROCESS_H
#define SBX_PROCESS_H

#include "base.h"
#include "error.h"

/* NAME is the program's. KEEP lists the KEEP_COUNT descriptors that options named. Starts the program again when the
 * caller's environment holds LD_* or GLIBC_TUNABLES (so options must not be changed while they are parsed). Makes
 * descriptors 0 to 2 exist, closes every other one, ignores SIGPIPE and what a terminal sends (QUIT, TSTP, TTIN, TTOU: whoever
 * called has it, and a process that is stopped keeps its locks), resets the other signals and the mask (but see
 * process_set_stop), empties the environment and sets HOME, LC_ALL, TZ and PATH, sets umask 077, no core file, not
 * dumpable. Fails only when /dev/null cannot be opened or the program cannot be started again. */
int process_clean(const char *name, const int *keep, size_t keep_count, struct sbx_error *err);

/* How INT, TERM and HUP meet this process. */
enum process_stop {
	PROCESS_STOP_ENDS, /* as by default */
	PROCESS_STOP_IGNORED,
	PROCESS_STOP_HELD, /* blocked: they wait for a signalfd */
};

/* Takes effect at once, and process_clean keeps it: for a program that must not be ended from here on. Children that
 * spawn starts get the default all the same, unless they are to be held too (SPAWN_HOLD_STOP). */
void process_set_stop(enum process_stop how);

/* QUIT, TSTP, TTIN and TTOU as by default again: for a program that a person runs in their own account. */
void process_obey_terminal(void);

/* From here on INT, TERM and HUP are read, not suffered: blocked, and told by the signalfd that is returned (O_CLOEXEC,
 * non-blocking; the caller closes it). -1: "os_error" (71). Children that spawn starts have the default again. */
int process_stop_fd(struct sbx_error *err);

/* Directory of the running program's file ("/usr/bin"), for finding helpers beside it; owned by the caller. */
char *process_dir(struct sbx_error *err);

/* Path of helper NAME: beside the program, else ../libexec/sbx/NAME; owned by the caller. Missing: "missing_helper" (78). */
char *process_helper(const char *name, struct sbx_error *err);

#endif
