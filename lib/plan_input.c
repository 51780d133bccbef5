/* What was read, in pieces of any size. */
#include "plan_input.h"

#include <string.h>

/* Two chains side by side: one waits for its own multiplications only. */
static void add(struct plan_input *input, const char *bytes)
{
	const uint64_t *seed = input->seed->word;

	for (size_t i = 0; i < ARRAY_LEN(input->hash); i++) {
		uint64_t first = key_hash_load(bytes + 16 * i, 8),
			 second = key_hash_load(bytes + 16 * i + 8, 8);
		input->hash[i] = key_hash_fold(first ^ seed[0], second ^ input->hash[i] ^ seed[1]);
	}
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
		add(input, input->held);
		bytes += room;
		len -= room;
		held = 0;
	}
	for (; held == 0 && len >= sizeof input->held; len -= sizeof input->held) {
		add(input, bytes);
		bytes += sizeof input->held;
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
