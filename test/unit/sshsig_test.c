/* sshsig and sshsig_key: what is taken, and by which name the rest is refused. */
#include "sshsig_kit.h"

static void test_key_files(void)
{
	static const struct {
		const char *name, *type, *bits;
	} keys[] = {{"ed", "ed25519", "256"},
		    {"p256", "ecdsa", "256"},
		    {"p384", "ecdsa", "384"},
		    {"p521", "ecdsa", "521"},
		    {"rsa", "rsa", "3072"}};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		auto_buf armor = BUF_INIT(SSHSIG_MAX);
		kit_make_key(keys[i].name, keys[i].type, keys[i].bits);
		CHECK(kit_sign(keys[i].name, SSHSIG_NAMESPACE, "sha512", kit_text, kit_text_len,
			       &armor));
		kit_trust("alice namespaces=\"sbx-approve@v1\"", keys[i].name, "\n");
		CHECK_STR(kit_verify(&armor), "");
		CHECK_STR(kit_seen.signer, "alice");
		CHECK(!kit_seen.security_key && !kit_seen.user_present && !kit_seen.user_verified);
		CHECK_STR(kit_verify_as(&armor, kit_text, kit_text_len - 1, kit_now,
					SSHSIG_USER_PRESENT),
			  "signature_invalid");
		/* A key file cannot say who used it. */
		CHECK_STR(kit_verify_as(&armor, kit_text, kit_text_len, kit_now,
					SSHSIG_USER_VERIFIED),
			  "user_verification_required");
	}
}

static const char *touch(const char *type, const char *flags, enum sshsig_user user)
{
	auto_buf armor = BUF_INIT(SSHSIG_MAX);

	CHECK(kit_sk_sign(&(struct kit_touch){type, type, flags, NULL, NULL, NULL}, kit_text,
			  kit_text_len, &armor));
	kit_trust("bob", type, "\n");
	return kit_verify_as(&armor, kit_text, kit_text_len, kit_now, user);
}

static void test_security_keys(void)
{
	static const char *const types[] = {"ed25519", "ecdsa"};
	static const struct {
		const char *flags, *present, *verified;
	} cases[] = {
		{"1", "", "user_verification_required"},
		{"5", "", ""},
		{"0", "touch_required", "touch_required"},
		{"4", "touch_required", "touch_required"},
		{"3", "signature_flags", "signature_flags"},
		{"9", "signature_flags", "signature_flags"},
		{"17", "signature_flags", "signature_flags"},
		{"69", "signature_flags", "signature_flags"},
		{"133", "signature_flags", "signature_flags"},
	};

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
			printf("# %s, flags %s\n", types[i], cases[k].flags);
			CHECK_STR(touch(types[i], cases[k].flags, SSHSIG_USER_PRESENT),
				  cases[k].present);
			CHECK(kit_seen.security_key);
			CHECK(kit_seen.user_present == (strtol(cases[k].flags, NULL, 10) & 1));
			CHECK_STR(touch(types[i], cases[k].flags, SSHSIG_USER_VERIFIED),
				  cases[k].verified);
		}
}

/* Saying in the armor that there was a touch breaks the signature. */
static void test_flags_are_signed(void)
{
	auto_buf armor = BUF_INIT(SSHSIG_MAX), again = BUF_INIT(SSHSIG_MAX);
	struct sbx_error err = SBX_ERROR_INIT;
	auto_sshsig sig = {0};

	CHECK(kit_sk_sign(&(struct kit_touch){"ed25519", "ed25519", "0", NULL, NULL, NULL},
			  kit_text, kit_text_len, &armor));
	kit_trust("bob", "ed25519", "\n");
	CHECK(sshsig_parse(armor.data, armor.len, &sig, &err) == 0 && sig.flags == 0);
	struct kit_parts parts = kit_parts_of(&sig);
	kit_build(&parts, &again);
	CHECK_STR(kit_verify(&again), "touch_required");
	parts.flags = 1;
	kit_build(&parts, &again);
	CHECK_STR(kit_verify(&again), "signature_invalid");
	CHECK(kit_seen.user_present);
	parts.flags = 0;
	parts.counter++;
	kit_build(&parts, &again);
	CHECK_STR(kit_verify(&again), "signature_invalid");
}

static const char *counter_code(const char *counter, uint32_t last)
{
	static struct sbx_error err;
	auto_buf armor = BUF_INIT(SSHSIG_MAX);
	auto_sshsig sig = {0};
	char path[256];

	err = (struct sbx_error)SBX_ERROR_INIT;
	kit_path("signers", "", path);
	CHECK(kit_sk_sign(&(struct kit_touch){"ed25519", "ed25519", "1", counter, NULL, NULL},
			  kit_text, kit_text_len, &armor));
	CHECK(sshsig_verify(path, armor.data, armor.len, kit_text, kit_text_len, kit_now,
			    SSHSIG_USER_PRESENT, sshsig_check, &sig, &err) == 0);
	CHECK(sig.counter == strtoul(counter, NULL, 10) &&
	      strlen(sig.key_sha256) == DIGEST_HEX_SIZE - 1);
	sshsig_check_counter(&sig, last, &err);
	return err.code;
}

