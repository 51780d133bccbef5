/* One change of a plan, of an object or of an output: what happens, and the values beside it as trees. The memory is
 * used again for the next one, so that it is bounded by the largest. */
#ifndef SBX_PLAN_CHANGE_H
#define SBX_PLAN_CHANGE_H

#include "plan_tree.h"

/* The closed set of words; anything else refuses the plan. */
enum plan_action { ACTION_NO_OP, ACTION_CREATE, ACTION_READ, ACTION_UPDATE, ACTION_DELETE, ACTION_FORGET };
#define PLAN_ACTIONS 6
#define PLAN_ACTION_BIT(action) (1u << (action))
const char *plan_action_name(enum plan_action action);

/* Two are the most that Terraform and OpenTofu write. */
#define PLAN_CHANGE_ACTIONS 8

struct plan_actions {
	unsigned char list[PLAN_CHANGE_ACTIONS]; /* enum plan_action, in their order */
	unsigned count;
	unsigned bits;
};
#define PLAN_HAS(actions, action) (((actions)->bits & PLAN_ACTION_BIT(action)) != 0)
#define PLAN_ONLY(actions, action) ((actions)->bits == PLAN_ACTION_BIT(action))

struct plan_change {
	/* Empty: not said. */
	struct buf address, module, name, previous_address, deposed, mode, type, provider, reason;
	struct plan_actions actions;
	/* Empty when the member is not there. The masks hold truth values alone; replace_paths is an array of arrays of
	 * names and indexes. */
	struct plan_tree before, after, unknown, before_mask, after_mask, replace_paths, importing;
};

void plan_change_init(struct plan_change *change);
void plan_change_reset(struct plan_change *change); /* make it empty, keep the memory */
void plan_change_clear(struct plan_change *change);

/* The { of an entry of resource_changes (or of one that is like it) was read: fill CHANGE from it. "plan_kind",
 * "plan_action" (an unknown word, none, or too many), "plan_malformed" (no change or no address in it). */
int plan_change_read(struct plan_scan *s, struct plan_change *change, struct sbx_error *err);

/* The same for an entry of resource_drift. Terraform 0.15.2 to 1.0.0 write no address there: it is made of module, type
 * and name then, without the key of an instance. */
int plan_change_read_drift(struct plan_scan *s, struct plan_change *change, struct sbx_error *err);

/* The { of the inner object with the actions was read (this is all that an output has). */
int plan_change_read_inner(struct plan_scan *s, struct plan_change *change, struct sbx_error *err);

/* 1 when the last token, a key of an entry, is of one of its texts. */
int plan_change_is_text(const struct plan_scan *s);

/* 1 when an existing object becomes managed. */
int plan_change_imports(const struct plan_change *change);

#endif
