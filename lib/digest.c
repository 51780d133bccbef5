/* SHA-256 and HMAC by libcrypto.
 *
 * By its SHA256_* functions and not by EVP: EVP first loads providers and names of every algorithm, 2 to 4 ms in each of the processes of a call, which
 * is more than the sandbox takes. They run the same code, and need nothing else of the library. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "digest.h"

#include <errno.h>
#include <openssl/sha.h>
#include <string.h>

#define BLOCK_SIZE 64 /* of SHA-256, for HMAC (FIPS 198-1) */

void digest_to_hex(const unsigned char *bytes, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * n] = '\0';
}

static int hex_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int digest_from_hex(const char *hex, unsigned char *bytes, size_t n)
{
	if (strlen(hex) != 2 * n)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int high = hex_value(hex[2 * i]), low = hex_value(hex[2 * i + 1]);
		if (high < 0 || low < 0)
			return -1;
		bytes[i] = (unsigned char)(high << 4 | low);
	}
	return 0;
}

int digest_is_hex(const char *text, size_t len)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned c = (unsigned char)text[i];
		wrong |= (c - '0' > 9) & (c - 'a' > 5);
	}
	return wrong == 0;
}

void digest_init(struct digest *d)
{
	SHA256_CTX *context = malloc(sizeof *context);

	if (context == NULL || SHA256_Init(context) != 1)
		abort();
	d->context = context;
}

void digest_add(struct digest *d, const void *bytes, size_t len)
{
	SHA256_Update(d->context, bytes, len);
}

void digest_finish(struct digest *d, unsigned char out[DIGEST_SIZE])
{
	SHA256_Final(out, d->context);
	digest_clear(d);
}

void digest_clear(struct digest *d)
{
	free(d->context);
	d->context = NULL;
}

void digest_sha256(const void *bytes, size_t len, unsigned char out[DIGEST_SIZE])
{
	SHA256_CTX context;

	SHA256_Init(&context);
	SHA256_Update(&context, bytes, len);
	SHA256_Final(out, &context);
}

void digest_sha256_hex(const void *bytes, size_t len, char out[DIGEST_HEX_SIZE])
{
	unsigned char digest[DIGEST_SIZE];

	digest_sha256(bytes, len, digest);
	digest_to_hex(digest, sizeof digest, out);
}

int digest_fd_hex(int fd, uint64_t max, char out[DIGEST_HEX_SIZE], uint64_t *size, struct sbx_error *err)
{
	static const size_t block = 256 * 1024;
	auto_free char *data = malloc(block);
	unsigned char digest[DIGEST_SIZE];
	struct digest d;
	uint64_t at = 0;

	if (data == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	digest_init(&d);
	for (;;) {
		ssize_t n = pread(fd, data, block, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || at + (uint64_t)n > max) {
			digest_clear(&d);
			return n < 0 ? sbx_fail_errno(err, SBX_IO, "io_error", "cannot read")
				     : sbx_fail(err, SBX_BAD_REQUEST, "too_large", "more than %llu bytes",
						(unsigned long long)max);
		}
		if (n == 0)
			break;
		digest_add(&d, data, (size_t)n);
		at += (uint64_t)n;
	}
	digest_finish(&d, digest);
	digest_to_hex(digest, sizeof digest, out);
	if (size != NULL)
		*size = at;
	return 0;
}

/* SHA-256 of (key block XOR PAD) and LEN bytes behind it. */
static void padded_digest(const unsigned char block[BLOCK_SIZE], unsigned char pad, const void *bytes, size_t len,
			  unsigned char out[DIGEST_SIZE])
{
	unsigned char padded[BLOCK_SIZE];
	SHA256_CTX context;

	for (size_t i = 0; i < BLOCK_SIZE; i++)
		padded[i] = block[i] ^ pad;
	SHA256_Init(&context);
	SHA256_Update(&context, padded, sizeof padded);
	SHA256_Update(&context, bytes, len);
	SHA256_Final(out, &context);
	explicit_bzero(padded, sizeof padded);
	explicit_bzero(&context, sizeof context);
}

void digest_hmac(const struct secret *key, const void *bytes, size_t len, unsigned char out[DIGEST_SIZE])
{
	unsigned char block[BLOCK_SIZE] = {0}, inner[DIGEST_SIZE];

	if (key->len > BLOCK_SIZE)
		digest_sha256(key->data, key->len, block);
	else if (key->len > 0)
		memcpy(block, key->data, key->len);
	padded_digest(block, 0x36, bytes, len, inner);
	padded_digest(block, 0x5c, inner, sizeof inner, out);
	explicit_bzero(block, sizeof block);
}

int digest_equal(const unsigned char *a, const unsigned char *b, size_t n)
{
	volatile unsigned char difference = 0;

	for (size_t i = 0; i < n; i++)
		difference |= a[i] ^ b[i];
	return difference == 0;
}
