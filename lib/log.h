/* Text for people on stderr, one line at a time, prefixed with the program's name. Control characters are shown as \xNN, so
 * that nothing quoted can drive a terminal. */
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
