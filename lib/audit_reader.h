/* The lines of the record: forward from any place in it, and one of them looked for from the end. Private to the audit
 * modules. */
#ifndef SBX_AUDIT_READER_H
#define SBX_AUDIT_READER_H

#include "audit_file.h"
#include "limit.h"

/* Longer than any record with a torn one before it: whatever it is, it is not ours. */
#define AUDIT_LINE_LONGEST (2 * LIMIT_EVENT)

struct audit_reader {
	int fd;
	off_t at;    /* of the next byte to read into the block */
	off_t size;  /* what is behind it was written later: not looked at */
	char *block; /* owned; its bytes end in the file at AT */
	size_t room, len, used;
};

struct audit_raw {
	const char *bytes; /* without the line feed; valid until the next one */
	size_t len;
	off_t start;
};

/* Open the record of STATE for reading from its first byte, and let its writers go on: what lies within its size does
 * not change. FILE is the caller's to close, and must outlive R; its descriptor is -1 when there is no record. */
int audit_reader_open(const struct state *state, struct audit_file *file, struct audit_reader *r,
		      struct sbx_error *err);
void audit_reader_clear(struct audit_reader *r);

/* Where the next line begins. */
off_t audit_reader_place(const struct audit_reader *r);

/* 1: *LINE is the next line; 0: the end, *LEFT bytes have no line feed; -1: an error, or a line that is longer than any
 * record ("audit_broken", 1). */
int audit_reader_next(struct audit_reader *r, struct audit_raw *line, size_t *left, struct sbx_error *err);

/* Go behind the line whose SHA-256 is HEAD, looking from the end: whoever asks for one saw it not long ago. *SEQ gets
 * its number. 1; 0 when no line has it; -1. 64 zeros stand before the first line. */
int audit_reader_seek(struct audit_reader *r, const char *head, int64_t *seq, struct sbx_error *err);

#endif
