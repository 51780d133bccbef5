/* The verdict about one entry of a description of changes to a cluster: what happens to the object, what is odd about
 * it, and which signal rules it, its pods and their containers meet. */
#ifndef SBX_KPLAN_JUDGE_H
#define SBX_KPLAN_JUDGE_H

#include "kplan_cascade.h"
#include "kplan_view.h"
#include "plan_report.h"
#include "signal_match.h"

struct kplan_judge {
	struct signal_matcher *matcher; /* borrowed, as the next two */
	struct kplan_cascade *cascade;	/* settled */
	struct plan_report *report;
	struct plan_finding finding;		/* about the entry at hand, until the report takes it */
	struct kplan_view pod[2], container[2]; /* before and after */
};

void kplan_judge_init(struct kplan_judge *judge);
void kplan_judge_clear(struct kplan_judge *judge);

/* ENTRY is a change: its actions and masks are filled, and the report gets the finding, if there is one. */
int kplan_judge_change(struct kplan_judge *judge, struct kplan_entry *entry, struct sbx_error *err);

/* ENTRY stands beside the changes and goes with what WAY names in it. */
int kplan_judge_cascade(struct kplan_judge *judge, struct kplan_entry *entry, const struct kplan_way *way,
			struct sbx_error *err);

#endif
