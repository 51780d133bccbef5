/* SHA-256, HMAC-SHA256 and the encodings of their results (libcrypto; FIPS 180-4, RFC 2104). */
#ifndef SBX_DIGEST_H
#define SBX_DIGEST_H

#include <stdint.h>

#include "base.h"
#include "error.h"
#include "secret.h"

#define DIGEST_SIZE 32
#define DIGEST_HEX_SIZE (2 * DIGEST_SIZE + 1)

/* Lower-case hex of N bytes; OUT holds 2 * N + 1. */
void digest_to_hex(const unsigned char *bytes, size_t n, char *out);
/* Exactly N bytes from 2 * N hex digits (lower case); -1 otherwise. */
int digest_from_hex(const char *hex, unsigned char *bytes, size_t n);
/* 1 when the LEN bytes at TEXT are such digits. */
int digest_is_hex(const char *text, size_t len);

/* SHA-256 of a block, as bytes or as hex. */
void digest_sha256(const void *bytes, size_t len, unsigned char out[DIGEST_SIZE]);
void digest_sha256_hex(const void *bytes, size_t len, char out[DIGEST_HEX_SIZE]);

/* SHA-256 in pieces. */
struct digest {
	void *context;
};
void digest_init(struct digest *d);
void digest_add(struct digest *d, const void *bytes, size_t len);
void digest_finish(struct digest *d, unsigned char out[DIGEST_SIZE]); /* D is empty afterwards */
void digest_clear(struct digest *d);				      /* for one that was not finished; else nothing */

/* SHA-256 of what FD holds from offset 0 (pread, the offset does not move), at most MAX bytes ("too_large"). */
int digest_fd_hex(int fd, uint64_t max, char out[DIGEST_HEX_SIZE], uint64_t *size, struct sbx_error *err);

/* HMAC-SHA256. */
void digest_hmac(const struct secret *key, const void *bytes, size_t len, unsigned char out[DIGEST_SIZE]);

/* 1 when equal, in constant time. */
int digest_equal(const unsigned char *a, const unsigned char *b, size_t n);

#endif
