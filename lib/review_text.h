/* The text that a person reads and signs: made from one call, its kept plan, and the terms of its request, the same
 * bytes each time. Everything that an agent, a plan or a provider chose stands in double quotes, as printable ASCII,
 * cut at 120 bytes with its digest, and never at the start of a line: what stands unquoted is ours. Causes stand before
 * consequences, and what was not inspected is said. */
#ifndef SBX_REVIEW_TEXT_H
#define SBX_REVIEW_TEXT_H

#include <stdint.h>

#include "json.h"
#include "review_words.h"
#include "state.h"

/* Whether requester and signer share an account and a key file counts: then the text says so in its first line. */
enum review_level { REVIEW_SEPARATE, REVIEW_LEVEL_0 };

/* What is asked for: everything here is covered by the subject. */
struct review {
	jv call;   /* owned copy */
	jv seal;   /* of the plan that the call names; invalid when it names none */
	jv report; /* what sbx-plan said of that plan (plan.h) */
	const char *installation;
	enum review_level level;
};
#define REVIEW_INIT                                                                                                    \
	{                                                                                                              \
		.call = jv_invalid(), .seal = jv_invalid(), .report = jv_invalid()                                     \
	}

/* Fill an empty REVIEW from CALL (borrowed; seals verified). Its plan is found, checked, and must have the seal that
 * the decision was made about: the errors of plan_find and plan_open_report, and "plan_changed" (77). STATE must outlive
 * it. */
int review_load(const struct state *state, const struct secret *key, jv call, enum review_level level,
		struct review *review, struct sbx_error *err);
void review_clear(struct review *review);
#define auto_review __attribute__((cleanup(review_clear))) struct review

/* The subject, computed from the call: installation, principal, tool, parameters, plan seal, decision.
 * "subject_mismatch" (77) when the call says another one. */
int review_subject(const struct review *review, char sha256[65], struct sbx_error *err);

/* What one request adds: chosen once, kept with its row. */
struct review_terms {
	int64_t number; /* counts the requests of this installation */
	const char *id;
	int64_t created, expires; /* seconds */
	const char *nonce;	  /* hex */
	const char *head;	  /* of the record, before the request */
	const char *client;	  /* the client's claim when it was asked; may be NULL */
};

/* Append the text to OUT. "review_too_large" (77) when it would pass LIMIT_REVIEW_TEXT: what cannot be shown whole
 * cannot be approved. */
int review_text(const struct review *review, const struct review_terms *terms, struct buf *out, struct sbx_error *err);

/* An object that holds data and that the plan destroys: the shortest address, as the text quotes it
 * and without the quotes. "" when there is none, or none that fits. */
#define REVIEW_LOST_SIZE 513
void review_lost(const struct review *review, char lost[REVIEW_LOST_SIZE]);

/* The plan that a text of ours (LEN bytes) says it applies; 0 when it names none. */
int review_plan(const char *text, size_t len, char id[STATE_ID_SIZE]);

/* The first line of a text for REVIEW_LEVEL_0, and the level that a text of ours (LEN bytes) was made for. */
#define REVIEW_LEVEL_0_LINE "L0: this approval can be made by the agent's own account\n"
enum review_level review_level_of(const char *text, size_t len);

#endif
