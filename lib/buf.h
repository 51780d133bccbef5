/* A growing byte buffer that always has a maximum: nothing that comes from outside can grow without one. */
#ifndef SBX_BUF_H
#define SBX_BUF_H

#include "base.h"
#include "error.h"

struct buf {
	char *data; /* owned; NUL behind the last byte once anything was added */
	size_t len;
	size_t cap;
	size_t max; /* most bytes it may hold */
};

/* An empty buffer that may hold MAX bytes; nothing is allocated yet. */
#define BUF_INIT(maximum) {.max = (maximum)}

/* Append; -1 with "too_large" (65) when it would pass the maximum (nothing is appended then), "no_memory" (71). */
int buf_add(struct buf *b, const void *bytes, size_t len, struct sbx_error *err);
int buf_add_str(struct buf *b, const char *text, struct sbx_error *err);
int buf_addf(struct buf *b, struct sbx_error *err, const char *format, ...) SBX_PRINTF(3, 4);

/* Make it empty, keeping the memory; or give the memory back (also for an empty one). */
void buf_reset(struct buf *b);
void buf_clear(struct buf *b);

/* The text so far as a C string ("" for an empty buffer); owned by the buffer. */
const char *buf_str(const struct buf *b);

/* Hand the heap block to the caller (never NULL unless out of memory) and leave B empty. */
char *buf_take(struct buf *b);

#define auto_buf __attribute__((cleanup(buf_clear))) struct buf

#endif