static void test_counter(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	const struct sshsig key_file = {.security_key = 0};

	kit_trust("bob", "ed25519", "\n");
	CHECK_STR(counter_code("7", 0), "");
	CHECK_STR(counter_code("7", 6), "");
	CHECK_STR(counter_code("7", 7), "signature_counter");
	CHECK_STR(counter_code("7", 8), "signature_counter");
	CHECK_STR(counter_code("4294967295", 4294967294), "");
	CHECK_STR(counter_code("0", 0), "");
	CHECK_STR(counter_code("0", 1), "signature_counter");
	CHECK(sshsig_check_counter(&key_file, 9, &err) == 0);
}

static void test_armor(void)
{
	auto_buf armor = BUF_INIT(SSHSIG_MAX), other = BUF_INIT(SSHSIG_MAX);
	struct sbx_error err = SBX_ERROR_INIT;
	auto_sshsig sig = {0};
	size_t accepted = 0;

	kit_trust("alice", "ed", "\n");
	CHECK(kit_sign("ed", "git", "sha512", kit_text, kit_text_len, &other));
	CHECK_STR(kit_verify(&other), "signature_namespace");
	CHECK(kit_sign("ed", "sbx-approve@v2", "sha512", kit_text, kit_text_len, &other));
	CHECK_STR(kit_verify(&other), "signature_namespace");
	CHECK(kit_sign("ed", SSHSIG_NAMESPACE, "sha512", kit_text, kit_text_len, &armor));
	CHECK_STR(kit_verify(&armor), "");
	CHECK(sshsig_parse(armor.data, armor.len, &sig, &err) == 0);
	/* Lines of any one length up to 76. */
	static const struct {
		size_t width;
		const char *code;
	} widths[] = {{1, ""},
		      {70, ""},
		      {76, ""},
		      {77, "signature_malformed"},
		      {0, "signature_malformed"}};
	for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
		kit_armor(sig.blob, sig.blob_len, widths[i].width, &other);
		CHECK_STR(kit_verify(&other), widths[i].code);
	}
	/* Cut anywhere, or with a byte too many. */
	for (size_t len = 0; len < armor.len; len++) {
		auto_sshsig cut = {0};
		struct sbx_error failed = SBX_ERROR_INIT;
		accepted += sshsig_parse(armor.data, len, &cut, &failed) == 0;
	}
	for (size_t len = 0; len < sig.blob_len; len++) {
		auto_sshsig cut = {0};
		struct sbx_error failed = SBX_ERROR_INIT;
		kit_armor(sig.blob, len, 70, &other);
		accepted += sshsig_parse(other.data, other.len, &cut, &failed) == 0;
	}
	CHECK(accepted == 0);
	static const char *const frames[][2] = {
		{"", "x"}, {"", "\n"}, {"\n", ""}, {" ", ""}, {"x\n", ""}};
	for (size_t i = 0; i < ARRAY_LEN(frames); i++) {
		buf_reset(&other);
		CHECK(buf_addf(&other, &err, "%s%s%s", frames[i][0], armor.data, frames[i][1]) ==
		      0);
		CHECK_STR(kit_verify(&other), "signature_malformed");
	}
	/* A character of the body that base64 does not have, and a line that is shorter than the
	 * one behind it. */
	static const char changes[] = {'=', '-', ' ', '\n', '\r', '\t', '\0'};
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		char kept = armor.data[60];
		armor.data[60] = changes[i];
		CHECK_STR(kit_verify(&armor), "signature_malformed");
		armor.data[60] = kept;
	}
	CHECK_STR(kit_verify(&armor), "");
	buf_reset(&other);
	CHECK_STR(kit_verify(&other), "signature_malformed");
}

