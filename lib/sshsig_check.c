/* Verifying with EVP: for Ed25519 there is no other way in, and the rest comes along. */
#include "sshsig_check.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <string.h>

enum {
	SIGNED_MAX = 256, /* namespace, hash name and digest, with their lengths: some 120 bytes */
	NUMBER_MAX = 1 + 32, /* r or s of P-256 */
	DER_MAX = 2 + 2 * (2 + NUMBER_MAX),
	DER_SEQUENCE = 0x30,
	DER_INTEGER = 0x02,
	/* What a security key signs: two digests, one byte of flags, four of the counter. */
	HARDWARE_SIZE = DIGEST_SIZE + 1 + 4 + DIGEST_SIZE,
};

/* EVP would read openssl.cnf, load its modules, and build tables of the names of every old
 * algorithm: 1.5 ms for nothing that is used here. It is asked for at the first signature, so that
 * a process that verifies none does none of it. */
static void start_library(void)
{
	OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS |
				    OPENSSL_INIT_NO_ADD_ALL_CIPHERS |
				    OPENSSL_INIT_NO_ADD_ALL_DIGESTS | OPENSSL_INIT_NO_ATEXIT,
			    NULL);
}

static int crypto_failed(struct sbx_error *err)
{
	return sbx_fail(err, SBX_OS, "crypto_failed", "libcrypto cannot work");
}

/* "SSHSIG", namespace, reserved, hash name, H(text). */
static int build_signed(const struct sshsig *sig, const void *text, size_t len, struct buf *out,
			struct sbx_error *err)
{
	const char *algorithm = strcmp(sig->hash, "sha256") == 0 ? "SHA256" : "SHA512";
	unsigned char digest[EVP_MAX_MD_SIZE];
	size_t digest_len;

	if (EVP_Q_digest(NULL, algorithm, NULL, text, len, digest, &digest_len) != 1)
		return crypto_failed(err);
	if (buf_add_str(out, "SSHSIG", err) < 0 || wire_put_str(out, SSHSIG_NAMESPACE, err) < 0 ||
	    wire_put_str(out, "", err) < 0 || wire_put_str(out, sig->hash, err) < 0)
		return -1;
	return wire_put_bytes(out, digest, digest_len, err);
}

/* PROTOCOL.u2f: the key never sees the text, only digests. */
static int build_hardware(const struct sshsig *sig, const struct buf *signed_data, struct buf *out,
			  struct sbx_error *err)
{
	unsigned char digest[DIGEST_SIZE];

	digest_sha256(sig->key.application, sig->key.application_len, digest);
	if (buf_add(out, digest, sizeof digest, err) < 0 || buf_add(out, &sig->flags, 1, err) < 0 ||
	    wire_put_u32(out, sig->counter, err) < 0)
		return -1;
	digest_sha256(signed_data->data, signed_data->len, digest);
	return buf_add(out, digest, sizeof digest, err);
}

/* ECDSA-Sig-Value (RFC 3279): an INTEGER of DER has the bytes of an mpint, and these are short. */
static int build_der(struct wire numbers, struct buf *out, struct sbx_error *err)
{
	auto_buf body = BUF_INIT(DER_MAX);
	const unsigned char *number;
	size_t len;

	for (int i = 0; i < 2; i++) {
		if (sshsig_get_number(&numbers, NUMBER_MAX, &number, &len) < 0)
			return sshsig_fail_invalid(err);
		const unsigned char head[] = {DER_INTEGER, (unsigned char)len};
		if (buf_add(&body, head, sizeof head, err) < 0 ||
		    buf_add(&body, number, len, err) < 0)
			return -1;
	}
	const unsigned char head[] = {DER_SEQUENCE, (unsigned char)body.len};
	return buf_add(out, head, sizeof head, err) < 0 ? -1
							: buf_add(out, body.data, body.len, err);
}

static void free_context(EVP_PKEY_CTX **context)
{
	EVP_PKEY_CTX_free(*context);
}

static void free_key(EVP_PKEY **key)
{
	EVP_PKEY_free(*key);
}

/* NULL with an error: an Ed25519 key cannot be wrong here, a point can lie off its curve. */
static EVP_PKEY *load_p256(const struct sshsig_key *key, struct sbx_error *err)
{
	char group[] = "P-256";
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
		OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, (void *)key->point,
						  key->point_len),
		OSSL_PARAM_construct_end(),
	};
	__attribute__((cleanup(free_context))) EVP_PKEY_CTX *context =
		EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	EVP_PKEY *out = NULL;

	if (context == NULL || EVP_PKEY_fromdata_init(context) != 1)
		crypto_failed(err);
	else if (EVP_PKEY_fromdata(context, &out, EVP_PKEY_PUBLIC_KEY, params) != 1)
		sshsig_fail_invalid(err);
	return out;
}

static EVP_PKEY *load_key(const struct sshsig_key *key, struct sbx_error *err)
{
	if (key->kind != SSHSIG_ED25519 && key->kind != SSHSIG_SK_ED25519)
		return load_p256(key, err);
	EVP_PKEY *out =
		EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL, key->point, key->point_len);
	if (out == NULL)
		crypto_failed(err);
	return out;
}

/* DIGEST NULL: the algorithm has its own. */
static int verify(EVP_PKEY *key, const char *digest, const struct buf *value,
		  const struct buf *data, struct sbx_error *err)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	int ready = context != NULL &&
		    EVP_DigestVerifyInit_ex(context, NULL, digest, NULL, NULL, key, NULL) == 1;
	/* 1 alone is good: a negative number says that the signature could not be read. */
	int good =
		ready && EVP_DigestVerify(context, (const unsigned char *)value->data, value->len,
					  (const unsigned char *)data->data, data->len) == 1;

	EVP_MD_CTX_free(context);
	if (!ready)
		return crypto_failed(err);
	return good ? 0 : sshsig_fail_invalid(err);
}

int sshsig_check(const struct sshsig *sig, const void *text, size_t len, struct sbx_error *err)
{
	auto_buf signed_data = BUF_INIT(SIGNED_MAX), hardware = BUF_INIT(HARDWARE_SIZE),
		 value = BUF_INIT(DER_MAX);
	int edwards = sig->key.kind == SSHSIG_ED25519 || sig->key.kind == SSHSIG_SK_ED25519;

	start_library();
	if (build_signed(sig, text, len, &signed_data, err) < 0 ||
	    (sig->security_key && build_hardware(sig, &signed_data, &hardware, err) < 0))
		return -1;
	int built = edwards ? buf_add(&value, sig->value, sig->value_len, err)
			    : build_der((struct wire){sig->value, sig->value_len}, &value, err);
	if (built < 0)
		return -1;
	__attribute__((cleanup(free_key))) EVP_PKEY *key = load_key(&sig->key, err);
	if (key == NULL)
		return -1;
	return verify(key, edwards ? NULL : "SHA256", &value,
		      sig->security_key ? &hardware : &signed_data, err);
}
