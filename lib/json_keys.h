/* Which keys the open objects of a JSON text have had: a part of the lexer. Keys are held as hashes
 * with a secret seed: who does not know it cannot make two keys collide, and two that do are taken
 * for the same, which is refused. Most texts come sorted: a key that is above all before it is new,
 * without a look at them. */
#ifndef SBX_JSON_KEYS_H
#define SBX_JSON_KEYS_H

#include "hash_set.h"
#include "key_hash.h"

struct json_keys {
	uint64_t seed[2]; /* random; the second is odd */
	uint64_t salt;	  /* of the object that was opened last */
	uint64_t *hashes; /* owned; of every open object, a run for each, the innermost last */
	uint32_t *tags;	  /* owned; the lower half of each */
	size_t count, cap;
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
	uint64_t salt;		    /* no other object has it */
	struct json_key_order most; /* of its greatest key */
};

void json_keys_init(struct json_keys *keys); /* with the process's secret seed */
void json_keys_reset(struct json_keys *keys); /* no object is open; what was allocated is kept */
void json_keys_clear(struct json_keys *keys);

/* An object is opened, and is the innermost one until it is closed. (Field by field: a whole struct
 * is built elsewhere first, and copied before its parts have arrived.) */
static inline void json_keys_open(struct json_keys *keys, struct json_run *run)
{
	keys->salt += 0x9e3779b97f4a7c15u;
	run->first = keys->count;
	run->tabled = 0;
	run->salt = keys->salt;
	run->most.high = run->most.low = 0;
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

static inline void json_keys_put(struct json_keys *keys, uint64_t hash)
{
	keys->hashes[keys->count] = hash;
	keys->tags[keys->count++] = (uint32_t)hash;
}

static inline int json_keys_add_hash(struct json_keys *keys, struct json_run *run, uint64_t hash,
				     struct json_key_order order, struct sbx_error *err)
{
	if (order.high < run->most.high ||
	    (order.high == run->most.high && order.low <= run->most.low))
		return json_keys_look(keys, run, hash, err);
	run->most.high = order.high;
	run->most.low = order.low;
	if (keys->count == keys->cap && json_keys_grow(keys, err) < 0)
		return -1;
	json_keys_put(keys, hash);
	return 1;
}

/* Hash of a key by its first and its last 16 bytes (the same ones, with zeros behind them, when it
 * has no more) and, when it has more than 32, those between. Never 0. */
uint64_t json_keys_hash_between(const struct json_keys *keys, uint64_t h, const char *text,
				size_t len);
static inline uint64_t json_keys_hash(const struct json_keys *keys, const struct json_run *run,
				      const char *text, size_t len, struct key_words first)
{
	struct key_words last =
		key_hash_words(text + (len > 16 ? len - 16 : 0), len < 16 ? len : 16);
	uint64_t h = key_hash_fold(first.first ^ keys->seed[0],
				   first.second ^ (run->salt + len * keys->seed[1]));

	if (len > 32)
		h = json_keys_hash_between(keys, h, text, len);
	return key_hash_fold(last.first ^ keys->seed[1], last.second ^ h) | (uint64_t)1 << 63;
}

/* Add a key to the innermost object: 1, 0 when it has that key already, or -1 with "no_memory"
 * (71). Of a key of less than 16 bytes json_keys_add_near reads 16. */
int json_keys_add(struct json_keys *keys, struct json_run *run, const char *text, size_t len,
		  struct sbx_error *err);
__attribute__((always_inline)) static inline int json_keys_add_near(struct json_keys *keys,
								    struct json_run *run,
								    const char *text, size_t len,
								    struct sbx_error *err)
{
	const struct key_words first = key_hash_words(text, len < 16 ? len : 16);
	const struct json_key_order order = {.high = __builtin_bswap64(first.first),
					     .low = __builtin_bswap64(first.second)};

	return json_keys_add_hash(keys, run, json_keys_hash(keys, run, text, len, first), order,
				  err);
}

#endif
