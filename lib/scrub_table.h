/* The table of shapes, and the sets of bytes that they are made of. For scrub_shapes.c alone. */
#ifndef SBX_SCRUB_TABLE_H
#define SBX_SCRUB_TABLE_H

#include "base.h"

/* Sets of bytes, as bits. */
enum set {
	SET_WORD = 1,	   /* [A-Za-z0-9_] */
	SET_BASE64URL = 2, /* [A-Za-z0-9_-] */
	SET_BASE64 = 4,	   /* [A-Za-z0-9+/=] */
	SET_BASE32 = 8,	   /* [A-Z2-7] */
	SET_VALUE = 16,	   /* [A-Za-z0-9._~+/=-], the token68 of RFC 9110 */
	SET_KEY = 32,	   /* lines of a PEM file, also within a JSON string */
	SET_USERINFO = 64, /* up to the @ of a URL */
	SET_BETWEEN = 128, /* between a name and its value */
};

enum kind {
	KIND_RUN,     /* prefix and a run of bytes */
	KIND_JWT,     /* RFC 7519, RFC 7516 compact */
	KIND_KEY,     /* PEM private key */
	KIND_ENCODED, /* base64 that decodes to something with .inside in it */
	KIND_VALUE,   /* a name, a separator, the value; the name stays */
	KIND_USERINFO,
};

#define AT_BOUNDARY 1u	   /* no word character before it */
#define END_BOUNDARY 2u	   /* nor behind it */
#define ANY_CASE 4u	   /* of the prefix */
#define SPACE_IS_ENOUGH 8u /* between name and value; else there must be a : or = */
#define NEEDS_DIGIT 16u	   /* in the value: else it is a word */
#define RUN_BOUNDARY 32u   /* nothing of its own set before it, but a =: else every place of a long run would be tried \
			    */

struct shape {
	const char *label;
	const char *prefix;
	enum kind kind;
	unsigned set;
	size_t least, most; /* of the run; most 0: any length */
	unsigned flags;
	const char *inside;
};

extern const struct shape scrub_table[];
extern const size_t scrub_table_size;

/* Makes the sets; the first thing to call. */
void scrub_table_prepare(void);

/* Bits of enum set of every byte. */
extern unsigned char scrub_sets[256];

/* 1 when a shape may begin with FIRST, and with FIRST and SECOND: one look for each position of a text. */
int scrub_may_begin(unsigned char first);
int scrub_may_begin_with(unsigned char first, unsigned char second);

#endif
