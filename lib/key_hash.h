/* A 64-bit hash with a secret seed, for sets of names that come from outside: who does not know the
 * seed cannot make two names collide, and nothing but the two names' being equal may be concluded
 * from equal hashes where a wrong "equal" is the safe answer. */
#ifndef SBX_KEY_HASH_H
#define SBX_KEY_HASH_H

#include <endian.h>
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

/* Both halves of the product in one word: every bit of it depends on every bit of both factors. */
static inline uint64_t key_hash_fold(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t key_hash_load(const char *text, size_t len)
{
	uint64_t bytes = 0;

	memcpy(&bytes, text, len);
	return le64toh(bytes);
}

static inline uint64_t key_hash_begin(const struct key_seed *seed, uint64_t start, size_t len)
{
	return key_hash_fold(seed->word[0] ^ start, seed->word[1] ^ len);
}

/* Behind the last up to 16 bytes, as two words that end in zeros. Never 0. */
static inline uint64_t key_hash_end(const struct key_seed *seed, uint64_t h, uint64_t first,
				    uint64_t second)
{
	h = key_hash_fold(first ^ seed->word[1], second ^ h);
	h = key_hash_fold(h ^ seed->word[0], seed->word[1]);
	return h != 0 ? h : 1;
}

/* Hash of TEXT behind START (any number: the hash of what stands before, the number of a set).
 * Never 0, which may mean "none". */
static inline uint64_t key_hash(const struct key_seed *seed, uint64_t start, const char *text,
				size_t len)
{
	uint64_t h = key_hash_begin(seed, start, len), first = 0, second = 0;

	for (; len > 16; len -= 16, text += 16)
		h = key_hash_fold(key_hash_load(text, 8) ^ seed->word[1],
				  key_hash_load(text + 8, 8) ^ h);
	if (len > 8) {
		first = key_hash_load(text, 8);
		second = key_hash_load(text + len - 8, 8) >> (128 - 8 * len);
	} else if (len >= 4) {
		first = key_hash_load(text, 4) | key_hash_load(text + len - 4, 4) << (8 * len - 32);
	} else {
		for (size_t i = 0; i < len; i++)
			first |= (uint64_t)(unsigned char)text[i] << (8 * i);
	}
	return key_hash_end(seed, h, first, second);
}

/* The first LEN, at most 16, bytes as two words that end in zeros. 16 bytes of TEXT can be read
 * whatever LEN is: without a branch that depends on it. */
struct key_words {
	uint64_t first, second;
};
static inline struct key_words key_hash_words(const char *text, size_t len)
{
	static const char mask[32] =
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";

	return (struct key_words){
		key_hash_load(text, 8) & key_hash_load(mask + 16 - len, 8),
		key_hash_load(text + 8, 8) & key_hash_load(mask + 24 - len, 8),
	};
}

#endif
