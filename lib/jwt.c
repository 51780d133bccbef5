/* Parts, encoded and checked; jwt_alg.c signs them. */
#include "jwt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base64url.h"
#include "digest.h"
#include "io.h"

static const char *const key_files[JWT_ALGORITHMS] = {[JWT_EDDSA] = "key", [JWT_ES256] = "key-es256"};

enum {
	COORDINATE = 32, /* of a point, which has a byte before them */
	TOKEN_PARTS = 3,
	HEADER_MAX = 512, /* ours has some 90 bytes */
};

/* ---- the key ---- */

/* Coordinates of the public key as digits; Y "" with Ed25519, which has one. */
struct coordinates {
	char x[64], y[64];
};

static struct coordinates coordinates(const struct jwt_key *key)
{
	struct coordinates c = {"", ""};

	if (key->algorithm == JWT_EDDSA) {
		base64url_encode(key->public, key->public_len, c.x);
		return c;
	}
	base64url_encode(key->public + 1, COORDINATE, c.x);
	base64url_encode(key->public + 1 + COORDINATE, COORDINATE, c.y);
	return c;
}

int jwt_key_derive(struct jwt_key *key, struct sbx_error *err)
{
	unsigned char digest[DIGEST_SIZE];
	char members[256];
	int n;

	if (key->seed.len != JWT_SEED_SIZE)
		return sbx_fail(err, SBX_CONFIG, "bad_key", "the signing key has not %d bytes", JWT_SEED_SIZE);
	key->public_len = jwt_alg_public(key->algorithm, &key->seed, key->public);
	if (key->public_len == 0)
		return sbx_fail(err, SBX_CONFIG, "bad_key", "the signing key cannot be used");
	const struct coordinates c = coordinates(key);
	if (key->algorithm == JWT_EDDSA)
		n = snprintf(members, sizeof members, "{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"%s\"}", c.x);
	else
		n = snprintf(members, sizeof members, "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"%s\",\"y\":\"%s\"}",
			     c.x, c.y);
	digest_sha256(members, (size_t)n, digest);
	memset(key->kid, 0, sizeof key->kid);
	base64url_encode(digest, sizeof digest, key->kid);
	return 0;
}

