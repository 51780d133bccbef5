/* The strict readers of the trust file and of the revoked keys. */
#include "signers.h"

#include <stdio.h>
#include <string.h>

#include "base64.h"
#include "clock.h"
#include "sshsig_key.h"

static const size_t line_max = 24 << 10; /* an RSA key of 16384 bits and its options */

struct slice {
	const char *text;
	size_t len;
};

struct words {
	const char *text, *end;
};

/* The lines of a file, counted for messages. */
struct lines {
	const char *text, *end;
	unsigned number;
};

struct signer_line {
	struct slice principals, type, key;
	struct slice namespaces; /* text NULL: any */
	int64_t after, before;	 /* seconds; INT64_MIN and INT64_MAX: no limit */
};

static int invalid(struct sbx_error *err, unsigned line, const char *what)
{
	sbx_fail(err, SBX_CONFIG, "signers_invalid", "line %u of the allowed signers: %s", line,
		 what);
	return sbx_hint(err, "a line is: NAME namespaces=\"sbx-approve@v1\" KEYTYPE KEY");
}

static int revoked_invalid(struct sbx_error *err, unsigned line, const char *what)
{
	sbx_fail(err, SBX_CONFIG, "revoked_invalid", "line %u of the revoked keys: %s", line, what);
	return sbx_hint(err, "a line is that of a public key file: KEYTYPE KEY");
}

/* 1: *LINE is the next one, without its end; 0: there is none. */
static int next_line(struct lines *lines, struct slice *line)
{
	size_t left = (size_t)(lines->end - lines->text);

	if (left == 0)
		return 0;
	const char *feed = memchr(lines->text, '\n', left);
	*line = (struct slice){lines->text, feed != NULL ? (size_t)(feed - lines->text) : left};
	lines->text += line->len + (feed != NULL);
	lines->number++;
	return 1;
}

/* What no line of either file may be: NULL, or what is wrong. */
static const char *line_fault(struct slice line)
{
	return line.len > line_max || memchr(line.text, '\0', line.len) != NULL
		       ? "the line is too long or holds a NUL"
		       : NULL;
}

static int slice_is(struct slice s, const char *text)
{
	return s.len == strlen(text) && memcmp(s.text, text, s.len) == 0;
}

static struct slice next_word(struct words *w)
{
	while (w->text < w->end && (*w->text == ' ' || *w->text == '\t'))
		w->text++;
	struct slice word = {w->text, 0};
	int quoted = 0;
	while (w->text < w->end && (quoted || (*w->text != ' ' && *w->text != '\t')))
		quoted ^= *w->text++ == '"';
	word.len = (size_t)(w->text - word.text);
	return word;
}

int signers_is_name(const char *text, size_t len)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@._+-";

	for (size_t i = 0; i < len; i++)
		if (memchr(allowed, text[i], sizeof allowed - 1) == NULL)
			return 0;
	return len > 0 && len < SIGNER_SIZE;
}

static int check_principals(struct slice names, unsigned line, struct sbx_error *err)
{
	const char *name = names.text, *end = names.text + names.len;

	for (;;) {
		const char *comma = memchr(name, ',', (size_t)(end - name));
		if (!signers_is_name(name, (size_t)((comma != NULL ? comma : end) - name)))
			return invalid(err, line,
				       "principals are exact names of 1 to 64 letters, digits and "
				       "@._+- (no pattern, quote or negation)");
		if (comma == NULL)
			return 0;
		name = comma + 1;
	}
}

/* YYYYMMDD[HHMM[SS]]Z; without the Z ssh-keygen reads local time, so two hosts would disagree. */
static int parse_time(struct slice value, int64_t *seconds)
{
	char iso[CLOCK_RFC3339_SIZE], d[] = "00000000000000";
	size_t digits = value.len > 0 ? value.len - 1 : 0;

	if ((digits != 8 && digits != 12 && digits != 14) || value.text[digits] != 'Z')
		return -1;
	for (size_t i = 0; i < digits; i++) {
		if (value.text[i] < '0' || value.text[i] > '9')
			return -1;
		d[i] = value.text[i];
	}
	snprintf(iso, sizeof iso, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", d, d + 4, d + 6, d + 8, d + 10,
		 d + 12);
	return clock_parse(iso, seconds);
}

static int check_namespaces(struct slice list, unsigned line, struct sbx_error *err)
{
	if (list.len == 0)
		return invalid(err, line, "namespaces is empty");
	for (size_t i = 0; i < list.len; i++)
		if (list.text[i] <= ' ' || list.text[i] > '~' ||
		    strchr("*?!\"", list.text[i]) != NULL)
			return invalid(err, line, "namespaces are exact names (no pattern)");
	return 0;
}

