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

/* Two processes of one machine may differ by rounding and by a clock that is slewed; more is a clock that was set back.
 */
#define APPROVAL_CLOCK_SLACK_S 60

/* The MAC of the columns that stand neither in the text nor in the record; whether MAC is that of ROW. */
int approval_mac(const struct approvals *approvals, const struct approval *row, char hex[65], struct sbx_error *err);
int approval_is_genuine(const struct approvals *approvals, const struct approval *row, const char *mac);

/* 0 when now is within the time of ROW, which is signed; else "approval_not_yet" or "approval_expired" (77). */
int approval_check_time(const struct approval *row, struct sbx_error *err);

/* The text that REVIEW gives with the terms of ROW, appended to TEXT. */
int approval_text(const struct review *review, const struct approval *row, struct buf *text, struct sbx_error *err);

/* What REVIEW's decision wants; ROW has the same, but only as somebody wrote it there. */
void approval_terms_of(const struct review *review, struct approval_terms *terms);

/* Read ROW again inside a transaction: 1 when what was checked outside is what is stored. */
int approval_is_unchanged(struct approvals *approvals, const struct approval *row,
			  struct sbx_error *err);
/* Commit when DONE is 0, else roll back and return -1. */
int approval_finish(struct approvals *approvals, int done, struct sbx_error *err);

/* Whether the new request ROW may be asked for at NOW; inside a transaction. */
int approval_may_ask(struct approvals *approvals, const struct approval *row, int64_t now,
		     struct sbx_error *err);

/* Set ROW->told_of, where the settings name somebody to tell and nobody was told within the last
 * minute; inside a transaction. */
int approval_tell(struct approvals *approvals, struct approval *row, int64_t now,
		  struct sbx_error *err);

/* Verify one ARMOR over the text of ROW under TERMS; SIG and PERSON say whose it is. */
int approval_verify(const struct approvals *approvals, const struct approval *row,
		    const struct approval_terms *terms, const char *armor, size_t len,
		    struct sshsig *sig, char person[SIGNER_SIZE], struct sbx_error *err);
/* Fill ROW->people with those who count under TERMS. COUNTS[i] is 1 when signature i does. The
 * first failure is left in FAILURE, which is untouched when there is none. */
void approval_count_under(const struct approvals *approvals, struct approval *row,
			  const struct approval_terms *terms, int counts[APPROVAL_PEOPLE_MAX],
			  struct sbx_error *failure);

/* What has become of the call that claimed ROW: it works, or ended without a proof that it had started nothing, or with
 * one. */
enum claimer { CLAIMER_WORKS, CLAIMER_PROVED_NOTHING, CLAIMER_STARTED_NOTHING };
enum claimer approval_claimer(struct approvals *approvals, const struct approval *row);
/* 1 when a process of CALL lives. */
int approval_call_works(struct approvals *approvals, const char *call);

/* Whether the record, searched from the head in the text of ROW, lets it be claimed at NOW; inside a transaction, which
 * keeps every other claim out. *IS_HELD is 1 when the call that ROW names holds it by the record too. Errors:
 * "approval_replayed": another call holds it; "approval_head_missing"; "approval_unrecorded": request, decision or a
 * kept signature are not in it; "approval_denied", "approval_expired" (77); "clock_went_back" (71); "audit_unsafe"
 * (78): the chain from the head on is broken; "approval_in_use" (69), and what audit_since says. */
int approval_check_record(struct approvals *approvals, const struct approval *row, int64_t now, int *is_held,
			  struct sbx_error *err);
/* 1 when CALL holds ROW by the record. */
int approval_is_held_by(const struct approvals *approvals, const struct approval *row, const char *call);
/* Write into the database what the record says of a ROW that was used without it: claimed, by that call (event
 * approval.corrected). Nothing to do: 0. */
int approval_correct(struct approvals *approvals, const struct approval *row, struct sbx_error *err);

/* What the call that claimed ROW, and of which no process lives, came to; -1. NOT_BEGUN: sbx-run
 * has never had it. */
enum outcome { OUTCOME_KNOWN, OUTCOME_UNKNOWN, OUTCOME_NOT_BEGUN };
int approval_outcome(struct approvals *approvals, const struct approval *row, enum outcome *outcome,
		     struct sbx_error *err);
/* Whether the subject of the spent ROW may be asked for again: 0, or "outcome_unknown". */
int approval_may_repeat(struct approvals *approvals, const struct approval *row,
			struct sbx_error *err);

/* "approval_mismatch", "approval_edited", "approval_denied", "approval_expired" (77), "approval_in_use" (69) and
 * "clock_went_back" (71). */
int approval_fail_edited(const struct approval *row, struct sbx_error *err);
int approval_fail_denied(const struct approval *row, struct sbx_error *err);
int approval_fail_clock(struct sbx_error *err);
int approval_fail_mismatch(const struct approval *row, struct sbx_error *err);
int approval_fail_ended(struct sbx_error *err);
int approval_fail_in_use(struct sbx_error *err);

#endif
