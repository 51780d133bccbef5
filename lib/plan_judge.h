/* The verdict about one entry of a plan: what its actions mean, what is odd about it, and which signal rules it meets.
 */
#ifndef SBX_PLAN_JUDGE_H
#define SBX_PLAN_JUDGE_H

#include "plan_report.h"
#include "plan_survey.h"
#include "signal_match.h"

struct plan_judge {
	const struct plan_survey *survey; /* borrowed, as the next three */
	const struct key_seed *seed;
	struct signal_matcher *matcher;
	struct plan_report *report;
	struct plan_change change;   /* the entry at hand */
	struct plan_finding finding; /* about it, until the report takes it */
	struct buf scratch;
};

void plan_judge_init(struct plan_judge *judge);
void plan_judge_clear(struct plan_judge *judge);

/* JUDGE->change is an entry of resource_changes; an output NAME; or an entry of one of the lists about which there is
 * one thing to say, CODE. The report gets the finding, if there is one. */
int plan_judge_change(struct plan_judge *judge, struct sbx_error *err);
int plan_judge_output(struct plan_judge *judge, const char *name, size_t len, struct sbx_error *err);
int plan_judge_entry(struct plan_judge *judge, const char *code, struct sbx_error *err);

/* A finding about ADDRESS without a change. */
int plan_judge_add(struct plan_judge *judge, enum plan_verdict verdict, const char *code, const char *address,
		   size_t len, struct sbx_error *err);

#endif
