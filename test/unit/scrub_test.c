/* The scrubber: known secrets in every form and split, shapes, and texts that must stay as they are. */
#include "scrub.h"

#include <ctype.h>

#include "unit.h"

#define OUT_MAX ((size_t)8 << 20)
#define KNOWN "[REDACTED:credential]"

/* No shape fits it, so that what hides it is the exact match. */
static const char plain_secret[] = "tr0ub4dor&3/correct+horse \"battery\"\nstaple<is>fine=really,100%sure~of-it_all.";

static struct scrub *learn(const char *text)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct scrub *scrub = scrub_new(&err);
	auto_secret secret = SECRET_INIT;

	if (scrub == NULL || secret_alloc(&secret, strlen(text), &err) < 0 ||
	    secret_append(&secret, text, strlen(text), &err) < 0 || scrub_add(scrub, &secret, &err) < 0)
		printf("# %s\n", err.message);
	return scrub;
}

/* Scrubbed in pieces that end at A and B; owned by the caller. */
static char *in_pieces(const struct scrub *scrub, const char *text, size_t a, size_t b)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct buf out = BUF_INIT(OUT_MAX);
	struct scrub_stream *stream = scrub_stream_new(scrub, &err);
	size_t len = strlen(text);

	if (scrub_feed(stream, text, a, &out, &err) < 0 || scrub_feed(stream, text + a, b - a, &out, &err) < 0 ||
	    scrub_feed(stream, text + b, len - b, &out, &err) < 0 || scrub_finish(stream, &out, &err) < 0)
		printf("# %s\n", err.message);
	scrub_stream_free(stream);
	return buf_take(&out);
}

static char *byte_by_byte(const struct scrub *scrub, const char *text)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct buf out = BUF_INIT(OUT_MAX);
	struct scrub_stream *stream = scrub_stream_new(scrub, &err);

	for (; *text != '\0'; text++)
		scrub_feed(stream, text, 1, &out, &err);
	scrub_finish(stream, &out, &err);
	scrub_stream_free(stream);
	return buf_take(&out);
}

static char *whole(const struct scrub *scrub, const char *text)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct buf out = BUF_INIT(OUT_MAX);

	if (scrub_text(scrub, text, strlen(text), &out, &err) < 0)
		printf("# %s\n", err.message);
	return buf_take(&out);
}

#define CHECK_TEXT(scrub, text, expected)                                                                              \
	do {                                                                                                           \
		auto_free char *scrubbed_ = whole(scrub, text);                                                        \
		CHECK_STR(scrubbed_, expected);                                                                        \
	} while (0)

/* The same whatever the pieces: every split in two, and every byte alone. */
static int same_in_every_split(const struct scrub *scrub, const char *text, const char *expected)
{
	size_t len = strlen(text);
	auto_free char *bytes = byte_by_byte(scrub, text);
	int same = strcmp(bytes, expected) == 0;

	if (!same)
		printf("# byte by byte: %s\n", bytes);
	for (size_t a = 0; a <= len && same; a++) {
		auto_free char *two = in_pieces(scrub, text, a, a + (len - a) / 2);
		same = strcmp(two, expected) == 0;
		if (!same)
			printf("# split at %zu: %s\n", a, two);
	}
	return same;
}

static char *base64(const char *bytes, size_t len, const char *last_two)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	struct sbx_error err = SBX_ERROR_INIT;
	struct buf out = BUF_INIT(OUT_MAX);

	for (size_t i = 0; i < len; i += 3) {
		unsigned v = (unsigned)(unsigned char)bytes[i] << 16;
		size_t n = len - i < 3 ? len - i : 3;
		if (n > 1)
			v |= (unsigned)(unsigned char)bytes[i + 1] << 8;
		if (n > 2)
			v |= (unsigned char)bytes[i + 2];
		for (size_t k = 0; k < 4; k++) {
			unsigned d = v >> (18 - 6 * k) & 63;
			buf_addf(&out, &err, "%c", k > n ? '=' : d < 62 ? digits[d] : last_two[d - 62]);
		}
	}
	return buf_take(&out);
}

