/* Approvals: one row in state/approvals.db for each request. A call finds the one open row of its subject or asks for
 * one; a person's signature over the row's text approves it; exactly one call claims it. The database is an index: the
 * signature, and the text rebuilt from the call at hand, decide. Every change is an event on disk first, then one
 * transaction. */
#ifndef SBX_APPROVAL_H
#define SBX_APPROVAL_H

#include "config.h"
#include "review_text.h"
#include "signers.h"
#include "store.h"

enum approval_status { APPROVAL_WAITING, APPROVAL_APPROVED, APPROVAL_CLAIMED, APPROVAL_DENIED, APPROVAL_EXPIRED };
const char *approval_status_name(enum approval_status status);

/* Which keys count: where requester and signer share an account, a key file is one that the agent can use. */
enum approval_keys { APPROVAL_ANY_KEY, APPROVAL_TOUCHED_KEY, APPROVAL_NO_KEY };

struct approvals {
	const struct state *state;
	const struct secret *key; /* of the seals: for `refused` */
	const char *signers;	  /* path of the trust file */
	enum approval_keys keys;
	enum review_level level; /* of every text */
	struct store *store;
};

/* Open (making it when missing) the database of STATE. All that is passed must outlive it. IN_ACCOUNT as `start` says
 * it. */
int approvals_open(struct approvals *approvals, const struct state *state, const struct secret *key,
		   const struct config *config, int in_account, struct sbx_error *err);
void approvals_close(struct approvals *approvals);
#define auto_approvals __attribute__((cleanup(approvals_close))) struct approvals

struct approval {
	char id[STATE_ID_SIZE];
	int64_t number;
	enum approval_status status; /* as stored; approval_has_ended says whether its time is over */
	char subject[65];
	char asked_by[STATE_ID_SIZE]; /* the call that opened it */
	char principal[257], tool[129], tier[17], client[257];
	char nonce[33], head[65];
	int64_t created, expires; /* wall clock, seconds */
	char boot[41];		  /* boot id, and seconds since that boot, when it was asked */
	int64_t booted;
	char *text; /* owned */
	size_t text_len;
	char text_sha256[65];
	char signer[SIGNER_SIZE]; /* "" before */
	char *signature;	  /* owned; NULL before */
	size_t signature_len;
	char call[STATE_ID_SIZE]; /* that claimed it last; "" before */
	int64_t round;		  /* how often it was given back */
	char denied_by[65];
	char reason[257];
};
void approval_clear(struct approval *approval);
#define auto_approval __attribute__((cleanup(approval_clear))) struct approval

/* 1 when its 30 minutes are over by the wall clock or, within one boot, by the clock that nobody can set. */
int approval_has_ended(const struct approval *approval);

/* The open row of SUBJECT for the call that REVIEW describes; none: a claimed one that may be claimed again, because
 * its call proved that nothing was started (status CLAIMED); none: a new one (event approval.requested). Rows whose
 * time is over are closed on the way (approval.expired). Errors: "approval_in_use" (69: a claimed one whose call is at
 * work), "threshold_unsupported" (78), "clock_went_back" (71), those of store, audit and review_text. ROW must be
 * zeroed. */
int approval_meet(struct approvals *approvals, const struct review *review, const char *subject, struct approval *row,
		  struct sbx_error *err);

/* Read ROW anew, by its id. */
int approval_reload(struct approvals *approvals, struct approval *row, struct sbx_error *err);

/* The row whose id begins with PREFIX (6 to 32 hex digits). "bad_id" (64), "approval_unknown" (66),
 * "approval_ambiguous" (65). ROW must be zeroed. */
int approval_find(struct approvals *approvals, const char *prefix, struct approval *row, struct sbx_error *err);

/* EACH open row (waiting or approved, time not over), oldest first; as store_each_fn. */
int approval_each(struct approvals *approvals,
		  int (*each)(const struct approval *row, void *context, struct sbx_error *err), void *context,
		  struct sbx_error *err);

/* Check a signed ROW against the call: its text is the one that REVIEW gives now, its signature verifies now, by a key
 * that counts, its time is not over. "approval_mismatch", "approval_expired", "touch_required", "same_account" (77),
 * and the errors of sshsig_verify. */
int approval_check(struct approvals *approvals, const struct approval *row, const struct review *review,
		   struct sbx_error *err);

/* Claim the checked ROW for CALL: event (approval.released first for a row that is claimed), then one transaction. Only
 * 0 means that it is ours. "approval_in_use" (69: another call was first), "approval_expired", "approval_denied",
 * "approval_spent" (77). */
int approval_claim(struct approvals *approvals, struct approval *row, const char *call, struct sbx_error *err);

/* A person's SIGNATURE for a waiting ROW. It alone is trusted, not who hands it in. "approval_not_waiting" (77), and as
 * approval_check. */
int approval_accept(struct approvals *approvals, struct approval *row, const char *signature, size_t len,
		    struct sbx_error *err);

/* Close an open ROW; BY is who says so, REASON may be empty. "approval_not_open" (77). */
int approval_deny(struct approvals *approvals, struct approval *row, const char *by, const char *reason,
		  struct sbx_error *err);

#endif