static int take_option(struct signer_line *entry, struct slice name, struct slice value,
		       unsigned line, struct sbx_error *err)
{
	if (slice_is(name, "namespaces") && entry->namespaces.text == NULL) {
		entry->namespaces = value;
		return check_namespaces(value, line, err);
	}
	if (slice_is(name, "valid-after") && entry->after == INT64_MIN &&
	    parse_time(value, &entry->after) == 0)
		return 0;
	if (slice_is(name, "valid-before") && entry->before == INT64_MAX &&
	    parse_time(value, &entry->before) == 0)
		return 0;
	if (slice_is(name, "valid-after") || slice_is(name, "valid-before"))
		return invalid(err, line,
			       "valid-after and valid-before stand once, as YYYYMMDDHHMMSSZ (UTC)");
	char what[96];
	snprintf(what, sizeof what, "option %.*s is not understood here, or stands twice",
		 (int)(name.len < 40 ? name.len : 40), name.text);
	return invalid(err, line, what);
}

/* NAME="VALUE",NAME="VALUE"… */
static int parse_options(struct signer_line *entry, struct slice word, unsigned line,
			 struct sbx_error *err)
{
	const char *p = word.text, *end = word.text + word.len;

	for (;;) {
		struct slice name = {p, 0}, value = {"", 0};
		while (p < end && *p != '=' && *p != ',')
			p++;
		name.len = (size_t)(p - name.text);
		if (p + 1 < end && p[0] == '=' && p[1] == '"') {
			value.text = p += 2;
			while (p < end && *p != '"')
				p++;
			value.len = (size_t)(p - value.text);
			if (p++ == end)
				return invalid(err, line, "a quote is not closed");
		}
		if (take_option(entry, name, value, line, err) < 0)
			return -1;
		if (p == end)
			return 0;
		if (*p++ != ',')
			return invalid(err, line, "options are separated by commas alone");
	}
}

/* Whether WORD is meant as the type of a key, be it one that is known or not. */
static int is_like_key_type(struct slice word)
{
	static const char *const starts[] = {"ssh-", "ecdsa-", "sk-", "rsa-", "webauthn-"};

	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (word.len > strlen(starts[i]) &&
		    memcmp(word.text, starts[i], strlen(starts[i])) == 0)
			return 1;
	return 0;
}

/* NULL, or what is wrong with the word where the type of a key must stand. */
static const char *type_fault(struct slice word)
{
	switch (sshsig_key_type(word.text, word.len)) {
	case SSHSIG_KEY_GOOD:
		return NULL;
	case SSHSIG_KEY_CERTIFICATE:
		return "the key is a certificate, and no authority counts here";
	case SSHSIG_KEY_TYPE:
	case SSHSIG_KEY_MALFORMED:
	case SSHSIG_KEY_SHORT:
	case SSHSIG_KEY_APPLICATION:
		break;
	}
	return word.len == 0 ? "the key is missing"
			     : "the key is of a type that does not count here";
}

/* 1: *ENTRY is a line's; 0: an empty line or a comment; -1. */
static int parse_line(struct slice line, unsigned number, struct signer_line *entry,
		      struct sbx_error *err)
{
	struct words w = {line.text, line.text + line.len};
	struct slice first = next_word(&w);
	const char *fault = line_fault(line);

	*entry = (struct signer_line){.principals = first, .after = INT64_MIN, .before = INT64_MAX};
	if (fault != NULL)
		return invalid(err, number, fault);
	if (first.len == 0 || first.text[0] == '#')
		return 0;
	if (check_principals(first, number, err) < 0)
		return -1;
	entry->type = next_word(&w);
	if (entry->type.len > 0 && !is_like_key_type(entry->type)) {
		if (parse_options(entry, entry->type, number, err) < 0)
			return -1;
		entry->type = next_word(&w);
	}
	fault = type_fault(entry->type);
	if (fault != NULL)
		return invalid(err, number, fault);
	entry->key = next_word(&w);
	return 1;
}

static int namespace_allowed(const struct signer_line *entry, const char *name_space)
{
	struct slice list = entry->namespaces;

	if (list.text == NULL)
		return 1;
	for (size_t i = 0; i < list.len;) {
		const char *comma = memchr(list.text + i, ',', list.len - i);
		size_t len = comma != NULL ? (size_t)(comma - list.text) - i : list.len - i;
		if (slice_is((struct slice){list.text + i, len}, name_space))
			return 1;
		i += len + 1;
	}
	return 0;
}

enum key_use { KEY_SIGNS, KEY_IS_REVOKED };

static int counts_now(const struct signer_line *entry, const char *name_space, int64_t now)
{
	return namespace_allowed(entry, name_space) && now >= entry->after && now < entry->before;
}

