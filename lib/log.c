/* One escaped line on stderr. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>

static const char *program = "sbx";

void log_set_name(const char *name)
{
	program = name;
}

static void put_escaped(char *out, size_t size, const char *text)
{
	size_t used = 0;

	for (const unsigned char *p = (const unsigned char *)text; *p != '\0' && used + 6 < size; p++) {
		if (*p < 0x20 || *p == 0x7f)
			used += (size_t)snprintf(out + used, size - used, "\\x%02x", *p);
		else
			out[used++] = (char)*p;
	}
	out[used++] = '\n';
	out[used] = '\0';
}

void log_line(const char *format, ...)
{
	char text[2048], line[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	int prefix = snprintf(line, sizeof line, "%s: ", program);
	put_escaped(line + prefix, sizeof line - (size_t)prefix, text);
	fputs(line, stderr);
}

void log_error(const struct sbx_error *err)
{
	log_line("%s (%s)", err->message, err->code);
	if (err->hint[0] != '\0')
		log_line("hint: %s", err->hint);
}
