/* Which keys the open objects of a JSON text have had: a part of the lexer. Keys are held as hashes
 * with a secret seed: who does not know it cannot make two keys collide, and two that do are taken
 * for the same, which is refused. Most texts come sorted: a key that is above all before it is new,
 * without a look at them. */
#ifndef SBX_JSON_KEYS_H
#define SBX_JSON_KEYS_H

#include "hash_set.h"
#include "key_hash.h"

struct json_keys {
	struct key_seed seed;
	uint64_t *hashes; /* owned; of every open object, a run for each, the innermost last */
	size_t count, cap;
	uint64_t objects;      /* opened so far */
	struct hash_set table; /* hashes of long runs */
};

/* The first 16 bytes of a key, zeros behind a shorter one: they order keys as their bytes do, but
 * for keys of one order. */
struct json_key_order {
	uint64_t high, low;
};

/* The keys of one open object. */
struct json_run {
	size_t first;		    /* index of its first hash */
	size_t tabled;		    /* so many of them are in the table */
	uint64_t serial;	    /* no other object has it */
	struct json_key_order most; /* of its greatest key */
};

void json_keys_init(struct json_keys *keys); /* with a random seed */
void json_keys_clear(struct json_keys *keys);

/* An object is opened, and is the innermost one until it is closed. */
static inline struct json_run json_keys_open(struct json_keys *keys)
{
	return (struct json_run){.first = keys->count, .serial = keys->objects++};
}
void json_keys_forget(struct json_keys *keys,
		      const struct json_run *run); /* what is in the table */
static inline void json_keys_close(struct json_keys *keys, const struct json_run *run)
{
	if (run->tabled > 0)
		json_keys_forget(keys, run);
	keys->count = run->first;
}

/* Add a key by its hash to the innermost object: where it may be one of those before, and where it
 * needs more room. As json_keys_add. */
int json_keys_look(struct json_keys *keys, struct json_run *run, uint64_t hash,
		   struct sbx_error *err);
int json_keys_grow(struct json_keys *keys, struct sbx_error *err);

static inline int json_keys_add_hash(struct json_keys *keys, struct json_run *run, uint64_t hash,
				     struct json_key_order order, struct sbx_error *err)
{
	if (order.high < run->most.high ||
	    (order.high == run->most.high && order.low <= run->most.low))
		return json_keys_look(keys, run, hash, err);
	run->most = order;
	if (keys->count == keys->cap && json_keys_grow(keys, err) < 0)
		return -1;
	keys->hashes[keys->count++] = hash;
	return 1;
}

/* Add a key to the innermost object: 1, 0 when it has that key already, or -1 with "no_memory"
 * (71). Of a key of at most 16 bytes json_keys_add_near reads 16. */
int json_keys_add(struct json_keys *keys, struct json_run *run, const char *text, size_t len,
		  struct sbx_error *err);
static inline int json_keys_add_near(struct json_keys *keys, struct json_run *run, const char *text,
				     size_t len, struct sbx_error *err)
{
	struct key_words words = key_hash_words(text, len < 16 ? len : 16);
	uint64_t hash = len <= 16 ? key_hash_near(&keys->seed, run->serial, words, len)
				  : key_hash(&keys->seed, run->serial, text, len);
	const struct json_key_order order = {.high = __builtin_bswap64(words.first),
					     .low = __builtin_bswap64(words.second)};

	return json_keys_add_hash(keys, run, hash, order, err);
}

#endif
