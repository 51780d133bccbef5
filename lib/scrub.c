/* The two scrubbers one behind the other: known secrets first, shapes on what is left. */
#include "scrub.h"

#include <string.h>

#include "scrub_known.h"
#include "scrub_shapes.h"

/* A block grows when short secrets are replaced by a longer word. */
#define MIDDLE_MAX ((size_t)8 * KNOWN_BLOCK)
/* What waits for the end of a token, and one more block. */
#define PENDING_MAX (2 * SHAPES_HOLD + MIDDLE_MAX)
/* Open tokens are looked at again when the text behind them has grown by half, not at every byte: else dribbled input
 * would take quadratic time. */
#define LOOK_AGAIN_LEAST 64

struct scrub {
	struct known *known;
};

struct scrub_stream {
	const struct scrub *scrub;
	struct known_stream known;
	struct shapes shapes;
	struct buf pending; /* went through the first scrubber, waits for the second */
	size_t look_at;	    /* pending bytes at which the second is worth a try */
};

struct scrub *scrub_new(struct sbx_error *err)
{
	struct scrub *scrub = calloc(1, sizeof *scrub);

	if (scrub == NULL) {
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		return NULL;
	}
	scrub->known = known_new(err);
	if (scrub->known == NULL) {
		free(scrub);
		return NULL;
	}
	return scrub;
}

void scrub_free(struct scrub *scrub)
{
	if (scrub == NULL)
		return;
	known_free(scrub->known);
	free(scrub);
}

int scrub_add(struct scrub *scrub, const struct secret *secret, struct sbx_error *err)
{
	if (secret->len < KNOWN_SHORTEST)
		return sbx_fail(err, SBX_BAD_REQUEST, "secret_too_short",
				"a secret has fewer than %d bytes and cannot be kept out of output", KNOWN_SHORTEST);
	return known_add(scrub->known, secret, err);
}

struct scrub_stream *scrub_stream_new(const struct scrub *scrub, struct sbx_error *err)
{
	struct scrub_stream *stream = calloc(1, sizeof *stream);

	if (stream == NULL) {
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		return NULL;
	}
	stream->scrub = scrub;
	stream->pending = (struct buf)BUF_INIT(PENDING_MAX);
	return stream;
}

void scrub_stream_free(struct scrub_stream *stream)
{
	if (stream == NULL)
		return;
	if (stream->pending.data != NULL)
		explicit_bzero(stream->pending.data, stream->pending.cap);
	buf_clear(&stream->pending);
	explicit_bzero(stream, sizeof *stream);
	free(stream);
}

static int scan_pending(struct scrub_stream *stream, enum shapes_more more, struct buf *out, struct sbx_error *err)
{
	struct buf *pending = &stream->pending;
	size_t used;

	if (more == SHAPES_MORE_COMES && pending->len < stream->look_at)
		return 0;
	if (shapes_scan(&stream->shapes, buf_str(pending), pending->len, more, &used, out, err) < 0)
		return -1;
	if (pending->len > 0)
		memmove(pending->data, pending->data + used, pending->len - used);
	pending->len -= used;
	stream->look_at = pending->len == 0 ? 0 : pending->len + pending->len / 2 + LOOK_AGAIN_LEAST;
	return 0;
}

int scrub_feed(struct scrub_stream *stream, const void *bytes, size_t len, struct buf *out, struct sbx_error *err)
{
	const char *p = bytes;

	while (len > 0) {
		size_t n = len < KNOWN_BLOCK ? len : KNOWN_BLOCK;
		if (stream->scrub == NULL) {
			if (buf_add(&stream->pending, p, n, err) < 0)
				return -1;
		} else if (known_feed(stream->scrub->known, &stream->known, p, n, &stream->pending, err) < 0) {
			return -1;
		}
		if (scan_pending(stream, SHAPES_MORE_COMES, out, err) < 0)
			return -1;
		p += n;
		len -= n;
	}
	return 0;
}

int scrub_finish(struct scrub_stream *stream, struct buf *out, struct sbx_error *err)
{
	if (known_finish(&stream->known, &stream->pending, err) < 0)
		return -1;
	return scan_pending(stream, SHAPES_LAST, out, err);
}

int scrub_text(const struct scrub *scrub, const char *text, size_t len, struct buf *out, struct sbx_error *err)
{
	struct shapes shapes = SHAPES_INIT;
	size_t used;

	if (scrub == NULL)
		return shapes_scan(&shapes, text, len, SHAPES_LAST, &used, out, err);
	struct scrub_stream *stream = scrub_stream_new(scrub, err);
	if (stream == NULL)
		return -1;
	int result = scrub_feed(stream, text, len, out, err);
	if (result == 0)
		result = scrub_finish(stream, out, err);
	scrub_stream_free(stream);
	return result;
}
