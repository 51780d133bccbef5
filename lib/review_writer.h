/* Writes a review text piece by piece. Once an append fails the rest is skipped: the error stands in .err. */
#ifndef SBX_REVIEW_WRITER_H
#define SBX_REVIEW_WRITER_H

#include <stdint.h>

#include "finding.h"

struct writer {
	struct buf *out;
	struct sbx_error *err;
	int failed;
};

/* Words of ours. */
void writer_put(struct writer *w, const char *text);
void writer_number(struct writer *w, int64_t number);
void writer_time(struct writer *w, int64_t seconds);

/* Data of others. A string comes in quotes (review_quote), a number or truth as it is, anything larger as its canonical
 * JSON in quotes, nothing as none. */
void writer_quote(struct writer *w, const char *text);
void writer_value(struct writer *w, jv value);
void writer_member(struct writer *w, jv object, const char *key);

/* The same writer for the words of a finding. */
struct finding_sink writer_sink(struct writer *w);

/* HEADING "KEY" is VALUE: one line a member, in the order of the keys. */
void writer_members(struct writer *w, jv object, const char *heading);

/* The first MAX elements, with commas, and how many there are more. */
void writer_list(struct writer *w, jv array, int max);

#endif
