/* What the tests of SSH signatures share: keys of ssh-keygen and of a security key in software
 * (sksign, beside the program), signatures by them, a trust file, our verdict and ssh-keygen's. */
#ifndef SBX_SSHSIG_KIT_H
#define SBX_SSHSIG_KIT_H

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include "clock.h"
#include "io.h"
#include "spawn.h"
#include "sshsig_check.h"
#include "unit.h"
#include "wire.h"

#define KIT_UNUSED __attribute__((unused))

static char kit_dir[] = "/tmp/sbx-sshsig-XXXXXX";
static char kit_beside[4096];
static const char kit_text[] = "what is approved\n";
static const size_t kit_text_len = sizeof kit_text - 1;
static const int64_t kit_now = 1796000000; /* 2026-11-30 */

static KIT_UNUSED void kit_path(const char *name, const char *end, char out[256])
{
	snprintf(out, 256, "%s/%s%s", kit_dir, name, end);
}

static int kit_run(const char *const *argv, const struct spawn_fd *fds, size_t fd_count,
		   const char *input, size_t len, struct buf *out)
{
	const struct spawn what = {.path = argv[0], .argv = argv, .fds = fds, .fd_count = fd_count};
	struct sbx_error err = SBX_ERROR_INIT;
	int status = -1;

	if (spawn_capture(&what, input, len, out, clock_mono_ms() + 30000, &status, &err) < 0)
		printf("# %s\n", err.message);
	return status;
}

static KIT_UNUSED void kit_make_key(const char *name, const char *type, const char *bits)
{
	auto_buf out = BUF_INIT(4096);
	char path[256];
	const char *const argv[] = {
		"/usr/bin/ssh-keygen", "-q", "-t", type, "-b", bits, "-N", "", "-f", path, NULL};

	kit_path(name, "", path);
	CHECK(kit_run(argv, NULL, 0, NULL, 0, &out) == 0);
}

/* Sign TEXT by a key that kit_make_key made; HASH is sha256 or sha512. */
static KIT_UNUSED int kit_sign(const char *name, const char *name_space, const char *hash,
			       const char *text, size_t len, struct buf *out)
{
	char path[256], option[32];
	const char *const argv[] = {"/usr/bin/ssh-keygen",
				    "-q",
				    "-Y",
				    "sign",
				    "-O",
				    option,
				    "-n",
				    name_space,
				    "-f",
				    path,
				    NULL};

	kit_path(name, "", path);
	snprintf(option, sizeof option, "hashalg=%s", hash);
	buf_reset(out);
	return kit_run(argv, NULL, 0, text, len, out) == 0 && out->len > 100;
}

/* Sign TEXT by a security key; the words behind FLAGS are those of sksign. */
struct kit_touch {
	const char *name, *type, *flags, *counter, *hash, *application;
};
static KIT_UNUSED int kit_sk_sign(const struct kit_touch *t, const char *text, size_t len,
				  struct buf *out)
{
	char path[256], program[4200];
	const char *const argv[] = {program,
				    t->type,
				    path,
				    t->flags,
				    SSHSIG_NAMESPACE,
				    t->counter != NULL ? t->counter : "7",
				    t->hash != NULL ? t->hash : "sha512",
				    t->application != NULL ? t->application : "ssh:sbx-approve",
				    NULL};

	kit_path(t->name, "", path);
	snprintf(program, sizeof program, "%s/sksign", kit_beside);
	buf_reset(out);
	return kit_run(argv, NULL, 0, text, len, out) == 0 && out->len > 100;
}

static KIT_UNUSED void kit_write(const char *name, const char *text)
{
	char path[256];
	struct sbx_error err = SBX_ERROR_INIT;

	kit_path(name, "", path);
	auto_fd fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && io_write_all(fd, text, strlen(text), &err) == 0);
}