/* The spelling of keys: the first of each pair is right. */
static void test_keys(void)
{
	static const struct {
		const char *type, *curve; /* "": no such field */
		const char *fields[2];	  /* in hex; NULL: no such field */
		enum sshsig_key_fault fault;
	} keys[] = {
#define ZEROS32 "0000000000000000000000000000000000000000000000000000000000000000"
		{"ssh-ed25519", "", {ZEROS32, NULL}, SSHSIG_KEY_GOOD},
		{"ssh-ed25519", "", {ZEROS32 "00", NULL}, SSHSIG_KEY_MALFORMED},
		{"ssh-ed25519", "", {"00", NULL}, SSHSIG_KEY_MALFORMED},
		{"ssh-ed25519", "", {ZEROS32, ""}, SSHSIG_KEY_MALFORMED},
		{"ssh-ed25519", "", {NULL, NULL}, SSHSIG_KEY_MALFORMED},
		{"sk-ssh-ed25519@openssh.com", "", {ZEROS32, "7373683a"}, SSHSIG_KEY_GOOD},
		{"sk-ssh-ed25519@openssh.com", "", {ZEROS32, "7373683b"}, SSHSIG_KEY_APPLICATION},
		{"sk-ssh-ed25519@openssh.com", "", {ZEROS32, ""}, SSHSIG_KEY_APPLICATION},
		{"sk-ssh-ed25519@openssh.com", "", {ZEROS32, NULL}, SSHSIG_KEY_MALFORMED},
		{"ecdsa-sha2-nistp256", "nistp256", {"04" ZEROS32 ZEROS32, NULL}, SSHSIG_KEY_GOOD},
		{"ecdsa-sha2-nistp256",
		 "nistp384",
		 {"04" ZEROS32 ZEROS32, NULL},
		 SSHSIG_KEY_MALFORMED},
		{"ecdsa-sha2-nistp256",
		 "nistp256",
		 {"06" ZEROS32 ZEROS32, NULL},
		 SSHSIG_KEY_MALFORMED},
		{"ecdsa-sha2-nistp256", "nistp256", {"02" ZEROS32, NULL}, SSHSIG_KEY_MALFORMED},
		{"ecdsa-sha2-nistp256", "nistp256", {"00", NULL}, SSHSIG_KEY_MALFORMED},
		{"ssh-rsa", "", {"010001", "7f" ZEROS32}, SSHSIG_KEY_SHORT},
		{"ssh-rsa", "", {"03", "00ff" ZEROS32}, SSHSIG_KEY_SHORT},
		{"ssh-rsa", "", {"010001", "007f" ZEROS32}, SSHSIG_KEY_MALFORMED},
		{"ssh-rsa", "", {"010001", "ff" ZEROS32}, SSHSIG_KEY_MALFORMED},
		{"ssh-rsa", "", {"010001", ""}, SSHSIG_KEY_MALFORMED},
		{"ssh-rsa", "", {"01", "7f" ZEROS32}, SSHSIG_KEY_MALFORMED},
		{"ssh-rsa", "", {"010000", "7f" ZEROS32}, SSHSIG_KEY_MALFORMED},
		{"ssh-rsa", "", {"00", "7f" ZEROS32}, SSHSIG_KEY_MALFORMED},
		{"ssh-rsa", "", {"010000000000000001", "7f" ZEROS32}, SSHSIG_KEY_MALFORMED},
		{"ssh-dss", "", {ZEROS32, NULL}, SSHSIG_KEY_TYPE},
		{"ssh-ed25519-cert-v01@openssh.com", "", {ZEROS32, NULL}, SSHSIG_KEY_CERTIFICATE},
		{"", "", {ZEROS32, NULL}, SSHSIG_KEY_TYPE},
	};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		auto_buf blob = BUF_INIT(4096);
		struct sbx_error err = SBX_ERROR_INIT;
		struct sshsig_key key;
		unsigned char bytes[256];
		wire_put_str(&blob, keys[i].type, &err);
		if (keys[i].curve[0] != '\0')
			wire_put_str(&blob, keys[i].curve, &err);
		for (int k = 0; k < 2 && keys[i].fields[k] != NULL; k++) {
			size_t len = strlen(keys[i].fields[k]) / 2;
			CHECK(digest_from_hex(keys[i].fields[k], bytes, len) == 0);
			wire_put_bytes(&blob, bytes, len, &err);
		}
		enum sshsig_key_fault fault =
			sshsig_key_read((const unsigned char *)blob.data, blob.len, &key);
		if (fault == SSHSIG_KEY_GOOD)
			fault = sshsig_key_counts(&key);
		printf("# key %zu\n", i);
		CHECK_STR(sshsig_key_fault_text(fault), sshsig_key_fault_text(keys[i].fault));
	}
}

/* Types that no signature here is read with, in a signature that is well-formed otherwise. */
static void test_refused_types(void)
{
	static const struct {
		const char *type, *code;
	} types[] = {
		{"ssh-ed25519", "signer_unknown"},
		{"ssh-dss", "key_type_refused"},
		{"ssh-ed25519-cert-v01@openssh.com", "key_type_refused"},
		{"ssh-ed448", "key_type_refused"},
		{"", "key_type_refused"},
	};
	auto_buf armor = BUF_INIT(SSHSIG_MAX);
	struct sbx_error err = SBX_ERROR_INIT;
	auto_sshsig sig = {0};

	kit_trust("alice", "ed", "\n");
	CHECK(kit_sign("ed", SSHSIG_NAMESPACE, "sha512", kit_text, kit_text_len, &armor));
	CHECK(sshsig_parse(armor.data, armor.len, &sig, &err) == 0);
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		auto_buf key = BUF_INIT(256);
		struct kit_parts parts = kit_parts_of(&sig);
		wire_put_str(&key, types[i].type, &err);
		wire_put_bytes(&key, "another key of the length of one", 32, &err);
		parts.key = key.data;
		parts.key_len = key.len;
		kit_build(&parts, &armor);
		CHECK_STR(kit_verify(&armor), types[i].code);
	}
	CHECK(err.class == SBX_OK);
}

int main(int argc, char **argv)
{
	if (argc != 1 || kit_begin(argv[0]) < 0)
		return 1;
	test_key_files();
	test_security_keys();
	test_flags_are_signed();
	test_counter();
	test_armor();
	test_keys();
	test_refused_types();
	return kit_end();
}
