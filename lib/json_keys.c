/* Keys of open objects. A short run is looked through; the hashes of a long one are in a table too,
 * once somebody asks. */
#include "json_keys.h"

#include <stdlib.h>
#include <string.h>

#include "io.h"

/* A run of so many keys is looked through faster than a slot of a table is found. */
static const size_t short_run = 64;
static const size_t first_hashes = 64;

/* One secret for the process: a record is thousands of texts of a few keys, and the kernel takes longer to give a seed than those take to be read. */
void json_keys_init(struct json_keys *keys)
{
	static struct {
		uint64_t seed[2], salt;
	} secret;

	*keys = (struct json_keys){.hashes = NULL};
	if (secret.seed[1] == 0) {
		io_random(&secret, sizeof secret);
		secret.seed[1] |= 1;
	}
	/* No two texts begin with the salt of another, so that what one shows of its collisions says nothing about the next. */
	secret.salt += (uint64_t)1 << 32;
	memcpy(keys->seed, secret.seed, sizeof keys->seed);
	keys->salt = secret.salt;
}

void json_keys_reset(struct json_keys *keys)
{
	keys->count = 0;
	hash_set_empty(&keys->table);
}

void json_keys_clear(struct json_keys *keys)
{
	free(keys->hashes);
	free(keys->tags);
	hash_set_clear(&keys->table);
	*keys = (struct json_keys){.hashes = NULL};
}

/* So many are looked at in one go, and may be read behind the last one. */
typedef uint32_t several __attribute__((vector_size(16)));
enum { SEVERAL = sizeof(several) / sizeof(uint32_t) };

int json_keys_grow(struct json_keys *keys, struct sbx_error *err)
{
	size_t cap = keys->cap > 0 ? keys->cap * 2 : first_hashes;
	uint64_t *hashes = realloc(keys->hashes, cap * sizeof *hashes);

	if (hashes != NULL)
		keys->hashes = hashes;
	uint32_t *tags = realloc(keys->tags, (cap + SEVERAL) * sizeof *tags);
	if (tags != NULL)
		keys->tags = tags;
	if (hashes == NULL || tags == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	memset(tags + keys->cap, 0, (cap - keys->cap + SEVERAL) * sizeof *tags);
	keys->cap = cap;
	return 0;
}

static int is_in_run(const struct json_keys *keys, const struct json_run *run, uint64_t hash)
{
	int found = 0;

	for (size_t i = run->first; i < keys->count; i++)
		found |= keys->hashes[i] == hash;
	return found;
}

/* The same by the tags: seldom 1 when it is not so. */
static int may_be_in_run(const struct json_keys *keys, const struct json_run *run, uint64_t hash)
{
	several found = {0}, some;
	uint64_t halves[2];

	for (size_t i = run->first; i < keys->count; i += SEVERAL) {
		memcpy(&some, keys->tags + i, sizeof some);
		found |= (several)(some == (uint32_t)hash);
	}
	memcpy(halves, &found, sizeof halves);
	return (halves[0] | halves[1]) != 0;
}

/* The hashes that came since the last time go into the table. */
static int tabulate(struct json_keys *keys, struct json_run *run, struct sbx_error *err)
{
	for (; run->first + run->tabled < keys->count; run->tabled++)
		if (hash_set_add(&keys->table, keys->hashes[run->first + run->tabled], err) < 0)
			return -1;
	return 0;
}

int json_keys_look(struct json_keys *keys, struct json_run *run, uint64_t hash,
		   struct sbx_error *err)
{
	int is_short = keys->count - run->first <= short_run;

	if (!is_short && tabulate(keys, run, err) < 0)
		return -1;
	if (is_short ? may_be_in_run(keys, run, hash) && is_in_run(keys, run, hash)
		     : hash_set_has(&keys->table, hash))
		return 0;
	if (keys->count == keys->cap && json_keys_grow(keys, err) < 0)
		return -1;
	json_keys_put(keys, hash);
	return 1;
}

void json_keys_forget(struct json_keys *keys, const struct json_run *run)
{
	/* No other long one is open, as a rule. */
	if (keys->table.count == run->tabled && keys->table.size / 16 <= run->tabled) {
		hash_set_empty(&keys->table);
		return;
	}
	for (size_t i = 0; i < run->tabled; i++)
		hash_set_remove(&keys->table, keys->hashes[run->first + i]);
}

uint64_t json_keys_hash_between(const struct json_keys *keys, uint64_t h, const char *text,
				size_t len)
{
	for (size_t at = 16; at < len - 16; at += 16)
		h = key_hash_fold(key_hash_load(text + at, 8) ^ keys->seed[0],
				  key_hash_load(text + at + 8, 8) ^ h);
	return h;
}

int json_keys_add(struct json_keys *keys, struct json_run *run, const char *text, size_t len,
		  struct sbx_error *err)
{
	char first[16] = "";

	if (len > sizeof first)
		return json_keys_add_near(keys, run, text, len, err);
	memcpy(first, text, len);
	return json_keys_add_near(keys, run, first, len, err);
}
