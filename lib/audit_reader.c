/* Reading lines of the record. */
#include "audit_reader.h"

#include <errno.h>
#include <string.h>

#include "audit_line.h"

#define READ_BLOCK ((size_t)256 << 10)

int audit_reader_open(const struct state *state, struct audit_file *file, struct audit_reader *r,
		      struct sbx_error *err)
{
	if (audit_file_open(state, AUDIT_READ, file, err) < 0)
		return -1;
	audit_file_unlock(file); /* a checker must not keep the writers waiting */
	*r = (struct audit_reader){
		.fd = file->fd, .size = file->size, .block = BUF_INIT(AUDIT_LINE_LONGEST + 2 * READ_BLOCK)};
	return 0;
}

void audit_reader_clear(struct audit_reader *r)
{
	buf_clear(&r->block);
}

static int read_some(const struct audit_reader *r, void *bytes, size_t len, off_t at, struct sbx_error *err)
{
	ssize_t n;

	do
		n = pread(r->fd, bytes, len, at);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		return (int)n;
	return n < 0 ? sbx_fail_errno(err, SBX_IO, "audit_unavailable", "cannot read the record")
		     : sbx_fail(err, SBX_COMMAND_FAILED, "audit_broken", "the record became shorter while it was read");
}

static int fill(struct audit_reader *r, struct sbx_error *err)
{
	size_t left = r->block.len - r->used, want = READ_BLOCK;

	if (r->used > 0) {
		memmove(r->block.data, r->block.data + r->used, left);
		r->block.len = left;
		r->used = 0;
	}
	if ((off_t)want > r->size - r->at)
		want = (size_t)(r->size - r->at);
	auto_free char *bytes = malloc(want);
	if (bytes == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	int n = read_some(r, bytes, want, r->at, err);
	if (n < 0)
		return -1;
	r->at += n;
	return buf_add(&r->block, bytes, (size_t)n, err);
}

int audit_reader_next(struct audit_reader *r, struct audit_raw *line, size_t *left, struct sbx_error *err)
{
	size_t looked = 0;

	for (;;) {
		size_t have = r->block.len - r->used;
		const char *start = buf_str(&r->block) + r->used;
		const char *end = have > looked ? memchr(start + looked, '\n', have - looked) : NULL;
		if (end != NULL) {
			*line = (struct audit_raw){start, (size_t)(end - start), r->at - (off_t)have};
			r->used += line->len + 1;
			return 1;
		}
		if (have > AUDIT_LINE_LONGEST)
			return sbx_fail(err, SBX_COMMAND_FAILED, "audit_broken", "a line is longer than any record");
		if (r->at >= r->size) {
			*left = have;
			return 0;
		}
		looked = have;
		if (fill(r, err) < 0)
			return -1;
	}
}

static void go_to(struct audit_reader *r, off_t at)
{
	buf_reset(&r->block);
	r->used = 0;
	r->at = at;
}

/* The last line of BYTES whose SHA-256 is HEAD: its length, and *AT where it begins; -1 when there is none. *LEN
 * shrinks to what no whole line begins in; FROM_START: the first line begins with the first byte. */
static ssize_t find_line(const char *bytes, size_t *len, int from_start, const char *head, size_t *at)
{
	char sha256[DIGEST_HEX_SIZE];
	const char *end = memrchr(bytes, '\n', *len);

	while (end != NULL) {
		const char *before = end > bytes ? memrchr(bytes, '\n', (size_t)(end - bytes)) : NULL;
		if (before == NULL && !from_start)
			break;
		*at = before == NULL ? 0 : (size_t)(before + 1 - bytes);
		size_t line_len = (size_t)(end - bytes) - *at;
		digest_sha256_hex(bytes + *at, line_len, sha256);
		if (strcmp(sha256, head) == 0)
			return (ssize_t)line_len;
		end = before;
	}
	*len = end == NULL ? 0 : (size_t)(end - bytes) + 1;
	return -1;
}

int audit_reader_seek(struct audit_reader *r, const char *head, int64_t *seq, struct sbx_error *err)
{
	/* Twice the longest line: every whole line lies within one window of two that follow each other. */
	const size_t window = 2 * AUDIT_LINE_LONGEST;
	auto_free char *bytes = malloc(window);
	off_t end = r->size;

	*seq = 0;
	go_to(r, 0);
	if (strcmp(head, AUDIT_FIRST_PREV) == 0)
		return 1;
	if (bytes == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	while (end > 0) {
		size_t len = end > (off_t)window ? window : (size_t)end, have = 0, at = 0;
		off_t start = end - (off_t)len;
		while (have < len) {
			int n = read_some(r, bytes + have, len - have, start + (off_t)have, err);
			if (n < 0)
				return -1;
			have += (size_t)n;
		}
		ssize_t found = find_line(bytes, &len, start == 0, head, &at);
		struct audit_line line;
		if (found >= 0 && audit_line_read(bytes + at, (size_t)found, &line) == 0) {
			*seq = line.seq;
			go_to(r, start + (off_t)at + found + 1);
			return 1;
		}
		/* What is left is the end of a line that begins in the window before this one. */
		if (found >= 0 || len == 0 || len == window)
			break;
		end = start + (off_t)len;
	}
	return 0;
}
