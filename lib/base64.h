/* Standard base64 (RFC 4648 section 4): padded, one text for one value, nothing else in it. */
#ifndef SBX_BASE64_H
#define SBX_BASE64_H

#include "buf.h"

/* The bytes of LEN digits at TEXT; *OUT is owned by the caller. -1 for anything that base64_add would not have written. */
int base64_read(const char *text, size_t len, unsigned char **out, size_t *out_len);

/* Append LEN bytes to OUT as digits: base64_size(LEN) of them. */
int base64_add(struct buf *out, const void *bytes, size_t len, struct sbx_error *err);
static inline size_t base64_size(size_t len)
{
	return (len + 2) / 3 * 4;
}

/* One group of them, for callers that choose where the bytes lie. The first three of LEFT bytes (at least one), or as many
 * as there are, become four digits; and the first four of LEFT digits (a multiple of four) the bytes that they stand for:
 * how many, fewer than three in the last group alone, or -1. */
void base64_group(const unsigned char *bytes, size_t left, char digits[4]);
int base64_ungroup(const char *digits, size_t left, unsigned char bytes[3]);

#endif
