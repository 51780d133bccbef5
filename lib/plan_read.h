/* Reads a machine plan (terraform show -json, OpenTofu's too) and says what is dangerous in it. Strict: what is not
 * known is refused. Two passes over a descriptor with an offset; memory is bounded by the largest single change and by
 * 8 bytes for each address (16 for each object), not by the plan.
 *
 * The structural verdicts are complete and in code (plan_judge.c):
 *   destructive  delete, replace, forget (any of the two words among the actions, deposed objects too), errored_plan
 *   review       move, move_across_types, import, read (data read at apply), drift, deferred, action_invocation,
 *                provisioner, sensitivity_dropped, unknown_after_apply (an argument of an update, or one that a rule looks
 *                at), not_readable (what a rule looks at), unusual_actions,
 *                check_failed, output_delete; at "*": incomplete_plan, unlisted_objects
 * The signal rules of the table (sbx-policy(5)) can only raise them. An object has one finding, with the strongest
 * verdict and every signal. */
#ifndef SBX_PLAN_READ_H
#define SBX_PLAN_READ_H

#include "plan_report.h"
#include "plan_survey.h"
#include "signal_table.h"

/* FD must be seekable and is read twice from offset 0; other bytes the second time are "plan_changed" (65). TABLE
 * (borrowed) may be empty, all zero. SURVEY and REPORT (initialised) are filled, and are the caller's to clear on
 * failure too. Refusals: those of plan_survey_read and plan_change_read, "too_large" (65). */
int plan_read(int fd, const struct signal_table *table, struct plan_survey *survey, struct plan_report *report,
	      struct sbx_error *err);

/* What a report about SURVEY (borrowed, as long as the head is used) begins with. */
struct plan_head plan_read_head(const struct plan_survey *survey);

#endif
