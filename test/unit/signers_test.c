/* signers: the trust file and the revoked keys, line by line; what is read is a part of what
 * ssh-keygen reads, with the same meaning. */
#include "sshsig_kit.h"

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
		{"bob ssh-ed25519\nalice", "\n", "signers_invalid"},
		{"bob ssh-ed25519-cert-v01@openssh.com AAAA\nalice", "\n", "signers_invalid"},
		/* Lines behind the right one are checked too: a file is trusted whole or not at
		   all. */
		{"alice", "\nbob something\n", "signers_invalid"},
		{"alice\nssh-ed25519 AAAAC3NzaC1lZDI1NTE5\nalice", "\n", "signers_invalid"},
	};
	auto_buf armor = BUF_INIT(SSHSIG_MAX);
	char path[256];

	CHECK(kit_sign("ed", SSHSIG_NAMESPACE, "sha512", kit_text, kit_text_len, &armor));
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		kit_trust(lines[i].start, "ed", lines[i].end);
		printf("# trust file %zu\n", i);
		CHECK_STR(kit_verify(&armor), lines[i].code);
		if (lines[i].code[0] == '\0')
			CHECK_STR(kit_seen.signer, "alice");
		if (strcmp(lines[i].code, "signers_invalid") != 0)
			CHECK(kit_oracle(&armor) == (lines[i].code[0] == '\0'));
	}
	kit_trust("alice", "ed", "\n\nbob cert-authority ssh-ed25519 AAAA\n");
	kit_verify(&armor);
	CHECK(strstr(kit_seen.message, "line 3 of the allowed signers: option cert-authority ") ==
	      kit_seen.message);
	kit_trust("alice", "p256", "\n");
	CHECK_STR(kit_verify(&armor), "signer_unknown");
	CHECK_STR(kit_seen.signer, "");
	kit_path("signers", "", path);
	kit_trust("alice", "ed", "\n");
	CHECK(chmod(path, 0620) == 0);
	CHECK_STR(kit_verify(&armor), "unsafe_file");
	CHECK(chmod(path, 0644) == 0);
	CHECK_STR(kit_verify(&armor), "");
	CHECK(unlink(path) == 0);
	CHECK_STR(kit_verify(&armor), "missing_file");
	CHECK(symlink("ed.pub", path) == 0);
	CHECK_STR(kit_verify(&armor), "unreadable_file");
	CHECK(unlink(path) == 0);
}

/* 20261130005320Z is kit_now. An end is the first second that is too late; ssh-keygen gives that
 * one more. */
static void test_times(void)
{
	static const struct {
		const char *option;
		int late; /* seconds after kit_now */
		const char *code;
		int taken;
	} cases[] = {
		{"valid-after=\"20261130005320Z\"", -1, "signer_not_valid", 0},
		{"valid-after=\"20261130005320Z\"", 0, "", 1},
		{"valid-before=\"20261130005320Z\"", -1, "", 1},
		{"valid-before=\"20261130005320Z\"", 0, "signer_not_valid", 1},
		{"valid-before=\"20261130005320Z\"", 1, "signer_not_valid", 0},
	};
	auto_buf armor = BUF_INIT(SSHSIG_MAX);
	char start[128];

	CHECK(kit_sign("ed", SSHSIG_NAMESPACE, "sha512", kit_text, kit_text_len, &armor));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(start, sizeof start, "alice %s", cases[i].option);
		kit_trust(start, "ed", "\n");
		printf("# time %zu\n", i);
		CHECK_STR(kit_verify_as(&armor, kit_text, kit_text_len, kit_now + cases[i].late,
					SSHSIG_USER_PRESENT),
			  cases[i].code);
		CHECK(kit_oracle_as(&armor, kit_text, kit_text_len, kit_now + cases[i].late,
				    NULL) == cases[i].taken);
	}
}

