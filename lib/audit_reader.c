/* Reading lines of the record. */
#include "audit_reader.h"

#include <errno.h>
#include <string.h>

#include "audit_line.h"

/* The pages of a block are touched again and again: a large one costs its process more faults than it saves calls. */
static const size_t block_size = (size_t)32 << 10;

int audit_reader_open(const struct state *state, struct audit_file *file, struct audit_reader *r, struct sbx_error *err)
{
	if (audit_file_open(state, AUDIT_READ, file, err) < 0)
		return -1;
	audit_file_unlock(file); /* a checker must not keep the writers waiting */
	*r = (struct audit_reader){.fd = file->fd, .size = file->size};
	return 0;
}

void audit_reader_clear(struct audit_reader *r)
{
	free(r->block);
	r->block = NULL;
	r->room = r->len = r->used = 0;
}

static int make_room(struct audit_reader *r, size_t room, struct sbx_error *err)
{
	char *grown = room > r->room ? realloc(r->block, room) : r->block;

	if (grown == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	r->block = grown;
	r->room = room > r->room ? room : r->room;
	return 0;
}

/* Read at most LEN more bytes into the block, which has room for them: how many, or -1. */
static int read_some(struct audit_reader *r, size_t len, struct sbx_error *err)
{
	ssize_t n;

	do
		n = pread(r->fd, r->block + r->len, len, r->at);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return sbx_fail_errno(err, SBX_IO, "audit_unavailable", "cannot read the record");
	if (n == 0)
		return sbx_fail(err, SBX_COMMAND_FAILED, "audit_broken", "the record became shorter while it was read");
	r->len += (size_t)n;
	r->at += n;
	return 0;
}

static int fill(struct audit_reader *r, struct sbx_error *err)
{
	size_t left = r->len - r->used, want = block_size;

	if (r->used > 0) {
		memmove(r->block, r->block + r->used, left);
		r->len = left;
		r->used = 0;
	}
	if ((off_t)want > r->size - r->at)
		want = (size_t)(r->size - r->at);
	return make_room(r, r->len + block_size, err) < 0 ? -1 : read_some(r, want, err);
}

off_t audit_reader_place(const struct audit_reader *r)
{
	return r->at - (off_t)(r->len - r->used);
}

int audit_reader_next(struct audit_reader *r, struct audit_raw *line, size_t *left, struct sbx_error *err)
{
	size_t looked = 0;

	for (;;) {
		size_t have = r->len - r->used;
		const char *start = have > 0 ? r->block + r->used : "";
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
	r->len = r->used = 0;
	r->at = at;
}

/* Have the LEN bytes from AT on in the block, and nothing else. */
static int load(struct audit_reader *r, off_t at, size_t len, struct sbx_error *err)
{
	go_to(r, at);
	if (make_room(r, len, err) < 0)
		return -1;
	while (r->len < len)
		if (read_some(r, len - r->len, err) < 0)
			return -1;
	return 0;
}

/* A search from the end of the record to its beginning. */
struct search {
	const char *head;
	int is_thorough; /* 0: a line that is followed by a record which names another one is not hashed */
	int is_followed; /* the line behind the one that is looked at is such a record */
};

/* The last line of the block whose SHA-256 is the head: its length, and *AT where it begins; -1 when there is none.
 * *LEN shrinks to what no whole line begins in; FROM_START: the first line begins with the first byte. */
static ssize_t find_line(const char *bytes, size_t *len, int from_start, struct search *search, size_t *at)
{
	char sha256[DIGEST_HEX_SIZE];
	const char *end = memrchr(bytes, '\n', *len);

	while (end != NULL) {
		const char *before = end > bytes ? memrchr(bytes, '\n', (size_t)(end - bytes)) : NULL;
		if (before == NULL && !from_start)
			break;
		*at = before == NULL ? 0 : (size_t)(before + 1 - bytes);
		size_t line_len = (size_t)(end - bytes) - *at;
		if (!search->is_followed || search->is_thorough) {
			digest_sha256_hex(bytes + *at, line_len, sha256);
			if (strcmp(sha256, search->head) == 0)
				return (ssize_t)line_len;
		}
		search->is_followed = audit_line_names_another(bytes + *at, line_len, search->head);
		end = before;
	}
	if (end != NULL)
		*len = (size_t)(end - bytes) + 1;
	else if (from_start)
		*len = 0;
	return -1;
}

/* 1 when the line is found, and is what was read last; 0; -1. */
static int search_back(struct audit_reader *r, struct search *search, int64_t *seq, struct sbx_error *err)
{
	/* In twice the longest line there is a whole one. */
	const size_t longest_window = 2 * AUDIT_LINE_LONGEST;
	size_t window = block_size;

	for (off_t end = r->size; end > 0;) {
		size_t len = end > (off_t)window ? window : (size_t)end, at = 0;
		off_t start = end - (off_t)len;
		if (load(r, start, len, err) < 0)
			return -1;
		ssize_t found = find_line(r->block, &len, start == 0, search, &at);
		struct audit_line line;
		if (found >= 0 && audit_line_read(r->block + at, (size_t)found, &line) == 0) {
			*seq = line.seq;
			r->used = at + (size_t)found + 1;
			return 1;
		}
		if (found >= 0 || len == 0 || (len == window && window == longest_window))
			return 0;
		/* What is left is the end of a line that begins in the window before this one, or in a larger one. */
		window *= len == window ? 2 : 1;
		end = start + (off_t)len;
	}
	return 0;
}

int audit_reader_seek(struct audit_reader *r, const char *head, int64_t *seq, struct sbx_error *err)
{
	*seq = 0;
	go_to(r, 0);
	if (strcmp(head, AUDIT_FIRST_PREV) == 0)
		return 1;
	/* Each record names the one before it, so that hashing those that are named is enough to find one. Where that
	 * finds none, somebody may have changed the line behind it, which the reader of what follows is to see. */
	for (int thorough = 0; thorough < 2; thorough++) {
		struct search search = {.head = head, .is_thorough = thorough};
		int found = search_back(r, &search, seq, err);
		if (found != 0)
			return found;
	}
	return 0;
}
