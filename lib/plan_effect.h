/* The digest of what a plan does: the same for two plans of the same change, whenever and from however formatted a text
 * they were made. It covers every change that does something (actions, values, masks, moves, imports), the outputs,
 * the configuration and the variables that an apply evaluates, action invocations and what is deferred; not the time,
 * the release of the tool, objects that stay as they are, or what was seen outside. */
#ifndef SBX_PLAN_EFFECT_H
#define SBX_PLAN_EFFECT_H

#include "digest.h"
#include "plan_change.h"

#define PLAN_EFFECT_PARTS 6

struct plan_effect {
	struct digest changes;
	struct digest parts[PLAN_EFFECT_PARTS];
};

void plan_effect_init(struct plan_effect *effect);
void plan_effect_clear(struct plan_effect *effect);

/* Where the tokens of the top-level member NAME (the last token of S) go; NULL: it is no part of the effect. */
struct digest *plan_effect_part(struct plan_effect *effect, const struct plan_scan *s);

/* An entry of resource_changes. */
void plan_effect_add(struct plan_effect *effect, const struct plan_change *change);

/* EFFECT is empty afterwards. */
void plan_effect_finish(struct plan_effect *effect, char hex[DIGEST_HEX_SIZE]);

#endif
