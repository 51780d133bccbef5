/* Tokens: the vectors of RFC 8037, round trips, and every token that must be refused. */
#include "jwt.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>

#include "clock.h"
#include "io.h"
#include "jwt_revoked.h"
#include "unit.h"

/* RFC 8037 appendix A.1 and A.3. */
static const unsigned char rfc_seed[JWT_SEED_SIZE] = {0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a,
						      0xf4, 0x92, 0xec, 0x2c, 0xc4, 0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32,
						      0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60};
static const char rfc_x[] = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
static const char rfc_kid[] = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";
/* Appendix A.4: no typ, no kid. */
static const char rfc_token[] =
	"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc."
	"hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";

static struct jwt_key key = JWT_KEY_INIT;

static void make_key(struct jwt_key *k, const unsigned char seed[JWT_SEED_SIZE])
{
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK(secret_alloc(&k->seed, JWT_SEED_SIZE, &err) == 0);
	CHECK(secret_append(&k->seed, seed, JWT_SEED_SIZE, &err) == 0);
	CHECK(jwt_key_derive(k, &err) == 0);
}

static jv claims_at(int64_t now)
{
	jv claims =
		json_set_str(json_set_str(jv_object(), "iss", "sbx:test"), "jti", "0123456789abcdef0123456789abcdef");

	claims = json_set_int(json_set_int(claims, "iat", now), "nbf", now);
	return json_set_int(claims, "exp", now + 600);
}

/* The code of the refusal, "" when TOKEN is good. */
static const char *verdict(const struct jwt_key *k, const char *bytes, size_t len)
{
	static struct sbx_error err;
	auto_secret token = SECRET_INIT;
	auto_jv claims = jv_invalid();

	sbx_error_clear(&err);
	CHECK(secret_alloc(&token, len + 1, &err) == 0 && secret_append(&token, bytes, len, &err) == 0);
	int result = jwt_verify(k, &token, &claims, &err);
	CHECK((result == 0) == jv_is_valid(claims) && (result == 0) == (err.class == SBX_OK));
	return err.code;
}

static const char *verdict_text(const char *token)
{
	return verdict(&key, token, strlen(token));
}

static size_t base64url(const void *bytes, size_t len, char *out)
{
	size_t n = (size_t)EVP_EncodeBlock((unsigned char *)out, bytes, (int)len);

	while (n > 0 && out[n - 1] == '=')
		out[--n] = '\0';
	for (char *p = out; *p != '\0'; p++)
		*p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
	return n;
}

/* A token of any header and payload with a right signature over them: what is refused then is refused for its words. */
static const char *forge(const char *header, const char *payload)
{
	static char token[4096];
	unsigned char signature[64];
	size_t len = sizeof signature;

	size_t n = base64url(header, strlen(header), token);
	token[n++] = '.';
	n += base64url(payload, strlen(payload), token + n);
	EVP_PKEY *pkey = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, rfc_seed, sizeof rfc_seed);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	CHECK(EVP_DigestSignInit(context, NULL, NULL, NULL, pkey) == 1 &&
	      EVP_DigestSign(context, signature, &len, (unsigned char *)token, n) == 1);
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(pkey);
	token[n++] = '.';
	base64url(signature, len, token + n);
	return token;
}

#define GOOD_HEADER "{\"alg\":\"EdDSA\",\"kid\":\"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k\",\"typ\":\"JWT\"}"
#define KID "\"kid\":\"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k\""

static void test_vectors(void)
{
	auto_jv jwks = jwt_jwks(&key);
	auto_jv keys = json_array(jwks, "keys");
	auto_jv jwk = json_at(keys, 0);

	CHECK(json_length(keys) == 1);
	CHECK_STR(json_str(jwk, "x"), rfc_x);
	CHECK_STR(json_str(jwk, "kid"), rfc_kid);
	CHECK_STR(json_str(jwk, "kty"), "OKP");
	CHECK_STR(json_str(jwk, "crv"), "Ed25519");
	CHECK(!json_has(jwk, "d"));
	CHECK_STR(key.kid, rfc_kid);
	CHECK_STR(verdict_text(rfc_token), "token_malformed");
	/* The signature of the RFC's own token is what we would have made. */
	CHECK_STR(strrchr(forge("{\"alg\":\"EdDSA\"}", "Example of Ed25519 signing"), '.') + 1,
		  strrchr(rfc_token, '.') + 1);
}

