/* Text for a model to read, made of our own words and of what commands, plans and agents chose to say. Foreign text is
 * shown so that it can neither drive a terminal nor pass for ours: control, direction and line-breaking characters
 * become visible escapes. */
#ifndef SBX_WORDS_H
#define SBX_WORDS_H

#include "buf.h"

struct words {
	struct buf text;
	struct sbx_error err; /* the first failure ("too_large", "no_memory"); everything after it is dropped */
};
#define WORDS_INIT(maximum)                                                                                            \
	{                                                                                                              \
		.text = BUF_INIT(maximum)                                                                              \
	}

/* Our own words. */
void words_say(struct words *w, const char *format, ...) SBX_PRINTF(2, 3);

/* Foreign text, newlines and tabs kept; the same in quotes, on one line, cut to MAX bytes with a mark. TEXT may be
 * NULL: nothing. */
void words_show(struct words *w, const char *text, size_t len);
void words_quote(struct words *w, const char *text, size_t max);
void words_quote_bytes(struct words *w, const char *text, size_t len, size_t max); /* LEN bytes: a NUL is one of them */

/* Foreign text as one line, cut to MAX bytes, without quotes: for sentences that a stage of ours wrote. */
void words_line(struct words *w, const char *text, size_t max);

/* Bytes of TEXT up to MAX that do not split a character. */
size_t words_cut(const char *text, size_t max);

void words_clear(struct words *w);
#define auto_words __attribute__((cleanup(words_clear))) struct words

#endif
