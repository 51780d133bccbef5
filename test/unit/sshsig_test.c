/* sshsig and signers: against real ssh-keygen, and a security key in software (sksign, beside this program). */
#include "sshsig.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "clock.h"
#include "io.h"
#include "spawn.h"
#include "unit.h"

static char dir[] = "/tmp/sbx-sshsig-XXXXXX";
static char beside[4096];
static const char text[] = "what is approved\n";
static const size_t text_len = sizeof text - 1;
static const int64_t now = 1796000000; /* 2026-11-30 */

static char *at(const char *name)
{
	char *path = NULL;

	return asprintf(&path, "%s/%s", dir, name) > 0 ? path : NULL;
}

static int run(const char *const *argv, const char *input, size_t len, struct buf *out)
{
	const struct spawn what = {.path = argv[0], .argv = argv};
	struct sbx_error err = SBX_ERROR_INIT;
	int status = -1;

	if (spawn_capture(&what, input, len, out, clock_mono_ms() + 30000, &status, &err) < 0)
		printf("# %s\n", err.message);
	return status;
}

static void make_key(const char *name, const char *type, const char *bits)
{
	auto_free char *path = at(name);
	auto_buf out = BUF_INIT(4096);
	const char *const argv[] = {"/usr/bin/ssh-keygen", "-q", "-t", type, "-b", bits, "-N", "", "-f", path, NULL};

	CHECK(run(argv, NULL, 0, &out) == 0);
}

static void sign(const char *name, const char *name_space, struct buf *out)
{
	auto_free char *path = at(name);
	const char *const argv[] = {"/usr/bin/ssh-keygen", "-q", "-Y", "sign", "-n", name_space, "-f", path, NULL};

	buf_reset(out);
	CHECK(run(argv, text, text_len, out) == 0 && out->len > 100);
}

static void sk_sign(const char *name, const char *type, const char *flags, struct buf *out)
{
	auto_free char *path = at(name), *program = NULL;

	buf_reset(out);
	CHECK(asprintf(&program, "%s/sksign", beside) > 0);
	const char *const argv[] = {program, type, path, flags, SSHSIG_NAMESPACE, NULL};
	CHECK(run(argv, text, text_len, out) == 0 && out->len > 100);
}

static void trust(const char *line_start, const char *name, const char *line_end)
{
	auto_free char *public_name = NULL, *key = NULL, *line = NULL;
	struct sbx_error err = SBX_ERROR_INIT;
	size_t len;

	CHECK(asprintf(&public_name, "%s/%s.pub", dir, name) > 0);
	CHECK(io_read_file(AT_FDCWD, public_name, 65536, 0, &key, &len, &err) == 0);
	key[strcspn(key, "\n")] = '\0';
	CHECK(asprintf(&line, "%s %s%s", line_start, key, line_end) > 0);
	auto_fd fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(io_replace_file(fd, "signers", line, strlen(line), &err) == 0);
}

/* Verify and say the code ("" when it is good), the signer and what the signature says of itself. */
static char signer[SIGNER_SIZE];
static int by_security_key, touched;
static const char *verify(const char *armor, size_t len, const char *what, size_t what_len)
{
	static struct sbx_error err;
	auto_sshsig sig = {0};
	auto_free char *signers = at("signers");

	err = (struct sbx_error)SBX_ERROR_INIT;
	signer[0] = '\0';
	sshsig_verify(signers, armor, len, what, what_len, now, signer, &sig, &err);
	by_security_key = sig.security_key;
	touched = sig.user_present;
	return err.code;
}

static void test_key_types(void)
{
	static const struct {
		const char *name, *type, *bits;
	} keys[] = {{"ed", "ed25519", "256"},
		    {"p256", "ecdsa", "256"},
		    {"p384", "ecdsa", "384"},
		    {"p521", "ecdsa", "521"},
		    {"rsa", "rsa", "2048"}};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		auto_buf armor = BUF_INIT(SSHSIG_MAX);
		make_key(keys[i].name, keys[i].type, keys[i].bits);
		sign(keys[i].name, SSHSIG_NAMESPACE, &armor);
		trust("alice namespaces=\"sbx-approve@v1\"", keys[i].name, "\n");
		CHECK_STR(verify(armor.data, armor.len, text, text_len), "");
		CHECK_STR(signer, "alice");
		CHECK(!by_security_key && !touched);
		CHECK_STR(verify(armor.data, armor.len, text, text_len - 1), "signature_invalid");
		CHECK_STR(verify(armor.data, armor.len, "What is approved\n", text_len), "signature_invalid");
	}
}

