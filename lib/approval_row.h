/* Rows of approvals.db, for the files of the approval module. */
#ifndef SBX_APPROVAL_ROW_H
#define SBX_APPROVAL_ROW_H

#include "approval.h"

/* Load the first row that the condition WHERE finds; 1, 0 when there is none, -1. ROW is cleared first. */
int approval_load(struct approvals *approvals, const char *where, const struct store_value *values, size_t count,
		  struct approval *row, struct sbx_error *err);

struct approval_clock {
	int64_t wall, booted; /* seconds */
	char boot[41];
};
int approval_clock_read(struct approval_clock *clock, struct sbx_error *err);

/* Begin a transaction at a time that is not before any time that the database has seen ("clock_went_back"); rolled back
 * on errors. What is over is closed before, in a transaction of its own. */
int approval_begin(struct approvals *approvals, struct approval_clock *clock, struct sbx_error *err);

/* The text that REVIEW gives with the terms of ROW, appended to TEXT. */
int approval_text(const struct review *review, const struct approval *row, struct buf *text, struct sbx_error *err);

/* What has become of the call that claimed ROW: it works, or ended without a proof that it had started nothing, or with
 * one. */
enum claimer { CLAIMER_WORKS, CLAIMER_PROVED_NOTHING, CLAIMER_STARTED_NOTHING };
enum claimer approval_claimer(struct approvals *approvals, const struct approval *row);

/* "approval_expired" (77) and "approval_in_use" (69). */
int approval_fail_ended(struct sbx_error *err);
int approval_fail_in_use(struct sbx_error *err);

#endif
