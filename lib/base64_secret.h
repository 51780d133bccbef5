/* Base64 (base64.h) between secrets and text: from one locked buffer to another. */
#ifndef SBX_BASE64_SECRET_H
#define SBX_BASE64_SECRET_H

#include "base64.h"
#include "secret.h"

/* Append the digits for LEN bytes to OUT, which never grows. */
int base64_add_secret(struct secret *out, const void *bytes, size_t len, struct sbx_error *err);

/* The bytes of LEN digits into an empty OUT, which is allocated. "bad_base64" (65) for anything else than the one spelling
 * that these bytes have, and for no digits at all. */
int base64_read_secret(const char *text, size_t len, struct secret *out, struct sbx_error *err);

#endif
