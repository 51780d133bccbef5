/* Which bytes are plain: foreign text that is shown as it is, and values that stand between quotes or in a header line. */
#ifndef SBX_ASCII_H
#define SBX_ASCII_H

#include <string.h>

/* 1 to MAX printable ASCII characters, blanks among them. TEXT may be NULL: it is none. */
static inline int ascii_is_printable(const char *text, size_t max)
{
	if (text == NULL || text[0] == '\0' || strlen(text) > max)
		return 0;
	for (const char *p = text; *p != '\0'; p++)
		if (*p < 0x20 || *p > 0x7e)
			return 0;
	return 1;
}

/* Visible ASCII without quote and backslash (RFC 6749 section 3.3), at least one: it can end neither a JSON string nor a
 * header line. */
static inline int ascii_is_visible(const void *bytes, size_t len)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < len; i++)
		if (p[i] <= 0x20 || p[i] >= 0x7f || p[i] == '"' || p[i] == '\\')
			return 0;
	return len > 0;
}

#endif
