/* sshsig against ssh-keygen: the same verdict on the same bytes, but for the cases that sshsig.h
 * names, each of which is shown here.
 *
 *   sshsig_oracle_test        every kind of key and every kind of case; what ssh-keygen says of
 *                             changed bytes is recorded
 *   sshsig_oracle_test all    every hash, text and key with every case, and ssh-keygen asked for
 *                             each changed byte: some 900 starts of it */
#include "sshsig_kit.h"
#include "sshsig_recorded.h"

enum depth { DEPTH_SHORT, DEPTH_ALL };

/* How signatures are made by each kind of key that counts. */
static const struct maker {
	const char *name, *type, *bits; /* bits NULL: a security key in software */
} makers[] = {
	{"ed", "ed25519", "256"},   {"p256", "ecdsa", "256"}, {"p384", "ecdsa", "384"},
	{"p521", "ecdsa", "521"},   {"rsa", "rsa", "3072"},   {"sk-ed", "ed25519", NULL},
	{"sk-p256", "ecdsa", NULL},
};

static int make(const struct maker *m, const char *hash, const char *text, size_t len,
		struct buf *armor)
{
	const struct kit_touch touch = {m->name, m->type, "1", NULL, hash, NULL};

	return m->bits != NULL ? kit_sign(m->name, SSHSIG_NAMESPACE, hash, text, len, armor)
			       : kit_sk_sign(&touch, text, len, armor);
}

/* Both verdicts on ARMOR; 1 when ours is CODE and ssh-keygen's is TAKEN. */
static int both(const struct buf *armor, const char *text, size_t len, const char *code, int taken)
{
	const char *ours = kit_verify_as(armor, text, len, kit_now, SSHSIG_USER_PRESENT);
	int theirs = kit_oracle_as(armor, text, len, kit_now, NULL);

	if (strcmp(ours, code) == 0 && theirs == taken)
		return 1;
	printf("# ours: \"%s\", ssh-keygen takes it: %d\n", ours, theirs);
	return 0;
}

static void test_agreement(enum depth depth)
{
	static const char *const hashes[] = {"sha256", "sha512"};
	static char large[100000];
	static const struct {
		const char *text;
		size_t len;
	} texts[] = {{"", 0},
		     {"x", 1},
		     {"\n", 1},
		     {"a\0b", 3},
		     {"\xff\xfe\r\n", 4},
		     {large, sizeof large}};

	/* Short: the first and the last text, by one hash for each key. */
	const size_t texts_step = depth == DEPTH_ALL ? 1 : ARRAY_LEN(texts) - 1;
	const size_t hashes_step = depth == DEPTH_ALL ? 1 : ARRAY_LEN(hashes);

	memset(large, 'z', sizeof large);
	for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
		const struct maker *m = &makers[i], *other = &makers[(i + 1) % ARRAY_LEN(makers)];
		auto_buf armor = BUF_INIT(SSHSIG_MAX);
		int good = 0, cases = 0;
		kit_trust("alice", m->name, "\n");
		for (size_t h = hashes_step == 1 ? 0 : i % ARRAY_LEN(hashes);
		     h < ARRAY_LEN(hashes); h += hashes_step)
			for (size_t t = 0; t < ARRAY_LEN(texts); t += texts_step, cases++)
				good += make(m, hashes[h], texts[t].text, texts[t].len, &armor) &&
					both(&armor, texts[t].text, texts[t].len, "", 1) &&
					(t > 0 || both(&armor, "y", 1, "signature_invalid", 0));
		printf("# %s: %d of %d\n", m->name, good, cases);
		CHECK(good == cases);
		/* The last of them, by a key that is not trusted; for a person that is another one.
		 */
		kit_trust("alice", other->name, "\n");
		CHECK(both(&armor, large, sizeof large, "signer_unknown", 0));
		kit_trust("alice", m->name, "\n");
		CHECK(both(&armor, large, sizeof large, "", 1));
	}
}

