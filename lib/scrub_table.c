/* Which shapes there are. The table follows gitleaks' rules where those have a literal to begin with; there is no rule
 * by entropy, because digests, commit ids and UUIDs must stay readable. */
#include "scrub_table.h"

#include <ctype.h>
#include <string.h>

const struct shape scrub_table[] = {
	{"jwt", "eyJ", KIND_JWT, SET_BASE64URL, 17, 0, 0, NULL},
	{"jwt", "ZXlK", KIND_ENCODED, SET_BASE64, 40, 0, AT_BOUNDARY | RUN_BOUNDARY, ".eyJ"},
	{"private-key", "-----BEGIN ", KIND_KEY, SET_KEY, 0, 0, 0, NULL},
	{"private-key", "LS0tLS1CRUdJTi", KIND_ENCODED, SET_BASE64, 40, 0, AT_BOUNDARY | RUN_BOUNDARY, "PRIVATE KEY"},
	{"private-key", "AGE-SECRET-KEY-1", KIND_RUN, SET_WORD, 58, 58, AT_BOUNDARY, NULL},
	{"aws-key", "AKIA", KIND_RUN, SET_BASE32, 16, 16, AT_BOUNDARY | END_BOUNDARY, NULL},
	{"aws-key", "ASIA", KIND_RUN, SET_BASE32, 16, 16, AT_BOUNDARY | END_BOUNDARY, NULL},
	{"aws-key", "ABIA", KIND_RUN, SET_BASE32, 16, 16, AT_BOUNDARY | END_BOUNDARY, NULL},
	{"aws-key", "ACCA", KIND_RUN, SET_BASE32, 16, 16, AT_BOUNDARY | END_BOUNDARY, NULL},
	{"github-token", "ghp_", KIND_RUN, SET_WORD, 36, 0, AT_BOUNDARY, NULL},
	{"github-token", "gho_", KIND_RUN, SET_WORD, 36, 0, AT_BOUNDARY, NULL},
	{"github-token", "ghu_", KIND_RUN, SET_WORD, 36, 0, AT_BOUNDARY, NULL},
	{"github-token", "ghs_", KIND_RUN, SET_WORD, 36, 0, AT_BOUNDARY, NULL},
	{"github-token", "ghr_", KIND_RUN, SET_WORD, 36, 0, AT_BOUNDARY, NULL},
	{"github-token", "github_pat_", KIND_RUN, SET_WORD, 40, 0, AT_BOUNDARY, NULL},
	{"gitlab-token", "glpat-", KIND_RUN, SET_BASE64URL, 20, 0, AT_BOUNDARY, NULL},
	{"vault-token", "hvs.", KIND_RUN, SET_BASE64URL, 24, 0, AT_BOUNDARY, NULL},
	{"vault-token", "hvb.", KIND_RUN, SET_BASE64URL, 24, 0, AT_BOUNDARY, NULL},
	{"vault-token", "hvr.", KIND_RUN, SET_BASE64URL, 24, 0, AT_BOUNDARY, NULL},
	{"terraform-token", ".atlasv1.", KIND_RUN, SET_BASE64URL, 60, 0, 0, NULL},
	{"openshift-token", "sha256~", KIND_RUN, SET_BASE64URL, 43, 43, AT_BOUNDARY, NULL},
	{"slack-token", "xoxa-", KIND_RUN, SET_BASE64URL, 10, 0, AT_BOUNDARY, NULL},
	{"slack-token", "xoxb-", KIND_RUN, SET_BASE64URL, 10, 0, AT_BOUNDARY, NULL},
	{"slack-token", "xoxp-", KIND_RUN, SET_BASE64URL, 10, 0, AT_BOUNDARY, NULL},
	{"slack-token", "xoxr-", KIND_RUN, SET_BASE64URL, 10, 0, AT_BOUNDARY, NULL},
	{"google-key", "AIza", KIND_RUN, SET_BASE64URL, 35, 35, AT_BOUNDARY, NULL},
	{"npm-token", "npm_", KIND_RUN, SET_WORD, 36, 36, AT_BOUNDARY, NULL},
	{"pypi-token", "pypi-", KIND_RUN, SET_BASE64URL, 50, 0, AT_BOUNDARY, NULL},
	{"api-key", "sk-ant-", KIND_RUN, SET_BASE64URL, 20, 0, AT_BOUNDARY, NULL},
	{"api-key", "sk-proj-", KIND_RUN, SET_BASE64URL, 20, 0, AT_BOUNDARY, NULL},
	{"api-key", "sk_live_", KIND_RUN, SET_WORD, 16, 0, AT_BOUNDARY, NULL},
	{"api-key", "rk_live_", KIND_RUN, SET_WORD, 16, 0, AT_BOUNDARY, NULL},
	{"api-key", "dop_v1_", KIND_RUN, SET_WORD, 64, 64, AT_BOUNDARY, NULL},
	{"header", "authorization", KIND_VALUE, SET_VALUE, 8, 0, ANY_CASE, NULL},
	{"header", "bearer", KIND_VALUE, SET_VALUE, 16, 0, ANY_CASE | AT_BOUNDARY | SPACE_IS_ENOUGH | NEEDS_DIGIT,
	 NULL},
	{"header", "x-vault-token", KIND_VALUE, SET_VALUE, 8, 0, ANY_CASE, NULL},
	{"header", "private-token", KIND_VALUE, SET_VALUE, 8, 0, ANY_CASE, NULL},
	{"aws-secret", "secret_access_key", KIND_VALUE, SET_VALUE, 16, 0, ANY_CASE, NULL},
	{"aws-secret", "secretaccesskey", KIND_VALUE, SET_VALUE, 16, 0, ANY_CASE, NULL},
	{"aws-secret", "session_token", KIND_VALUE, SET_VALUE, 16, 0, ANY_CASE, NULL},
	{"aws-secret", "sessiontoken", KIND_VALUE, SET_VALUE, 16, 0, ANY_CASE, NULL},
	{"value", "access_token", KIND_VALUE, SET_VALUE, 8, 0, ANY_CASE | NEEDS_DIGIT, NULL},
	{"value", "refresh_token", KIND_VALUE, SET_VALUE, 8, 0, ANY_CASE | NEEDS_DIGIT, NULL},
	{"value", "client_secret", KIND_VALUE, SET_VALUE, 8, 0, ANY_CASE | NEEDS_DIGIT, NULL},
	{"value", "client-key-data", KIND_VALUE, SET_VALUE, 16, 0, ANY_CASE, NULL},
	{"value", "password", KIND_VALUE, SET_VALUE, 6, 0, ANY_CASE, NULL},
	{"userinfo", "://", KIND_USERINFO, SET_USERINFO, 3, 0, 0, NULL},
};
const size_t scrub_table_size = ARRAY_LEN(scrub_table);

