/* Exact scrubbing: every run of 16 bytes of every form of a known secret. Private to scrub.c. */
#ifndef SBX_SCRUB_KNOWN_H
#define SBX_SCRUB_KNOWN_H

#include "buf.h"
#include "secret.h"

/* A window is this long, or as long as the form where that is shorter; 16 characters of base64 are 96 bits, which no
 * other text meets. */
#define KNOWN_WINDOW 16
#define KNOWN_SHORTEST 8 /* shorter secrets would be found in ordinary words */

struct known; /* the windows of all forms, in locked memory */

struct known *known_new(struct sbx_error *err);
void known_free(struct known *known); /* wipes; NULL is fine */
int known_add(struct known *known, const struct secret *secret, struct sbx_error *err);

#define KNOWN_BLOCK 4096

/* Where a stream stands. The held bytes may be the first of a window whose rest is still to come. */
struct known_stream {
	unsigned char bytes[KNOWN_WINDOW - 1 + KNOWN_BLOCK];
	unsigned char covered[KNOWN_WINDOW - 1 + KNOWN_BLOCK]; /* 1: part of a secret */
	size_t held;
	int in_run; /* the replacement for the bytes before was written */
};

/* Scrub at most KNOWN_BLOCK more bytes into OUT; all but the last 15 go out. _finish lets those go too. */
int known_feed(const struct known *known, struct known_stream *stream, const void *bytes, size_t len, struct buf *out,
	       struct sbx_error *err);
int known_finish(struct known_stream *stream, struct buf *out, struct sbx_error *err);

#endif
