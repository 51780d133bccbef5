/* Cursor over the tokens of a plan; sets and lists of hashes. */
#include "plan_scan.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

int plan_refuse(const struct plan_scan *s, const char *code, const char *what, struct sbx_error *err)
{
	unsigned line, column;

	json_lex_place(s->lex, &line, &column);
	return sbx_fail(err, SBX_BAD_REQUEST, code, "%s at %u:%u", what, line, column);
}

static int has_text(enum json_token token)
{
	return token == JSON_KEY || token == JSON_STRING || token == JSON_NUMBER;
}

/* A short text in one piece with what stands before it: most are short, and every piece costs a call. */
void plan_add_token(const struct plan_scan *s)
{
	unsigned char piece[64];
	uint64_t len = htole64(s->len);
	const size_t head = 1 + sizeof len;

	piece[0] = (unsigned char)s->token;
	if (!has_text(s->token)) {
		digest_add(s->effect, piece, 1);
		return;
	}
	memcpy(piece + 1, &len, sizeof len);
	if (s->len <= sizeof piece - head) {
		memcpy(piece + head, s->text, s->len);
		digest_add(s->effect, piece, head + s->len);
		return;
	}
	digest_add(s->effect, piece, head);
	digest_add(s->effect, s->text, s->len);
}

int plan_expect(struct plan_scan *s, enum json_token expected, const char *what, struct sbx_error *err)
{
	if (plan_next(s, err) < 0)
		return -1;
	return s->token == expected ? 0 : plan_refuse(s, "plan_kind", what, err);
}

int plan_key(struct plan_scan *s, struct sbx_error *err)
{
	if (plan_next(s, err) < 0)
		return -1;
	return s->token == JSON_KEY;
}

int plan_element(struct plan_scan *s, struct sbx_error *err)
{
	if (plan_next(s, err) < 0)
		return -1;
	return s->token != JSON_ARRAY_CLOSE;
}

int plan_name(const struct plan_scan *s, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (names[i][0] == s->text[0] && plan_is(s, names[i]))
			return (int)i;
	return -1;
}

int plan_skip(struct plan_scan *s, struct sbx_error *err)
{
	if (s->effect == NULL)
		return json_lex_skip_value(s->lex, err);
	return plan_next(s, err) < 0 ? -1 : plan_skip_rest(s, err);
}

int plan_note_span(const struct plan_scan *s, struct plan_list *spans, uint64_t begin, struct sbx_error *err)
{
	/* Few enough to be looked through, and all that takes time. */
	static const uint64_t least = 1 << 20;
	uint64_t end = json_lex_offset(s->lex);

	if (end - begin < least)
		return 0;
	return plan_list_add(spans, begin, err) < 0 ? -1 : plan_list_add(spans, end, err);
}

int plan_skip_known(struct plan_scan *s, const struct plan_list *spans, struct sbx_error *err)
{
	uint64_t begin = json_lex_offset(s->lex);

	for (size_t i = 0; s->effect == NULL && i < spans->count && spans->items[i] <= begin; i += 2)
		if (spans->items[i] == begin)
			return json_lex_jump(s->lex, spans->items[i + 1], json_lex_depth(s->lex), err);
	return plan_skip(s, err);
}

int plan_skip_rest(struct plan_scan *s, struct sbx_error *err)
{
	if (s->token != JSON_OBJECT_OPEN && s->token != JSON_ARRAY_OPEN)
		return 0;
	unsigned depth = json_lex_depth(s->lex) - 1;
	if (s->effect == NULL)
		return json_lex_skip_to(s->lex, depth, err);
	while (json_lex_depth(s->lex) > depth)
		if (plan_next(s, err) < 0)
			return -1;
	return 0;
}

int plan_string(struct plan_scan *s, struct buf *out, const char *what, struct sbx_error *err)
{
	if (plan_expect(s, JSON_STRING, what, err) < 0)
		return -1;
	buf_reset(out);
	return buf_add(out, s->text, s->len, err);
}

int plan_bool(struct plan_scan *s, int *out, const char *what, struct sbx_error *err)
{
	if (plan_next(s, err) < 0)
		return -1;
	if (s->token != JSON_TRUE && s->token != JSON_FALSE)
		return plan_refuse(s, "plan_kind", what, err);
	*out = s->token == JSON_TRUE;
	return 0;
}

uint64_t plan_hash(const struct plan_scan *s, uint64_t start)
{
	return key_hash(s->seed, start, s->text, s->len);
}

int plan_list_add(struct plan_list *list, uint64_t item, struct sbx_error *err)
{
	if (list->count == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 64;
		uint64_t *grown = realloc(list->items, cap * sizeof *grown);
		if (grown == NULL)
			return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		list->items = grown;
		list->cap = cap;
	}
	list->items[list->count++] = item;
	return 0;
}

void plan_list_clear(struct plan_list *list)
{
	free(list->items);
	*list = (struct plan_list){.items = NULL};
}
