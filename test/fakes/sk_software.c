/* A security key in software for ssh-keygen (OpenSSH's PROTOCOL.u2f, sk-api version 10): SSH_SK_PROVIDER names this
 * library. It makes and uses Ed25519 keys; a key handle is the private key itself.
 *
 * $HOME/software-key holds "FLAGS COUNTER": what it will say of the person (0 not touched, 1 touched, 5 touched and
 * verified) and the counter of its next signature, which it then raises. Without the file the key is not plugged in.
 * Its PIN is 1234. */
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { API_VERSION = 0x000a0000, ALG_ED25519 = 1, ASKS_VERIFICATION = 4, KEY_BYTES = 32, DIGEST_BYTES = 32 };
enum { FAILED = -1, UNSUPPORTED = -2, PIN_REQUIRED = -3, NOT_FOUND = -4 };

struct sk_option;

struct sk_enroll_response {
	uint8_t flags;
	uint8_t *public_key;
	size_t public_key_len;
	uint8_t *key_handle;
	size_t key_handle_len;
	uint8_t *signature;
	size_t signature_len;
	uint8_t *attestation_cert;
	size_t attestation_cert_len;
	uint8_t *authdata;
	size_t authdata_len;
};

struct sk_sign_response {
	uint8_t flags;
	uint32_t counter;
	uint8_t *sig_r;
	size_t sig_r_len;
	uint8_t *sig_s;
	size_t sig_s_len;
};

uint32_t sk_api_version(void);
int sk_enroll(uint32_t alg, const uint8_t *challenge, size_t challenge_len, const char *application, uint8_t flags,
	      const char *pin, struct sk_option **options, struct sk_enroll_response **response);
int sk_sign(uint32_t alg, const uint8_t *data, size_t data_len, const char *application, const uint8_t *key_handle,
	    size_t key_handle_len, uint8_t flags, const char *pin, struct sk_option **options,
	    struct sk_sign_response **response);
int sk_load_resident_keys(const char *pin, struct sk_option **options, void ***keys, size_t *count);

uint32_t sk_api_version(void)
{
	return API_VERSION;
}

static FILE *plugged_in(const char *mode)
{
	const char *home = getenv("HOME");
	char path[4096];

	if (home == NULL)
		return NULL;
	snprintf(path, sizeof path, "%s/software-key", home);
	return fopen(path, mode);
}

/* What the key says next. */
static int take_turn(unsigned *flags, unsigned *counter)
{
	FILE *file = plugged_in("r+");

	if (file == NULL)
		return NOT_FOUND;
	int known = fscanf(file, "%u %u", flags, counter) == 2;
	rewind(file);
	if (known)
		fprintf(file, "%u %u\n", *flags, *counter + 1);
	fclose(file);
	return known ? 0 : FAILED;
}

static int knows(const char *pin, uint8_t flags)
{
	return !(flags & ASKS_VERIFICATION) || (pin != NULL && strcmp(pin, "1234") == 0);
}

int sk_enroll(uint32_t alg, const uint8_t *challenge, size_t challenge_len, const char *application, uint8_t flags,
	      const char *pin, struct sk_option **options, struct sk_enroll_response **response)
{
	FILE *file = plugged_in("r");
	struct sk_enroll_response *made = calloc(1, sizeof *made);
	uint8_t *public_key = malloc(KEY_BYTES), *private_key = malloc(KEY_BYTES);
	size_t public_len = KEY_BYTES, private_len = KEY_BYTES;

	(void)challenge, (void)challenge_len, (void)application, (void)options;
	if (file == NULL)
		return NOT_FOUND;
	fclose(file);
	if (alg != ALG_ED25519)
		return UNSUPPORTED;
	if (!knows(pin, flags))
		return PIN_REQUIRED;
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	if (made == NULL || public_key == NULL || private_key == NULL || key == NULL ||
	    EVP_PKEY_get_raw_public_key(key, public_key, &public_len) != 1 ||
	    EVP_PKEY_get_raw_private_key(key, private_key, &private_len) != 1)
		return FAILED;
	EVP_PKEY_free(key);
	*made = (struct sk_enroll_response){.flags = flags,
					    .public_key = public_key,
					    .public_key_len = public_len,
					    .key_handle = private_key,
					    .key_handle_len = private_len,
					    .signature = calloc(1, 1),
					    .signature_len = 1,
					    .attestation_cert = calloc(1, 1),
					    .attestation_cert_len = 1,
					    .authdata = calloc(1, 1),
					    .authdata_len = 1};
	*response = made;
	return 0;
}

int sk_sign(uint32_t alg, const uint8_t *data, size_t data_len, const char *application, const uint8_t *key_handle,
	    size_t key_handle_len, uint8_t flags, const char *pin, struct sk_option **options,
	    struct sk_sign_response **response)
{
	struct sk_sign_response *made = calloc(1, sizeof *made);
	uint8_t message[DIGEST_BYTES + 1 + 4 + DIGEST_BYTES], *signature = malloc(64);
	size_t len, signature_len = 64;
	unsigned says, counter;

	(void)options;
	if (alg != ALG_ED25519 || key_handle_len != KEY_BYTES)
		return UNSUPPORTED;
	if (!knows(pin, flags))
		return PIN_REQUIRED;
	int there = take_turn(&says, &counter);
	if (there != 0)
		return there;
	EVP_Q_digest(NULL, "SHA256", NULL, application, strlen(application), message, &len);
	message[DIGEST_BYTES] = (uint8_t)says;
	for (int i = 0; i < 4; i++)
		message[DIGEST_BYTES + 1 + i] = (uint8_t)(counter >> (24 - 8 * i));
	EVP_Q_digest(NULL, "SHA256", NULL, data, data_len, message + DIGEST_BYTES + 5, &len);
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, key_handle, KEY_BYTES);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	if (made == NULL || signature == NULL || context == NULL ||
	    EVP_DigestSignInit(context, NULL, NULL, NULL, key) != 1 ||
	    EVP_DigestSign(context, signature, &signature_len, message, sizeof message) != 1)
		return FAILED;
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(key);
	*made = (struct sk_sign_response){
		.flags = (uint8_t)says, .counter = counter, .sig_r = signature, .sig_r_len = signature_len};
	*response = made;
	return 0;
}

int sk_load_resident_keys(const char *pin, struct sk_option **options, void ***keys, size_t *count)
{
	(void)pin, (void)options, (void)keys, (void)count;
	return UNSUPPORTED;
}
