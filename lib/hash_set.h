/* A set of 64-bit hashes (key_hash.h), which are never 0: 8 bytes for each, and as many free. */
#ifndef SBX_HASH_SET_H
#define SBX_HASH_SET_H

#include <stdint.h>

#include "base.h"
#include "error.h"

struct hash_set {
	uint64_t *slots; /* owned; 0 is free */
	size_t size, count;
};
/* Zeroed is empty. */
void hash_set_clear(struct hash_set *set);
void hash_set_empty(struct hash_set *set); /* keeps the memory */

/* Adding one that is there, and removing one that is not, change nothing. -1 with "no_memory" (71).
 */
int hash_set_add(struct hash_set *set, uint64_t hash, struct sbx_error *err);
int hash_set_has(const struct hash_set *set, uint64_t hash);
void hash_set_remove(struct hash_set *set, uint64_t hash);

#endif
