/* The two signature algorithms of our tokens, by libcrypto: EdDSA with Ed25519 (RFC 8032, RFC 8037), and ES256, ECDSA
 * with P-256 and SHA-256 (RFC 7518 section 3.4), for verifiers that know no other. A private key is 32 bytes with both.
 */
#ifndef SBX_JWT_ALG_H
#define SBX_JWT_ALG_H

#include "json.h"
#include "secret.h"

enum jwt_algorithm { JWT_EDDSA, JWT_ES256, JWT_ALGORITHMS };

#define JWT_SEED_SIZE 32      /* RFC 8032 section 5.1.5; the scalar of P-256 */
#define JWT_PUBLIC_MAX 65     /* Ed25519: 32; P-256: an uncompressed point, SEC 1 section 2.3.3 */
#define JWT_SIGNATURE_SIZE 64 /* both */

/* "EdDSA", "ES256"; and back, JWT_ALGORITHMS for any other word. */
const char *jwt_alg_name(enum jwt_algorithm algorithm);
enum jwt_algorithm jwt_alg_of(const char *name);

/* The public key of SEED, and its size; 0 when SEED is no private key (with Ed25519 every one is). */
size_t jwt_alg_public(enum jwt_algorithm algorithm, const struct secret *seed, unsigned char out[JWT_PUBLIC_MAX]);

/* 0, or -1 when libcrypto cannot. PUBLIC is that of SEED. */
int jwt_alg_sign(enum jwt_algorithm algorithm, const struct secret *seed, const unsigned char public[JWT_PUBLIC_MAX],
		 const void *bytes, size_t len, unsigned char out[JWT_SIGNATURE_SIZE]);

/* 1 when SIGNATURE is that of BYTES. */
int jwt_alg_verify(enum jwt_algorithm algorithm, const unsigned char public[JWT_PUBLIC_MAX], const void *bytes,
		   size_t len, const unsigned char signature[JWT_SIGNATURE_SIZE]);

#endif