/* Read a good signature of MAKER over kit_text, to be changed. */
static void take_apart(size_t maker, struct sshsig *sig)
{
	auto_buf armor = BUF_INIT(SSHSIG_MAX);
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK(make(&makers[maker], "sha512", kit_text, kit_text_len, &armor));
	kit_trust("alice", makers[maker].name, "\n");
	CHECK(both(&armor, kit_text, kit_text_len, "", 1));
	CHECK(sshsig_parse(armor.data, armor.len, sig, &err) == 0);
}

/* Every byte of the blob changed in turn: refused by both, but for the version, which ssh-keygen
 * lets be 0. */
static void test_flipped_bytes(const struct recorded *r, enum depth depth)
{
	static const size_t version_end = sizeof "SSHSIG" - 1 + 3;
	auto_buf armor = BUF_INIT(SSHSIG_MAX), line = BUF_INIT(4096);
	struct sbx_error err = SBX_ERROR_INIT;
	auto_sshsig sig = {0};
	int ours = 0, theirs = 0, differ = 0, outdated = 0;

	CHECK(buf_addf(&line, &err, "alice %s\n", r->key) == 0);
	kit_write("signers", buf_str(&line));
	CHECK(sshsig_parse(r->armor, strlen(r->armor), &sig, &err) == 0);
	CHECK(strlen(r->taken) == sig.blob_len);
	for (size_t i = 0; i < sig.blob_len; i++) {
		sig.blob[i] ^= 1;
		kit_armor(sig.blob, sig.blob_len, 70, &armor);
		int we = kit_verify(&armor)[0] == '\0', they = r->taken[i] == '1';
		if (depth == DEPTH_ALL)
			outdated += kit_oracle(&armor) != they;
		ours += we;
		theirs += they;
		differ += we != they && i != version_end;
		sig.blob[i] ^= 1 ^ 0x80;
		kit_armor(sig.blob, sig.blob_len, 70, &armor);
		ours += kit_verify(&armor)[0] == '\0';
		sig.blob[i] ^= 0x80;
	}
	printf("# %s: %zu bytes\n", sig.key.type, sig.blob_len);
	CHECK(ours == 0 && theirs == 1 && differ == 0);
	if (depth == DEPTH_ALL)
		CHECK(outdated == 0);
	kit_armor(sig.blob, sig.blob_len, 70, &armor);
	CHECK(both(&armor, kit_text, kit_text_len, "", 1));
}

/* The parts of a signature of MAKER put together otherwise. Taken by ssh-keygen or not, never by
 * us. */
static void test_parts(size_t maker)
{
	auto_buf armor = BUF_INIT(SSHSIG_MAX);
	auto_sshsig sig = {0}, other = {0};

	take_apart((maker + 1) % ARRAY_LEN(makers), &other);
	take_apart(maker, &sig);
	const struct kit_parts good = kit_parts_of(&sig);
	struct {
		struct kit_parts p;
		const char *code;
		int taken;
	} cases[] = {
		{good, "", 1},
		{good, "signature_malformed", 1}, /* version 0 */
		{good, "signature_malformed", 0}, /* version 2 */
		{good, "signature_malformed", 1}, /* something in the reserved field */
		{good, "signature_namespace", 0}, /* another namespace */
		{good, "signature_namespace", 0}, /* a longer one */
		{good, "signature_invalid", 0},	  /* the other hash */
		{good, "signature_malformed", 0}, /* a hash that is none */
		{good, "signature_malformed", 0}, /* a byte behind it */
		{good, "signature_malformed", 0}, /* the signature of another type */
		{good, "signer_unknown", 0},	  /* the key of another */
		{good, "signature_malformed", 0}, /* a byte too few */
		{good, "signature_malformed", 0}, /* nothing */
	};
	cases[1].p.version = 0;
	cases[2].p.version = 2;
	cases[3].p.reserved = "x";
	cases[4].p.name_space = "file";
	cases[5].p.name_space = SSHSIG_NAMESPACE "x";
	cases[6].p.hash = "sha256";
	cases[7].p.hash = "sha1";
	cases[8].p.behind = "x";
	cases[9].p.type = other.key.type;
	cases[10].p.key = other.key_blob;
	cases[10].p.key_len = other.key_len;
	cases[10].p.type = good.type;
	cases[11].p.value_len--;
	cases[12].p.value_len = 0;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		/* Under another key the signature has the wrong form before anybody asks whose key
		 * it is. */
		int malformed = i == 10 && strcmp(kit_parts_of(&other).type, good.type) != 0;
		kit_build(&cases[i].p, &armor);
		printf("# %s, change %zu\n", makers[maker].name, i);
		CHECK(both(&armor, kit_text, kit_text_len,
			   malformed ? "signature_malformed" : cases[i].code, cases[i].taken));
	}
}

