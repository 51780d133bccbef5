/* What a person sees: text of a desk on a terminal, and the programs that take the terminal over for a while. */
#ifndef SBX_PERSON_SCREEN_H
#define SBX_PERSON_SCREEN_H

#include <signal.h>

#include "spawn.h"

/* Printable ASCII, or a line feed. */
int person_is_plain(char c);

/* Ctrl-C belongs to the program in front; ours waits for it, and gets what came in the meantime when BEFORE is set
 * again. */
void person_hold_signals(sigset_t *before);

/* Run WHAT in front until it ends, and kill it at DEADLINE (clock_mono_ms): "timeout" (69). "not_signed" (1): it ended
 * with another status than 0. */
int person_run(const struct spawn *what, int64_t deadline, struct sbx_error *err);

#endif
