/* The lines of a description of changes to a cluster, one after the other: JSON texts, each at most LIMIT_PLAN_LINE
 * bytes. What was read is digested, so that two passes over one descriptor can be compared. */
#ifndef SBX_KPLAN_LINES_H
#define SBX_KPLAN_LINES_H

#include <stdint.h>

#include "buf.h"
#include "digest.h"

enum { KPLAN_BLOCK = 64 << 10 };

struct kplan_lines {
	int fd;		 /* borrowed */
	struct buf line; /* the last one */
	uint64_t number; /* of that, from 1; 0: none was read yet */
	uint64_t total;	 /* bytes so far */
	struct digest digest;
	size_t at, len; /* of what is left of BLOCK */
	char block[KPLAN_BLOCK];
};

/* From offset 0 of FD, which must be seekable: "io_error" (74). */
int kplan_lines_init(struct kplan_lines *lines, int fd, struct sbx_error *err);
void kplan_lines_clear(struct kplan_lines *lines);

/* 1: LINES->line is the next line, without its line feed (the last one needs none); 0: there is none, and everything
 * was digested. -1: "io_error" (74), "too_large" (65; of one line, or LIMIT_PLAN_JSON of all). */
int kplan_lines_next(struct kplan_lines *lines, struct sbx_error *err);

#endif
