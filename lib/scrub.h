/* Takes secrets out of bytes that leave: known ones exactly (any run of at least 16 bytes of their raw, base64 (three
 * alignments, both alphabets), hex (both cases), percent-encoded or JSON-escaped form), and shapes that only
 * credentials have (JWT, AWS key ids, GitHub and Vault tokens, PEM private keys, bearer headers, URL userinfo). Works
 * on a stream: a secret split over any two pieces is still found. */
#ifndef SBX_SCRUB_H
#define SBX_SCRUB_H

#include "buf.h"
#include "secret.h"

struct scrub; /* the set of known secrets */

struct scrub *scrub_new(struct sbx_error *err); /* owned by the caller; no known secret yet */
void scrub_free(struct scrub *scrub);		/* wipes; NULL is fine */
/* Learn a secret of at least 8 bytes ("secret_too_short", 65), one of 255 at most and below half a megabyte ("too_large", 65). */
int scrub_add(struct scrub *scrub, const struct secret *secret, struct sbx_error *err);

/* One stream of bytes: whole pieces go in, scrubbed bytes are appended to OUT; the last few are held back until
 * _finish. */
struct scrub_stream;
struct scrub_stream *scrub_stream_new(const struct scrub *scrub, struct sbx_error *err);
void scrub_stream_free(struct scrub_stream *stream);
int scrub_feed(struct scrub_stream *stream, const void *bytes, size_t len, struct buf *out, struct sbx_error *err);
int scrub_finish(struct scrub_stream *stream, struct buf *out, struct sbx_error *err);

/* A whole text at once; SCRUB may be NULL (shapes alone). */
int scrub_text(const struct scrub *scrub, const char *text, size_t len, struct buf *out, struct sbx_error *err);

#endif