/* r and s as they may not be; ssh-keygen reads over a zero byte in front. */
static void test_numbers(void)
{
	static const char order[] =
		"00ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
	static const struct {
		const char *hex; /* of r */
		const char *code;
	} numbers[] = {
		{"", "signature_malformed"},
		{"00", "signature_malformed"},
		{"0001", "signature_malformed"},
		{"01", "signature_invalid"},
		{"ff", "signature_malformed"},
		{order, "signature_invalid"},
		{"7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		 "signature_malformed"},
	};
	static const size_t with_ecdsa[] = {1, 6};
	auto_buf armor = BUF_INIT(SSHSIG_MAX);
	struct sbx_error err = SBX_ERROR_INIT;

	for (size_t m = 0; m < ARRAY_LEN(with_ecdsa); m++) {
		auto_sshsig sig = {0};
		const unsigned char *r, *s;
		size_t r_len, s_len;
		take_apart(with_ecdsa[m], &sig);
		struct kit_parts parts = kit_parts_of(&sig);
		struct wire w = {sig.value, sig.value_len};
		CHECK(wire_get_bytes(&w, 64, &r, &r_len, &err) == 0 &&
		      wire_get_bytes(&w, 64, &s, &s_len, &err) == 0);
		for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
			unsigned char bytes[64];
			auto_buf value = BUF_INIT(256);
			size_t len = strlen(numbers[i].hex) / 2;
			CHECK(digest_from_hex(numbers[i].hex, bytes, len) == 0);
			wire_put_bytes(&value, bytes, len, &err);
			wire_put_bytes(&value, s, s_len, &err);
			parts.value = value.data;
			parts.value_len = value.len;
			kit_build(&parts, &armor);
			printf("# r is %s\n", numbers[i].hex);
			CHECK(both(&armor, kit_text, kit_text_len, numbers[i].code, 0));
		}
		/* The right number with a zero byte more. */
		auto_buf padded = BUF_INIT(64), value = BUF_INIT(256);
		buf_add(&padded, "", 1, &err);
		buf_add(&padded, r, r_len, &err);
		wire_put_bytes(&value, padded.data, padded.len, &err);
		wire_put_bytes(&value, s, s_len, &err);
		parts.value = value.data;
		parts.value_len = value.len;
		kit_build(&parts, &armor);
		CHECK_STR(kit_verify(&armor), "signature_malformed");
		printf("# ssh-keygen takes a number with a zero byte too many: %d\n",
		       kit_oracle(&armor));
	}
	CHECK(err.class == SBX_OK);
}

/* A point that is not on its curve, trusted all the same. */
static void test_point(void)
{
	auto_buf armor = BUF_INIT(SSHSIG_MAX), line = BUF_INIT(4096), base64 = BUF_INIT(4096);
	struct sbx_error err = SBX_ERROR_INIT;
	auto_sshsig sig = {0};

	take_apart(1, &sig);
	sig.blob[sig.key.point + sig.key.point_len - 1 - sig.blob] ^= 1;
	kit_base64(sig.key_blob, sig.key_len, 0, &base64);
	buf_addf(&line, &err, "alice ecdsa-sha2-nistp256 %s\n", base64.data);
	kit_write("signers", line.data);
	kit_armor(sig.blob, sig.blob_len, 70, &armor);
	CHECK(both(&armor, kit_text, kit_text_len, "signature_invalid", 0));
}