/* The file NAME: "START TYPE KEYEND", the key that of SIGNER.pub. */
static KIT_UNUSED void kit_write_line(const char *name, const char *start, const char *signer,
				      const char *end)
{
	auto_free char *key = NULL, *line = NULL;
	struct sbx_error err = SBX_ERROR_INIT;
	char path[256], type[64], base64[4096];
	size_t len;

	kit_path(signer, ".pub", path);
	CHECK(io_read_file(AT_FDCWD, path, 65536, 0, &key, &len, &err) == 0);
	CHECK(sscanf(key, "%63s %4095s", type, base64) == 2);
	CHECK(asprintf(&line, "%s%s%s %s%s", start, start[0] != '\0' ? " " : "", type, base64,
		       end) > 0);
	kit_write(name, line);
}

static KIT_UNUSED void kit_trust(const char *start, const char *signer, const char *end)
{
	kit_write_line("signers", start, signer, end);
}

/* Our verdict: the code ("" when it is good); what the signature says of itself is in kit_seen. */
static struct kit_seen {
	char signer[SIGNER_SIZE], key_sha256[DIGEST_HEX_SIZE];
	int security_key, user_present, user_verified;
	uint32_t counter;
	char message[400];
} kit_seen;

static KIT_UNUSED const char *kit_verify_as(const struct buf *armor, const char *text, size_t len,
					    int64_t now, enum sshsig_user user)
{
	static struct sbx_error err;
	auto_sshsig sig = {0};
	char path[256];

	err = (struct sbx_error)SBX_ERROR_INIT;
	kit_path("signers", "", path);
	int done =
		sshsig_verify(path, buf_str(armor), armor->len, text, len, now, user, sshsig_check, &sig, &err);
	if ((done == 0) != (err.class == SBX_OK))
		return "no error for a failure, or one for a success";
	kit_seen = (struct kit_seen){.security_key = sig.security_key,
				     .user_present = sig.user_present,
				     .user_verified = sig.user_verified,
				     .counter = sig.counter};
	memcpy(kit_seen.signer, sig.signer, sizeof sig.signer);
	memcpy(kit_seen.key_sha256, sig.key_sha256, sizeof sig.key_sha256);
	snprintf(kit_seen.message, sizeof kit_seen.message, "%s", err.message);
	return err.code;
}

static KIT_UNUSED const char *kit_verify(const struct buf *armor)
{
	return kit_verify_as(armor, kit_text, kit_text_len, kit_now, SSHSIG_USER_PRESENT);
}

/* ssh-keygen's: 1 when it takes the signature for alice's. REVOKED: a file in the directory, or
 * NULL. */
static KIT_UNUSED int kit_oracle_as(const struct buf *armor, const char *text, size_t len,
				    int64_t now, const char *revoked)
{
	char trust[256], list[256], at[64] = "";
	const char *argv[] = {"/usr/bin/ssh-keygen",
			      "-Y",
			      "verify",
			      "-f",
			      trust,
			      "-I",
			      "alice",
			      "-n",
			      SSHSIG_NAMESPACE,
			      "-s",
			      "/proc/self/fd/3",
			      "-O",
			      at,
			      revoked != NULL ? "-r" : NULL,
			      list,
			      NULL};
	struct sbx_error err = SBX_ERROR_INIT;
	auto_fd sig_fd = io_sealed_memfd("signature", buf_str(armor), armor->len, &err);
	auto_fd null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	const struct spawn_fd fds[] = {{3, sig_fd}, {STDERR_FILENO, null_fd}};
	auto_buf out = BUF_INIT(4096);
	const time_t seconds = (time_t)now;
	struct tm utc;

	kit_path("signers", "", trust);
	kit_path(revoked != NULL ? revoked : "", "", list);
	strftime(at, sizeof at, "verify-time=%Y%m%d%H%M%SZ", gmtime_r(&seconds, &utc));
	return kit_run(argv, fds, ARRAY_LEN(fds), text, len, &out) == 0;
}

static KIT_UNUSED int kit_oracle(const struct buf *armor)
{
	return kit_oracle_as(armor, kit_text, kit_text_len, kit_now, NULL);
}

