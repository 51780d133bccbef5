/* A datum of others in a review text: in double quotes, as printable ASCII, cut with its length and digest; so it can neither
 * end a line nor pass for words of ours. */
#ifndef SBX_REVIEW_QUOTE_H
#define SBX_REVIEW_QUOTE_H

#include "buf.h"

/* Append LEN bytes as one quoted datum, cut after LIMIT_DATUM of them; or after MAX. */
int review_quote(struct buf *out, const char *bytes, size_t len, struct sbx_error *err);
int review_quote_cut(struct buf *out, const char *bytes, size_t len, size_t max, struct sbx_error *err);

#endif
