/* What an image may carry so that sbx-entry need not believe the machine that starts it: who may sign, how many must, and
 * which steps need nobody. A directory of files that belong to root and that nobody else may write:
 *
 *     allowed_signers          as on the machine of the desk (signers.h); allowed_signers.revoked beside it, if any
 *     terms                    words with one blank between them, a line each; # begins a comment
 *         people N [touched | verified]   how many must sign (1 to 9); with security keys that were touched, or that
 *                                         checked who touches them. Once
 *         free PROGRAM WORD               a step of PROGRAM whose first argument is WORD needs no signature
 *         person NAME SIGNER...           signers that are one person; where there is such a line, others are nobody
 *         installation ID                 the text must be of this one. At most once
 */
#ifndef SBX_ENTRY_TRUST_H
#define SBX_ENTRY_TRUST_H

#include "limit.h"
#include "steps.h"

#define ENTRY_TRUST "/etc/sbx/trust"
#define ENTRY_TRUST_SIGNERS ENTRY_TRUST "/allowed_signers"

enum trust_key { TRUST_ANY_KEY, TRUST_TOUCHED, TRUST_VERIFIED };

struct trust_line {
	char *words[LIMIT_APPROVERS + 2]; /* the rest is NULL */
	size_t count;
};

enum { TRUST_LINES = 64 };

struct entry_trust {
	char *text; /* owns the words */
	uint64_t people;
	enum trust_key key;
	const char *installation; /* NULL: any */
	struct trust_line free[TRUST_LINES], persons[TRUST_LINES];
	size_t free_count, person_count;
};

/* 1: this image has a trust file; 0: it has none; -1: nobody can say ("trust_invalid", 78). */
int entry_trust_is_there(struct sbx_error *err);

/* Read the terms into a zeroed TRUST: "trust_invalid" (78), with the line's number. */
int entry_trust_load(struct entry_trust *trust, struct sbx_error *err);
void entry_trust_clear(struct entry_trust *trust);
#define auto_trust __attribute__((cleanup(entry_trust_clear))) struct entry_trust

/* 1 when each step of TABLE is one that needs nobody. */
int entry_trust_frees(const struct entry_trust *trust, const struct steps *table);

/* The person that SIGNER is; NULL: nobody. */
const char *entry_trust_person(const struct entry_trust *trust, const char *signer);

/* The name that policy.yaml has for the program of STEP; NULL when it stands elsewhere than programs do. LEN bytes. */
const char *entry_program_name(const struct step *step, size_t *len);

#endif
