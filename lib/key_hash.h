/* A 64-bit hash with a secret seed, for sets of names that come from outside: who does not know the seed cannot make
 * two names collide, and nothing but the two names' being equal may be concluded from equal hashes where a wrong
 * "equal" is the safe answer. */
#ifndef SBX_KEY_HASH_H
#define SBX_KEY_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct key_seed {
	uint64_t word[2]; /* random */
};

static inline uint64_t key_hash_mix(uint64_t h)
{
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93u;
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93u;
	return h ^ h >> 32;
}

/* Hash of TEXT behind START (any number: the hash of what stands before, the number of a set). Never 0, which may mean
 * "none". */
static inline uint64_t key_hash(const struct key_seed *seed, uint64_t start, const char *text, size_t len)
{
	uint64_t h = key_hash_mix(seed->word[0] ^ start) ^ len;

	for (size_t i = 0; i < len; i += 8) {
		uint64_t bytes = 0;
		memcpy(&bytes, text + i, len - i < 8 ? len - i : 8);
		h = key_hash_mix(h ^ bytes ^ seed->word[1]) + seed->word[1];
	}
	h = key_hash_mix(h);
	return h != 0 ? h : 1;
}

#endif
