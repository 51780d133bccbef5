/* base64url without padding (RFC 4648 section 5, RFC 7515 appendix C), for the parts of tokens: what is read goes into
 * locked memory. */
#ifndef SBX_BASE64URL_H
#define SBX_BASE64URL_H

#include "secret.h"

/* Digits of N bytes; OUT of _encode holds as many. */
size_t base64url_size(size_t n);
void base64url_encode(const unsigned char *in, size_t n, char *out);

/* Append the digits of N bytes: "too_large" (65) where OUT has no room for them. */
int base64url_append(struct secret *out, const void *bytes, size_t n, struct sbx_error *err);

/* The bytes of N digits into an empty OUT, a NUL behind them. -1, with ERR only when there is no memory, for anything
 * that _encode would not have written: spare bits must be zero, one token has one spelling. OUT is the caller's to
 * clear in any case. */
int base64url_decode(const unsigned char *in, size_t n, struct secret *out, struct sbx_error *err);

#endif
