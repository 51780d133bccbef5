/* What a name is made of. */
#include "schema_name.h"

#include <string.h>

static const size_t name_max = 64;

static int is_made_of(const char *text, const char *inside)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyz";

	return text != NULL && *text != '\0' && strchr(first, *text) != NULL && strlen(text) <= name_max &&
	       text[strspn(text, inside)] == '\0';
}

int schema_is_word(const char *text)
{
	return is_made_of(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
}

int schema_is_param(const char *text)
{
	return is_made_of(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

int schema_is_name(const char *text)
{
	return is_made_of(text, "abcdefghijklmnopqrstuvwxyz0123456789_.-");
}