static void test_security_keys(void)
{
	static const char *const types[] = {"ed25519", "ecdsa"};

	for (size_t i = 0; i < 2; i++) {
		auto_buf armor = BUF_INIT(SSHSIG_MAX);
		sk_sign(types[i], types[i], "1", &armor);
		trust("bob", types[i], "\n");
		CHECK_STR(verify(armor.data, armor.len, text, text_len), "");
		CHECK(by_security_key && touched);
		CHECK_STR(verify(armor.data, armor.len, text, text_len - 1), "signature_invalid");
		sk_sign(types[i], types[i], "5", &armor);
		CHECK_STR(verify(armor.data, armor.len, text, text_len), "");
		CHECK(by_security_key && touched);
		/* ssh-keygen takes a signature without a touch: the flag is ours to look at. */
		sk_sign(types[i], types[i], "0", &armor);
		CHECK_STR(verify(armor.data, armor.len, text, text_len), "");
		CHECK(by_security_key && !touched);
	}
}

/* Setting the touch flag in the armor breaks the signature. */
static void test_flag_is_signed(void)
{
	auto_buf armor = BUF_INIT(SSHSIG_MAX);
	struct sbx_error err = SBX_ERROR_INIT;
	auto_sshsig sig = {0};

	sk_sign("ed25519", "ed25519", "0", &armor);
	trust("bob", "ed25519", "\n");
	CHECK(sshsig_parse(armor.data, armor.len, &sig, &err) == 0 && sig.blob[sig.blob_len - 5] == 0);
	sig.blob[sig.blob_len - 5] = 1;
	auto_buf forged = BUF_INIT(SSHSIG_MAX);
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	buf_add_str(&forged, "-----BEGIN SSH SIGNATURE-----\n", &err);
	for (size_t i = 0; i < sig.blob_len; i += 3) {
		unsigned char three[3] = {0};
		size_t left = sig.blob_len - i < 3 ? sig.blob_len - i : 3;
		memcpy(three, sig.blob + i, left);
		char four[5] = {digits[three[0] >> 2], digits[(three[0] & 3) << 4 | three[1] >> 4],
				left > 1 ? digits[(three[1] & 15) << 2 | three[2] >> 6] : '=',
				left > 2 ? digits[three[2] & 63] : '=', 0};
		buf_add_str(&forged, four, &err);
	}
	buf_add_str(&forged, "\n-----END SSH SIGNATURE-----\n", &err);
	CHECK_STR(verify(forged.data, forged.len, text, text_len), "signature_invalid");
	CHECK(touched);
}

static void test_armor(void)
{
	auto_buf armor = BUF_INIT(SSHSIG_MAX), other = BUF_INIT(SSHSIG_MAX);
	struct sbx_error err = SBX_ERROR_INIT;
	size_t accepted = 0;

	trust("alice", "ed", "\n");
	sign("ed", "git", &other);
	CHECK_STR(verify(other.data, other.len, text, text_len), "signature_namespace");
	sign("ed", "sbx-approve@v2", &other);
	CHECK_STR(verify(other.data, other.len, text, text_len), "signature_namespace");
	sign("ed", SSHSIG_NAMESPACE, &armor);
	CHECK_STR(verify(armor.data, armor.len, text, text_len), "");
	CHECK_STR(verify("", 0, text, text_len), "signature_malformed");
	CHECK_STR(verify(text, text_len, text, text_len), "signature_malformed");
	/* Cut anywhere, or with a byte too many. */
	for (size_t len = 0; len < armor.len; len++) {
		auto_sshsig sig = {0};
		struct sbx_error cut = SBX_ERROR_INIT;
		accepted += sshsig_parse(armor.data, len, &sig, &cut) == 0;
	}
	CHECK(accepted == 0);
	buf_reset(&other);
	CHECK(buf_add(&other, armor.data, armor.len, &err) == 0 && buf_add_str(&other, "x", &err) == 0);
	CHECK_STR(verify(other.data, other.len, text, text_len), "signature_malformed");
	/* Every single character of the armor changed: never accepted as good, and parsed without harm. */
	for (size_t i = 0; i < armor.len; i++) {
		auto_sshsig sig = {0};
		struct sbx_error changed = SBX_ERROR_INIT;
		char kept = armor.data[i];
		armor.data[i] = kept == 'A' ? 'B' : 'A';
		sshsig_parse(armor.data, armor.len, &sig, &changed);
		armor.data[i] = kept;
	}
	armor.data[60] = armor.data[60] == 'A' ? 'B' : 'A';
	CHECK(verify(armor.data, armor.len, text, text_len)[0] != '\0');
}

