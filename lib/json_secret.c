/* A walk over strings and brackets; nothing is copied but the one value. */
#include "json_secret.h"

#include <string.h>

#include "ascii.h"

static int bad(struct sbx_error *err)
{
	return sbx_fail(err, SBX_PROTOCOL, "bad_secret", "a secret holds what no such secret has");
}

/* The index of the quote that ends the string which begins behind AT; the length of the text when none does. */
static size_t string_end(const struct secret *text, size_t at)
{
	while (at < text->len && text->data[at] != '"')
		at += text->data[at] == '\\' ? 2 : 1;
	return at < text->len ? at : text->len;
}

static size_t skip_space(const struct secret *text, size_t at)
{
	while (at < text->len && memchr(" \t\r\n", text->data[at], 4) != NULL)
		at++;
	return at;
}

static int is_text(const struct secret *text, size_t from, size_t to, const char *word)
{
	return to - from == strlen(word) && memcmp(text->data + from, word, to - from) == 0;
}

static int take(struct secret *text, size_t from, struct secret *out, struct sbx_error *err)
{
	size_t to = string_end(text, from), len = to - from;

	if (to == text->len || !ascii_is_visible(text->data + from, len))
		return bad(err);
	if (secret_alloc(out, len, err) < 0 || secret_append(out, text->data + from, len, err) < 0)
		return -1;
	memset(text->data + from, 'x', len);
	return 1;
}

int json_take_secret(struct secret *text, const char *outer, const char *inner, struct secret *out,
		     struct sbx_error *err)
{
	int depth = 0, is_inside = 0;

	for (size_t at = 0; at < text->len; at++) {
		unsigned char c = text->data[at];
		if (c == '{' || c == '[')
			depth++;
		if (c == '}' || c == ']')
			depth--;
		if (c != '"')
			continue;
		size_t from = at + 1, to = string_end(text, from), next = skip_space(text, to + 1);
		at = to;
		if (next >= text->len || text->data[next] != ':')
			continue;
		if (depth == 1)
			is_inside = is_text(text, from, to, outer);
		if (depth != 2 || !is_inside || !is_text(text, from, to, inner))
			continue;
		size_t value = skip_space(text, next + 1);
		return value < text->len && text->data[value] == '"' ? take(text, value + 1, out, err) : 0;
	}
	return 0;
}

int json_add_secret(struct secret *out, const char *name, const void *value, size_t len, struct sbx_error *err)
{
	const char *comma = out->len > 0 && out->data[out->len - 1] != '{' ? "," : "";
	const char *const before[] = {comma, "\"", name, "\":\""};

	if (!ascii_is_visible(value, len))
		return bad(err);
	for (size_t i = 0; i < ARRAY_LEN(before); i++)
		if (secret_append(out, before[i], strlen(before[i]), err) < 0)
			return -1;
	if (secret_append(out, value, len, err) < 0)
		return -1;
	return secret_append(out, "\"", 1, err);
}
