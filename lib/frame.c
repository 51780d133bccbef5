/* Frames: a text header, the bytes, a line feed. */
#include "frame.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "frame_lines.h"
#include "io.h"

static const char *const type_names[] = {
	[FRAME_HELLO] = "hello", [FRAME_REFUSED] = "refused",	[FRAME_STEP] = "step", [FRAME_OUT] = "out",
	[FRAME_ERR] = "err",	 [FRAME_ARTIFACT] = "artifact", [FRAME_DATA] = "data", [FRAME_EXIT] = "exit",
	[FRAME_END] = "end",	 [FRAME_UNLOCKED] = "unlocked",
	[FRAME_EVENT] = "event",
};

static const char header_start[] = "sbx-frame ";

enum {
	NONCE_LEN = FRAME_NONCE_SIZE - 1,
	HEADER_MAX = 96,	     /* "sbx-frame ", nonce, the longest type, two numbers, spaces and the line feed */
	STEP_MAX = 100000,	     /* far above any table's */
	PENDING_MAX = 4 * FRAME_MAX, /* a frame and what one read brings behind it, with room */
};

static int as_lines;

void frame_write_lines(void)
{
	as_lines = 1;
}

static int write_lines(int fd, const char *nonce, enum frame_type type, unsigned step, const void *payload, size_t len,
		       struct sbx_error *err)
{
	auto_buf frame = BUF_INIT(2 * FRAME_MAX), lines = BUF_INIT(4 * FRAME_MAX);

	if (frame_put(&frame, nonce, type, step, payload, len, err) < 0 ||
	    frame_lines_put(&lines, frame.data, frame.len, err) < 0)
		return -1;
	return io_write_all(fd, lines.data, lines.len, err);
}

int frame_write(int fd, const char *nonce, enum frame_type type, unsigned step, const void *payload, size_t len,
		struct sbx_error *err)
{
	char header[HEADER_MAX];

	if (len > FRAME_MAX)
		return sbx_fail(err, SBX_BUG, "bug", "a frame of %zu bytes", len);
	if (as_lines)
		return write_lines(fd, nonce, type, step, payload, len, err);
	int header_len =
		snprintf(header, sizeof header, "%s%s %s %u %zu\n", header_start, nonce, type_names[type], step, len);
	struct iovec parts[3] = {
		{.iov_base = header, .iov_len = (size_t)header_len},
		{.iov_base = (void *)payload, .iov_len = len},
		{.iov_base = (char[]){"\n"}, .iov_len = 1},
	};
	ssize_t done;
	do
		done = writev(fd, parts, (int)ARRAY_LEN(parts));
	while (done < 0 && errno == EINTR);
	if (done < 0 && errno != EAGAIN)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot write");
	size_t skip = done < 0 ? 0 : (size_t)done;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		size_t part = skip < parts[i].iov_len ? skip : parts[i].iov_len;
		if (io_write_all(fd, (const char *)parts[i].iov_base + part, parts[i].iov_len - part, err) < 0)
			return -1;
		skip -= part;
	}
	return 0;
}

int frame_put(struct buf *b, const char *nonce, enum frame_type type, unsigned step, const void *payload, size_t len,
	      struct sbx_error *err)
{
	if (len > FRAME_MAX)
		return sbx_fail(err, SBX_BUG, "bug", "a frame of %zu bytes", len);
	if (buf_addf(b, err, "%s%s %s %u %zu\n", header_start, nonce, type_names[type], step, len) < 0 ||
	    buf_add(b, payload, len, err) < 0)
		return -1;
	return buf_add(b, "\n", 1, err);
}

void frame_reader_init(struct frame_reader *r)
{
	*r = (struct frame_reader){.pending = BUF_INIT(PENDING_MAX)};
}

void frame_reader_clear(struct frame_reader *r)
{
	buf_clear(&r->pending);
}

int frame_feed(struct frame_reader *r, const void *bytes, size_t len, struct sbx_error *err)
{
	if (r->used > 0) {
		r->pending.len -= r->used;
		memmove(r->pending.data, r->pending.data + r->used, r->pending.len);
		r->used = 0;
	}
	return buf_add(&r->pending, bytes, len, err);
}

