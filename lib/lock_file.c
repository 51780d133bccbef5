/* The lock file: blocks of one kind with three attributes. */
#include "lock_file.h"

#include <stdio.h>
#include <string.h>

#include "hcl_lex.h"
#include "tree.h"

#define LOCK_FILE_NAME ".terraform.lock.hcl"

enum { PART_MAX = 128, HASH_MAX = 80 };
static const int hashes_max = 256; /* every platform of a provider, in both forms, many times over */

struct reader {
	struct hcl_lex lex;
	enum hcl_token token;
	const char *text;
	size_t len;
	struct sbx_error *err;
};

static int invalid(const struct reader *r, const char *what)
{
	sbx_fail(r->err, SBX_BAD_REQUEST, "lock_invalid", "the lock file " LOCK_FILE_NAME ", line %u: %s", r->lex.line,
		 what);
	return sbx_hint(r->err, "let terraform write it: terraform providers lock -fs-mirror=DIRECTORY");
}

static int next(struct reader *r)
{
	return hcl_next(&r->lex, &r->token, &r->text, &r->len) < 0 ? invalid(r, "cannot be read") : 0;
}

/* The next token that is no end of a line. */
static int next_word(struct reader *r)
{
	do
		if (next(r) < 0)
			return -1;
	while (r->token == HCL_NEWLINE);
	return 0;
}

static int is_mark(const struct reader *r, const char *mark)
{
	return r->token == HCL_OTHER && hcl_is(r->text, r->len, mark);
}

/* Plain text of ALLOWED alone, so that nothing in it needs resolving. */
static int is_plain(const char *text, size_t len, const char *allowed, size_t max)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\0' || strchr(allowed, text[i]) == NULL)
			return 0;
	return len > 0 && len <= max;
}

static int is_part(const char *text, size_t len)
{
	return is_plain(text, len, "abcdefghijklmnopqrstuvwxyz0123456789._-", PART_MAX) && text[0] != '.' &&
	       text[0] != '-';
}

/* HOST/NAMESPACE/TYPE */
static int is_source(const char *text, size_t len)
{
	const char *first = memchr(text, '/', len), *end = text + len;
	const char *second = first != NULL ? memchr(first + 1, '/', (size_t)(end - first - 1)) : NULL;

	return second != NULL && is_part(text, (size_t)(first - text)) &&
	       is_part(first + 1, (size_t)(second - first - 1)) && is_part(second + 1, (size_t)(end - second - 1));
}

static jv text_of(const struct reader *r)
{
	return jv_string_sized(r->text, (int)r->len);
}

