/* Which keys the open objects of a JSON text have had: a part of the lexer. Keys are held as hashes
 * with a secret seed: who does not know it cannot make two keys collide, and two that do are taken
 * for the same, which is refused. */
#ifndef SBX_JSON_KEYS_H
#define SBX_JSON_KEYS_H

#include "base.h"
#include "error.h"
#include "key_hash.h"

struct json_keys {
	struct key_seed seed;
	uint64_t *hashes; /* owned; of every open object, a run for each, the innermost last */
	size_t count, cap;
	uint64_t *table; /* owned; the hashes of the long runs as a set; 0 is an empty slot */
	size_t table_size, table_count;
};

void json_keys_init(struct json_keys *keys); /* with a random seed */
void json_keys_clear(struct json_keys *keys);

/* A run of so many keys is looked through faster than a slot of a table is found. */
#define JSON_KEYS_SHORT 16

int json_keys_add_long(struct json_keys *keys, size_t first, uint64_t hash, struct sbx_error *err);
void json_keys_drop_long(struct json_keys *keys, size_t first);

/* Add a key by its hash (key_hash with the seed, behind a number that no other object has) to the
 * innermost object, whose run begins at FIRST: 1, 0 when it has that key already, or -1 with
 * "no_memory" (71). */
static inline int json_keys_add(struct json_keys *keys, size_t first, uint64_t hash,
				struct sbx_error *err)
{
	if (keys->count - first >= JSON_KEYS_SHORT || keys->count == keys->cap)
		return json_keys_add_long(keys, first, hash, err);
	int added = 1;
	for (size_t i = first; i < keys->count; i++)
		added &= keys->hashes[i] != hash;
	keys->hashes[keys->count] = hash;
	keys->count += (size_t)added;
	return added;
}

/* The innermost object is closed: forget its run, which begins at FIRST. */
static inline void json_keys_drop(struct json_keys *keys, size_t first)
{
	if (keys->count - first > JSON_KEYS_SHORT)
		json_keys_drop_long(keys, first);
	keys->count = first;
}

#endif
