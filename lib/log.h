/* Text for people on stderr, one line at a time, prefixed with the program's name. Control characters are shown as \xNN, so
 * that nothing quoted can drive a terminal.
 *
 * Whoever called chose what stderr is, and need not read it: a line that does not go within 200 ms is dropped, and so is each
 * later one that cannot go at once, so that a process waits no longer than that in all (or 10 ms for each line of a stderr
 * that says it has room and has none). Holds for pipes, sockets and terminals, in any thread's main thread, with any signal
 * mask; SIGALRM and the real-time interval timer are the caller's again afterwards. */
#ifndef SBX_LOG_H
#define SBX_LOG_H

#include "base.h"
#include "error.h"

/* NAME must outlive the process; the start of every main sets it. */
void log_set_name(const char *name);

void log_line(const char *format, ...) SBX_PRINTF(1, 2);

/* "name: message", and the hint on a line of its own. */
void log_error(const struct sbx_error *err);

#endif