static void test_raw(void)
{
	struct scrub *scrub = learn(plain_secret);
	char text[512], expected[512];

	snprintf(text, sizeof text, "before %s after\n", plain_secret);
	CHECK_TEXT(scrub, text, "before " KNOWN " after\n");
	CHECK(same_in_every_split(scrub, text, "before " KNOWN " after\n"));
	CHECK(same_in_every_split(scrub, plain_secret, KNOWN)); /* at the beginning, and at the end */
	snprintf(text, sizeof text, "%s%s|%s", plain_secret, plain_secret, plain_secret);
	CHECK(same_in_every_split(scrub, text, KNOWN "|" KNOWN));
	/* A copy that was cut: 16 bytes are enough, 15 are not. */
	snprintf(text, sizeof text, "<%.16s> <%.15s>", plain_secret + 20, plain_secret + 20);
	snprintf(expected, sizeof expected, "<" KNOWN "> <%.15s>", plain_secret + 20);
	CHECK(same_in_every_split(scrub, text, expected));
	CHECK_TEXT(scrub, "", "");
	CHECK_TEXT(scrub, "nothing here", "nothing here");
	scrub_free(scrub);
}

static void test_two_secrets(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct scrub *scrub = learn("first-secret-of-the-run-0001");
	auto_secret second = SECRET_INIT;
	const char *other = "first-secret-of-the-run-0001-and-longer";

	secret_alloc(&second, strlen(other), &err);
	secret_append(&second, other, strlen(other), &err);
	CHECK(scrub_add(scrub, &second, &err) == 0);
	CHECK(same_in_every_split(scrub, "a first-secret-of-the-run-0001-and-longer b", "a " KNOWN " b"));
	CHECK(same_in_every_split(scrub, "a first-secret-of-the-run-0001 b", "a " KNOWN " b"));
	scrub_free(scrub);
}

static void test_short_secrets(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_secret tiny = SECRET_INIT;
	struct scrub *scrub = learn("hunter2!");

	CHECK(same_in_every_split(scrub, "x=hunter2!;hunter2", "x=" KNOWN ";hunter2"));
	CHECK(same_in_every_split(scrub, "68756e7465723221", KNOWN));  /* hex */
	CHECK(same_in_every_split(scrub, "aHVudGVyMiE=", KNOWN "E=")); /* base64: all but what padding decides */
	secret_alloc(&tiny, 7, &err);
	secret_append(&tiny, "hunter2", 7, &err);
	CHECK(scrub_add(scrub, &tiny, &err) < 0);
	CHECK_STR(err.code, "secret_too_short");
	scrub_free(scrub);
}

/* The hexadecimal digits of a number, the same ones nowhere else. */
static int learn_number(struct scrub *scrub, unsigned number, struct sbx_error *err)
{
	auto_secret secret = SECRET_INIT;
	char text[33];

	snprintf(text, sizeof text, "%08x%08x%08x%08x", number * 2654435761u, number * 2246822519u, ~number * 3266489917u, number);
	return secret_alloc(&secret, sizeof text, err) < 0 || secret_append(&secret, text, strlen(text), err) < 0 ||
			       scrub_add(scrub, &secret, err) < 0
		       ? -1
		       : 0;
}

/* As many secrets as there can be, each of them found; one more, or one that is too long, is refused, and the others are
 * found still. */
