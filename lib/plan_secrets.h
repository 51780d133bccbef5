/* The values of a plan that are sensitive, so that none of them is shown where it turns up again: in another attribute,
 * or inside a longer text. Kept as hashes with a secret seed, never as themselves. */
#ifndef SBX_PLAN_SECRETS_H
#define SBX_PLAN_SECRETS_H

#include "plan_tree.h"

/* A text holds a secret when this many bytes of it are the first of one. Shorter secrets are found whole, those of less
 * than PLAN_SECRET_MIN bytes only where they are the whole text: "a" or "8080" says nothing. */
#define PLAN_SECRET_PROBE 32
#define PLAN_SECRET_MIN 4
/* The longest text that is looked through. */
#define PLAN_SECRET_TEXT 512

struct plan_secrets {
	uint64_t base;	       /* of the rolling hash; random */
	struct hash_set exact; /* hashes of whole short ones */
	struct hash_set probes;
	uint64_t lengths; /* bit N: there is a probe of N bytes */
};

/* Zeroed is not enough: the base must be drawn. */
void plan_secrets_init(struct plan_secrets *secrets);
void plan_secrets_clear(struct plan_secrets *secrets);

/* Remember a text; and every string and number in VALUE at which, or above which, MASK is true. "no_memory". */
int plan_secrets_add(struct plan_secrets *secrets, const char *text, size_t len, struct sbx_error *err);
int plan_secrets_add_masked(struct plan_secrets *secrets, const struct plan_tree *value, const struct plan_tree *mask,
			    struct sbx_error *err);
int plan_secrets_add_all(struct plan_secrets *secrets, const struct plan_tree *value, struct sbx_error *err);

/* 1 when TEXT (at most PLAN_SECRET_TEXT bytes) is, or holds, one of them, with JSON escapes or without. */
int plan_secrets_in(const struct plan_secrets *secrets, const char *text, size_t len);

#endif
