/* Open addressing, at most half full. */
#include "hash_set.h"

#include <stdlib.h>
#include <string.h>

static const size_t first_slots = 128;

/* The slot of HASH, or the free one where it belongs. */
static size_t slot_of(const struct hash_set *set, uint64_t hash)
{
	size_t mask = set->size - 1, i = hash & mask;

	while (set->slots[i] != 0 && set->slots[i] != hash)
		i = (i + 1) & mask;
	return i;
}

static int grow(struct hash_set *set, struct sbx_error *err)
{
	struct hash_set larger = {.size = set->size > 0 ? set->size * 2 : first_slots,
				  .count = set->count};

	larger.slots = calloc(larger.size, sizeof *larger.slots);
	if (larger.slots == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	for (size_t i = 0; i < set->size; i++)
		if (set->slots[i] != 0)
			larger.slots[slot_of(&larger, set->slots[i])] = set->slots[i];
	free(set->slots);
	*set = larger;
	return 0;
}

int hash_set_add(struct hash_set *set, uint64_t hash, struct sbx_error *err)
{
	if (set->count >= set->size / 2 && grow(set, err) < 0)
		return -1;
	size_t slot = slot_of(set, hash);
	set->count += set->slots[slot] == 0;
	set->slots[slot] = hash;
	return 0;
}

int hash_set_has(const struct hash_set *set, uint64_t hash)
{
	return set->size > 0 && set->slots[slot_of(set, hash)] == hash;
}

/* Without tombstones: later entries of the run move into the hole where their own slot allows it.
 */
void hash_set_remove(struct hash_set *set, uint64_t hash)
{
	if (!hash_set_has(set, hash))
		return;
	size_t mask = set->size - 1, hole = slot_of(set, hash);
	for (size_t i = (hole + 1) & mask; set->slots[i] != 0; i = (i + 1) & mask) {
		size_t home = set->slots[i] & mask;
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			set->slots[hole] = set->slots[i];
			hole = i;
		}
	}
	set->slots[hole] = 0;
	set->count--;
}

void hash_set_empty(struct hash_set *set)
{
	if (set->count > 0)
		memset(set->slots, 0, set->size * sizeof *set->slots);
	set->count = 0;
}

void hash_set_clear(struct hash_set *set)
{
	free(set->slots);
	*set = (struct hash_set){.slots = NULL};
}
