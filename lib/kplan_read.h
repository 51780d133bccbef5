/* Reads a description of changes to a cluster (sbx-plan(1), "Changes to a cluster"): what is live, what the server says
 * it would become, and what stands beside it; and says what is dangerous in it. Strict: what is not known is refused.
 * Two passes over a descriptor with an offset; memory is bounded by the two largest objects of a line and some 50 bytes
 * for each object.
 *
 * The structural verdicts are complete and in code (kplan_judge.c, kplan_rules.c):
 *   destructive  delete, replace (another uid), cascade (it goes with something else), cascade_unknown
 *   review       unknown_kind (no rule names it), not_previewed (without a uid of the server), versions_differ,
 *                finalizers_changed, owners_changed, container_added, container_removed, not_readable
 * The signal rules of the table (sbx-policy(5)) can only raise them. An object has one finding. */
#ifndef SBX_KPLAN_READ_H
#define SBX_KPLAN_READ_H

#include "plan_report.h"
#include "signal_table.h"

#define KPLAN_VERSION "1"

/* FD must be seekable and is read twice from offset 0; other bytes the second time are "plan_changed" (65). TABLE
 * (borrowed) may be empty, all zero: every kind is unknown then. REPORT (initialised) is filled, and is the caller's to
 * clear on failure too. Refusals: those of kplan_entry_read and kplan_cascade_note, "json_empty" without a change. */
int kplan_read(int fd, const struct signal_table *table, struct plan_report *report, struct sbx_error *err);

#endif
