/* What was read, in pieces of any size. */
#include "plan_input.h"

#include <string.h>

/* Chains side by side: each waits for its own multiplications only. Whole pieces of BYTES; returns
 * what is left of LEN. */
static size_t add(struct plan_input *input, const char *bytes, size_t len)
{
	const uint64_t one = input->seed->word[0], two = input->seed->word[1];
	uint64_t a = input->hash[0], b = input->hash[1], c = input->hash[2], d = input->hash[3];

	for (; len >= sizeof input->held; bytes += sizeof input->held, len -= sizeof input->held) {
		a = key_hash_fold(key_hash_load(bytes, 8) ^ one,
				  key_hash_load(bytes + 8, 8) ^ a ^ two);
		b = key_hash_fold(key_hash_load(bytes + 16, 8) ^ one,
				  key_hash_load(bytes + 24, 8) ^ b ^ two);
		c = key_hash_fold(key_hash_load(bytes + 32, 8) ^ one,
				  key_hash_load(bytes + 40, 8) ^ c ^ two);
		d = key_hash_fold(key_hash_load(bytes + 48, 8) ^ one,
				  key_hash_load(bytes + 56, 8) ^ d ^ two);
	}
	input->hash[0] = a;
	input->hash[1] = b;
	input->hash[2] = c;
	input->hash[3] = d;
	return len;
}

static void add_bytes(void *context, const void *data, size_t len)
{
	struct plan_input *input = context;
	const char *bytes = data;
	size_t held = input->size % sizeof input->held, room = sizeof input->held - held;

	if (input->digest != NULL)
		digest_add(input->digest, bytes, len);
	input->size += len;
	if (held > 0 && len >= room) {
		memcpy(input->held + held, bytes, room);
		add(input, input->held, sizeof input->held);
		bytes += room;
		len -= room;
		held = 0;
	}
	if (held == 0) {
		size_t left = add(input, bytes, len);
		bytes += len - left;
		len = left;
	}
	memcpy(input->held + held, bytes, len);
}

void plan_input_watch(struct plan_input *input, struct json_lex *lex)
{
	json_lex_tee(lex, add_bytes, input);
}

int plan_input_same(const struct plan_input *a, const struct plan_input *b)
{
	return a->size == b->size && memcmp(a->hash, b->hash, sizeof a->hash) == 0 &&
	       memcmp(a->held, b->held, a->size % sizeof a->held) == 0;
}
