/* Tokens of Terraform's language, as much of it as it takes to tell blocks, attributes and plain strings apart (HCL
 * native syntax, hcl/hclsyntax/spec.md). White space and comments are passed over; what stands in a template or a
 * heredoc is passed over as part of it, with the braces and quotes that it holds. Over a block in memory. */
#ifndef SBX_HCL_LEX_H
#define SBX_HCL_LEX_H

#include <stddef.h>

enum hcl_token {
	HCL_END,
	HCL_NEWLINE,
	HCL_NAME,   /* an identifier */
	HCL_STRING, /* TEXT is what stands between the quotes, as written: escapes and templates are not resolved */
	HCL_OPEN,   /* { */
	HCL_CLOSE,  /* } */
	HCL_OTHER,  /* one byte of an operator or bracket, a number, or a whole heredoc */
};

struct hcl_lex {
	const char *at, *end;
	unsigned line;	/* of the next token, from 1 */
	unsigned depth; /* of templates in templates */
};

/* Over the LEN bytes at TEXT, which must outlive it. A byte order mark before them is passed over, as Terraform does. */
void hcl_begin(struct hcl_lex *lex, const char *text, size_t len);

/* The next token, and the bytes that it was written with. -1: an end in the middle of something, a line break in a
 * quoted string, a NUL, templates more than HCL_DEPTH deep, or a line of a heredoc that ends it for a reader to whom more
 * than blank, tab and carriage return is white space. */
#define HCL_DEPTH 32
int hcl_next(struct hcl_lex *lex, enum hcl_token *token, const char **text, size_t *len);

/* 1 when the LEN bytes at TEXT are WORD. */
int hcl_is(const char *text, size_t len, const char *word);

#endif
