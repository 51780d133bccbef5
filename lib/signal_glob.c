/* Patterns with stars. Most texts match none of the patterns that they are compared with, so what
 * says that comes first. */
#include <string.h>

#include "signal_format.h"

static unsigned char folded(char c)
{
	unsigned char byte = (unsigned char)c;

	return byte >= 'A' && byte <= 'Z' ? (unsigned char)(byte | 0x20) : byte;
}

static int same_byte(char a, char b, enum signal_case how)
{
	return how == SIGNAL_ANY_CASE ? folded(a) == folded(b) : a == b;
}

/* 1 when the last byte of PATTERN is a star that is not escaped. */
static int ends_in_star(const char *pattern, size_t len)
{
	size_t escapes = 0;

	if (len == 0 || pattern[len - 1] != '*')
		return 0;
	while (escapes + 1 < len && pattern[len - 2 - escapes] == '\\')
		escapes++;
	return escapes % 2 == 0;
}

/* Where BYTE comes next in TEXT from FROM on; LEN: nowhere. */
static size_t find(const char *text, size_t from, size_t len, char byte, enum signal_case how)
{
	if (how == SIGNAL_EXACT_CASE) {
		const char *found = memchr(text + from, byte, len - from);
		return found == NULL ? len : (size_t)(found - text);
	}
	while (from < len && !same_byte(text[from], byte, how))
		from++;
	return from;
}

/* At a difference only the last star takes more: what it took is the shortest run that works. */
static int match(const char *pattern, size_t pattern_len, const char *text, size_t len,
		 enum signal_case how)
{
	size_t p = 0, t = 0, star = SIZE_MAX, taken = 0;

	for (;;) {
		if (p < pattern_len && pattern[p] == '*') {
			star = ++p;
			taken = t;
			continue;
		}
		if (t == len && p == pattern_len)
			return 1;
		size_t escaped = p + 1 < pattern_len && pattern[p] == '\\';
		if (t < len && p < pattern_len && same_byte(pattern[p + escaped], text[t], how)) {
			p += 1 + escaped;
			t++;
			continue;
		}
		if (star == SIZE_MAX || taken == len)
			return 0;
		p = star;
		escaped = p + 1 < pattern_len && pattern[p] == '\\';
		t = taken = p == pattern_len
				    ? len
				    : find(text, taken + 1, len, pattern[p + escaped], how);
	}
}

int signal_glob(const char *pattern, size_t pattern_len, const char *text, size_t len,
		enum signal_case how)
{
	if (pattern_len == 0 || len == 0)
		return match(pattern, pattern_len, text, len, how);
	if (pattern[0] != '*' && pattern[0] != '\\' && !same_byte(pattern[0], text[0], how))
		return 0;
	if (!same_byte(pattern[pattern_len - 1], text[len - 1], how) &&
	    !ends_in_star(pattern, pattern_len))
		return 0;
	return match(pattern, pattern_len, text, len, how);
}
