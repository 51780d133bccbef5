/* The reader of signatures and keys, and the arithmetic behind it: never a crash; what is accepted
 * has one spelling; and nothing verifies, because nobody here knows a private key. The first byte
 * says how the rest is read: as an armor, as the blob in one, as a public key, or as the fields of
 * a signature that is well-formed otherwise. */
#include <stdint.h>
#include <string.h>

#include "sshsig_check.h"

static const char *const types[] = {
	"ssh-ed25519",
	"ecdsa-sha2-nistp256",
	"sk-ssh-ed25519@openssh.com",
	"sk-ecdsa-sha2-nistp256@openssh.com",
	"ecdsa-sha2-nistp384",
	"ecdsa-sha2-nistp521",
	"ssh-rsa",
};

/* The base point of P-256: a key that is on the curve. */
static const unsigned char p256[] = {
	0x04, 0x6b, 0x17, 0xd1, 0xf2, 0xe1, 0x2c, 0x42, 0x47, 0xf8, 0xbc, 0xe6, 0xe5,
	0x63, 0xa4, 0x40, 0xf2, 0x77, 0x03, 0x7d, 0x81, 0x2d, 0xeb, 0x33, 0xa0, 0xf4,
	0xa1, 0x39, 0x45, 0xd8, 0x98, 0xc2, 0x96, 0x4f, 0xe3, 0x42, 0xe2, 0xfe, 0x1a,
	0x7f, 0x9b, 0x8e, 0xe7, 0xeb, 0x4a, 0x7c, 0x0f, 0x9e, 0x16, 0x2b, 0xce, 0x33,
	0x57, 0x6b, 0x31, 0x5e, 0xce, 0xcb, 0xb6, 0x40, 0x68, 0x37, 0xbf, 0x51, 0xf5,
};

enum { RSA = 6 };

static void must(int good)
{
	if (!good)
		abort();
}

static void add_base64(struct buf *out, const unsigned char *in, size_t len, struct sbx_error *err)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0, column = 0; i < len; i += 3, column += 4) {
		size_t left = len - i;
		unsigned v = (unsigned)in[i] << 16 | (left > 1 ? (unsigned)in[i + 1] << 8 : 0) |
			     (left > 2 ? in[i + 2] : 0u);
		const char four[] = {digits[v >> 18 & 63], digits[v >> 12 & 63],
				     left > 1 ? digits[v >> 6 & 63] : '=',
				     left > 2 ? digits[v & 63] : '='};
		if (column == 76) {
			buf_add_str(out, "\n", err);
			column = 0;
		}
		buf_add(out, four, sizeof four, err);
	}
}

static void add_armor(struct buf *out, const void *blob, size_t len)
{
	struct sbx_error err = SBX_ERROR_INIT;

	buf_add_str(out, "-----BEGIN SSH SIGNATURE-----\n", &err);
	add_base64(out, blob, len, &err);
	buf_add_str(out, "\n-----END SSH SIGNATURE-----\n", &err);
}

/* Up to MAX bytes of the input, their number in front. */
static struct wire take(struct wire *in, size_t max)
{
	size_t len = in->left > 0 ? in->p[0] : 0;

	if (in->left > 0) {
		in->p++;
		in->left--;
	}
	len = len < in->left ? len : in->left;
	len = len < max ? len : max;
	struct wire out = {in->p, len};
	in->p += len;
	in->left -= len;
	return out;
}

static void add_numbers(struct buf *out, struct wire *in, struct sbx_error *err)
{
	for (int i = 0; i < 2; i++) {
		struct wire number = take(in, 80);
		wire_put_bytes(out, number.p, number.left, err);
	}
}

enum twist {
	TWIST_NAMESPACE = 1,
	TWIST_HASH = 2,
	TWIST_APPLICATION = 4,
	TWIST_TYPE = 8,
	TWIST_SHORT = 16
};

static void add_key(struct buf *key, size_t kind, unsigned twist, struct wire *in,
		    struct sbx_error *err)
{
	static const char *const curves[] = {NULL,	 "nistp256", NULL, "nistp256",
					     "nistp384", "nistp521", NULL};
	/* The shortest form has a zero byte in front of a set bit. */
	static const unsigned char zeros[32], modulus[1 + 384] = {0, 0x80}, small[256] = {0x7f};
	struct wire point = take(in, 255);

	wire_put_str(key, types[kind], err);
	if (curves[kind] != NULL)
		wire_put_str(key, curves[kind], err);
	if (kind == RSA) {
		wire_put_bytes(key, point.p, point.left, err);
		if (twist & TWIST_SHORT)
			wire_put_bytes(key, small, sizeof small, err);
		else
			wire_put_bytes(key, modulus, sizeof modulus, err);
	} else if (point.left > 0) {
		wire_put_bytes(key, point.p, point.left, err);
	} else if (curves[kind] != NULL) {
		wire_put_bytes(key, p256, sizeof p256, err);
	} else {
		wire_put_bytes(key, zeros, sizeof zeros, err);
	}
	if (strncmp(types[kind], "sk-", 3) == 0)
		wire_put_str(key, twist & TWIST_APPLICATION ? "example" : "ssh:x", err);
}

