/* Scrubbing by shape: what looks like a credential and like nothing else. No regular expressions:
 * each shape is found by the literal that it begins with, and the time for any text grows with its length alone. */
#ifndef SBX_SCRUB_SHAPES_H
#define SBX_SCRUB_SHAPES_H

#include "buf.h"

/* A token that is not at its end after this many bytes is taken for one; the rest of it is swallowed without being
 * held. */
#define SHAPES_HOLD ((size_t)8 << 10)

struct shapes {
	unsigned char prev; /* byte before the next one; 0 at the beginning */
	unsigned swallow;   /* set of bytes that are still part of a token; 0: none */
	int in_key;	    /* within a private key: up to its END line */
	size_t in_key_bytes;
};
#define SHAPES_INIT                                                                                                    \
	{                                                                                                              \
		.prev = 0                                                                                              \
	}

/* Scrub as much of the LEN bytes as can be decided into OUT; *USED says how much that was. SHAPES_LAST decides
 * everything. */
enum shapes_more { SHAPES_MORE_COMES, SHAPES_LAST };
int shapes_scan(struct shapes *shapes, const char *bytes, size_t len, enum shapes_more more, size_t *used,
		struct buf *out, struct sbx_error *err);

/* 1 when one of the shapes is in the whole text of LEN bytes. */
int shapes_in(const char *bytes, size_t len);

#endif
