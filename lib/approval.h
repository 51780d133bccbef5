/* Approvals: one row in state/approvals.db for each request. A call finds the one open row of its subject or asks for
 * one; a person's signature over the row's text approves it; exactly one call claims it. The database is an index: the
 * signature, the text rebuilt from the call at hand, and the record from the head in that text on decide. Every change
 * is made in one transaction, whose event is on disk before it is committed. */
#ifndef SBX_APPROVAL_H
#define SBX_APPROVAL_H

#include "approvers.h"
#include "config.h"
#include "review_text.h"
#include "signers.h"
#include "sshsig.h"
#include "store.h"

enum approval_status { APPROVAL_WAITING, APPROVAL_APPROVED, APPROVAL_CLAIMED, APPROVAL_DENIED, APPROVAL_EXPIRED };
const char *approval_status_name(enum approval_status status);

/* The people whose signatures a request may need, and the signatures that it may hold. */
#define APPROVAL_PEOPLE_MAX LIMIT_APPROVERS

struct approvals {
	const struct state *state;
	const struct secret *key; /* of the seals: for `refused`, and for the MAC of a row */
	const struct config *config;
	int in_account;		 /* 1: the agent runs elsewhere */
	enum review_level level; /* of every text */
	struct approvers approvers;
	struct store *store;
};

/* Open (making it when missing) the database of STATE, and read approvers.yaml. All that is passed
 * must outlive it. IN_ACCOUNT as `start` says it. */
int approvals_open(struct approvals *approvals, const struct state *state, const struct secret *key,
		   const struct config *config, int in_account, struct sbx_error *err);
void approvals_close(struct approvals *approvals);
#define auto_approvals __attribute__((cleanup(approvals_close))) struct approvals

struct approval_signature {
	char signer[SIGNER_SIZE]; /* the principal, when it was handed in */
	char key_sha256[65];
	char *armor; /* owned */
	size_t armor_len;
};

/* Those who have signed so that it counts, each once. */
struct approval_people {
	size_t count;
	struct {
		char name[SIGNER_SIZE];
		char signer[SIGNER_SIZE]; /* by which of their principals */
	} who[APPROVAL_PEOPLE_MAX];
};

/* What the policy wants of an approval. */
struct approval_terms {
	int64_t threshold;     /* people */
	enum sshsig_user user; /* what security keys must say of them */
};

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
	struct approval_terms terms;
	char why[301];		     /* one line, from the decision */
	char lost[REVIEW_LOST_SIZE]; /* what a person must type, too */
	struct approval_signature signatures[APPROVAL_PEOPLE_MAX]; /* oldest first */
	size_t signature_count;
	struct approval_people people; /* filled by _check, _accept and _count alone */
	int64_t told_of; /* by _meet: how many wait, when people are to be told of it; else 0 */
	int is_edited;	 /* 1: somebody changed the row; nothing of it counts */
	char call[STATE_ID_SIZE]; /* that claimed it last; "" before */
	int64_t round;		  /* how often it was given back */
	char reason[257];
	char resolved_by[65]; /* who said what became of its call; "" before */
};
void approval_clear(struct approval *approval);
#define auto_approval __attribute__((cleanup(approval_clear))) struct approval

/* 1 when its 30 minutes are over by the wall clock or, within one boot, by the clock that nobody can set. */
int approval_has_ended(const struct approval *approval);

/* The open row of SUBJECT for the call that REVIEW describes; none: a claimed one that may be
 * claimed again, because its call proved that nothing was started (status CLAIMED); none: a new one
 * (event approval.requested; at most once a minute told_of is set). Rows whose time is over are
 * closed on the way (approval.expired). Errors: "approval_in_use" (69: a claimed one whose call is
 * at work), "outcome_unknown" (77: nobody knows what the call that claimed the last one has done),
 * "clock_went_back" (71), those of store, audit and review_text; and where a new one is asked for:
 * "too_many_approvals" (69: LIMIT_OPEN_APPROVALS of the principal are open), "approval_paused" (69:
 * a person denied a call of this tool to the principal a moment ago). ROW must be zeroed. */
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

/* Check a signed ROW against the call: its text is the one that REVIEW gives now, its time is not
 * over, and as many people as the call needs have signed it with keys that count now: in the trust
 * file, not revoked, touched, with user verification where the terms ask for it, and by an account
 * of the requester's only as `same_account` says. Signatures that do not count are passed over;
 * where too few are left: the error of the first of them ("touch_required", "same_account",
 * "signer_nobody" (77), those of sshsig_verify), else "approval_incomplete" (77). Others:
 * "approval_mismatch", "approval_edited", "approval_expired", "approval_not_yet" (77). ROW->people are those who count.
 */
int approval_check(struct approvals *approvals, struct approval *row, const struct review *review,
		   struct sbx_error *err);

/* Fill ROW->people: while it is open, with those whose signatures count now; later, with all. */
void approval_count(const struct approvals *approvals, struct approval *row);

/* The principals that ROW->people signed with, as an array. */
jv approval_signers(const struct approval *row);

/* Leave the text of the checked ROW and its signatures beside CALL (signed_text.h), for a driver with an image. */
int approval_hand_over(const struct approvals *approvals, const struct approval *row, const char *call,
		       struct sbx_error *err);

/* Claim the checked ROW for CALL: one transaction with its event (approval.released first for a row that is claimed),
 * once the record says too that nobody has used it. Only 0 means that it is ours; when the database refuses at the very
 * end the event is taken back (approval.released), and nothing is spent. "approval_in_use" (69: another call was first),
 * "approval_expired", "approval_denied", "approval_spent" (77: the database has its consumption), "approval_replayed"
 * (77: the record has a claim that the database does not know; it is told, so that the next one asks anew),
 * "approval_head_missing" (77: the record is not the one that was signed for), "approval_unrecorded" (77),
 * "clock_went_back" (71), "audit_unsafe" (78). */
int approval_claim(struct approvals *approvals, struct approval *row, const char *call, struct sbx_error *err);

/* Whether a person may sign ROW now, whoever it is: it waits, and its text is the one that the settings would still give,
 * since a signature over another one is refused by the call; and the trust file can be read. "approval_not_waiting",
 * "approval_edited", "approval_expired", "approval_not_yet", "approval_outdated" (77), and those of approvers_now. */
int approval_may_sign(struct approvals *approvals, struct approval *row, struct sbx_error *err);

/* A person's SIGNATURE for a waiting ROW. It alone is trusted, not who hands it in. ROW waits on
 * (event approval.signed) until enough people have signed; then it is approved (approval.granted).
 * "approval_not_waiting", "approval_edited", "approval_not_yet", "approval_outdated", "already_signed" (the person has, with this key or another one),
 * "signature_counter" (a security key's counter stands still: remembered for each key) (77), and as
 * approval_check. */
int approval_accept(struct approvals *approvals, struct approval *row, const char *signature, size_t len,
		    struct sbx_error *err);

/* Close an open ROW; BY is who says so, REASON may be empty. "approval_not_open" (77). */
int approval_deny(struct approvals *approvals, struct approval *row, const char *by, const char *reason,
		  struct sbx_error *err);

/* Say that BY has looked what the call of the claimed ROW has done: the same may be asked for again
 * (event approval.resolved). "nothing_to_resolve" (77): its outcome is known, or was resolved. */
int approval_resolve(struct approvals *approvals, struct approval *row, const char *by,
		     struct sbx_error *err);

#endif
