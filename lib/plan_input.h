/* The bytes of a plan as its two passes read them: their SHA-256, and whether both read the same.
 * The second is no matter of proof to others, so a hash with a secret seed does, at a fifth of the
 * price: what cannot see the seed cannot make two texts pass for one. */
#ifndef SBX_PLAN_INPUT_H
#define SBX_PLAN_INPUT_H

#include "digest.h"
#include "json_lex.h"
#include "key_hash.h"

struct plan_input {
	const struct key_seed *seed; /* borrowed: the same for both passes */
	struct digest *digest;	     /* borrowed; NULL: not asked for */
	uint64_t hash[4], size;
	char held[64]; /* the last bytes, until there are as many */
};

/* Before the first token: every byte that LEX reads is added to INPUT (borrowed), which holds the
 * seed and the digest and is zero otherwise. */
void plan_input_watch(struct plan_input *input, struct json_lex *lex);

int plan_input_same(const struct plan_input *a, const struct plan_input *b);

#endif