size_t frame_pending(const struct frame_reader *r)
{
	return r->pending.len - r->used;
}

static int bad(struct sbx_error *err, const char *what)
{
	return sbx_fail(err, SBX_PROTOCOL, "bad_frame", "the sandbox sent a malformed frame (%s)", what);
}

/* The text up to the next space (or, with END at it, the end), cut out of the header; NULL when there is none. */
static char *next_word(char **at)
{
	char *word = *at;
	char *space = strchr(word, ' ');

	if (space == NULL) {
		*at = word + strlen(word);
	} else {
		*space = '\0';
		*at = space + 1;
	}
	return *word != '\0' ? word : NULL;
}

static int parse_type(const char *word, enum frame_type *type)
{
	for (size_t i = 0; i < ARRAY_LEN(type_names); i++)
		if (strcmp(word, type_names[i]) == 0) {
			*type = (enum frame_type)i;
			return 0;
		}
	return -1;
}

static int is_nonce(const char *text)
{
	return strlen(text) == NONCE_LEN && strspn(text, "0123456789abcdef") == NONCE_LEN;
}

/* HEADER is one line without its line feed, a copy that may be cut up. */
static int parse_header(struct frame_reader *r, char *header, struct frame *frame, struct sbx_error *err)
{
	uint64_t step, len;

	size_t header_len = strlen(header);

	if (strncmp(header, header_start, strlen(header_start)) != 0 || header[header_len - 1] == ' ')
		return bad(err, "start");
	char *at = header + strlen(header_start);
	const char *nonce = next_word(&at), *type = next_word(&at), *step_word = next_word(&at),
		   *len_word = next_word(&at);
	if (nonce == NULL || !is_nonce(nonce) || *at != '\0')
		return bad(err, "header");
	if (type == NULL || parse_type(type, &frame->type) < 0)
		return bad(err, "type");
	if (step_word == NULL || io_parse_u64(step_word, 0, STEP_MAX, &step) < 0)
		return bad(err, "step");
	if (len_word == NULL || io_parse_u64(len_word, 0, FRAME_MAX, &len) < 0)
		return bad(err, "length");
	frame->step = (unsigned)step;
	frame->len = (size_t)len;
	if (frame->type == FRAME_EVENT)
		return strcmp(nonce, FRAME_EVENT_NONCE) == 0 ? 0 : bad(err, "nonce of an event");
	if (frame->type == FRAME_HELLO) {
		if (r->nonce[0] != '\0' || strcmp(nonce, FRAME_EVENT_NONCE) == 0)
			return bad(err, "hello");
		memcpy(r->nonce, nonce, FRAME_NONCE_SIZE);
		return 0;
	}
	/* A step that reached this stream could not know the nonce: its bytes end here, not in the result. */
	return strcmp(nonce, r->nonce) == 0 ? 0 : bad(err, "nonce");
}

int frame_next(struct frame_reader *r, struct frame *frame, struct sbx_error *err)
{
	size_t left = frame_pending(r);
	char *start = left > 0 ? r->pending.data + r->used : NULL;
	char header[HEADER_MAX];

	if (left == 0)
		return 0;
	char *line_end = memchr(start, '\n', left < HEADER_MAX ? left : HEADER_MAX);
	if (line_end == NULL)
		return left < HEADER_MAX ? 0 : bad(err, "no header");
	size_t header_len = (size_t)(line_end - start);
	if (header_len >= HEADER_MAX || memchr(start, '\0', header_len) != NULL)
		return bad(err, "header");
	memcpy(header, start, header_len);
	header[header_len] = '\0';

	struct frame_reader before = *r;
	struct frame found = {.len = 0};
	if (parse_header(r, header, &found, err) < 0)
		return -1;
	if (left < header_len + 1 + found.len + 1) {
		memcpy(r->nonce, before.nonce, sizeof r->nonce); /* a hello counts when it is whole */
		return 0;
	}
	char *payload = line_end + 1;
	if (payload[found.len] != '\n')
		return bad(err, "end");
	payload[found.len] = '\0';
	found.payload = payload;
	r->used += header_len + 1 + found.len + 1;
	*frame = found;
	return 1;
}
