/* Read the armor, look up the key, and have the arithmetic done. */
#include "sshsig.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base64.h"
#include "clock.h"
#include "io.h"
#include "spawn.h"
#include "wire.h"

#define KEYGEN "/usr/bin/ssh-keygen"
static const int verify_ms = 10 * 1000;
static const size_t signers_max = (size_t)1 << 20; /* some thousand keys */
static const size_t field_max = (size_t)8 << 10;
static const uint32_t version = 1;
static const size_t line_max = 76; /* of the armor, as in PEM; ssh-keygen writes 70 */

enum {
	FLAG_PRESENT = 0x01,  /* U2F and CTAP2: user presence was tested */
	FLAG_VERIFIED = 0x04, /* CTAP2: the user was verified */
	ED25519_SIZE = 64,    /* RFC 8032 section 5.1.6 */
};

static int malformed(struct sbx_error *err, const char *what)
{
	sbx_fail(err, SBX_BAD_REQUEST, "signature_malformed", "the signature %s", what);
	return sbx_hint(err,
			"make it with: ssh-keygen -Y sign -n " SSHSIG_NAMESPACE " -f KEY FILE");
}

static int cut_off(struct sbx_error *err)
{
	return malformed(err, "is cut off, or a part of it is too long");
}

static int refuse_key(struct sbx_error *err, enum sshsig_key_fault fault)
{
	const char *text = sshsig_key_fault_text(fault);

	switch (fault) {
	case SSHSIG_KEY_GOOD:
		return 0;
	case SSHSIG_KEY_MALFORMED:
		return malformed(err, "is by a key that is malformed, or not in its shortest form");
	case SSHSIG_KEY_TYPE:
	case SSHSIG_KEY_CERTIFICATE:
		sbx_fail(err, SBX_DENIED, "key_type_refused", "the key that signed %s", text);
		break;
	case SSHSIG_KEY_SHORT:
		sbx_fail(err, SBX_DENIED, "key_too_short", "the key that signed %s", text);
		break;
	case SSHSIG_KEY_APPLICATION:
		sbx_fail(err, SBX_DENIED, "key_application", "the key that signed %s", text);
		return sbx_hint(
			err,
			"make it with: ssh-keygen -t ed25519-sk -O application=ssh:sbx-approve");
	}
	return sbx_hint(err, "sign with an ed25519 or ecdsa key, best one of a security key "
			     "(ed25519-sk, ecdsa-sk)");
}

/* --- reading --- */

/* The base64 of the armor without its line ends: lines of one length, the last may be shorter. */
static int join_lines(const char *body, size_t len, char *out, size_t *out_len)
{
	size_t width = 0;

	*out_len = 0;
	for (size_t i = 0; i < len;) {
		const char *feed = memchr(body + i, '\n', len - i);
		size_t here = feed != NULL ? (size_t)(feed - body) - i : len - i;
		if (width == 0)
			width = here;
		if (here == 0 || here > line_max || here > width || (here < width && feed != NULL))
			return -1;
		memcpy(out + *out_len, body + i, here);
		*out_len += here;
		i += here + 1;
	}
	return len > 0 && body[len - 1] != '\n' ? 0 : -1;
}