/* Standard base64, in lines of 70 between HEAD and TAIL when these are not NULL. */
static KIT_UNUSED void kit_base64(const void *bytes, size_t len, size_t width, struct buf *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *in = bytes;
	struct sbx_error err = SBX_ERROR_INIT;
	size_t column = 0;

	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		unsigned v = (unsigned)in[i] << 16 | (left > 1 ? (unsigned)in[i + 1] << 8 : 0) |
			     (left > 2 ? (unsigned)in[i + 2] : 0);
		const char four[] = {digits[v >> 18 & 63], digits[v >> 12 & 63],
				     left > 1 ? digits[v >> 6 & 63] : '=',
				     left > 2 ? digits[v & 63] : '='};
		for (int k = 0; k < 4; k++) {
			if (width > 0 && column++ == width) {
				buf_add_str(out, "\n", &err);
				column = 1;
			}
			buf_add(out, &four[k], 1, &err);
		}
	}
	CHECK(err.class == SBX_OK);
}

static KIT_UNUSED void kit_armor(const void *blob, size_t len, size_t width, struct buf *out)
{
	struct sbx_error err = SBX_ERROR_INIT;

	buf_reset(out);
	buf_add_str(out, "-----BEGIN SSH SIGNATURE-----\n", &err);
	kit_base64(blob, len, width, out);
	buf_add_str(out, "\n-----END SSH SIGNATURE-----\n", &err);
}

/* The parts of a signature, to be put together otherwise. */
struct kit_parts {
	uint32_t version;
	const void *key;
	size_t key_len;
	const char *name_space, *reserved, *hash, *type;
	const void *value;
	size_t value_len;
	unsigned char flags;
	uint32_t counter;
	int security_key;
	const char *behind; /* bytes after the end */
};

static KIT_UNUSED struct kit_parts kit_parts_of(const struct sshsig *sig)
{
	return (struct kit_parts){.version = 1,
				  .key = sig->key_blob,
				  .key_len = sig->key_len,
				  .name_space = SSHSIG_NAMESPACE,
				  .reserved = "",
				  .hash = sig->hash,
				  .type = sig->key.kind == SSHSIG_RSA ? "rsa-sha2-512"
								      : sig->key.type,
				  .value = sig->value,
				  .value_len = sig->value_len,
				  .flags = sig->flags,
				  .counter = sig->counter,
				  .security_key = sig->security_key,
				  .behind = ""};
}

static KIT_UNUSED void kit_build(const struct kit_parts *p, struct buf *armor)
{
	auto_buf inner = BUF_INIT(SSHSIG_MAX), blob = BUF_INIT(SSHSIG_MAX);
	struct sbx_error err = SBX_ERROR_INIT;

	wire_put_str(&inner, p->type, &err);
	wire_put_bytes(&inner, p->value, p->value_len, &err);
	if (p->security_key) {
		buf_add(&inner, &p->flags, 1, &err);
		wire_put_u32(&inner, p->counter, &err);
	}
	buf_add_str(&blob, "SSHSIG", &err);
	wire_put_u32(&blob, p->version, &err);
	wire_put_bytes(&blob, p->key, p->key_len, &err);
	wire_put_str(&blob, p->name_space, &err);
	wire_put_str(&blob, p->reserved, &err);
	wire_put_str(&blob, p->hash, &err);
	wire_put_bytes(&blob, inner.data, inner.len, &err);
	buf_add_str(&blob, p->behind, &err);
	CHECK(err.class == SBX_OK);
	kit_armor(blob.data, blob.len, 70, armor);
}

/* First and last line of main. */
static KIT_UNUSED int kit_begin(const char *program)
{
	snprintf(kit_beside, sizeof kit_beside, "%s", program);
	char *slash = strrchr(kit_beside, '/');
	if (slash == NULL || mkdtemp(kit_dir) == NULL)
		return -1;
	*slash = '\0';
	signal(SIGPIPE, SIG_IGN); /* as start() does: ssh-keygen may not read all of a text */
	return 0;
}

static KIT_UNUSED int kit_end(void)
{
	struct sbx_error err = SBX_ERROR_INIT;

	io_remove_tree(AT_FDCWD, kit_dir, &err);
	return unit_done();
}

#endif