static int take_hashes(struct reader *r, jv *provider)
{
	auto_jv hashes = jv_array();

	if (json_has(*provider, "hashes") || next(r) < 0 || !is_mark(r, "["))
		return invalid(r, "hashes is no list, or stands twice");
	for (;;) {
		if (next_word(r) < 0)
			return -1;
		if (is_mark(r, "]"))
			break;
		if (r->token != HCL_STRING ||
		    !is_plain(r->text, r->len,
			      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=:", HASH_MAX) ||
		    json_length(hashes) >= hashes_max)
			return invalid(r, "a hash is not one");
		hashes = json_append(take_jv(&hashes), text_of(r));
		if (next_word(r) < 0)
			return -1;
		if (is_mark(r, "]"))
			break;
		if (!is_mark(r, ","))
			return invalid(r, "there is no comma between two hashes");
	}
	*provider = json_set(take_jv(provider), "hashes", take_jv(&hashes));
	return 0;
}

static int take_version(struct reader *r, jv *provider)
{
	if (json_has(*provider, "version") || next(r) < 0 || r->token != HCL_STRING ||
	    !is_plain(r->text, r->len, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.+-", PART_MAX) ||
	    r->text[0] == '.')
		return invalid(r, "version is none, or stands twice");
	*provider = json_set(take_jv(provider), "version", text_of(r));
	return 0;
}

/* NAME = VALUE, of which NAME is at hand. What constraints say has been decided by the version. */
static int take_attribute(struct reader *r, jv *provider)
{
	char name[16] = "";

	if (r->token != HCL_NAME || r->len >= sizeof name)
		return invalid(r, "an attribute is not known");
	memcpy(name, r->text, r->len);
	if (next(r) < 0)
		return -1;
	if (!is_mark(r, "="))
		return invalid(r, "an attribute has no value");
	if (strcmp(name, "hashes") == 0)
		return take_hashes(r, provider);
	if (strcmp(name, "version") == 0)
		return take_version(r, provider);
	if (strcmp(name, "constraints") != 0)
		return invalid(r, "an attribute is not known");
	if (next(r) < 0)
		return -1;
	return r->token == HCL_STRING ? 0 : invalid(r, "constraints is no text");
}

static int has_source(jv locked, jv source)
{
	for (int i = 0, n = json_length(locked); i < n; i++) {
		auto_jv one = json_at(locked, i), other = json_get(one, "source");
		if (json_same(source, other))
			return 1;
	}
	return 0;
}

/* provider "SOURCE" { … }, of which the name is at hand. */
static int take_provider(struct reader *r, jv *locked)
{
	auto_jv provider = jv_object(), source = jv_invalid();

	if (r->token != HCL_NAME || !hcl_is(r->text, r->len, "provider") || next(r) < 0 || r->token != HCL_STRING ||
	    !is_source(r->text, r->len))
		return invalid(r, "this is no provider with its whole source");
	source = text_of(r);
	if (has_source(*locked, source) || json_length(*locked) >= LIMIT_PROVIDERS)
		return invalid(r, "a provider stands twice, or there are too many");
	if (next(r) < 0)
		return -1;
	if (r->token != HCL_OPEN)
		return invalid(r, "a provider has no block");
	for (;;) {
		if (next_word(r) < 0)
			return -1;
		if (r->token == HCL_CLOSE)
			break;
		if (take_attribute(r, &provider) < 0)
			return -1;
	}
	if (!json_has(provider, "version"))
		return invalid(r, "a provider has no version");
	if (!json_has(provider, "hashes"))
		provider = json_set(take_jv(&provider), "hashes", jv_array());
	*locked = json_append(take_jv(locked), json_set(take_jv(&provider), "source", take_jv(&source)));
	return 0;
}

int lock_file_read(const char *text, size_t len, jv *locked, struct sbx_error *err)
{
	struct reader r = {.err = err};
	auto_jv found = jv_array();

	hcl_begin(&r.lex, text, len);
	if (r.lex.at != text)
		return invalid(&r, "it begins with a byte order mark, which terraform does not write");
	for (;;) {
		if (next_word(&r) < 0)
			return -1;
		if (r.token == HCL_END)
			break;
		if (take_provider(&r, &found) < 0)
			return -1;
	}
	*locked = take_jv(&found);
	return 0;
}

char *lock_file_path(const char *dir, struct sbx_error *err)
{
	int at_top = dir == NULL || strcmp(dir, ".") == 0;
	char *path;

	if (asprintf(&path, "%s%s" LOCK_FILE_NAME, at_top ? "" : dir, at_top ? "" : "/") >= 0)
		return path;
	sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	return NULL;
}

int lock_file_find(int tree_fd, uint64_t size, const char *dir, char **text, size_t *len, struct sbx_error *err)
{
	*text = NULL;
	*len = 0;
	if (tree_fd < 0)
		return 0;
	auto_free char *path = lock_file_path(dir, err);
	return path == NULL || tree_find(tree_fd, size, path, LIMIT_LOCK_FILE, text, len, err) < 0 ? -1 : 0;
}

int lock_file_digest(int tree_fd, uint64_t size, const char *dir, char sha256[DIGEST_HEX_SIZE], struct sbx_error *err)
{
	auto_free char *text = NULL;
	size_t len;

	sha256[0] = '\0';
	if (lock_file_find(tree_fd, size, dir, &text, &len, err) < 0)
		return -1;
	if (text != NULL)
		digest_sha256_hex(text, len, sha256);
	return 0;
}