static int decode_armor(const char *armor, size_t len, struct sshsig *sig, struct sbx_error *err)
{
	static const char head[] = "-----BEGIN SSH SIGNATURE-----\n",
			  tail[] = "\n-----END SSH SIGNATURE-----\n";
	const size_t head_len = sizeof head - 1, tail_len = sizeof tail - 1;

	if (len > SSHSIG_MAX || len < head_len + tail_len || memcmp(armor, head, head_len) != 0 ||
	    memcmp(armor + len - tail_len, tail, tail_len) != 0)
		return malformed(err, "is not in its armor");
	size_t used, body = len - head_len - tail_len;
	auto_free char *text = malloc(body + 1);
	if (text == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (join_lines(armor + head_len, body, text, &used) < 0)
		return malformed(err, "is not in lines of one length");
	if (base64_read(text, used, &sig->blob, &sig->blob_len) < 0)
		return malformed(err, "is no base64");
	return 0;
}

static int get_bytes(struct wire *w, size_t max, const unsigned char **bytes, size_t *len)
{
	struct sbx_error ignored = SBX_ERROR_INIT;

	return wire_get_bytes(w, max, bytes, len, &ignored);
}

static size_t order_bytes(enum sshsig_key_kind kind)
{
	return kind == SSHSIG_P384 ? 48 : kind == SSHSIG_P521 ? 66 : 32;
}

/* Canonical lengths; whether r and s are below the order is the arithmetic's to say. */
static int check_value(const struct sshsig *sig, struct sbx_error *err)
{
	struct wire numbers = {sig->value, sig->value_len};
	const size_t max = order_bytes(sig->key.kind) + 1;
	const unsigned char *bytes;
	size_t len;

	switch (sig->key.kind) {
	case SSHSIG_ED25519:
	case SSHSIG_SK_ED25519:
		return sig->value_len == ED25519_SIZE ? 0 : malformed(err, "has not 64 bytes");
	case SSHSIG_RSA:
		return sig->value_len == sig->key.point_len
			       ? 0
			       : malformed(err, "has not its modulus' length");
	case SSHSIG_P256:
	case SSHSIG_P384:
	case SSHSIG_P521:
	case SSHSIG_SK_P256:
		break;
	}
	if (sshsig_get_number(&numbers, max, &bytes, &len) < 0 ||
	    sshsig_get_number(&numbers, max, &bytes, &len) < 0 || numbers.left != 0)
		return malformed(err, "is not of two positive numbers in their shortest form");
	return 0;
}

static int check_type(const struct sshsig *sig, const unsigned char *type, size_t len,
		      struct sbx_error *err)
{
	if (sig->key.kind != SSHSIG_RSA)
		return sshsig_is_text(type, len, sig->key.type)
			       ? 0
			       : malformed(err, "is not of its key's type");
	if (sshsig_is_text(type, len, "rsa-sha2-512") || sshsig_is_text(type, len, "rsa-sha2-256"))
		return 0;
	if (sshsig_is_text(type, len, "ssh-rsa"))
		return sbx_fail(err, SBX_DENIED, "signature_sha1",
				"the signature is one over SHA-1");
	return malformed(err, "is not of its key's type");
}

/* The inner signature: its type, its bytes, and for a security key one byte of flags and a counter.
 */
static int read_inner(struct sshsig *sig, const unsigned char *bytes, size_t len,
		      struct sbx_error *err)
{
	struct wire inner = {bytes, len};
	struct sbx_error ignored = SBX_ERROR_INIT;
	const unsigned char *type;
	size_t type_len;

	if (get_bytes(&inner, field_max, &type, &type_len) < 0 ||
	    get_bytes(&inner, field_max, &sig->value, &sig->value_len) < 0)
		return cut_off(err);
	if (check_type(sig, type, type_len, err) < 0 || check_value(sig, err) < 0)
		return -1;
	if (sig->security_key) {
		if (inner.left < 1)
			return cut_off(err);
		sig->flags = *inner.p++;
		inner.left--;
		if (wire_get_u32(&inner, UINT32_MAX, &sig->counter, &ignored) < 0)
			return cut_off(err);
		sig->user_present = (sig->flags & FLAG_PRESENT) != 0;
		sig->user_verified = (sig->flags & FLAG_VERIFIED) != 0;
	}
	return inner.left == 0 ? 0 : malformed(err, "has bytes too many");
}

static int read_key(struct sshsig *sig, struct sbx_error *err)
{
	enum sshsig_key_fault fault = sshsig_key_read(sig->key_blob, sig->key_len, &sig->key);

	if (fault == SSHSIG_KEY_GOOD)
		fault = sshsig_key_counts(&sig->key);
	if (fault != SSHSIG_KEY_GOOD)
		return refuse_key(err, fault);
	sig->security_key = sshsig_key_is_hardware(sig->key.kind);
	digest_sha256_hex(sig->key_blob, sig->key_len, sig->key_sha256);
	return 0;
}

static int read_blob(struct sshsig *sig, struct sbx_error *err)
{
	static const char magic[] = "SSHSIG";
	const size_t magic_len = sizeof magic - 1;
	const unsigned char *name_space, *reserved, *hash, *inner;
	size_t name_len, reserved_len, hash_len, inner_len;
	struct sbx_error ignored = SBX_ERROR_INIT;
	uint32_t found;

	if (sig->blob_len < magic_len || memcmp(sig->blob, magic, magic_len) != 0)
		return malformed(err, "is none of SSH");
	struct wire w = {sig->blob + magic_len, sig->blob_len - magic_len};
	if (wire_get_u32(&w, UINT32_MAX, &found, &ignored) < 0 ||
	    get_bytes(&w, field_max, &sig->key_blob, &sig->key_len) < 0 ||
	    get_bytes(&w, field_max, &name_space, &name_len) < 0 ||
	    get_bytes(&w, field_max, &reserved, &reserved_len) < 0 ||
	    get_bytes(&w, field_max, &hash, &hash_len) < 0 ||
	    get_bytes(&w, field_max, &inner, &inner_len) < 0)
		return cut_off(err);
	/* The signature covers neither the version nor what stands in the reserved field here. */
	if (found != version || reserved_len != 0 || w.left != 0)
		return malformed(err, "is of another version, or has bytes too many");
	if (!sshsig_is_text(name_space, name_len, SSHSIG_NAMESPACE)) {
		sbx_fail(err, SBX_DENIED, "signature_namespace",
			 "the signature was made for another purpose");
		return sbx_hint(err, "sign in the namespace " SSHSIG_NAMESPACE);
	}
	sig->hash = sshsig_is_text(hash, hash_len, "sha512")   ? "sha512"
		    : sshsig_is_text(hash, hash_len, "sha256") ? "sha256"
							       : NULL;
	if (sig->hash == NULL)
		return malformed(err, "uses a hash that is not accepted");
	return read_key(sig, err) < 0 ? -1 : read_inner(sig, inner, inner_len, err);
}

int sshsig_parse(const char *armor, size_t len, struct sshsig *sig, struct sbx_error *err)
{
	sig->armor = armor;
	sig->armor_len = len;
	return decode_armor(armor, len, sig, err) < 0 ? -1 : read_blob(sig, err);
}

void sshsig_clear(struct sshsig *sig)
{
	free(sig->blob);
	*sig = (struct sshsig){0};
}

/* --- verifying --- */

int sshsig_fail_invalid(struct sbx_error *err)
{
	return sbx_fail(err, SBX_DENIED, "signature_invalid",
			"the signature is not one over this text");
}

/* ssh-keygen gets a trust file of the one line that was found, so that it judges nothing but the
 * arithmetic. It reads both from sealed memory: no file that anybody could change or that a crash
 * would leave behind. */
static int run_keygen(const char *line, const char *armor, size_t armor_len, const char *signer,
		      const void *text, size_t text_len, struct sbx_error *err)
{
	const char *const argv[] = {
		"ssh-keygen", "-Y", "verify",	      "-f", "/proc/self/fd/3", "-I",
		signer,	      "-n", SSHSIG_NAMESPACE, "-s", "/proc/self/fd/4", NULL};
	auto_fd null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	auto_fd trust_fd = io_sealed_memfd("signers", line, strlen(line), err);
	auto_fd armor_fd = io_sealed_memfd("signature", armor, armor_len, err);
	const struct spawn_fd fds[] = {{STDERR_FILENO, null_fd}, {3, trust_fd}, {4, armor_fd}};
	const struct spawn what = {
		.path = KEYGEN, .argv = argv, .fds = fds, .fd_count = ARRAY_LEN(fds)};
	auto_buf said = BUF_INIT(4096);
	int status;

	if (trust_fd < 0 || armor_fd < 0)
		return -1;
	if (null_fd < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot open /dev/null");
	if (spawn_capture(&what, text, text_len, &said, clock_mono_ms() + verify_ms, &status, err) <
	    0)
		return -1;
	return spawn_exit_code(status) == 0 ? 0 : sshsig_fail_invalid(err);
}

static int check_flags(const struct sshsig *sig, enum sshsig_user user, struct sbx_error *err)
{
	/* Backup state, attested data, extensions: what they would mean for an approval, nobody has
	 * said. */
	if (sig->flags & ~(FLAG_PRESENT | FLAG_VERIFIED))
		return sbx_fail(err, SBX_DENIED, "signature_flags",
				"the security key set flags that are not understood here");
	if (sig->security_key && !sig->user_present) {
		sbx_fail(err, SBX_DENIED, "touch_required",
			 "the security key signed without being touched");
		return sbx_hint(err, "sign with a key that was not made with -O no-touch-required");
	}
	if (user == SSHSIG_USER_VERIFIED && !sig->user_verified) {
		sbx_fail(err, SBX_DENIED, "user_verification_required",
			 "only a security key that verified its user (PIN or fingerprint) counts "
			 "here");
		return sbx_hint(
			err, "sign with a key made by: ssh-keygen -t ed25519-sk -O verify-required "
			     "-O application=ssh:sbx-approve");
	}
	return 0;
}

static int read_signers(const char *path, char **text, size_t *len, struct sbx_error *err)
{
	if (io_read_file(AT_FDCWD, path, signers_max, IO_TRUSTED, text, len, err) == 0)
		return 0;
	err->class = SBX_CONFIG;
	return sbx_hint(err, "make the file that `allowed_signers` in sbx.yaml names, owned by "
			     "root or the account of sbx");
}

/* No such file: nobody's key is revoked. */
static int check_revoked(const char *signers, const struct sshsig *sig, struct sbx_error *err)
{
	auto_free char *path = NULL, *text = NULL;
	struct sbx_error failed = SBX_ERROR_INIT;
	size_t len;

	if (asprintf(&path, "%s" SIGNERS_REVOKED_SUFFIX, signers) < 0) {
		path = NULL;
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	}
	if (io_read_file(AT_FDCWD, path, signers_max, IO_TRUSTED, &text, &len, &failed) == 0)
		return signers_check_revoked(text, len, sig->key_blob, sig->key_len, err);
	if (strcmp(failed.code, "missing_file") == 0)
		return 0;
	failed.class = SBX_CONFIG;
	*err = failed;
	return -1;
}

int sshsig_verify(const char *signers, const char *armor, size_t len, const void *text,
		  size_t text_len, int64_t now, enum sshsig_user user, sshsig_check_fn *check,
		  struct sshsig *sig, struct sbx_error *err)
{
	auto_free char *trust = NULL, *line = NULL;
	size_t trust_len;

	if (sshsig_parse(armor, len, sig, err) < 0 ||
	    read_signers(signers, &trust, &trust_len, err) < 0 ||
	    check_revoked(signers, sig, err) < 0 ||
	    signers_find(trust, trust_len, sig->key_blob, sig->key_len, SSHSIG_NAMESPACE, now,
			 sig->signer, &line, err) < 0)
		return -1;
	int verified = sshsig_key_is_native(sig->key.kind)
			       ? check(sig, text, text_len, err)
			       : run_keygen(line, armor, len, sig->signer, text, text_len, err);
	return verified < 0 ? -1 : check_flags(sig, user, err);
}

int sshsig_check_counter(const struct sshsig *sig, uint32_t last, struct sbx_error *err)
{
	if (!sig->security_key || last == 0 || sig->counter > last)
		return 0;
	sbx_fail(err, SBX_DENIED, "signature_counter",
		 "the security key's counter did not grow: the signature is an old one, or the key "
		 "was copied");
	return sbx_hint(err, "sign again; if that is refused too, revoke the key");
}