unsigned char scrub_sets[256];
/* Pairs of bytes that a shape may begin with: one look for each position of the text. */
static unsigned char pairs[256][32];
static unsigned char firsts[256];

static void add_set(unsigned set, const char *members)
{
	for (const char *p = members; *p != '\0'; p++)
		scrub_sets[(unsigned char)*p] |= (unsigned char)set;
}

static void add_pair(int first, int second)
{
	firsts[first] = 1;
	pairs[first][second >> 3] |= (unsigned char)(1u << (second & 7));
}

void scrub_table_prepare(void)
{
	static int done;

	if (done)
		return;
	for (int c = 0; c < 256; c++) {
		if (isascii(c) && isalnum(c))
			scrub_sets[c] = SET_WORD | SET_BASE64URL | SET_BASE64 | SET_VALUE | SET_KEY;
		if (isascii(c) && (isupper(c) || (c >= '2' && c <= '7')))
			scrub_sets[c] |= SET_BASE32;
		if (c > ' ' && c != 0x7f && strchr("/@\"'<>\\`()[]{}|^", c) == NULL)
			scrub_sets[c] |= SET_USERINFO;
	}
	add_set(SET_WORD, "_");
	add_set(SET_BASE64URL, "_-");
	add_set(SET_BASE64, "+/=");
	add_set(SET_VALUE, "._~+/=-");
	add_set(SET_KEY, "+/=\r\n\t \\-:,");
	add_set(SET_BETWEEN, " \t\"':=\\");
	for (size_t i = 0; i < scrub_table_size; i++) {
		int a = (unsigned char)scrub_table[i].prefix[0], b = (unsigned char)scrub_table[i].prefix[1];
		add_pair(a, b);
		if (scrub_table[i].flags & ANY_CASE) {
			add_pair(toupper(a), b);
			add_pair(a, toupper(b));
			add_pair(toupper(a), toupper(b));
		}
	}
	done = 1;
}

int scrub_may_begin(unsigned char first)
{
	return firsts[first];
}

int scrub_may_begin_with(unsigned char first, unsigned char second)
{
	return pairs[first][second >> 3] >> (second & 7) & 1;
}
