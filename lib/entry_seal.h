/* What sbx-entry compares before the first step: the programs and providers as they stand in the sandbox, the lock file
 * that terraform will read, the state that it will write. For a sealed plan a difference has the code of its part
 * (plan_part.h); for any other table it is "program_changed" or "input_changed" (77). Nothing was started then. */
#ifndef SBX_ENTRY_SEAL_H
#define SBX_ENTRY_SEAL_H

#include "plan_part.h"
#include "steps.h"

/* An input is not what the table says: PART of a sealed plan, WHAT of anything else. Returns -1. */
int entry_differs(const struct steps *table, enum plan_part part, const char *what, struct sbx_error *err);

/* The programs, and the files that are shown with them; the packages of the providers. */
int entry_check_programs(const struct steps *table, struct sbx_error *err);
int entry_check_packages(const struct steps *table, struct sbx_error *err);

/* Behind entry_take_inputs: the lock file in the unpacked tree. */
int entry_check_lock(const struct steps *table, int work_fd, struct sbx_error *err);

/* The mounted state FD is not the one of the table: say what of it differs. Returns -1. */
int entry_name_state(const struct steps *table, int fd, struct sbx_error *err);

#endif
