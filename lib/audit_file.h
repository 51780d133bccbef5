/* The file of the record: opened, checked and locked; and its tail. Private to the audit modules. */
#ifndef SBX_AUDIT_FILE_H
#define SBX_AUDIT_FILE_H

#include <stdint.h>
#include <sys/types.h>

#include "digest.h"
#include "state.h"

#define AUDIT_FILE "audit.jsonl"
#define AUDIT_LOCK "audit.lock"

struct audit_file {
	int fd;	     /* -1: opened for reading and there is none */
	int lock_fd; /* the lock lasts until it is closed */
	off_t size;
};
#define AUDIT_FILE_NONE                                                                                                \
	{                                                                                                              \
		.fd = -1, .lock_fd = -1                                                                                \
	}

/* Lock the record (at most 10 s) and open it; _APPEND makes it when it is missing and locks it against everybody else,
 * _READ shares the lock. "audit_unavailable" (74), "audit_unsafe" (78). */
enum audit_use { AUDIT_READ, AUDIT_APPEND };
int audit_file_open(const struct state *state, enum audit_use use, struct audit_file *file, struct sbx_error *err);
/* Let the others write again; FILE stays open, and what lies within its size does not change any more. */
void audit_file_unlock(struct audit_file *file);
void audit_file_close(struct audit_file *file);
#define auto_audit_file __attribute__((cleanup(audit_file_close))) struct audit_file

struct audit_tail {
	int64_t seq;		    /* of the last record; 0 without one */
	char head[DIGEST_HEX_SIZE]; /* its SHA-256 */
	off_t end;		    /* where it ends, line feed included */
	int torn;		    /* 1: something that is no record stands behind it */
	size_t torn_bytes;	    /* of that, without a last line feed */
	char torn_sha256[DIGEST_HEX_SIZE];
	int open_line; /* 1: its last line has no line feed */
};

/* The last whole record, looked for from the end and parsed whole. "audit_unsafe" when there is none in the last 256
 * KiB, or when a record was written on to half a line. */
int audit_tail_read(const struct audit_file *file, struct audit_tail *tail, struct sbx_error *err);

/* The note in the lock file says how far the record had come; it is never ahead of the disk. A record that ends before
 * it was cut or replaced: "audit_unsafe". */
int audit_note_check(const struct audit_file *file, const struct audit_tail *tail, struct sbx_error *err);
void audit_note_write(const struct audit_file *file, int64_t seq, const char *head);

#endif
