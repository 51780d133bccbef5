/* The chain of the record: does each line follow the one before it, and is what crashes left declared. Private to the
 * audit modules. */
#ifndef SBX_AUDIT_CHAIN_H
#define SBX_AUDIT_CHAIN_H

#include "audit_line.h"
#include "audit_reader.h"

/* Where a record ended that a later one may follow. */
struct audit_place {
	int64_t seq;
	char head[DIGEST_HEX_SIZE];
	off_t end;
	int64_t parsed; /* lines up to here that were whole records by themselves */
};

/* A crash can leave a whole record without its line feed, and another one while that is being declared. Each
 * declaration names the place from which it goes on, one of the last few. */
#define AUDIT_PLACES 4

struct audit_chain {
	int fd;
	struct audit_place places[AUDIT_PLACES]; /* newest first */
	int64_t parsed;
	int last_parsed; /* the line before was a whole record by itself */
	int bad;	 /* lines behind places[0] that are no records */
	int64_t torn;	 /* declarations */
};

/* Begin behind the record number SEQ with the SHA-256 HEAD, which ends at END: 0, 64 zeros and 0 before the first. */
void audit_chain_begin(struct audit_chain *chain, int fd, int64_t seq, const char *head, off_t end);

/* Take the next line. *LINE is what it says when it is a record by itself, and *IS_RECORD 1. Returns NULL, or what is
 * wrong with it. */
const char *audit_chain_take(struct audit_chain *chain, const struct audit_raw *raw, struct audit_line *line,
			     int *is_record);

#endif
