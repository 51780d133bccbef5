/* What went wrong, as an object that travels up the stack: a class (the exit status), a stable word, a sentence, and a
 * hint. Library functions return 0 or -1 and fill it; only main turns it into text and a status. */
#ifndef SBX_ERROR_H
#define SBX_ERROR_H

#include <stdint.h>

#include "base.h"

/* Exit statuses of every program (sysexits.h numbers where one fits); listed for users in sbx(7). */
enum sbx_class {
	SBX_OK = 0,
	SBX_COMMAND_FAILED = 1,
	SBX_OUTCOME_UNKNOWN = 3,
	SBX_USAGE = 64,
	SBX_BAD_REQUEST = 65,
	SBX_NO_INPUT = 66,
	SBX_UNAVAILABLE = 69,
	SBX_BUG = 70,
	SBX_OS = 71,
	SBX_CANNOT_CREATE = 73,
	SBX_IO = 74,
	SBX_APPROVAL_REQUIRED = 75,
	SBX_PROTOCOL = 76,
	SBX_DENIED = 77,
	SBX_CONFIG = 78,
};

struct sbx_error {
	enum sbx_class class;
	char code[40];	   /* stable snake_case word, listed in sbx(7) */
	char message[400]; /* one sentence; never a secret, input as sbx_quote alone */
	char hint[400];	   /* what would be accepted, or what to do next; may be empty */
};

#define SBX_ERROR_INIT {.class = SBX_OK}

/* Fill ERR, if it is still empty (class SBX_OK), and return -1. The first error stands. */
int sbx_fail(struct sbx_error *err, enum sbx_class class, const char *code, const char *format, ...)
	SBX_PRINTF(4, 5);

/* The same, with ": " and the text of errno behind the message; with a hint where a disk is full. */
int sbx_fail_errno(struct sbx_error *err, enum sbx_class class, const char *code, const char *format,
		   ...) SBX_PRINTF(4, 5);

/* Set the hint of a filled ERR that has none, and return -1. */
int sbx_hint(struct sbx_error *err, const char *format, ...) SBX_PRINTF(2, 3);

/* A name that somebody else chose, for a message: LEN bytes of TEXT in double quotes, as \xNN what is not printable ASCII,
 * a quote or a backslash, cut with "..." behind it. Returns OUT. */
#define SBX_QUOTE_SIZE 64
const char *sbx_quote(char out[SBX_QUOTE_SIZE], const char *text, size_t len);

/* Put context and ": " before the message, and return -1. */
int sbx_wrap(struct sbx_error *err, const char *format, ...) SBX_PRINTF(2, 3);

/* 1 when NUMBER is one of the classes of a failure. */
int sbx_is_class(int64_t number);

/* Make ERR empty again, for a second try at the same thing. */
void sbx_error_clear(struct sbx_error *err);

#endif
