/* One entry of a description of changes to a cluster (sbx-plan(1), "Changes to a cluster"): a change, or an object
 * beside the changes that may go with one. The memory is used again for the next one. */
#ifndef SBX_KPLAN_ENTRY_H
#define SBX_KPLAN_ENTRY_H

#include "kplan_lines.h"
#include "kplan_object.h"
#include "plan_change.h"

enum kplan_kind {
	KPLAN_CHANGE,	  /* live is to become planned; one of them may be missing */
	KPLAN_BESIDE,	  /* live stands there */
	KPLAN_BESIDE_END, /* everything that may go with a change was given */
};

struct kplan_entry {
	enum kplan_kind kind;
	struct kplan_object live, planned;
	/* before and after hold what is left of the two when they are pruned (kplan_view.h); address and type are set.
	 * The rest is for whoever judges it. */
	struct plan_change change;
	struct plan_tree scratch;
};

void kplan_entry_init(struct kplan_entry *entry);
void kplan_entry_clear(struct kplan_entry *entry);

/* 1 when the two have different uids: the object is made anew, and the one that is live goes. */
int kplan_entry_is_another(const struct kplan_entry *entry);

/* Fill ENTRY from the next line of LINES, or two: 1, 0 when there is none, -1. Refusals (65) name the line: "json_*",
 * "plan_member" (none or another member than these), "plan_kind", "plan_malformed", "too_large". */
int kplan_entry_read(struct kplan_entry *entry, struct kplan_lines *lines, struct sbx_error *err);

#endif