static void test_trust_file(void)
{
	static const struct {
		const char *start, *end, *code;
	} lines[] = {
		{"alice", "\n", ""},
		{"alice", "", ""},
		{"# a comment\n\n  \nalice", " a comment\n", ""},
		{"alice,carol", "\n", ""},
		{"alice namespaces=\"git,sbx-approve@v1\"", "\n", ""},
		{"alice namespaces=\"git\"", "\n", "signer_not_valid"},
		{"alice namespaces=\"sbx-approve@v1x\"", "\n", "signer_not_valid"},
		{"alice valid-after=\"20200101Z\"", "\n", ""},
		{"alice valid-after=\"202001010000Z\",valid-before=\"20300101000000Z\"", "\n", ""},
		{"alice valid-before=\"20200101Z\"", "\n", "signer_not_valid"},
		{"alice valid-after=\"20300101Z\"", "\n", "signer_not_valid"},
		{"alice valid-after=\"20200101\"", "\n", "signers_invalid"},
		{"alice valid-after=20200101Z", "\n", "signers_invalid"},
		{"alice valid-after=\"2020Z\"", "\n", "signers_invalid"},
		{"alice valid-after=\"20209901Z\"", "\n", "signers_invalid"},
		{"alice cert-authority", "\n", "signers_invalid"},
		{"alice verify-required", "\n", "signers_invalid"},
		{"alice namespaces=\"*\"", "\n", "signers_invalid"},
		{"alice namespaces=\"sbx-approve@v1", "\n", "signers_invalid"},
		{"alice namespaces=\"\"", "\n", "signers_invalid"},
		{"alice namespaces=\"git\",namespaces=\"sbx-approve@v1\"", "\n", "signers_invalid"},
		{"alice namespaces=\"git\"x", "\n", "signers_invalid"},
		{"al*ce", "\n", "signers_invalid"},
		{"!alice,*", "\n", "signers_invalid"},
		{"alice,", "\n", "signers_invalid"},
		{"\"alice\"", "\n", "signers_invalid"},
		{"bob ssh-dss AAAA\nalice", "\n", "signers_invalid"},
		{"bob\nalice", "\n", "signers_invalid"},
		{"bob ssh-ed25519 AAA\nalice", "\n", "signers_invalid"},
		/* Lines behind the right one are checked too: a file is trusted whole or not at all. */
		{"alice", "\nbob something\n", "signers_invalid"},
		{"alice\nssh-ed25519 AAAAC3NzaC1lZDI1NTE5\nalice", "\n", "signers_invalid"},
	};
	auto_buf armor = BUF_INIT(SSHSIG_MAX);
	auto_free char *signers = at("signers");

	sign("ed", SSHSIG_NAMESPACE, &armor);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		trust(lines[i].start, "ed", lines[i].end);
		printf("# trust file %zu\n", i);
		CHECK_STR(verify(armor.data, armor.len, text, text_len), lines[i].code);
		if (lines[i].code[0] == '\0')
			CHECK_STR(signer, "alice");
	}
	trust("alice", "p256", "\n");
	CHECK_STR(verify(armor.data, armor.len, text, text_len), "signer_unknown");
	trust("alice", "ed", "\n");
	CHECK(chmod(signers, 0620) == 0);
	CHECK_STR(verify(armor.data, armor.len, text, text_len), "unsafe_file");
	CHECK(chmod(signers, 0644) == 0);
	CHECK_STR(verify(armor.data, armor.len, text, text_len), "");
	CHECK(unlink(signers) == 0);
	CHECK_STR(verify(armor.data, armor.len, text, text_len), "missing_file");
	CHECK(symlink("ed.pub", signers) == 0);
	CHECK(verify(armor.data, armor.len, text, text_len)[0] != '\0');
	CHECK(unlink(signers) == 0);
}

static void test_base64(void)
{
	unsigned char *out;
	size_t len;

	CHECK(signers_base64("AAEC", 4, &out, &len) == 0 && len == 3 && memcmp(out, "\0\1\2", 3) == 0);
	free(out);
	CHECK(signers_base64("AAE=", 4, &out, &len) == 0 && len == 2);
	free(out);
	CHECK(signers_base64("AA==", 4, &out, &len) == 0 && len == 1);
	free(out);
	CHECK(signers_base64("AAF=", 4, &out, &len) < 0);
	CHECK(signers_base64("AB==", 4, &out, &len) < 0);
	CHECK(signers_base64("A===", 4, &out, &len) < 0);
	CHECK(signers_base64("====", 4, &out, &len) < 0);
	CHECK(signers_base64("AA=A", 4, &out, &len) < 0);
	CHECK(signers_base64("AAE", 3, &out, &len) < 0);
	CHECK(signers_base64("AA E", 4, &out, &len) < 0);
	CHECK(signers_base64("", 0, &out, &len) < 0);
}

int main(int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;

	(void)argc;
	snprintf(beside, sizeof beside, "%s", argv[0]);
	char *slash = strrchr(beside, '/');
	if (slash == NULL || mkdtemp(dir) == NULL)
		return 1;
	*slash = '\0';
	test_key_types();
	test_security_keys();
	test_flag_is_signed();
	test_armor();
	test_trust_file();
	test_base64();
	io_remove_tree(AT_FDCWD, dir, &err);
	return unit_done();
}
