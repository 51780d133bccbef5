/* The strict reader of the trust file. */
#include "signers.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"

static const size_t line_max = 24 << 10; /* an RSA key of 16384 bits and its options */

struct words {
	const char *text, *end;
};

struct slice {
	const char *text;
	size_t len;
};

struct signer_line {
	struct slice principals, type, key;
	struct slice namespaces; /* text NULL: any */
	int64_t after, before;	 /* seconds; INT64_MIN and INT64_MAX: no limit */
};

static int invalid(struct sbx_error *err, unsigned line, const char *what)
{
	sbx_fail(err, SBX_CONFIG, "signers_invalid", "line %u of the allowed signers: %s", line, what);
	return sbx_hint(err, "a line is: NAME namespaces=\"sbx-approve@v1\" KEYTYPE KEY");
}

static int base64_value(char c)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c != '\0' ? strchr(alphabet, c) : NULL;

	return at != NULL ? (int)(at - alphabet) : -1;
}

int signers_base64(const char *text, size_t len, unsigned char **out, size_t *out_len)
{
	auto_free unsigned char *bytes = malloc(len / 4 * 3 + 1);
	size_t used = 0, padding = 0;

	if (bytes == NULL || len == 0 || len % 4 != 0)
		return -1;
	while (padding < 2 && text[len - 1 - padding] == '=')
		padding++;
	for (size_t i = 0; i < len; i += 4) {
		uint32_t group = 0;
		size_t here = i + 4 == len ? 4 - padding : 4;
		for (size_t k = 0; k < here; k++) {
			int value = base64_value(text[i + k]);
			if (value < 0)
				return -1;
			group |= (uint32_t)value << (18 - 6 * k);
		}
		/* Bits behind the last byte must be zero: one text for one value. */
		if ((here == 2 && (group & 0xffff)) || (here == 3 && (group & 0xff)))
			return -1;
		for (size_t k = 0; k + 1 < here; k++)
			bytes[used++] = (unsigned char)(group >> (16 - 8 * k));
	}
	*out_len = used;
	*out = take_ptr(&bytes);
	return 0;
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

static int check_principals(struct slice names, unsigned line, struct sbx_error *err)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@._+-";
	size_t here = 0;

	for (size_t i = 0; i <= names.len; i++) {
		if (i == names.len || names.text[i] == ',') {
			if (here == 0 || here >= SIGNER_SIZE)
				return invalid(err, line, "a principal must have 1 to 64 characters");
			here = 0;
		} else if (names.text[i] == '\0' || strchr(allowed, names.text[i]) == NULL) {
			return invalid(err, line, "principals are exact names (no pattern, quote or negation)");
		} else {
			here++;
		}
	}
	return 0;
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
	snprintf(iso, sizeof iso, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", d, d + 4, d + 6, d + 8, d + 10, d + 12);
	return clock_parse(iso, seconds);
}

static int check_namespaces(struct slice list, unsigned line, struct sbx_error *err)
{
	if (list.len == 0)
		return invalid(err, line, "namespaces is empty");
	for (size_t i = 0; i < list.len; i++)
		if (list.text[i] <= ' ' || list.text[i] > '~' || strchr("*?!\"", list.text[i]) != NULL)
			return invalid(err, line, "namespaces are exact names (no pattern)");
	return 0;
}

static int take_option(struct signer_line *entry, struct slice name, struct slice value, unsigned line,
		       struct sbx_error *err)
{
	if (slice_is(name, "namespaces") && entry->namespaces.text == NULL) {
		entry->namespaces = value;
		return check_namespaces(value, line, err);
	}
	if (slice_is(name, "valid-after") && entry->after == INT64_MIN && parse_time(value, &entry->after) == 0)
		return 0;
	if (slice_is(name, "valid-before") && entry->before == INT64_MAX && parse_time(value, &entry->before) == 0)
		return 0;
	if (slice_is(name, "valid-after") || slice_is(name, "valid-before"))
		return invalid(err, line, "valid-after and valid-before stand once, as YYYYMMDDHHMMSSZ (UTC)");
	char what[96];
	snprintf(what, sizeof what, "option %.*s is not understood here, or stands twice",
		 (int)(name.len < 40 ? name.len : 40), name.text);
	return invalid(err, line, what);
}

/* NAME="VALUE",NAME="VALUE"… */
static int parse_options(struct signer_line *entry, struct slice word, unsigned line, struct sbx_error *err)
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

static int is_key_type(struct slice word)
{
	static const char *const types[] = {
		"ssh-ed25519",
		"ecdsa-sha2-nistp256",
		"ecdsa-sha2-nistp384",
		"ecdsa-sha2-nistp521",
		"ssh-rsa",
		"sk-ssh-ed25519@openssh.com",
		"sk-ecdsa-sha2-nistp256@openssh.com",
	};

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (slice_is(word, types[i]))
			return 1;
	return 0;
}

/* 1: *ENTRY is a line's; 0: an empty line or a comment; -1. */
static int parse_line(const char *text, size_t len, unsigned line, struct signer_line *entry, struct sbx_error *err)
{
	struct words w = {text, text + len};
	struct slice first = next_word(&w);

	*entry = (struct signer_line){.principals = first, .after = INT64_MIN, .before = INT64_MAX};
	if (len > line_max || memchr(text, '\0', len) != NULL)
		return invalid(err, line, "the line is too long or holds a NUL");
	if (first.len == 0 || first.text[0] == '#')
		return 0;
	if (check_principals(first, line, err) < 0)
		return -1;
	entry->type = next_word(&w);
	if (!is_key_type(entry->type)) {
		if (entry->type.len == 0)
			return invalid(err, line, "the key is missing");
		if (parse_options(entry, entry->type, line, err) < 0)
			return -1;
		entry->type = next_word(&w);
	}
	if (!is_key_type(entry->type))
		return invalid(err, line, "the key type is not known");
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

/* 1 when the line holds KEY; the type in front must be the one inside. */
static int same_key(const struct signer_line *entry, const unsigned char *key, size_t key_len, unsigned line,
		    struct sbx_error *err)
{
	auto_free unsigned char *blob = NULL;
	size_t len;

	if (signers_base64(entry->key.text, entry->key.len, &blob, &len) < 0)
		return invalid(err, line, "the key is no base64");
	if (len < 4 + entry->type.len || blob[0] || blob[1] || blob[2] || blob[3] != entry->type.len ||
	    memcmp(blob + 4, entry->type.text, entry->type.len) != 0)
		return invalid(err, line, "the key is of another type than the line says");
	return len == key_len && memcmp(blob, key, len) == 0;
}

static int take_signer(const struct signer_line *entry, char name[SIGNER_SIZE], char **line, struct sbx_error *err)
{
	size_t len = 0;

	while (len < entry->principals.len && entry->principals.text[len] != ',')
		len++;
	memcpy(name, entry->principals.text, len);
	name[len] = '\0';
	if (asprintf(line, "%s %.*s %.*s\n", name, (int)entry->type.len, entry->type.text, (int)entry->key.len,
		     entry->key.text) > 0)
		return 0;
	*line = NULL;
	return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
}

int signers_find(const char *text, size_t len, const unsigned char *key, size_t key_len, const char *name_space,
		 int64_t now, char name[SIGNER_SIZE], char **line, struct sbx_error *err)
{
	auto_free char *mine = NULL;
	unsigned number = 0;
	int known = 0;

	*line = NULL;
	for (size_t i = 0; i < len;) {
		const char *feed = memchr(text + i, '\n', len - i);
		size_t here = feed != NULL ? (size_t)(feed - text) - i : len - i;
		struct signer_line entry;
		int kind = parse_line(text + i, here, ++number, &entry, err);
		int same = kind == 1 ? same_key(&entry, key, key_len, number, err) : kind;
		if (same < 0)
			return -1;
		known |= same;
		if (same && mine == NULL && namespace_allowed(&entry, name_space) && now >= entry.after &&
		    now < entry.before && take_signer(&entry, name, &mine, err) < 0)
			return -1;
		i += here + 1;
	}
	if (mine != NULL) {
		*line = take_ptr(&mine);
		return 0;
	}
	if (known)
		return sbx_fail(err, SBX_DENIED, "signer_not_valid",
				"the key is in the allowed signers, but not for this or not at this time");
	sbx_fail(err, SBX_DENIED, "signer_unknown", "the key is not in the allowed signers");
	return sbx_hint(err, "sign with a key that is, or let its owner add it to the trust file");
}