/* NULL: the key of a line is *BLOB, the caller's also on error. Else what is wrong with it. */
static const char *read_key(struct slice type, struct slice base64, enum key_use use, unsigned char **blob,
			    size_t *len)
{
	struct sshsig_key read;

	if (base64_read(base64.text, base64.len, blob, len) < 0)
		return "the key is no base64";
	enum sshsig_key_fault fault = sshsig_key_read(*blob, *len, &read);
	if (fault == SSHSIG_KEY_GOOD && !slice_is(type, read.type))
		return "the key is of another type than the line says";
	if (fault == SSHSIG_KEY_GOOD && use == KEY_SIGNS)
		fault = sshsig_key_counts(&read);
	switch (fault) {
	case SSHSIG_KEY_GOOD:
		return NULL;
	case SSHSIG_KEY_SHORT:
		return "the key is an RSA key of less than 3072 bits";
	case SSHSIG_KEY_APPLICATION:
		return "the security key has an application that does not begin with ssh:";
	case SSHSIG_KEY_MALFORMED:
	case SSHSIG_KEY_TYPE:
	case SSHSIG_KEY_CERTIFICATE:
		break;
	}
	return "the key is malformed, or of another type than the line says";
}

/* NULL: *SAME says whether the key of a line is KEY. Else what is wrong with it. */
static const char *compare_key(struct slice type, struct slice base64, enum key_use use,
			       const unsigned char *key, size_t key_len, int *same)
{
	auto_free unsigned char *blob = NULL;
	size_t len = 0;
	const char *fault = read_key(type, base64, use, &blob, &len);

	*same = fault == NULL && len == key_len && memcmp(blob, key, len) == 0;
	return fault;
}

/* The first of a line's principals: the one that its key signs as. */
static void first_name(const struct signer_line *entry, char name[SIGNER_SIZE])
{
	size_t len = 0;

	while (len < entry->principals.len && entry->principals.text[len] != ',')
		len++;
	memcpy(name, entry->principals.text, len);
	name[len] = '\0';
}

static int take_signer(const struct signer_line *entry, char name[SIGNER_SIZE], char **line,
		       struct sbx_error *err)
{
	first_name(entry, name);
	if (asprintf(line, "%s %.*s %.*s\n", name, (int)entry->type.len, entry->type.text,
		     (int)entry->key.len, entry->key.text) > 0)
		return 0;
	*line = NULL;
	return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
}

int signers_find(const char *text, size_t len, const unsigned char *key, size_t key_len,
		 const char *name_space, int64_t now, char name[SIGNER_SIZE], char **line,
		 struct sbx_error *err)
{
	struct lines lines = {text, text + len, 0};
	auto_free char *mine = NULL;
	struct signer_line entry;
	struct slice here;
	int known = 0;

	*line = NULL;
	while (next_line(&lines, &here)) {
		int kind = parse_line(here, lines.number, &entry, err), same = 0;
		if (kind < 0)
			return -1;
		if (kind == 0)
			continue;
		const char *fault =
			compare_key(entry.type, entry.key, KEY_SIGNS, key, key_len, &same);
		if (fault != NULL)
			return invalid(err, lines.number, fault);
		known |= same;
		if (same && mine == NULL && counts_now(&entry, name_space, now) &&
		    take_signer(&entry, name, &mine, err) < 0)
			return -1;
	}
	if (mine != NULL) {
		*line = take_ptr(&mine);
		return 0;
	}
	if (known)
		return sbx_fail(
			err, SBX_DENIED, "signer_not_valid",
			"the key is in the allowed signers, but not for this or not at this time");
	sbx_fail(err, SBX_DENIED, "signer_unknown", "the key is not in the allowed signers");
	return sbx_hint(err, "sign with a key that is, or let its owner add it to the trust file");
}

int signers_each(const char *text, size_t len, const char *name_space, int64_t now, signers_each_fn *each,
		 void *context, struct sbx_error *err)
{
	struct lines lines = {text, text + len, 0};
	struct signer_line entry;
	struct slice here;

	while (next_line(&lines, &here)) {
		auto_free unsigned char *key = NULL;
		char name[SIGNER_SIZE];
		size_t key_len = 0;
		int kind = parse_line(here, lines.number, &entry, err);
		if (kind < 0)
			return -1;
		if (kind == 0)
			continue;
		const char *fault = read_key(entry.type, entry.key, KEY_SIGNS, &key, &key_len);
		if (fault != NULL)
			return invalid(err, lines.number, fault);
		first_name(&entry, name);
		if (counts_now(&entry, name_space, now) && each(context, name, key, key_len, err) < 0)
			return -1;
	}
	return 0;
}

int signers_check_revoked(const char *text, size_t len, const unsigned char *key, size_t key_len,
			  struct sbx_error *err)
{
	struct lines lines = {text, text + len, 0};
	struct slice here;
	int revoked = 0;

	while (next_line(&lines, &here)) {
		struct words w = {here.text, here.text + here.len};
		struct slice type = next_word(&w), base64 = next_word(&w);
		int same = 0;
		const char *fault = line_fault(here);
		if (fault == NULL && (type.len == 0 || type.text[0] == '#'))
			continue;
		if (fault == NULL)
			fault = type_fault(type);
		if (fault == NULL)
			fault = compare_key(type, base64, KEY_IS_REVOKED, key, key_len, &same);
		if (fault != NULL)
			return revoked_invalid(err, lines.number, fault);
		revoked |= same;
	}
	return revoked ? sbx_fail(err, SBX_DENIED, "signer_revoked",
				  "the key that signed is revoked")
		       : 0;
}
