/* Reads a machine plan (terraform show -json, OpenTofu's too) and says what is dangerous in it. Strict: what is not
 * known is refused. Two passes over a descriptor with an offset; memory is bounded by the largest single value and 8
 * bytes for each address (16 for each object), not by the plan.
 *
 * Verdicts (the codes of findings):
 *   destructive   delete, replace, forget (any of the two words among the actions, deposed objects too), errored_plan
 * (at "*") review        move, move_across_types, import, read (data read at apply), drift, deferred,
 * action_invocation, provisioner, sensitivity_dropped, unknown_after_apply (an argument of an update), unusual_actions,
 * check_failed, output_delete; at "*": incomplete_plan, unlisted_objects safe          create, update (and no finding
 * for no-op) An object has one finding for what happens to it, unless that is safe and a stronger one stands, and one
 * more for each oddity. */
#ifndef SBX_PLAN_READ_H
#define SBX_PLAN_READ_H

#include "plan_report.h"
#include "plan_survey.h"

/* FD must be seekable and is read twice from offset 0; a change of its size or time meanwhile is "plan_changed" (65).
 * SURVEY and REPORT (initialised) are filled, and are the caller's to clear on failure too. Refusals: those of
 * plan_survey_read and plan_change_read, "too_large" (65). */
int plan_read(int fd, struct plan_survey *survey, struct plan_report *report, struct sbx_error *err);

#endif
