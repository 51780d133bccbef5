/* Keys as EVP_PKEY for one operation each: libcrypto copies the private one, and wipes its copy when it is freed. */
#include "jwt_alg.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <string.h>

enum { ED25519_SIZE = 32, P256_SIZE = 65, HALF = 32 /* r, s, a coordinate */, DER_MAX = 80 };

static const char *const names[JWT_ALGORITHMS] = {[JWT_EDDSA] = "EdDSA", [JWT_ES256] = "ES256"};

const char *jwt_alg_name(enum jwt_algorithm algorithm)
{
	return names[algorithm];
}

enum jwt_algorithm jwt_alg_of(const char *name)
{
	for (int i = 0; name != NULL && i < JWT_ALGORITHMS; i++)
		if (strcmp(name, names[i]) == 0)
			return (enum jwt_algorithm)i;
	return JWT_ALGORITHMS;
}

/* --- P-256 --- */

/* The point of a scalar within [1, order - 1]. */
static size_t p256_public(const struct secret *seed, unsigned char out[JWT_PUBLIC_MAX])
{
	EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
	EC_POINT *point = group != NULL ? EC_POINT_new(group) : NULL;
	BIGNUM *scalar = BN_bin2bn(seed->data, (int)seed->len, NULL);
	size_t size = 0;

	if (point != NULL && scalar != NULL && !BN_is_zero(scalar) && BN_cmp(scalar, EC_GROUP_get0_order(group)) < 0 &&
	    EC_POINT_mul(group, point, scalar, NULL, NULL, NULL) == 1)
		size = EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, out, P256_SIZE, NULL);
	BN_clear_free(scalar);
	EC_POINT_free(point);
	EC_GROUP_free(group);
	return size == P256_SIZE ? size : 0;
}

/* SEED NULL: the public key alone. */
static EVP_PKEY *p256_key(const struct secret *seed, const unsigned char public[JWT_PUBLIC_MAX])
{
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
	BIGNUM *scalar = seed != NULL ? BN_bin2bn(seed->data, (int)seed->len, NULL) : NULL;
	OSSL_PARAM *params = NULL;
	EVP_PKEY *key = NULL;

	if (build != NULL && OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0) == 1 &&
	    OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, public, P256_SIZE) == 1 &&
	    (seed == NULL ||
	     (scalar != NULL && OSSL_PARAM_BLD_push_BN_pad(build, OSSL_PKEY_PARAM_PRIV_KEY, scalar, HALF) == 1)))
		params = OSSL_PARAM_BLD_to_param(build);
	if (context == NULL || params == NULL || EVP_PKEY_fromdata_init(context) != 1 ||
	    EVP_PKEY_fromdata(context, &key, seed != NULL ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, params) != 1)
		key = NULL;
	/* The scalar in them: to_param has copied it, and does not wipe. */
	OSSL_PARAM *private_part = params != NULL ? OSSL_PARAM_locate(params, OSSL_PKEY_PARAM_PRIV_KEY) : NULL;
	if (private_part != NULL)
		explicit_bzero(private_part->data, private_part->data_size);
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(build);
	BN_clear_free(scalar);
	EVP_PKEY_CTX_free(context);
	return key;
}

/* r and s side by side, out of the DER that libcrypto writes; and back. */
static int from_der(const unsigned char *der, size_t len, unsigned char out[JWT_SIGNATURE_SIZE])
{
	const unsigned char *at = der;
	ECDSA_SIG *both = d2i_ECDSA_SIG(NULL, &at, (long)len);
	int done = both != NULL && BN_bn2binpad(ECDSA_SIG_get0_r(both), out, HALF) == HALF &&
		   BN_bn2binpad(ECDSA_SIG_get0_s(both), out + HALF, HALF) == HALF;

	ECDSA_SIG_free(both);
	return done ? 0 : -1;
}

static int to_der(const unsigned char signature[JWT_SIGNATURE_SIZE], unsigned char der[DER_MAX], size_t *len)
{
	ECDSA_SIG *both = ECDSA_SIG_new();
	BIGNUM *r = BN_bin2bn(signature, HALF, NULL), *s = BN_bin2bn(signature + HALF, HALF, NULL);
	unsigned char *at = der;
	int size = -1;

	if (both != NULL && r != NULL && s != NULL && ECDSA_SIG_set0(both, r, s) == 1) {
		r = s = NULL;
		size = i2d_ECDSA_SIG(both, &at); /* 72 bytes at most */
	}
	BN_free(r);
	BN_free(s);
	ECDSA_SIG_free(both);
	*len = size > 0 ? (size_t)size : 0;
	return size > 0 ? 0 : -1;
}

/* --- both --- */

static EVP_PKEY *private_key(enum jwt_algorithm algorithm, const struct secret *seed,
			     const unsigned char public[JWT_PUBLIC_MAX])
{
	return algorithm == JWT_ES256 ? p256_key(seed, public)
				      : EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed->data, seed->len);
}

static EVP_PKEY *public_key(enum jwt_algorithm algorithm, const unsigned char public[JWT_PUBLIC_MAX])
{
	return algorithm == JWT_ES256 ? p256_key(NULL, public)
				      : EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public, ED25519_SIZE);
}

static const EVP_MD *digest_of(enum jwt_algorithm algorithm)
{
	return algorithm == JWT_ES256 ? EVP_sha256() : NULL;
}

size_t jwt_alg_public(enum jwt_algorithm algorithm, const struct secret *seed, unsigned char out[JWT_PUBLIC_MAX])
{
	size_t len = ED25519_SIZE;

	if (algorithm == JWT_ES256)
		return p256_public(seed, out);
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed->data, seed->len);
	int made = key != NULL && EVP_PKEY_get_raw_public_key(key, out, &len) == 1 && len == ED25519_SIZE;
	EVP_PKEY_free(key);
	return made ? len : 0;
}

int jwt_alg_sign(enum jwt_algorithm algorithm, const struct secret *seed, const unsigned char public[JWT_PUBLIC_MAX],
		 const void *bytes, size_t len, unsigned char out[JWT_SIGNATURE_SIZE])
{
	unsigned char raw[DER_MAX];
	size_t size = sizeof raw;
	EVP_PKEY *key = private_key(algorithm, seed, public);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	int result = -1;

	if (key != NULL && context != NULL && EVP_DigestSignInit(context, NULL, digest_of(algorithm), NULL, key) == 1 &&
	    EVP_DigestSign(context, raw, &size, bytes, len) == 1) {
		if (algorithm == JWT_ES256)
			result = from_der(raw, size, out);
		else if (size == JWT_SIGNATURE_SIZE) {
			memcpy(out, raw, size);
			result = 0;
		}
	}
	explicit_bzero(raw, sizeof raw);
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(key);
	return result;
}

int jwt_alg_verify(enum jwt_algorithm algorithm, const unsigned char public[JWT_PUBLIC_MAX], const void *bytes,
		   size_t len, const unsigned char signature[JWT_SIGNATURE_SIZE])
{
	unsigned char der[DER_MAX];
	const unsigned char *raw = signature;
	size_t size = JWT_SIGNATURE_SIZE;

	if (algorithm == JWT_ES256) {
		if (to_der(signature, der, &size) < 0)
			return 0;
		raw = der;
	}
	EVP_PKEY *key = public_key(algorithm, public);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	int good = key != NULL && context != NULL &&
		   EVP_DigestVerifyInit(context, NULL, digest_of(algorithm), NULL, key) == 1 &&
		   EVP_DigestVerify(context, raw, size, bytes, len) == 1;
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(key);
	return good;
}
