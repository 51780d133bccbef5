/* struct sbx_error: filled once, wrapped with context on its way up. */
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void set_v(struct sbx_error *err, enum sbx_class class, const char *code, const char *format,
		  va_list args)
{
	err->class = class;
	snprintf(err->code, sizeof err->code, "%s", code);
	vsnprintf(err->message, sizeof err->message, format, args);
	err->hint[0] = '\0';
}

int sbx_fail(struct sbx_error *err, enum sbx_class class, const char *code, const char *format, ...)
{
	va_list args;

	if (err->class != SBX_OK)
		return -1;
	va_start(args, format);
	set_v(err, class, code, format, args);
	va_end(args);
	return -1;
}

int sbx_fail_errno(struct sbx_error *err, enum sbx_class class, const char *code, const char *format,
		   ...)
{
	int saved = errno;
	va_list args;

	if (err->class != SBX_OK)
		return -1;
	va_start(args, format);
	set_v(err, class, code, format, args);
	va_end(args);
	size_t used = strlen(err->message);
	snprintf(err->message + used, sizeof err->message - used, ": %s", strerror(saved));
	/* Namespaces and watches that are used up say the same. */
	if ((saved == ENOSPC || saved == EDQUOT) && (class == SBX_IO || class == SBX_CANNOT_CREATE))
		sbx_hint(err, "free space there: as a rule it is the file system of the state directory that is full");
	errno = saved;
	return -1;
}

int sbx_is_class(int64_t number)
{
	static const enum sbx_class classes[] = {
		SBX_COMMAND_FAILED, SBX_OUTCOME_UNKNOWN, SBX_USAGE, SBX_BAD_REQUEST,   SBX_NO_INPUT,
		SBX_UNAVAILABLE,    SBX_BUG,		 SBX_OS,    SBX_CANNOT_CREATE, SBX_IO,
		SBX_APPROVAL_REQUIRED, SBX_PROTOCOL,	 SBX_DENIED, SBX_CONFIG};

	for (size_t i = 0; i < ARRAY_LEN(classes); i++)
		if ((int64_t)classes[i] == number)
			return 1;
	return 0;
}

int sbx_hint(struct sbx_error *err, const char *format, ...)
{
	va_list args;

	if (err->class == SBX_OK || err->hint[0] != '\0')
		return -1;
	va_start(args, format);
	vsnprintf(err->hint, sizeof err->hint, format, args);
	va_end(args);
	return -1;
}

int sbx_wrap(struct sbx_error *err, const char *format, ...)
{
	char old[sizeof err->message];
	va_list args;

	memcpy(old, err->message, sizeof old);
	va_start(args, format);
	vsnprintf(err->message, sizeof err->message, format, args);
	va_end(args);
	size_t used = strlen(err->message);
	snprintf(err->message + used, sizeof err->message - used, ": %s", old);
	return -1;
}

void sbx_error_clear(struct sbx_error *err)
{
	*err = (struct sbx_error)SBX_ERROR_INIT;
}

const char *sbx_quote(char out[SBX_QUOTE_SIZE], const char *text, size_t len)
{
	static const size_t room = SBX_QUOTE_SIZE - sizeof "\"...";
	size_t used = 1, i = 0;

	out[0] = '"';
	for (; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		int plain = c >= 0x20 && c <= 0x7e && c != '"' && c != '\\';
		if (used + (plain ? 1 : sizeof "\\xNN" - 1) > room)
			break;
		used += (size_t)snprintf(out + used, SBX_QUOTE_SIZE - used, plain ? "%c" : "\\x%02x", c);
	}
	snprintf(out + used, SBX_QUOTE_SIZE - used, "%s", i < len ? "\"..." : "\"");
	return out;
}
