/* Keys of open objects. A short run is looked through; the hashes of a long one are in a table too.
 */
#include "json_keys.h"

#include <stdlib.h>
#include <string.h>

#include "io.h"

static const size_t first_hashes = 64, first_slots = 128;

void json_keys_init(struct json_keys *keys)
{
	*keys = (struct json_keys){.hashes = NULL};
	io_random(&keys->seed, sizeof keys->seed);
}

void json_keys_clear(struct json_keys *keys)
{
	free(keys->hashes);
	free(keys->table);
	*keys = (struct json_keys){.hashes = NULL};
}

/* The slot of H, or the empty one where it belongs. */
static size_t slot_of(const struct json_keys *keys, uint64_t h)
{
	size_t mask = keys->table_size - 1, i = h & mask;

	while (keys->table[i] != 0 && keys->table[i] != h)
		i = (i + 1) & mask;
	return i;
}

/* Open addressing without tombstones: later entries of the run move into the hole where their own
 * slot allows it. */
static void forget(struct json_keys *keys, uint64_t h)
{
	size_t mask = keys->table_size - 1, hole = slot_of(keys, h);

	for (size_t i = (hole + 1) & mask; keys->table[i] != 0; i = (i + 1) & mask) {
		size_t home = keys->table[i] & mask;
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			keys->table[hole] = keys->table[i];
			hole = i;
		}
	}
	keys->table[hole] = 0;
	keys->table_count--;
}

static int grow_table(struct json_keys *keys, struct sbx_error *err)
{
	size_t old_size = keys->table_size;
	uint64_t *old = keys->table, *table;

	keys->table_size = old_size > 0 ? old_size * 2 : first_slots;
	table = calloc(keys->table_size, sizeof *table);
	if (table == NULL) {
		keys->table_size = old_size;
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	}
	keys->table = table;
	for (size_t i = 0; i < old_size; i++)
		if (old[i] != 0)
			table[slot_of(keys, old[i])] = old[i];
	free(old);
	return 0;
}

/* 1, or 0 when H is there. */
static int add_to_table(struct json_keys *keys, uint64_t h, struct sbx_error *err)
{
	if (keys->table_count >= keys->table_size / 2 && grow_table(keys, err) < 0)
		return -1;
	size_t slot = slot_of(keys, h);
	if (keys->table[slot] == h)
		return 0;
	keys->table[slot] = h;
	keys->table_count++;
	return 1;
}

/* The run from FIRST, which does not have H, becomes a long one by it. */
static int tabulate(struct json_keys *keys, size_t first, uint64_t h, struct sbx_error *err)
{
	for (size_t i = first; i < keys->count; i++)
		if (keys->hashes[i] == h)
			return 0;
	for (size_t i = first; i < keys->count; i++)
		if (add_to_table(keys, keys->hashes[i], err) < 0)
			return -1;
	return add_to_table(keys, h, err);
}

static int grow_hashes(struct json_keys *keys, struct sbx_error *err)
{
	size_t cap = keys->cap > 0 ? keys->cap * 2 : first_hashes;
	uint64_t *grown = realloc(keys->hashes, cap * sizeof *grown);

	if (grown == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	keys->hashes = grown;
	keys->cap = cap;
	return 0;
}

int json_keys_add_long(struct json_keys *keys, size_t first, uint64_t hash, struct sbx_error *err)
{
	size_t run = keys->count - first;
	int added;

	if (keys->count == keys->cap && grow_hashes(keys, err) < 0)
		return -1;
	if (run < JSON_KEYS_SHORT)
		return json_keys_add(keys, first, hash, err);
	added = run == JSON_KEYS_SHORT ? tabulate(keys, first, hash, err)
				       : add_to_table(keys, hash, err);
	if (added == 1)
		keys->hashes[keys->count++] = hash;
	return added;
}

void json_keys_drop_long(struct json_keys *keys, size_t first)
{
	size_t run = keys->count - first;

	/* No other long one is open, as a rule. */
	if (keys->table_count == run && keys->table_size / 16 <= run) {
		memset(keys->table, 0, keys->table_size * sizeof *keys->table);
		keys->table_count = 0;
		keys->count = first;
	}
	while (keys->count > first)
		forget(keys, keys->hashes[--keys->count]);
}
