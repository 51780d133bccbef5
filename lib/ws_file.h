/* Terraform's state file (version 4): the few members that decide whose it is and how new, read strictly. */
#ifndef SBX_WS_FILE_H
#define SBX_WS_FILE_H

#include <stdint.h>

#include "digest.h"

#define WS_LINEAGE_SIZE 65 /* Terraform writes a UUID of 36 bytes */

struct ws_file {
	int present;		       /* 0: no file, or an empty one, which Terraform takes for none */
	char lineage[WS_LINEAGE_SIZE]; /* "" without a state */
	int64_t serial;		       /* -1 without one */
	char sha256[DIGEST_HEX_SIZE];  /* of its bytes; of no bytes without a state */
	uint64_t size;
};

enum ws_file_from {
	WS_FILE_STORED,
	WS_FILE_PRINTED /* by Terraform, which prints a state that nobody has written yet with serial 0 and an empty lineage */
};

/* What FD holds from offset 0; the offset is 0 again afterwards. "state_unreadable" of CLASS when it is no strict JSON,
 * no state of version 4, or has no lineage; "too_large" (65) above LIMIT_STATE_FILE; "io_error" (74). */
int ws_file_read(int fd, enum ws_file_from from, enum sbx_class class, struct ws_file *file, struct sbx_error *err);

/* The same for NAME below DIRFD: a regular file with one link, never through a symlink ("unsafe_file", 78, otherwise);
 * absent is a state that is not present. The owner is not asked: the directory is ours alone, and a driver run as root
 * hands the file to the sandbox's user. *FD (owned by the caller, -1 when absent; NULL: not wanted) stays open at
 * offset 0. */
int ws_file_open(int dirfd, const char *name, enum sbx_class class, struct ws_file *file, int *fd,
		 struct sbx_error *err);

#endif