static void test_many(void)
{
	enum { MANY = 255, LONGEST = ((1 << 24) - 1 - 64) / 32 };
	struct scrub *scrub = learn("hunter2!");
	struct sbx_error err = SBX_ERROR_INIT;
	auto_secret large = SECRET_INIT;
	char text[33];
	int found = 0;

	CHECK(secret_alloc(&large, LONGEST + 1, &err) == 0);
	memset(large.data, 'x', LONGEST + 1);
	large.len = LONGEST + 1;
	CHECK(scrub_add(scrub, &large, &err) < 0);
	CHECK_STR(err.code, "too_large");
	sbx_error_clear(&err);
	large.len = LONGEST;
	CHECK(scrub_add(scrub, &large, &err) == 0);
	for (unsigned i = 2; i < MANY; i++)
		CHECK(learn_number(scrub, i, &err) == 0);
	CHECK(learn_number(scrub, MANY, &err) < 0);
	CHECK_STR(err.code, "too_large");
	for (unsigned i = 2; i <= MANY; i++) {
		snprintf(text, sizeof text, "%08x%08x%08x%08x", i * 2654435761u, i * 2246822519u, ~i * 3266489917u, i);
		auto_free char *scrubbed = whole(scrub, text);
		found += strcmp(scrubbed, KNOWN) == 0;
	}
	CHECK(found == MANY - 2);
	CHECK_TEXT(scrub, "x=hunter2!", "x=" KNOWN);
	scrub_free(scrub);
}

static void test_base64(void)
{
	struct scrub *scrub = learn(plain_secret);
	static const char *const alphabets[] = {"+/", "-_"};

	for (size_t alphabet = 0; alphabet < ARRAY_LEN(alphabets); alphabet++)
		for (size_t shift = 0; shift < 3; shift++) {
			char text[512];
			snprintf(text, sizeof text, "%.*s%s~~~~", (int)shift, "xyz", plain_secret);
			auto_free char *encoded = base64(text, strlen(text), alphabets[alphabet]);
			auto_free char *out = whole(scrub, encoded);
			/* At each edge at most one character, which the neighbours share. */
			char *mark = strstr(out, KNOWN);
			CHECK(mark != NULL && (size_t)(mark - out) <= 4 && strlen(mark) - strlen(KNOWN) <= 9);
			CHECK(same_in_every_split(scrub, encoded, out));
			/* Wrapped like base64(1) does. */
			struct sbx_error err = SBX_ERROR_INIT;
			auto_buf wrapped = BUF_INIT(OUT_MAX);
			for (size_t i = 0; encoded[i] != '\0'; i++)
				buf_addf(&wrapped, &err, "%c%s", encoded[i], i % 76 == 75 ? "\n" : "");
			auto_free char *lines = whole(scrub, buf_str(&wrapped));
			CHECK(strncmp(strstr(lines, KNOWN), KNOWN "\n" KNOWN, 2 * strlen(KNOWN) + 1) == 0);
			CHECK(strlen(lines) - 2 * strlen(KNOWN) <= 14);
		}
	scrub_free(scrub);
}

static void test_other_forms(void)
{
	static const char hex[2][17] = {"0123456789abcdef", "0123456789ABCDEF"};
	struct scrub *scrub = learn(plain_secret);
	struct sbx_error err = SBX_ERROR_INIT;

	for (int upper = 0; upper < 2; upper++) {
		auto_buf as_hex = BUF_INIT(OUT_MAX), percent = BUF_INIT(OUT_MAX);
		for (const char *p = plain_secret; *p != '\0'; p++) {
			unsigned char c = (unsigned char)*p;
			buf_addf(&as_hex, &err, "%c%c", hex[upper][c >> 4], hex[upper][c & 15]);
			if (isalnum(c) || strchr("-_.~", c) != NULL)
				buf_addf(&percent, &err, "%c", c);
			else
				buf_addf(&percent, &err, "%%%c%c", hex[upper][c >> 4], hex[upper][c & 15]);
		}
		CHECK(same_in_every_split(scrub, buf_str(&as_hex), KNOWN));
		CHECK(same_in_every_split(scrub, buf_str(&percent), KNOWN));
	}
	CHECK(same_in_every_split(
		scrub,
		"{\"t\":\"tr0ub4dor&3/correct+horse \\\"battery\\\"\\nstaple<is>fine=really,100%sure~of-it_all.\"}",
		"{\"t\":\"" KNOWN "\"}"));
	CHECK(same_in_every_split(scrub,
				  "{\"t\":\"tr0ub4dor\\u00263\\/correct+horse "
				  "\\\"battery\\\"\\nstaple\\u003cis\\u003efine=really,100%sure~of-"
				  "it_all.\"}",
				  "{\"t\":\"" KNOWN "\"}"));
	scrub_free(scrub);
}

