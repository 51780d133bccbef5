/* Our words, and foreign text made visible. */
#include "words.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "hidden.h"
#include "json_out.h"

static void add(struct words *w, const char *bytes, size_t len)
{
	if (w->err.class == SBX_OK)
		buf_add(&w->text, bytes, len, &w->err);
}

void words_say(struct words *w, const char *format, ...)
{
	auto_free char *text = NULL;
	va_list args;

	if (w->err.class != SBX_OK)
		return;
	va_start(args, format);
	int len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0) {
		text = NULL;
		sbx_fail(&w->err, SBX_OS, "no_memory", "out of memory");
		return;
	}
	add(w, text, (size_t)len);
}

static void show(struct words *w, const char *text, size_t len, const char *kept)
{
	for (size_t i = 0; i < len;) {
		uint32_t c = 0;
		size_t n = json_out_utf8(text + i, len - i, &c);
		if (n == 0) {
			words_say(w, "\\x%02x", (unsigned char)text[i]);
			n = 1;
		} else if (c < 0x80 && strchr(kept, (int)c) != NULL && c != 0) {
			add(w, text + i, n);
		} else if (hidden_character(c)) {
			if (c < 0x80)
				words_say(w, "\\x%02x", (unsigned)c);
			else
				words_say(w, "\\u{%x}", (unsigned)c);
		} else {
			size_t run = n;
			while (i + run < len && text[i + run] >= 0x20 && text[i + run] < 0x7f)
				run++;
			n = run;
			add(w, text + i, n);
		}
		i += n;
	}
}

void words_show(struct words *w, const char *text, size_t len)
{
	if (text != NULL)
		show(w, text, len, "\n\t");
}

void words_line(struct words *w, const char *text, size_t max)
{
	if (text == NULL)
		return;
	size_t len = words_cut(text, max);
	show(w, text, len, "");
	if (text[len] != '\0')
		words_say(w, "[cut]");
}

void words_quote_bytes(struct words *w, const char *text, size_t len, size_t max)
{
	size_t shown = len;

	if (len > max)
		for (shown = max; shown > 0 && ((unsigned char)text[shown] & 0xc0) == 0x80; shown--)
			;
	words_say(w, "\"");
	for (size_t i = 0; i < shown;) {
		size_t plain = 0;
		while (i + plain < shown && text[i + plain] != '"' && text[i + plain] != '\\')
			plain++;
		show(w, text + i, plain, "");
		i += plain;
		if (i < shown)
			words_say(w, "\\%c", text[i++]);
	}
	words_say(w, "%s", shown < len ? "[cut]\"" : "\"");
}

void words_quote(struct words *w, const char *text, size_t max)
{
	if (text != NULL)
		words_quote_bytes(w, text, strlen(text), max);
}

size_t words_cut(const char *text, size_t max)
{
	size_t len = strnlen(text, max + 1);

	if (len <= max)
		return len;
	for (len = max; len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80; len--)
		;
	return len;
}

void words_clear(struct words *w)
{
	buf_clear(&w->text);
}
