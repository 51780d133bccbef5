/* What a plan is of: the word in analyse: of a step, in a seal, and for sbx-plan --format. */
#ifndef SBX_PLAN_FORMAT_H
#define SBX_PLAN_FORMAT_H

#include "json.h"

enum plan_format { PLAN_FORMAT_NONE, PLAN_FORMAT_TERRAFORM, PLAN_FORMAT_KUBERNETES };

/* PLAN_FORMAT_NONE for any other word, and for NULL. */
enum plan_format plan_format_parse(const char *word);
const char *plan_format_name(enum plan_format format);

/* That of a kept plan. A seal that does not say is Terraform's; one that is no object (there is no plan) has none. */
enum plan_format plan_format_of(jv seal);

/* Of a run (policy.run), or of a tool: that of its step which is analysed; PLAN_FORMAT_NONE when there is none. */
enum plan_format plan_format_of_run(jv run);

#endif