#define JWT_HEAD "eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCJ9"
#define JWT JWT_HEAD ".eyJzdWIiOiJhZ2VudCIsImV4cCI6MTczMjkwMDAwMH0.c2lnbmF0dXJlLXNpZ25hdHVyZS1zaWduYXR1cmU"
#define BODY "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"

static void test_shapes(void)
{
	static const char *const cases[][2] = {
		{"token " JWT ".", "token [REDACTED:jwt]."},
		{"x" JWT " and " JWT, "x[REDACTED:jwt] and [REDACTED:jwt]"},
		{JWT_HEAD ".eyJzdWIiOiJhZ2VudCJ9", "[REDACTED:jwt]"},
		{"(ZXlKaGJHY2lPaUpGWkVSVFFTSXNJblI1Y0NJNklrcFhWQ0o5LmV5SnpkV0lpT2lKaFoyVnVkQ0o5LnNpZw==)",
		 "([REDACTED:jwt])"},
		{"id AKIAIOSFODNN7EXAMPLE, ASIAQ2ZLX3EXAMPLE2345.", "id [REDACTED:aws-key], ASIAQ2ZLX3EXAMPLE2345."},
		{"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n",
		 "aws_secret_access_key = [REDACTED:aws-secret]\n"},
		{"\"SecretAccessKey\": \"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\",",
		 "\"SecretAccessKey\": \"[REDACTED:aws-secret]\","},
		{"ghp_0123456789abcdefghijABCDEFGHIJ012345 rest", "[REDACTED:github-token] rest"},
		{"https://x-access-token:ghs_0123456789abcdefghijABCDEFGHIJ012345@github.com/o/r",
		 "https://[REDACTED:userinfo]@github.com/o/r"},
		{"glpat-aBcDeFgHiJkLmNoPqRsT", "[REDACTED:gitlab-token]"},
		{"VAULT_TOKEN=hvs.CAESIJaBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789", "VAULT_TOKEN=[REDACTED:vault-token]"},
		{"sha256~aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789aBcDeFg.", "[REDACTED:openshift-token]."},
		{"Authorization: Bearer abcdef0123456789abcdef\r\nHost: x",
		 "Authorization: Bearer [REDACTED:header]\r\nHost: x"},
		{"authorization: Basic dXNlcjpwYXNzd29yZA==", "authorization: Basic [REDACTED:header]"},
		{"curl -H 'X-Vault-Token: s.abcdefgh12345678'", "curl -H 'X-Vault-Token: [REDACTED:header]'"},
		{"bearer 0123456789abcdef0123", "bearer [REDACTED:header]"},
		{"postgres://app:s3cr3t@db:5432/x", "postgres://[REDACTED:userinfo]@db:5432/x"},
		{"db_password=correcthorse next", "db_password=[REDACTED:value] next"},
		{"-----BEGIN RSA PRIVATE KEY-----\n" BODY "\n" BODY "\n-----END RSA PRIVATE KEY-----\nafter",
		 "[REDACTED:private-key]\nafter"},
		{"{\"k\":\"-----BEGIN PRIVATE KEY-----\\n" BODY "\\n-----END PRIVATE KEY-----\\n\",\"b\":1}",
		 "{\"k\":\"[REDACTED:private-key]\\n\",\"b\":1}"},
		{"-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" BODY, "[REDACTED:private-key]"},
		{"-----BEGIN PRIVATE KEY-----\n" BODY "{\"cut\":true}", "[REDACTED:private-key]{\"cut\":true}"},
		{"client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlFdlFJQkFEQU4=\nx",
		 "client-key-data: [REDACTED:value]\nx"},
		{"k: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlFdlFJQkFEQU4=\nx", "k: [REDACTED:private-key]\nx"},
		{"TOKEN=ZXlKaGJHY2lPaUpGWkVSVFFTSXNJblI1Y0NJNklrcFhWQ0o5LmV5SnpkV0lpT2lKaFoyVnVkQ0o5LnNpZw==",
		 "TOKEN=[REDACTED:jwt]"},
		{"npm_0123456789abcdefghijABCDEFGHIJ012345", "[REDACTED:npm-token]"},
		{"sk_live_0123456789abcdefABCDEF", "[REDACTED:api-key]"},
		{"sk_live_short sk_lives_0123456789abcdefABCDEF", "sk_live_short sk_lives_0123456789abcdefABCDEF"},
		{"AIzaSyA0123456789abcdefghijklmnopqrstuv", "[REDACTED:google-key]"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CHECK_TEXT(NULL, cases[i][0], cases[i][1]);
		CHECK(same_in_every_split(NULL, cases[i][0], cases[i][1]));
	}
}

/* What must stay readable. */
static const char harmless[] =
	"image: registry.example/app@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n"
	"commit 0a4d55a8d778e5022fab701977c5d840bbc486d0 (HEAD -> main, origin/main)\n"
	"uid: 8c1d7a52-6b0f-4f0e-9d3c-3f6f0a5f7b1e resourceVersion: \"184467\"\n"
	"apiVersion: rbac.authorization.k8s.io/v1\n"
	"plan 3b9d0c6f1e2a4d5c8b7a6f5e4d3c2b1a seal e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"
	"automountServiceAccountToken: false\nserviceAccountToken:\n  expirationSeconds: 3607\n  path: token\n"
	"  + bearer_token    = (sensitive value)\n  + access_token    = (known after apply)\n  ~ password = (sensitive "
	"value)\n"
	"secretName: default-token-x7k2p\nimagePullSecrets:\n- name: regcred\nsecretKeyRef: {name: db, key: password}\n"
	"-----BEGIN CERTIFICATE-----\nMIIBszCCARygAwIBAgIJAO\n-----END CERTIFICATE-----\n"
	"certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJzekNDQVJ5Z0F3SUJBZ0lKQU8=\n"
	"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----\n"
	"terraform_data.web: Refreshing state... [id=5f2c6a7e-33a1-0f7e-b5b1-4b1a6f0e2c9d]\n"
	"The bearer authentication-required response; see https://example.org:8443/a?b=c:d@e and "
	"git@github.com:o/r.git\n"
	"s.ComponentGlobalsRegistry eyJ eyJrey ey.ey.ey hvs. ghp_ AKIA AKIAX sha256~ :// xoxb- -----BEGIN -----END \n"
	"h1:Ss5iYNQYt1ejHqhXJ6pcSFxGtC4Vw0QdPnsYLEd4gbo= zh:0e1c6e8a4a5a2c8a\n";

static void test_harmless(void)
{
	struct scrub *scrub = learn(plain_secret);

	CHECK_TEXT(NULL, harmless, harmless);
	CHECK(same_in_every_split(NULL, harmless, harmless));
	CHECK(same_in_every_split(scrub, harmless, harmless));
	scrub_free(scrub);
}

/* Longer than what is held back: decided early, the rest swallowed. */
static void test_long_tokens(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf text = BUF_INIT(OUT_MAX);

	buf_add_str(&text, "a " JWT, &err);
	for (int i = 0; i < 20000; i++)
		buf_addf(&text, &err, "%c", 'a' + i % 26);
	buf_add_str(&text, " b", &err);
	CHECK_TEXT(NULL, buf_str(&text), "a [REDACTED:jwt] b");
	for (size_t at = 0; at < text.len; at += 997) {
		auto_free char *out = in_pieces(NULL, buf_str(&text), at, at);
		if (strcmp(out, "a [REDACTED:jwt] b") != 0)
			CHECK_STR(out, "a [REDACTED:jwt] b");
	}
	auto_free char *bytes = byte_by_byte(NULL, buf_str(&text));
	CHECK_STR(bytes, "a [REDACTED:jwt] b");
	/* A key without an end does not hide the whole output. */
	buf_reset(&text);
	buf_add_str(&text, "-----BEGIN PRIVATE KEY-----\n", &err);
	for (int i = 0; i < 1000; i++)
		buf_add_str(&text, BODY "\n", &err);
	buf_add_str(&text, "the end\n", &err);
	auto_free char *out = whole(NULL, buf_str(&text));
	CHECK(strncmp(out, "[REDACTED:private-key]", 22) == 0 && strlen(out) < text.len - 16000 &&
	      strstr(out, "the end\n") != NULL);
}

static void test_time(void)
{
	static const char *const dull[] = {"eyJ",
					   "eyJabcdefghijklmnop.",
					   "ZXlK+",
					   "ZXlK=",
					   "LS0tLS1CRUdJTi+",
					   "LS0tLS1CRUdJTi=",
					   "access_token=",
					   "bearer ",
					   "-----BEGIN ",
					   "://a:",
					   "AIza-",
					   "sha256~",
					   "authorization: ",
					   "-----BEGIN PRIVATE KEY-----",
					   "password=",
					   "x"};
	struct sbx_error err = SBX_ERROR_INIT;
	int slow = 0;

	for (size_t i = 0; i < ARRAY_LEN(dull); i++) {
		auto_buf text = BUF_INIT(OUT_MAX);
		while (text.len < (size_t)256 << 10)
			buf_add_str(&text, dull[i], &err);
		double begin = unit_cpu_ms();
		auto_free char *at_once = whole(NULL, buf_str(&text));
		double middle = unit_cpu_ms();
		auto_free char *dribbled = byte_by_byte(NULL, buf_str(&text));
		double end = unit_cpu_ms();
		printf("# 256 KiB of \"%s\": %.0f ms at once, %.0f ms byte by byte\n", dull[i], middle - begin,
		       end - middle);
		slow |= middle - begin > 2000 || end - middle > 4000;
	}
	CHECK(!slow);
}

static void test_building(void)
{
	enum { ROUNDS = 20 };
	char text[1101];
	unsigned seed = 1;

	for (size_t i = 0; i < sizeof text - 1; i++) {
		seed = seed * 1103515245u + 12345u;
		text[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[seed >> 16 & 63];
	}
	text[sizeof text - 1] = '\0';
	double begin = unit_cpu_ms();
	for (int i = 0; i < ROUNDS; i++)
		scrub_free(learn(text));
	double each = (unit_cpu_ms() - begin) / ROUNDS;
	printf("# learning a secret of 1100 bytes: %.2f ms\n", each);
	CHECK(each < 20);
	struct scrub *scrub = learn(text);
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf large = BUF_INIT(OUT_MAX);
	while (large.len < (size_t)4 << 20)
		buf_add_str(&large, harmless, &err);
	begin = unit_cpu_ms();
	auto_free char *out = whole(scrub, buf_str(&large));
	printf("# 4 MiB of ordinary text: %.0f ms\n", unit_cpu_ms() - begin);
	CHECK_STR(out, buf_str(&large));
	scrub_free(scrub);
}

int main(void)
{
	test_raw();
	test_two_secrets();
	test_short_secrets();
	test_many();
	test_base64();
	test_other_forms();
	test_shapes();
	test_harmless();
	test_long_tokens();
	test_time();
	test_building();
	scrub_free(NULL);
	scrub_stream_free(NULL);
	return unit_done();
}