static void test_round_trip(void)
{
	auto_secret token = SECRET_INIT, again = SECRET_INIT;
	auto_jv claims = claims_at(1000), read = jv_invalid();
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK(jwt_sign(&key, claims, &token, &err) == 0);
	CHECK(jwt_verify(&key, &token, &read, &err) == 0);
	CHECK(json_same(claims, read));
	CHECK(jwt_sign(&key, claims, &again, &err) == 0 && secret_equal(&token, &again));
	/* Every bit counts. */
	int accepted = 0;
	for (size_t i = 0; i < token.len; i++) {
		char copy[2048];
		memcpy(copy, token.data, token.len);
		copy[i] = copy[i] == 'A' ? 'B' : 'A';
		struct sbx_error ignored = SBX_ERROR_INIT;
		auto_secret changed = SECRET_INIT;
		auto_jv none = jv_invalid();
		secret_alloc(&changed, token.len, &ignored);
		secret_append(&changed, copy, token.len, &ignored);
		accepted += jwt_verify(&key, &changed, &none, &ignored) == 0;
	}
	CHECK(token.len > 200 && accepted == 0);
	for (size_t len = 0; len < token.len; len++) {
		struct sbx_error ignored = SBX_ERROR_INIT;
		auto_jv none = jv_invalid();
		const struct secret cut = {.data = token.data, .len = len, .cap = len};
		accepted += jwt_verify(&key, &cut, &none, &ignored) == 0;
	}
	CHECK(accepted == 0);
}

static void test_refused(void)
{
	static const unsigned char other_seed[JWT_SEED_SIZE] = {1};
	struct jwt_key other = JWT_KEY_INIT;
	char text[4096];

	snprintf(text, sizeof text, "%s", forge(GOOD_HEADER, "{\"jti\":\"x\"}"));
	CHECK_STR(verdict_text(text), "");
	make_key(&other, other_seed);
	CHECK_STR(verdict(&other, text, strlen(text)), "token_key");
	/* Another key under our kid. */
	memcpy(other.kid, key.kid, sizeof other.kid);
	CHECK_STR(verdict(&other, text, strlen(text)), "token_signature");
	jwt_key_clear(&other);

	CHECK_STR(verdict_text(forge("{\"alg\":\"none\"," KID ",\"typ\":\"JWT\"}", "{}")), "token_algorithm");
	CHECK_STR(verdict_text(forge("{\"alg\":\"HS256\"," KID ",\"typ\":\"JWT\"}", "{}")), "token_algorithm");
	CHECK_STR(verdict_text(forge("{\"alg\":\"eddsa\"," KID ",\"typ\":\"JWT\"}", "{}")), "token_algorithm");
	CHECK_STR(verdict_text(forge("{\"alg\":[\"EdDSA\"]," KID ",\"typ\":\"JWT\"}", "{}")), "token_algorithm");
	CHECK_STR(verdict_text(forge("{" KID ",\"typ\":\"JWT\"}", "{}")), "token_algorithm");
	CHECK_STR(verdict_text(forge("{\"alg\":\"EdDSA\"," KID "}", "{}")), "token_malformed");
	CHECK_STR(verdict_text(forge("{\"alg\":\"EdDSA\",\"typ\":\"JWT\"}", "{}")), "token_key");
	CHECK_STR(verdict_text(forge("{\"alg\":\"EdDSA\"," KID ",\"typ\":\"JWT\",\"crit\":[\"b64\"]}", "{}")),
		  "token_malformed");
	CHECK_STR(verdict_text(forge("{\"alg\":\"EdDSA\",\"alg\":\"EdDSA\"," KID ",\"typ\":\"JWT\"}", "{}")),
		  "token_malformed");
	CHECK_STR(verdict_text(forge("[]", "{}")), "token_malformed");
	CHECK_STR(verdict_text(forge("not JSON", "{}")), "token_malformed");
	CHECK_STR(verdict_text(forge(GOOD_HEADER, "[]")), "token_malformed");
	CHECK_STR(verdict_text(forge(GOOD_HEADER, "{\"exp\":1.5}")), "token_malformed");
	CHECK_STR(verdict_text(forge(GOOD_HEADER, "{\"jti\":\"a\",\"jti\":\"b\"}")), "token_malformed");
}

static void test_form(void)
{
	char good[4096], bad[5000];

	snprintf(good, sizeof good, "%s", forge(GOOD_HEADER, "{\"jti\":\"x\"}"));
	static const char *const behind[] = {".", ".e30", "=", "==", " ", "\n", "A", "AAAA", "%"};
	for (size_t i = 0; i < ARRAY_LEN(behind); i++) {
		snprintf(bad, sizeof bad, "%s%s", good, behind[i]);
		CHECK_STR(verdict_text(bad), "token_malformed");
	}
	CHECK_STR(verdict(&key, good, strlen(good) + 1), "token_malformed"); /* a NUL behind it */
	snprintf(bad, sizeof bad, " %s", good);
	CHECK_STR(verdict_text(bad), "token_malformed");
	/* The last digit of 64 bytes has four spare bits: another spelling of the same signature. */
	snprintf(bad, sizeof bad, "%s", good);
	char *last = bad + strlen(bad) - 1;
	CHECK(*last == 'A' || *last == 'Q' || *last == 'g' || *last == 'w');
	(*last)++;
	CHECK_STR(verdict_text(bad), "token_malformed");
	static const char *const whole[] = {"",		".",	    "..",	"...",		 "a.b",
					    "e30.e30.", ".e30.e30", "e30..e30", "\xff.\xff.\xff"};
	for (size_t i = 0; i < ARRAY_LEN(whole); i++)
		CHECK_STR(verdict_text(whole[i]), "token_malformed");
	CHECK_STR(verdict_text("e30.e30.e30"), "token_algorithm");
	*strrchr(good, '.') = '\0';
	snprintf(bad, sizeof bad, "%s.", good);
	CHECK_STR(verdict_text(bad), "token_malformed");
}

