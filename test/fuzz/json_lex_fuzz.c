/* The strict lexer against libjq: what it accepts, libjq reads too, and finds as many members and
 * elements in it; and the bytes give the same tokens, places and refusals from a descriptor as from
 * memory, and the same refusal when they are passed over. */
#include <jv.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "json_lex.h"

static const struct json_lex_limits limits = {
	.bytes = 1 << 20, .depth = 200, .string = 1 << 16, .integers = JSON_ANY_NUMBER};

struct seen {
	uint64_t hash; /* of tokens, texts and places, and of what stands wrong */
	size_t members;
	int complete;
	struct sbx_error refused;
};

static uint64_t mixed(uint64_t hash, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
	return hash;
}

static struct seen read_all(struct json_lex *lex)
{
	struct seen seen = {.hash = 1469598103934665603u, .refused = SBX_ERROR_INIT};
	struct sbx_error *err = &seen.refused;
	enum json_token token;
	const char *text;
	size_t len;

	while (json_lex_next(lex, &token, &text, &len, err) == 0) {
		seen.complete = token == JSON_END;
		if (seen.complete)
			return seen;
		if (text[len] != '\0')
			abort();
		unsigned numbers[] = {(unsigned)token, json_lex_depth(lex), 0, 0};
		json_lex_place(lex, &numbers[2], &numbers[3]);
		seen.hash = mixed(mixed(seen.hash, numbers, sizeof numbers), text, len);
		/* Every value but the first is a member or an element. */
		seen.members += token != JSON_KEY && token != JSON_OBJECT_CLOSE &&
				token != JSON_ARRAY_CLOSE;
	}
	seen.hash = mixed(mixed(seen.hash, err->code, strlen(err->code)), err->message,
			  strlen(err->message));
	return seen;
}

/* Passing over LEX gives what reading it gave. */
static int is_passed_over(struct json_lex *lex, const struct seen *seen)
{
	struct sbx_error err = SBX_ERROR_INIT;
	enum json_token token;
	const char *text;
	size_t len;

	if (json_lex_skip_value(lex, &err) == 0 &&
	    json_lex_next(lex, &token, &text, &len, &err) == 0)
		return seen->complete && token == JSON_END;
	return strcmp(err.code, seen->refused.code) == 0 &&
	       strcmp(err.message, seen->refused.message) == 0;
}

static size_t count_members(jv value)
{
	size_t count = 1;

	if (jv_get_kind(value) == JV_KIND_ARRAY) {
		jv_array_foreach(value, i, element) count += count_members(element);
	} else if (jv_get_kind(value) == JV_KIND_OBJECT) {
		jv_object_foreach(value, key, member)
		{
			jv_free(key);
			count += count_members(member);
		}
	}
	jv_free(value);
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_json_lex *lex = json_lex_memory(data, size, &limits, &err);
	struct seen seen = read_all(lex);
	auto_fd fd = io_sealed_memfd("fuzz", data, size, &err);
	auto_json_lex *again = json_lex_fd(fd, &limits, &err);
	struct seen same = read_all(again);

	if (same.hash != seen.hash || same.complete != seen.complete)
		abort();
	lseek(fd, 0, SEEK_SET);
	auto_json_lex *over = json_lex_fd(fd, &limits, &err);
	auto_json_lex *block = json_lex_memory(data, size, &limits, &err);
	if (!is_passed_over(over, &seen) || !is_passed_over(block, &seen))
		abort();
	if (!seen.complete)
		return 0;
	jv value = jv_parse_sized((const char *)data, (int)size);
	if (!jv_is_valid(value))
		abort();
	if (count_members(value) != seen.members)
		abort();
	return 0;
}
