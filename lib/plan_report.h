/* What sbx-plan says about a plan: findings, strongest first, and counts, as one JSON object that is small whatever the
 * plan's size. */
#ifndef SBX_PLAN_REPORT_H
#define SBX_PLAN_REPORT_H

#include "limit.h"
#include "plan_change.h"
#include "plan_survey.h"
#include "plan_verdict.h"

#define PLAN_COUNTS 7
enum plan_count { COUNT_CREATE, COUNT_UPDATE, COUNT_DELETE, COUNT_REPLACE, COUNT_FORGET, COUNT_READ, COUNT_NO_OP };

struct plan_report {
	struct buf findings[PLAN_VERDICTS];	    /* JSON objects, one behind the other: the first of each verdict, */
	unsigned kept[PLAN_VERDICTS];		    /* so many of them, */
	uint64_t total[PLAN_VERDICTS];		    /* of so many */
	size_t ends[PLAN_VERDICTS][LIMIT_FINDINGS]; /* where each ends */
	uint64_t counts[PLAN_COUNTS];		    /* of the changes */
};

void plan_report_init(struct plan_report *report);
void plan_report_clear(struct plan_report *report);

/* A finding of VERDICT with the word CODE at ADDRESS ("*": the whole plan). CHANGE gives the rest (deposed, actions,
 * because, …); NULL: nothing more. Beyond LIMIT_FINDINGS for a verdict it is only counted. */
int plan_report_add(struct plan_report *report, enum plan_verdict verdict, const char *code, const char *address,
		    size_t len, const struct plan_change *change, struct sbx_error *err);

/* The whole as JSON text with a line feed. */
int plan_report_write(const struct plan_report *report, const struct plan_survey *survey, struct buf *out,
		      struct sbx_error *err);

/* One more step of an attribute path into PATH: ".name" (no dot at the beginning), "[0]", or ["key"] for what is no
 * identifier. */
int plan_report_path_step(struct buf *path, const char *text, size_t len, int index, struct sbx_error *err);
/* A whole path as the next element of the JSON array in BECAUSE that has COUNT of them. Only the first eight are taken.
 */
int plan_report_path(struct buf *because, unsigned count, const char *path, size_t len, struct sbx_error *err);

#endif
