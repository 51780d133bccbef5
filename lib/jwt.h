/* JSON Web Tokens of one key: signed and verified as RFC 7515 (compact serialization) and RFC 7519 say, and nothing
 * else of those: one algorithm, which the key fixes, no header but alg, kid and typ. A token stands in struct secret
 * alone. */
#ifndef SBX_JWT_H
#define SBX_JWT_H

#include <stdint.h>

#include "jwt_alg.h"

#define JWT_KID_SIZE 44 /* base64url of a SHA-256, with its NUL */

struct jwt_key {
	enum jwt_algorithm algorithm;
	struct secret seed;
	unsigned char public[JWT_PUBLIC_MAX];
	size_t public_len;
	char kid[JWT_KID_SIZE]; /* thumbprint of the public key, RFC 7638 */
};
#define JWT_KEY_INIT                                                                                                   \
	{                                                                                                              \
		.seed = SECRET_INIT                                                                                    \
	}

/* Read the key file "key", or with ES256 "key-es256" (32 raw bytes, mode 0600), of directory DIRFD into an empty KEY,
 * making it when it is missing; of two that make it at once, one wins and both use it. Errors: "unsafe_file" (78),
 * "bad_key" (78; not 32 bytes), those of io.h. */
int jwt_key_open(int dirfd, enum jwt_algorithm algorithm, struct jwt_key *key, struct sbx_error *err);
/* Fill public and kid from algorithm and seed. "bad_key" (78). */
int jwt_key_derive(struct jwt_key *key, struct sbx_error *err);
void jwt_key_clear(struct jwt_key *key);
#define auto_jwt_key __attribute__((cleanup(jwt_key_clear))) struct jwt_key

/* Sign the object CLAIMS (borrowed) into an empty TOKEN. */
int jwt_sign(const struct jwt_key *key, jv claims, struct secret *token, struct sbx_error *err);

/* Verify TOKEN: its form (two dots, base64url without padding or spare bits, nothing behind it), alg of KEY, typ JWT,
 * kid of KEY, no other header member, the signature; only then are the claims read. *CLAIMS is an object, the caller's.
 * Times are not looked at. Errors, all 77: "token_malformed", "token_algorithm", "token_key", "token_signature". */
int jwt_verify(const struct jwt_key *key, const struct secret *token, jv *claims, struct sbx_error *err);

/* 1 when CLAIMS are of ISSUER and good at NOW (seconds since the epoch): exp, nbf, iat are there, nbf <= NOW < exp; and
 * jti is a string. No leeway: who signs and who verifies share a clock. */
int jwt_is_current(jv claims, const char *issuer, int64_t now);

/* The public key as a JWK Set (RFC 7517 section 5, RFC 8037 section 2, RFC 7518 section 6.2); the caller's. */
jv jwt_jwks(const struct jwt_key *key);

#endif
