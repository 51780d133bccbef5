/* Growing buffer with a mandatory maximum. */
#include "buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const size_t first_capacity = 256;

static int reserve(struct buf *b, size_t more, struct sbx_error *err)
{
	if (more > b->max || b->len > b->max - more)
		return sbx_fail(err, SBX_BAD_REQUEST, "too_large", "more than %zu bytes", b->max);
	size_t need = b->len + more + 1;
	if (need <= b->cap)
		return 0;
	size_t cap = b->cap ? b->cap : first_capacity;
	while (cap < need)
		cap *= 2;
	char *grown = realloc(b->data, cap);
	if (grown == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	b->data = grown;
	b->cap = cap;
	return 0;
}

int buf_add(struct buf *b, const void *bytes, size_t len, struct sbx_error *err)
{
	if (reserve(b, len, err) < 0)
		return -1;
	if (len > 0)
		memcpy(b->data + b->len, bytes, len);
	b->len += len;
	b->data[b->len] = '\0';
	return 0;
}

int buf_add_str(struct buf *b, const char *text, struct sbx_error *err)
{
	return buf_add(b, text, strlen(text), err);
}

int buf_addf(struct buf *b, struct sbx_error *err, const char *format, ...)
{
	va_list args, again;
	int result = -1;

	va_start(args, format);
	va_copy(again, args);
	int len = vsnprintf(NULL, 0, format, args);
	if (len < 0) {
		sbx_fail(err, SBX_BUG, "bug", "a format was not accepted");
	} else if (reserve(b, (size_t)len, err) == 0) {
		vsnprintf(b->data + b->len, (size_t)len + 1, format, again);
		b->len += (size_t)len;
		result = 0;
	}
	va_end(again);
	va_end(args);
	return result;
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	if (b->data != NULL)
		b->data[0] = '\0';
}

void buf_clear(struct buf *b)
{
	free(b->data);
	b->data = NULL;
	b->len = b->cap = 0;
}

const char *buf_str(const struct buf *b)
{
	return b->data ? b->data : "";
}

char *buf_take(struct buf *b)
{
	char *taken = b->data ? b->data : calloc(1, 1);
	b->data = NULL;
	b->len = b->cap = 0;
	return taken;
}