static void test_times(void)
{
	auto_jv claims = claims_at(1000);

	CHECK(jwt_is_current(claims, "sbx:test", 1000));
	CHECK(jwt_is_current(claims, "sbx:test", 1599));
	CHECK(!jwt_is_current(claims, "sbx:test", 1600));
	CHECK(!jwt_is_current(claims, "sbx:test", 999));
	CHECK(!jwt_is_current(claims, "sbx:other", 1000));
	static const char *const needed[] = {"iss", "jti", "exp", "nbf", "iat"};
	for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
		auto_jv without = json_delete(jv_copy(claims), needed[i]);
		CHECK(!jwt_is_current(without, "sbx:test", 1000));
	}
	auto_jv text = json_set_str(jv_copy(claims), "exp", "9999999999");
	CHECK(!jwt_is_current(text, "sbx:test", 1000));
}

static void test_key_file(int dir)
{
	struct jwt_key a = JWT_KEY_INIT, b = JWT_KEY_INIT, c = JWT_KEY_INIT, d = JWT_KEY_INIT;
	struct sbx_error err = SBX_ERROR_INIT;
	struct stat st;

	CHECK(jwt_key_open(dir, JWT_EDDSA, &a, &err) == 0);
	CHECK(fstatat(dir, "key", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	      (st.st_mode & 07777) == 0600 && st.st_size == 32);
	CHECK(jwt_key_open(dir, JWT_EDDSA, &b, &err) == 0 && strcmp(a.kid, b.kid) == 0);
	CHECK(fchmodat(dir, "key", 0640, 0) == 0);
	CHECK(jwt_key_open(dir, JWT_EDDSA, &c, &err) < 0 && err.class == SBX_CONFIG);
	CHECK_STR(err.code, "unsafe_file");
	jwt_key_clear(&a);
	jwt_key_clear(&b);
	jwt_key_clear(&c);
	static const char *const contents[] = {"", "0123456789abcdef0123456789abcde",
					       "0123456789abcdef0123456789abcdef\n"};
	for (size_t i = 0; i < ARRAY_LEN(contents); i++) {
		struct jwt_key bad = JWT_KEY_INIT;
		sbx_error_clear(&err);
		CHECK(io_replace_file(dir, "key", contents[i], strlen(contents[i]), &err) == 0);
		CHECK(jwt_key_open(dir, JWT_EDDSA, &bad, &err) < 0 && err.class == SBX_CONFIG);
		CHECK_STR(err.code, "bad_key");
		jwt_key_clear(&bad);
	}
	sbx_error_clear(&err);
	CHECK(unlinkat(dir, "key", 0) == 0 && symlinkat("/dev/zero", dir, "key") == 0);
	CHECK(jwt_key_open(dir, JWT_EDDSA, &d, &err) < 0);
	CHECK_STR(err.code, "unsafe_file");
	jwt_key_clear(&d);
}

static void test_revoked(int dir)
{
	static const char one[] = "11111111111111111111111111111111", two[] = "22222222222222222222222222222222";
	static const char old[] = "33333333333333333333333333333333", odd[] = "44444444444444444444444444444444";
	struct sbx_error err = SBX_ERROR_INIT;
	int64_t now = clock_seconds();

	CHECK(jwt_is_revoked(dir, one, &err) == 0);
	CHECK(jwt_revoke(dir, one, now + 600, &err) == 0);
	CHECK(jwt_is_revoked(dir, one, &err) == 1);
	CHECK(jwt_revoke(dir, one, now + 600, &err) == 0);
	CHECK(jwt_is_revoked(dir, two, &err) == 0);
	/* A token that has just expired stays on the list, one long gone is dropped, what is no number stays. */
	CHECK(io_create_file(dir, old, "1000\n", 5, &err) == 0 && io_create_file(dir, odd, "1000x\n", 6, &err) == 0);
	CHECK(jwt_revoke(dir, two, now - 60, &err) == 0);
	CHECK(jwt_is_revoked(dir, old, &err) == 0);
	CHECK(jwt_is_revoked(dir, odd, &err) == 1);
	CHECK(jwt_is_revoked(dir, one, &err) == 1 && jwt_is_revoked(dir, two, &err) == 1);
	/* A list that cannot be read is not an empty one. */
	CHECK(jwt_is_revoked(-1, one, &err) < 0 && err.class == SBX_IO);
}

/* RFC 7515 appendix A.3. */
static void test_es256(void)
{
	static const unsigned char d[JWT_SEED_SIZE] = {0x8e, 0x9b, 0x10, 0x9e, 0x71, 0x90, 0x98, 0xbf, 0x98, 0x04, 0x87,
						       0xdf, 0x1f, 0x5d, 0x77, 0xe9, 0xcb, 0x29, 0x60, 0x6e, 0xbe, 0xd2,
						       0x26, 0x3b, 0x5f, 0x57, 0xc2, 0x13, 0xdf, 0x84, 0xf4, 0xb2};
	static const char signed_[] =
		"eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leG"
		"FtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
	static const unsigned char signature[JWT_SIGNATURE_SIZE] = {
		14,  209, 33,  83,  121, 99,  108, 72,	60,  47,  127, 21,  88,	 7,   212, 2,
		163, 178, 40,  3,   58,	 249, 124, 126, 23,  129, 154, 195, 22,	 158, 166, 101,
		197, 10,  7,   211, 140, 60,  112, 229, 216, 241, 45,  175, 8,	 74,  84,  128,
		166, 101, 144, 197, 242, 147, 80,  154, 143, 63,  127, 138, 131, 163, 84,  213};
	static struct jwt_key es = {.algorithm = JWT_ES256, .seed = SECRET_INIT};
	auto_secret token = SECRET_INIT;
	auto_jv claims = claims_at(1000), read = jv_invalid(), none = jv_invalid();
	struct sbx_error err = SBX_ERROR_INIT;

	make_key(&es, d);
	auto_jv jwks = jwt_jwks(&es), keys = json_array(jwks, "keys"), jwk = json_at(keys, 0);
	CHECK_STR(json_str(jwk, "x"), "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU");
	CHECK_STR(json_str(jwk, "y"), "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0");
	CHECK_STR(json_str(jwk, "alg"), "ES256");
	CHECK(!json_has(jwk, "d"));
	CHECK(jwt_alg_verify(JWT_ES256, es.public, signed_, sizeof signed_ - 1, signature));
	CHECK(!jwt_alg_verify(JWT_ES256, es.public, signed_, sizeof signed_ - 2, signature));
	CHECK(jwt_sign(&es, claims, &token, &err) == 0 && jwt_verify(&es, &token, &read, &err) == 0);
	CHECK(json_same(claims, read));
	/* One key, one algorithm: neither takes the other's. */
	CHECK(jwt_verify(&key, &token, &none, &err) < 0);
	CHECK_STR(err.code, "token_algorithm");
	int accepted = 0;
	for (size_t i = 0; i < token.len; i++) {
		unsigned char was = token.data[i];
		struct sbx_error ignored = SBX_ERROR_INIT;
		auto_jv nothing = jv_invalid();
		token.data[i] = was == 'A' ? 'B' : 'A';
		accepted += jwt_verify(&es, &token, &nothing, &ignored) == 0;
		token.data[i] = was;
	}
	CHECK(token.len > 200 && accepted == 0);
	/* 0 and the order are no private keys. */
	struct jwt_key bad = {.algorithm = JWT_ES256, .seed = SECRET_INIT};
	CHECK(secret_alloc(&bad.seed, JWT_SEED_SIZE, &err) == 0);
	bad.seed.len = JWT_SEED_SIZE;
	sbx_error_clear(&err);
	CHECK(jwt_key_derive(&bad, &err) < 0);
	CHECK_STR(err.code, "bad_key");
	jwt_key_clear(&bad);
	jwt_key_clear(&es);
}

int main(void)
{
	char keys[] = "/tmp/jwt_test.XXXXXX", list[] = "/tmp/jwt_test.XXXXXX";
	struct sbx_error err = SBX_ERROR_INIT;

	if (mkdtemp(keys) == NULL || mkdtemp(list) == NULL)
		return 1;
	int keys_fd = open(keys, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	    list_fd = open(list, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_key(&key, rfc_seed);
	test_vectors();
	test_round_trip();
	test_es256();
	test_refused();
	test_form();
	test_times();
	test_key_file(keys_fd);
	test_revoked(list_fd);
	jwt_key_clear(&key);
	close(keys_fd);
	close(list_fd);
	io_remove_tree(AT_FDCWD, keys, &err);
	io_remove_tree(AT_FDCWD, list, &err);
	return unit_done();
}
