/* Read the armor, look up the key, and let ssh-keygen do the arithmetic. */
#include "sshsig.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "clock.h"
#include "io.h"
#include "spawn.h"
#include "wire.h"

#define KEYGEN "/usr/bin/ssh-keygen"
static const int verify_ms = 10 * 1000;
static const size_t signers_max = (size_t)1 << 20; /* some thousand keys */
static const size_t field_max = (size_t)8 << 10;
static const uint32_t version = 1;
static const unsigned char flag_present = 0x01; /* U2F/CTAP2: user presence was tested */

static int malformed(struct sbx_error *err, const char *what)
{
	sbx_fail(err, SBX_BAD_REQUEST, "signature_malformed", "the signature %s", what);
	return sbx_hint(err, "make it with: ssh-keygen -Y sign -n " SSHSIG_NAMESPACE " -f KEY FILE");
}

static int decode_armor(const char *armor, size_t len, struct sshsig *sig, struct sbx_error *err)
{
	static const char head[] = "-----BEGIN SSH SIGNATURE-----\n", tail[] = "\n-----END SSH SIGNATURE-----\n";
	const size_t head_len = sizeof head - 1, tail_len = sizeof tail - 1;

	if (len > SSHSIG_MAX || len < head_len + tail_len || memcmp(armor, head, head_len) != 0 ||
	    memcmp(armor + len - tail_len, tail, tail_len) != 0)
		return malformed(err, "is not in its armor");
	size_t used = 0, body = len - head_len - tail_len;
	auto_free char *text = malloc(body + 1);
	if (text == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	for (size_t i = 0; i < body; i++)
		if (armor[head_len + i] != '\n')
			text[used++] = armor[head_len + i];
	if (signers_base64(text, used, &sig->blob, &sig->blob_len) < 0)
		return malformed(err, "is no base64");
	return 0;
}

static int is_text(const unsigned char *bytes, size_t len, const char *text)
{
	return len == strlen(text) && memcmp(bytes, text, len) == 0;
}

/* The inner signature: its type, its bytes, and for a security key one byte of flags and a counter. */
static int read_inner(struct sshsig *sig, const unsigned char *bytes, size_t len, struct sbx_error *err)
{
	struct wire inner = {bytes, len};
	const unsigned char *type, *value;
	size_t type_len, value_len;
	uint32_t counter;

	if (wire_get_bytes(&inner, field_max, &type, &type_len, err) < 0 ||
	    wire_get_bytes(&inner, field_max, &value, &value_len, err) < 0)
		return -1;
	if (!sig->security_key)
		return inner.left == 0 ? 0 : malformed(err, "has bytes too many");
	if (!is_text(type, type_len, sig->key_type) || inner.left < 1)
		return malformed(err, "is not of its key's type");
	sig->user_present = (inner.p[0] & flag_present) != 0;
	inner.p++;
	inner.left--;
	if (wire_get_u32(&inner, UINT32_MAX, &counter, err) < 0)
		return -1;
	return inner.left == 0 ? 0 : malformed(err, "has bytes too many");
}

static int read_key_type(struct sshsig *sig, struct sbx_error *err)
{
	static const struct {
		const char *name;
		int security_key;
	} types[] = {
		{"ssh-ed25519", 0},
		{"ecdsa-sha2-nistp256", 0},
		{"ecdsa-sha2-nistp384", 0},
		{"ecdsa-sha2-nistp521", 0},
		{"ssh-rsa", 0},
		{"sk-ssh-ed25519@openssh.com", 1},
		{"sk-ecdsa-sha2-nistp256@openssh.com", 1},
	};
	struct wire key = {sig->key, sig->key_len};
	const unsigned char *type;
	size_t len;

	if (wire_get_bytes(&key, sizeof sig->key_type - 1, &type, &len, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (is_text(type, len, types[i].name)) {
			memcpy(sig->key_type, type, len);
			sig->security_key = types[i].security_key;
			return 0;
		}
	return malformed(err, "is by a type of key that is not accepted");
}

static int read_blob(struct sshsig *sig, struct sbx_error *err)
{
	static const char magic[] = "SSHSIG";
	const size_t magic_len = sizeof magic - 1;
	const unsigned char *name_space, *reserved, *hash, *inner;
	size_t name_len, reserved_len, hash_len, inner_len;
	uint32_t found;

	if (sig->blob_len < magic_len || memcmp(sig->blob, magic, magic_len) != 0)
		return malformed(err, "is none of SSH");
	struct wire w = {sig->blob + magic_len, sig->blob_len - magic_len};
	if (wire_get_u32(&w, version, &found, err) < 0 ||
	    wire_get_bytes(&w, field_max, &sig->key, &sig->key_len, err) < 0 ||
	    wire_get_bytes(&w, field_max, &name_space, &name_len, err) < 0 ||
	    wire_get_bytes(&w, 0, &reserved, &reserved_len, err) < 0 ||
	    wire_get_bytes(&w, 16, &hash, &hash_len, err) < 0 ||
	    wire_get_bytes(&w, field_max, &inner, &inner_len, err) < 0)
		return -1;
	if (found != version || w.left != 0)
		return malformed(err, "is of another version, or has bytes too many");
	if (!is_text(name_space, name_len, SSHSIG_NAMESPACE)) {
		sbx_fail(err, SBX_DENIED, "signature_namespace", "the signature was made for another purpose");
		return sbx_hint(err, "sign in the namespace " SSHSIG_NAMESPACE);
	}
	if (!is_text(hash, hash_len, "sha512") && !is_text(hash, hash_len, "sha256"))
		return malformed(err, "uses a hash that is not accepted");
	return read_key_type(sig, err) < 0 ? -1 : read_inner(sig, inner, inner_len, err);
}

int sshsig_parse(const char *armor, size_t len, struct sshsig *sig, struct sbx_error *err)
{
	struct sbx_error inner = SBX_ERROR_INIT;

	if (decode_armor(armor, len, sig, err) < 0)
		return -1;
	if (read_blob(sig, &inner) == 0)
		return 0;
	if (strcmp(inner.code, "wire_malformed") == 0)
		return malformed(err, "is cut off or too long");
	*err = inner;
	return -1;
}

void sshsig_clear(struct sshsig *sig)
{
	free(sig->blob);
	*sig = (struct sshsig){0};
}

/* ssh-keygen gets a trust file of the one line that was found, so that it judges nothing but the arithmetic. It reads
 * both from sealed memory: no file that anybody could change or that a crash would leave behind. */
static int run_keygen(int trust_fd, int armor_fd, const char *signer, const void *text, size_t text_len,
		      struct sbx_error *err)
{
	const char *const argv[] = {"ssh-keygen", "-Y", "verify",	  "-f", "/proc/self/fd/3", "-I",
				    signer,	  "-n", SSHSIG_NAMESPACE, "-s", "/proc/self/fd/4", NULL};
	auto_fd null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	const struct spawn_fd fds[] = {{STDERR_FILENO, null_fd}, {3, trust_fd}, {4, armor_fd}};
	const struct spawn what = {.path = KEYGEN, .argv = argv, .fds = fds, .fd_count = ARRAY_LEN(fds)};
	auto_buf said = BUF_INIT(4096);
	int status;

	if (null_fd < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot open /dev/null");
	if (spawn_capture(&what, text, text_len, &said, clock_mono_ms() + verify_ms, &status, err) < 0)
		return -1;
	if (spawn_exit_code(status) != 0)
		return sbx_fail(err, SBX_DENIED, "signature_invalid", "the signature is not one over this text");
	return 0;
}

int sshsig_verify(const char *signers, const char *armor, size_t len, const void *text, size_t text_len, int64_t now,
		  char signer[SIGNER_SIZE], struct sshsig *sig, struct sbx_error *err)
{
	auto_free char *trust = NULL, *line = NULL;
	size_t trust_len;

	if (sshsig_parse(armor, len, sig, err) < 0)
		return -1;
	if (io_read_file(AT_FDCWD, signers, signers_max, IO_TRUSTED, &trust, &trust_len, err) < 0) {
		err->class = SBX_CONFIG;
		return sbx_hint(
			err,
			"make the file that `allowed_signers` in sbx.yaml names, owned by root or the account of sbx");
	}
	if (signers_find(trust, trust_len, sig->key, sig->key_len, SSHSIG_NAMESPACE, now, signer, &line, err) < 0)
		return -1;
	auto_fd trust_fd = io_sealed_memfd("signers", line, strlen(line), err);
	auto_fd armor_fd = io_sealed_memfd("signature", armor, len, err);
	if (trust_fd < 0 || armor_fd < 0)
		return -1;
	return run_keygen(trust_fd, armor_fd, signer, text, text_len, err);
}