/* 1: read, 0: there is none. */
static int read_seed(int dirfd, const char *key_file, struct secret *seed, struct sbx_error *err)
{
	auto_fd fd = openat(dirfd, key_file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return sbx_fail_errno(err, SBX_CONFIG, "unsafe_file", "cannot open the signing key");
	if (io_check_trust(fd, "the signing key", IO_PRIVATE, err) < 0)
		return -1;
	/* More than it may have, so that a longer file is seen as a bad key. */
	if (secret_read_fd(seed, fd, 16 * JWT_SEED_SIZE, err) < 0)
		return -1;
	return 1;
}

static int make_seed(int dirfd, const char *key_file, struct sbx_error *err)
{
	auto_secret seed = SECRET_INIT;
	struct sbx_error failed = SBX_ERROR_INIT;

	if (secret_alloc(&seed, JWT_SEED_SIZE, err) < 0)
		return -1;
	io_random(seed.data, JWT_SEED_SIZE);
	if (io_create_file(dirfd, key_file, seed.data, JWT_SEED_SIZE, &failed) == 0 ||
	    strcmp(failed.code, "exists") == 0)
		return 0;
	*err = failed;
	return sbx_wrap(err, "the signing key");
}

int jwt_key_open(int dirfd, enum jwt_algorithm algorithm, struct jwt_key *key, struct sbx_error *err)
{
	const char *file = key_files[algorithm];
	int found = read_seed(dirfd, file, &key->seed, err);

	key->algorithm = algorithm;
	if (found == 0 && make_seed(dirfd, file, err) == 0)
		found = read_seed(dirfd, file, &key->seed, err);
	if (found == 0)
		return sbx_fail(err, SBX_CANNOT_CREATE, "cannot_create", "the signing key went away while it was made");
	if (found < 0)
		return -1;
	return jwt_key_derive(key, err);
}

void jwt_key_clear(struct jwt_key *key)
{
	secret_clear(&key->seed);
}

jv jwt_jwks(const struct jwt_key *key)
{
	const struct coordinates c = coordinates(key);
	jv jwk = json_set_str(jv_object(), "kty", key->algorithm == JWT_EDDSA ? "OKP" : "EC");

	jwk = json_set_str(jwk, "crv", key->algorithm == JWT_EDDSA ? "Ed25519" : "P-256");
	jwk = json_set_str(json_set_str(jwk, "x", c.x), "y", key->algorithm == JWT_EDDSA ? NULL : c.y);
	jwk = json_set_str(jwk, "kid", key->kid);
	jwk = json_set_str(jwk, "use", "sig");
	jwk = json_set_str(jwk, "alg", jwt_alg_name(key->algorithm));
	return json_set(jv_object(), "keys", json_append(jv_array(), jwk));
}

/* ---- signing ---- */

int jwt_sign(const struct jwt_key *key, jv claims, struct secret *token, struct sbx_error *err)
{
	auto_buf header = BUF_INIT(HEADER_MAX), payload = BUF_INIT(LIMIT_SECRET / 2);
	unsigned char signature[JWT_SIGNATURE_SIZE];

	if (buf_addf(&header, err, "{\"alg\":\"%s\",\"kid\":\"%s\",\"typ\":\"JWT\"}", jwt_alg_name(key->algorithm),
		     key->kid) < 0 ||
	    json_write(claims, &payload, err) < 0)
		return -1;
	size_t size = base64url_size(header.len) + base64url_size(payload.len) + base64url_size(JWT_SIGNATURE_SIZE) +
		      TOKEN_PARTS;
	if (secret_alloc(token, size, err) < 0 || base64url_append(token, header.data, header.len, err) < 0 ||
	    secret_append(token, ".", 1, err) < 0 || base64url_append(token, payload.data, payload.len, err) < 0)
		return -1;
	if (jwt_alg_sign(key->algorithm, &key->seed, key->public, token->data, token->len, signature) < 0)
		return sbx_fail(err, SBX_BUG, "cannot_sign", "the token could not be signed");
	int result = secret_append(token, ".", 1, err);
	if (result == 0)
		result = base64url_append(token, signature, sizeof signature, err);
	explicit_bzero(signature, sizeof signature);
	return result;
}

/* ---- verification ---- */

struct part {
	const unsigned char *at;
	size_t len;
};

static int split(const struct secret *token, struct part parts[TOKEN_PARTS])
{
	const unsigned char *at = token->data;
	size_t left = token->len;

	for (int i = 0; i < TOKEN_PARTS; i++) {
		const unsigned char *dot = left > 0 ? memchr(at, '.', left) : NULL;
		if ((dot == NULL) != (i == TOKEN_PARTS - 1))
			return -1;
		size_t len = dot ? (size_t)(dot - at) : left;
		if (len == 0)
			return -1;
		parts[i] = (struct part){at, len};
		at += len + 1;
		left -= dot ? len + 1 : len;
	}
	return 0;
}

static int refuse(struct sbx_error *err, const char *code, const char *message)
{
	sbx_error_clear(err); /* what a parser said of it is of no use to who sent it */
	return sbx_fail(err, SBX_DENIED, code, "%s", message);
}

static int malformed(struct sbx_error *err)
{
	return refuse(err, "token_malformed", "this is no token in compact form");
}

static int is_text(jv object, const char *key, const char *expected)
{
	const char *text = json_str(object, key);

	return text != NULL && strcmp(text, expected) == 0;
}

/* "alg" decides nothing here: the key fixes it. A header that wants another, or anything that we do not know
 * ("crit", "jwk", "jku"), is refused before the signature is looked at. */
static int check_header(const struct jwt_key *key, const struct part *part, struct sbx_error *err)
{
	static const char *const known[] = {"alg", "kid", "typ", NULL};
	auto_secret bytes = SECRET_INIT;
	auto_jv header = jv_invalid();

	if (base64url_decode(part->at, part->len, &bytes, err) < 0 ||
	    json_parse((const char *)bytes.data, bytes.len, HEADER_MAX, &header, err) < 0)
		return malformed(err);
	auto_free char *unknown = json_unknown_key(header, known);
	if (jv_get_kind(header) != JV_KIND_OBJECT || unknown != NULL)
		return malformed(err);
	if (!is_text(header, "alg", jwt_alg_name(key->algorithm)))
		return refuse(err, "token_algorithm", "the token is signed with another algorithm than ours");
	if (!is_text(header, "typ", "JWT"))
		return malformed(err);
	if (!is_text(header, "kid", key->kid))
		return refuse(err, "token_key", "the token is signed by another key");
	return 0;
}

static int check_signature(const struct jwt_key *key, const struct secret *token, const struct part *part,
			   struct sbx_error *err)
{
	auto_secret signature = SECRET_INIT;

	if (base64url_decode(part->at, part->len, &signature, err) < 0 || signature.len != JWT_SIGNATURE_SIZE)
		return malformed(err);
	size_t covered = (size_t)(part->at - token->data) - 1;
	return jwt_alg_verify(key->algorithm, key->public, token->data, covered, signature.data)
		       ? 0
		       : refuse(err, "token_signature", "the signature of the token is wrong");
}

int jwt_verify(const struct jwt_key *key, const struct secret *token, jv *claims, struct sbx_error *err)
{
	auto_secret bytes = SECRET_INIT;
	auto_jv read = jv_invalid();
	struct part parts[TOKEN_PARTS];

	*claims = jv_invalid();
	if (split(token, parts) < 0)
		return malformed(err);
	if (check_header(key, &parts[0], err) < 0 || check_signature(key, token, &parts[2], err) < 0)
		return -1;
	if (base64url_decode(parts[1].at, parts[1].len, &bytes, err) < 0 ||
	    json_parse((const char *)bytes.data, bytes.len, LIMIT_SECRET, &read, err) < 0 ||
	    jv_get_kind(read) != JV_KIND_OBJECT)
		return malformed(err);
	*claims = take_jv(&read);
	return 0;
}

int jwt_is_current(jv claims, const char *issuer, int64_t now)
{
	int64_t exp, nbf, iat;

	if (!is_text(claims, "iss", issuer) || json_str(claims, "jti") == NULL)
		return 0;
	if (json_int(claims, "exp", &exp) < 0 || json_int(claims, "nbf", &nbf) < 0 || json_int(claims, "iat", &iat) < 0)
		return 0;
	return nbf <= now && now < exp;
}