/* A signature of fields from IN, each framed as it must be. */
static void compose(struct wire in, struct buf *blob)
{
	auto_buf key = BUF_INIT(8192), value = BUF_INIT(8192), inner = BUF_INIT(8192);
	struct sbx_error err = SBX_ERROR_INIT;
	static const unsigned char zeros[384];

	if (in.left < 2)
		return;
	const size_t kind = in.p[0] % ARRAY_LEN(types);
	const unsigned twist = in.p[1];
	in.p += 2;
	in.left -= 2;
	add_key(&key, kind, twist, &in, &err);
	if (kind == RSA) {
		buf_add(&value, zeros, sizeof zeros, &err);
	} else if (strstr(types[kind], "25519") != NULL) {
		struct wire bytes = take(&in, 255);
		buf_add(&value, bytes.p, bytes.left, &err);
	} else {
		add_numbers(&value, &in, &err);
	}
	struct wire tail = take(&in, 8);
	const char *rsa = twist & TWIST_TYPE ? "ssh-rsa" : "rsa-sha2-512";
	wire_put_str(&inner, kind == RSA ? rsa : types[kind], &err);
	wire_put_bytes(&inner, value.data, value.len, &err);
	buf_add(&inner, tail.p, tail.left, &err);
	buf_add_str(blob, "SSHSIG", &err);
	wire_put_u32(blob, 1, &err);
	wire_put_bytes(blob, key.data, key.len, &err);
	wire_put_str(blob, twist & TWIST_NAMESPACE ? "git" : SSHSIG_NAMESPACE, &err);
	wire_put_str(blob, "", &err);
	wire_put_str(blob, twist & TWIST_HASH ? "sha1" : in.left > 0 ? "sha256" : "sha512", &err);
	wire_put_bytes(blob, inner.data, inner.len, &err);
}

/* What was read, written again, is the blob: nothing in it went unread. */
static void check_spelling(const struct sshsig *sig)
{
	auto_buf again = BUF_INIT(SSHSIG_MAX), inner = BUF_INIT(SSHSIG_MAX);
	struct sbx_error err = SBX_ERROR_INIT;

	must(sig->value >= sig->blob && sig->value + sig->value_len <= sig->blob + sig->blob_len);
	buf_add_str(&again, "SSHSIG", &err);
	wire_put_u32(&again, 1, &err);
	wire_put_bytes(&again, sig->key_blob, sig->key_len, &err);
	wire_put_str(&again, SSHSIG_NAMESPACE, &err);
	wire_put_str(&again, "", &err);
	wire_put_str(&again, sig->hash, &err);
	if (sig->key.kind == SSHSIG_RSA)
		return; /* two names of its signatures are accepted */
	wire_put_str(&inner, sig->key.type, &err);
	wire_put_bytes(&inner, sig->value, sig->value_len, &err);
	if (sig->security_key) {
		buf_add(&inner, &sig->flags, 1, &err);
		wire_put_u32(&inner, sig->counter, &err);
	}
	wire_put_bytes(&again, inner.data, inner.len, &err);
	must(err.class == SBX_OK && again.len == sig->blob_len &&
	     memcmp(again.data, sig->blob, again.len) == 0);
}

static void check_armor(const char *armor, size_t len)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_sshsig sig = {0};

	if (sshsig_parse(armor, len, &sig, &err) < 0) {
		must(err.class == SBX_BAD_REQUEST || err.class == SBX_DENIED);
		return;
	}
	must(err.class == SBX_OK);
	check_spelling(&sig);
	if (!sshsig_key_is_native(sig.key.kind))
		return;
	int good = sshsig_check(&sig, "text", 4, &err) == 0;
	must(good || strcmp(err.code, "signature_invalid") == 0);
	/* Ed25519 has a few public keys of small order, under which a fuzzer may well find a
	 * signature. */
	must(!good || sig.key.kind == SSHSIG_ED25519 || sig.key.kind == SSHSIG_SK_ED25519);
}

static void check_key(const unsigned char *blob, size_t len)
{
	struct sshsig_key key;

	if (sshsig_key_read(blob, len, &key) != SSHSIG_KEY_GOOD)
		return;
	must(key.point >= blob && key.point + key.point_len <= blob + len && key.point_len > 0);
	must((key.application != NULL) == sshsig_key_is_hardware(key.kind));
	must(sshsig_key_type(key.type, strlen(key.type)) == SSHSIG_KEY_GOOD);
	sshsig_key_counts(&key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buf armor = BUF_INIT(2 * SSHSIG_MAX), blob = BUF_INIT(SSHSIG_MAX);

	if (size == 0 || size > SSHSIG_MAX)
		return 0;
	struct wire rest = {data + 1, size - 1};
	switch (data[0] % 4) {
	case 0:
		check_armor((const char *)rest.p, rest.left);
		return 0;
	case 1:
		check_key(rest.p, rest.left);
		return 0;
	case 2:
		add_armor(&armor, rest.p, rest.left);
		break;
	default:
		compose(rest, &blob);
		add_armor(&armor, blob.data, blob.len);
		break;
	}
	check_armor(buf_str(&armor), armor.len);
	return 0;
}
