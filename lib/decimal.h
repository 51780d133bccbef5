/* Decimal numbers as text, of any size, compared exactly: those of a plan do not fit any type of C.
 */
#ifndef SBX_DECIMAL_H
#define SBX_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

struct decimal {
	int sign;	    /* -1, 0, 1 */
	const char *digits; /* borrowed: from the first that is not 0, perhaps with a point among
			       them */
	size_t len;
	int64_t point; /* the value is 0.DIGITS times ten to this */
};

/* TEXT is a number as JSON writes it (RFC 8259 section 6): 0, else -1. */
int decimal_parse(const char *text, size_t len, struct decimal *out);

/* Less than 0, 0 or more than 0, as A is below, equal to or above B. */
int decimal_compare(const struct decimal *a, const struct decimal *b);

#endif