/* s + L is the same number to Ed25519's equation; RFC 8032 wants s below L. */
static void test_malleable(void)
{
	static const char order[] =
		"edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010"; /* L,
										       little-endian
										     */
	auto_buf armor = BUF_INIT(SSHSIG_MAX);
	unsigned char l[32];
	auto_sshsig sig = {0};
	unsigned carry = 0;

	take_apart(0, &sig);
	CHECK(digest_from_hex(order, l, sizeof l) == 0);
	unsigned char *s = sig.blob + (sig.value - sig.blob) + 32;
	for (size_t i = 0; i < sizeof l; i++) {
		carry += (unsigned)s[i] + l[i];
		s[i] = (unsigned char)carry;
		carry >>= 8;
	}
	kit_armor(sig.blob, sig.blob_len, 70, &armor);
	CHECK_STR(kit_verify(&armor), "signature_invalid");
	printf("# ssh-keygen takes s + L: %d\n", kit_oracle(&armor));
}

/* What ssh-keygen takes of a security key, and we do not; each with what we take. */
static void test_stricter_security_keys(void)
{
	static const char *const types[] = {"ed25519", "ecdsa"};
	static const struct {
		const char *flags, *application, *code;
	} cases[] = {
		{"0", NULL, "touch_required"},
		{"1", NULL, ""},
		{"5", NULL, ""},
		{"65", NULL, "signature_flags"},
		{"1", "ssh:other", ""},
		{"1", "sbx.example", "key_application"},
	};
	auto_buf armor = BUF_INIT(SSHSIG_MAX);

	for (size_t t = 0; t < ARRAY_LEN(types); t++)
		for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
			const struct kit_touch touch = {"strict", types[t], cases[i].flags,
							"0",	  "sha512", cases[i].application};
			char path[256];
			kit_path("strict", "", path);
			unlink(path);
			CHECK(kit_sk_sign(&touch, kit_text, kit_text_len, &armor));
			kit_trust("alice", "strict", "\n");
			printf("# %s, flags %s\n", types[t], cases[i].flags);
			CHECK(both(&armor, kit_text, kit_text_len, cases[i].code, 1));
			/* The counter stands still at 0: this key has none. */
			CHECK(kit_seen.counter == 0);
		}
	/* A key for a web site is not trusted either. */
	auto_buf good = BUF_INIT(SSHSIG_MAX);
	CHECK(make(&makers[0], "sha512", kit_text, kit_text_len, &good));
	kit_trust("alice", "strict", "\n");
	CHECK_STR(kit_verify(&good), "signers_invalid");
	kit_trust("alice", "ed", "\n");
	CHECK(both(&good, kit_text, kit_text_len, "", 1));
}

static void test_stricter_key_files(void)
{
	static const struct {
		const char *name, *type, *bits, *code;
	} keys[] = {
		{"rsa2048", "rsa", "2048", "key_too_short"},
		{"rsa3071", "rsa", "3071", "key_too_short"},
		{"rsa", "rsa", NULL, ""}, /* 3072 bits; it is there */
	};
	auto_buf armor = BUF_INIT(SSHSIG_MAX), good = BUF_INIT(SSHSIG_MAX);

	CHECK(make(&makers[0], "sha512", kit_text, kit_text_len, &good));
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (keys[i].bits != NULL)
			kit_make_key(keys[i].name, keys[i].type, keys[i].bits);
		CHECK(kit_sign(keys[i].name, SSHSIG_NAMESPACE, "sha512", kit_text, kit_text_len,
			       &armor));
		kit_trust("alice", keys[i].name, "\n");
		printf("# %s\n", keys[i].name);
		CHECK(both(&armor, kit_text, kit_text_len, keys[i].code, 1));
		/* And its line in the trust file. */
		CHECK_STR(kit_verify(&good),
			  keys[i].code[0] != '\0' ? "signers_invalid" : "signer_unknown");
	}
	/* RSA over SHA-1: the name alone is refused. */
	auto_sshsig sig = {0};
	take_apart(4, &sig);
	struct kit_parts parts = kit_parts_of(&sig);
	parts.type = "ssh-rsa";
	kit_build(&parts, &armor);
	CHECK(both(&armor, kit_text, kit_text_len, "signature_sha1", 0));
	parts.type = "rsa-sha2-512";
	kit_build(&parts, &armor);
	CHECK(both(&armor, kit_text, kit_text_len, "", 1));
}

