/* One change of a plan, of an object or of an output: what happens, why, and what its masks say. Buffers are used again
 * for the next one, so that memory is bounded by the largest. */
#ifndef SBX_PLAN_CHANGE_H
#define SBX_PLAN_CHANGE_H

#include "plan_mask.h"

/* The closed set of words; anything else refuses the plan. */
enum plan_action { ACTION_NO_OP, ACTION_CREATE, ACTION_READ, ACTION_UPDATE, ACTION_DELETE, ACTION_FORGET };
#define PLAN_ACTIONS 6
#define PLAN_ACTION_BIT(action) (1u << (action))
const char *plan_action_name(enum plan_action action);

/* Two are the most that Terraform and OpenTofu write. */
#define PLAN_CHANGE_ACTIONS 8

struct plan_change {
	struct buf address, previous_address, deposed, type, provider, reason; /* empty: not said */
	unsigned char actions[PLAN_CHANGE_ACTIONS];			       /* enum plan_action, in their order */
	unsigned action_count;
	unsigned action_bits;
	struct buf because; /* replace_paths as elements of a JSON array (plan_report_path) */
	unsigned because_count;
	int importing;
	struct plan_masks masks;
};

void plan_change_init(struct plan_change *change);
void plan_change_clear(struct plan_change *change);

/* The { of an entry of resource_changes (or of one that is like it) was read: fill CHANGE from it. "plan_kind",
 * "plan_action" (an unknown word, none, or too many), "plan_malformed" (no change or no address in it). */
int plan_change_read(struct plan_scan *s, struct plan_change *change, struct sbx_error *err);

/* The { of the inner object with the actions was read (this is all that an output has). */
int plan_change_read_inner(struct plan_scan *s, struct plan_change *change, struct sbx_error *err);

#endif