/* Lines of the file beside the trust file; ssh-keygen gets it with -r. */
static void test_revoked(void)
{
	static const struct {
		const char *start, *key, *end, *code;
	} files[] = {
		{"", "ed", "\n", "signer_revoked"},
		{"", "ed", "", "signer_revoked"},
		{"", "ed", " lost in a train\n", "signer_revoked"},
		{"# lost\n\n", "ed", "\n", "signer_revoked"},
		{"", "p256", "\n", ""},
		{"# ssh-ed25519", "p256", "\n", ""},
		{"alice", "ed", "\n", "revoked_invalid"},
		{"ssh-ed25519 AAAA\n", "ed", "\n", "revoked_invalid"},
		{"", "p256", "\nssh-dss AAAA\n", "revoked_invalid"},
		{"", "ed", "\nsomething\n", "revoked_invalid"},
	};
	auto_buf armor = BUF_INIT(SSHSIG_MAX);
	char path[256];

	kit_trust("alice", "ed", "\n");
	CHECK(kit_sign("ed", SSHSIG_NAMESPACE, "sha512", kit_text, kit_text_len, &armor));
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		kit_write_line("signers" SIGNERS_REVOKED_SUFFIX, files[i].start, files[i].key,
			       files[i].end);
		printf("# revoked keys %zu\n", i);
		CHECK_STR(kit_verify(&armor), files[i].code);
		if (strcmp(files[i].code, "revoked_invalid") != 0)
			CHECK(kit_oracle_as(&armor, kit_text, kit_text_len, kit_now,
					    "signers" SIGNERS_REVOKED_SUFFIX) ==
			      (files[i].code[0] == '\0'));
	}
	/* Also a key that no line trusts any more, and one of a kind that could not sign here. */
	kit_trust("alice", "p256", "\n");
	kit_write_line("signers" SIGNERS_REVOKED_SUFFIX, "", "ed", "\n");
	CHECK_STR(kit_verify(&armor), "signer_revoked");
	kit_make_key("rsa2048", "rsa", "2048");
	kit_trust("alice", "ed", "\n");
	kit_write_line("signers" SIGNERS_REVOKED_SUFFIX, "", "rsa2048", "\n");
	CHECK_STR(kit_verify(&armor), "");
	kit_write("signers" SIGNERS_REVOKED_SUFFIX, "");
	CHECK_STR(kit_verify(&armor), "");
	kit_path("signers" SIGNERS_REVOKED_SUFFIX, "", path);
	CHECK(chmod(path, 0622) == 0);
	CHECK_STR(kit_verify(&armor), "unsafe_file");
	CHECK(unlink(path) == 0 && symlink("/nonexistent", path) == 0);
	CHECK_STR(kit_verify(&armor), "unreadable_file");
	CHECK(unlink(path) == 0);
	CHECK_STR(kit_verify(&armor), "");
}

static void test_names(void)
{
	static const struct {
		const char *text;
		size_t len;
		int is_name;
	} cases[] = {
		{"a", 1, 1},
		{"alice@example.org", 17, 1},
		{"-_.+9Z", 6, 1},
		{"a b", 1, 1}, /* the rest is not looked at */
		{"0123456789012345678901234567890123456789012345678901234567890123", 64, 1},
		{"01234567890123456789012345678901234567890123456789012345678901234", 65, 0},
		{"", 0, 0},
		{"a,b", 3, 0},
		{"a b", 3, 0},
		{"a*", 2, 0},
		{"!a", 2, 0},
		{"\"a\"", 3, 0},
		{"a\0b", 3, 0},
		{"\xc3\xa4", 2, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		printf("# name %zu\n", i);
		CHECK(signers_is_name(cases[i].text, cases[i].len) == cases[i].is_name);
	}
}

int main(int argc, char **argv)
{
	if (argc != 1 || kit_begin(argv[0]) < 0)
		return 1;
	kit_make_key("ed", "ed25519", "256");
	kit_make_key("p256", "ecdsa", "256");
	test_trust_file();
	test_names();
	test_times();
	test_revoked();
	return kit_end();
}