static void test_stricter_armor(void)
{
	auto_buf armor = BUF_INIT(SSHSIG_MAX), other = BUF_INIT(SSHSIG_MAX);
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK(make(&makers[0], "sha512", kit_text, kit_text_len, &armor));
	kit_trust("alice", "ed", "\n");
	char *body = strchr(armor.data, '\n') + 1;
	static const char *const between[] = {"\n", " ", "\r"};
	for (size_t i = 0; i < ARRAY_LEN(between); i++) {
		buf_reset(&other);
		buf_addf(&other, &err, "%.*s%s%s", (int)(body - armor.data) + 20, armor.data,
			 between[i], body + 20);
		CHECK(both(&other, kit_text, kit_text_len, "signature_malformed", 1));
	}
	buf_reset(&other);
	buf_addf(&other, &err, "%smore\n", armor.data);
	CHECK(both(&other, kit_text, kit_text_len, "signature_malformed", 1));
	CHECK(both(&armor, kit_text, kit_text_len, "", 1));
}

/* What only the caller can ask for: a person that the key knows, and a counter that grows. */
static void test_stricter_rules(void)
{
	static const struct {
		const char *flags, *counter;
		enum sshsig_user user;
		uint32_t last;
		const char *code, *counter_code;
	} cases[] = {
		{"1", "9", SSHSIG_USER_PRESENT, 8, "", ""},
		{"1", "9", SSHSIG_USER_VERIFIED, 8, "user_verification_required", ""},
		{"5", "9", SSHSIG_USER_VERIFIED, 8, "", ""},
		{"5", "9", SSHSIG_USER_VERIFIED, 9, "", "signature_counter"},
		{"5", "10", SSHSIG_USER_VERIFIED, 9, "", ""},
	};
	auto_buf armor = BUF_INIT(SSHSIG_MAX);

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct kit_touch touch = {"sk-ed",	  "ed25519", cases[i].flags,
						cases[i].counter, NULL,	     NULL};
		struct sbx_error err = SBX_ERROR_INIT;
		CHECK(kit_sk_sign(&touch, kit_text, kit_text_len, &armor));
		kit_trust("alice", "sk-ed", "\n");
		CHECK_STR(kit_verify_as(&armor, kit_text, kit_text_len, kit_now, cases[i].user),
			  cases[i].code);
		const struct sshsig sig = {.security_key = 1, .counter = kit_seen.counter};
		sshsig_check_counter(&sig, cases[i].last, &err);
		CHECK_STR(err.code, cases[i].counter_code);
		CHECK(kit_oracle(&armor));
	}
}

int main(int argc, char **argv)
{
	auto_buf first = BUF_INIT(SSHSIG_MAX);
	const enum depth depth =
		argc == 2 && strcmp(argv[1], "all") == 0 ? DEPTH_ALL : DEPTH_SHORT;

	if (argc != 1 + (depth == DEPTH_ALL) || kit_begin(argv[0]) < 0)
		return 1;
	for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
		if (makers[i].bits != NULL)
			kit_make_key(makers[i].name, makers[i].type, makers[i].bits);
		CHECK(make(&makers[i], "sha512", kit_text, kit_text_len, &first));
	}
	test_agreement(depth);
	for (size_t i = 0; i < ARRAY_LEN(recorded); i++)
		test_flipped_bytes(&recorded[i], depth);
	test_parts(0);
	test_parts(5);
	if (depth == DEPTH_ALL) {
		test_parts(1);
		test_parts(4);
	}
	test_numbers();
	test_point();
	test_malleable();
	test_stricter_security_keys();
	test_stricter_key_files();
	test_stricter_rules();
	test_stricter_armor();
	return kit_end();
}
