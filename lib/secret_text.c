/* Marks in texts, once over each. */
#include "secret_text.h"

#include <string.h>

#include "base.h"
#include "base64.h"
#include "scrub_shapes.h"
#include "secret_words.h"

/* Of a name within a text: a longer one is no name. */
enum { NAME_MAX_BYTES = 256 };

static int is_one_of(char c, const char *bytes)
{
	return c != '\0' && strchr(bytes, c) != NULL;
}

/* P stands between a name and its value: at =, or at a colon; but one with neither a blank nor a quote beside it is
 * that of an image or an address. */
static int separates(const char *begin, const char *p, const char *end)
{
	static const char quotes[] = "\"'\\";

	if (p + 1 >= end)
		return 0;
	return *p == '=' || (*p == ':' && (is_one_of(p[1], " \"'\\") || (p > begin && is_one_of(p[-1], quotes))));
}

/* Where the name begins that ends in front of END. */
static const char *name_before(const char *begin, const char *end)
{
	static const char inside[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
	const char *p = end;

	while (p > begin && is_one_of(p[-1], inside) && end - p < NAME_MAX_BYTES)
		p--;
	return p;
}

/* The name in front of P, without its quotes. */
static int names_secret(const char *begin, const char *p)
{
	static const char around[] = " \t\"'\\";

	while (p > begin && is_one_of(p[-1], around))
		p--;
	const char *name = name_before(begin, p);
	return secret_words_in(name, (size_t)(p - name));
}

/* P ends an option with its value behind a blank (--password x), or an element of XML with its text (<password>x). */
static int opens_secret(const char *begin, const char *p, const char *end)
{
	if ((*p != ' ' && *p != '>') || p + 1 >= end || is_one_of(p[1], " -<\r\n"))
		return 0;
	const char *name = name_before(begin, p);
	int is_opened = *p == ' ' ? *name == '-' : name > begin && name[-1] == '<';
	return is_opened && secret_words_in(name, (size_t)(p - name));
}

/* Options that are given an account: of curl, wget and their like. */
static int takes_account(const char *name, size_t len)
{
	static const char *const options[] = {"-u", "-U", "--user", "--proxy-user"};

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (strlen(options[i]) == len && memcmp(options[i], name, len) == 0)
			return 1;
	return 0;
}

int secret_text_account(const char *text, size_t len)
{
	const char *colon = memchr(text, ':', len);
	size_t before = colon != NULL ? (size_t)(colon - text) : len, digits = 0;

	if (colon == NULL || before == 0 || before + 1 == len)
		return 0;
	for (size_t i = 0; i < len; i++)
		digits += (text[i] >= '0' && text[i] <= '9') || i == before;
	return digits < len && !(text[before + 1] == '$' || memmem(text, len, "://", 3) != NULL);
}

/* P ends such an option, and the next word is an account with its password. */
static int opens_account(const char *begin, const char *p, const char *end)
{
	static const char around[] = "\"'";

	if (!is_one_of(*p, " =") || p == begin)
		return 0;
	const char *name = name_before(begin, p), *value = p + 1, *behind;
	while (value < end && is_one_of(*value, around))
		value++;
	for (behind = value; behind < end && !is_one_of(*behind, " \t\r\n\"'"); behind++)
		;
	return takes_account(name, (size_t)(p - name)) && secret_text_account(value, (size_t)(behind - value));
}

/* A web server with something in front of its name and an @: a token stands there alone, too (https://TOKEN@host). */
static int has_web_user(const char *text, size_t len)
{
	static const char *const schemes[] = {"http://", "https://"}, stop[] = "/?#@ \t\r\n\"'<>\\";
	const char *end = text + len;

	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		size_t n = strlen(schemes[i]);
		for (const char *p = text; p < end && (p = memmem(p, (size_t)(end - p), schemes[i], n)) != NULL;) {
			const char *user = p += n;
			while (p < end && !is_one_of(*p, stop) && *p != '\0')
				p++;
			if (p > user && p < end && *p == '@' && *user != '$')
				return 1;
		}
	}
	return 0;
}

static const char *skip(const char *p, const char *end, int blanks)
{
	while (p < end && is_one_of(*p, " \t\r\n") == blanks)
		p++;
	return p;
}

/* A line of a file that has two words, of which the first is such a name (requirepass x), also behind more of them in a
 * .netrc; and the address of a database as Go has it (user:x@tcp(db:3306)/). */
static int is_pair(const char *line, const char *end, int is_of_file)
{
	static const char machine[] = "machine ", password[] = " password ", tcp[] = "@tcp(";
	const char *name = skip(line, end, 1), *behind = skip(name, end, 0), *value = skip(behind, end, 1);
	size_t len = (size_t)(end - line);

	if (is_of_file && value < end && skip(skip(value, end, 0), end, 1) == end &&
	    secret_words_in(name, (size_t)(behind - name)))
		return 1;
	if (memmem(line, len, machine, sizeof machine - 1) != NULL &&
	    memmem(line, len, password, sizeof password - 1) != NULL)
		return 1;
	const char *at = memmem(line, len, tcp, sizeof tcp - 1);
	return at != NULL && memchr(line, ':', (size_t)(at - line)) != NULL;
}

/* A line in which a name is given a value; what stands in front of the first one may be a sentence. */
static int has_setting(const char *text, size_t len)
{
	const char *end = text + len, *line = text;
	int is_file = memchr(text, '\n', len) != NULL;

	while (line < end) {
		const char *next = memchr(line, '\n', (size_t)(end - line));
		int first = 1;
		next = next == NULL ? end : next + 1;
		if (is_pair(line, next, is_file))
			return 1;
		for (const char *p = line; p < next; p++) {
			if (opens_secret(line, p, next) || opens_account(line, p, next))
				return 1;
			if (!separates(line, p, next))
				continue;
			if (names_secret(line, p) ||
			    (first && p - line <= NAME_MAX_BYTES && secret_words_in(line, (size_t)(p - line))))
				return 1;
			first = 0;
		}
		line = next;
	}
	return 0;
}

/* The manifest of a Secret, YAML or JSON, also within a string: whatever its data are called. */
static int has_manifest(const char *text, size_t len)
{
	static const char kind[] = "kind", secret[] = "Secret", between[] = " \t\r\n:\"'\\";
	const char *end = text + len, *p = text;

	while (p < end && (p = memmem(p, (size_t)(end - p), kind, sizeof kind - 1)) != NULL) {
		p += sizeof kind - 1;
		const char *value = p;
		while (value < end && is_one_of(*value, between))
			value++;
		size_t left = (size_t)(end - value);
		if (value > p && left >= sizeof secret - 1 && memcmp(value, secret, sizeof secret - 1) == 0 &&
		    (left == sizeof secret - 1 || is_one_of(value[sizeof secret - 1], " \t\r\n,}#\"'\\")))
			return 1;
	}
	return 0;
}

/* Something that gzip packed, in base64, once or twice: nobody can read it here, and so Helm keeps its releases, with
 * the values that they were made with. */
static int is_packed(const char *text, size_t len)
{
	static const char *const begins[] = {"H4sI", "SDRzS"};

	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (len > strlen(begins[i]) && memcmp(text, begins[i], strlen(begins[i])) == 0)
			return 1;
	return 0;
}

static int is_secret(const char *text, size_t len)
{
	return is_packed(text, len) || shapes_in(text, len) || has_setting(text, len) || has_manifest(text, len) ||
	       has_web_user(text, len);
}

/* One of these in base64, as a whole. */
static int is_encoded(const char *text, size_t len)
{
	static const size_t least = 16; /* a name and a value in fewer are as likely a word */
	auto_free unsigned char *bytes = NULL;
	size_t count = 0;

	return len >= least && len % 4 == 0 && base64_read(text, len, &bytes, &count) == 0 &&
	       is_secret((const char *)bytes, count);
}

int secret_text_is(const char *text, size_t len)
{
	return is_secret(text, len) || is_encoded(text, len);
}

enum secret_argument secret_text_argument(const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len);

	if (equals != NULL) {
		size_t name = (size_t)(equals - text);
		int is_account = takes_account(text, name) && secret_text_account(equals + 1, len - name - 1);
		return is_account || secret_words_in(text, name) ? ARGUMENT_WITH_SECRET : ARGUMENT_PLAIN;
	}
	if (takes_account(text, len))
		return ARGUMENT_BEFORE_ACCOUNT;
	return len > 0 && text[0] == '-' && secret_words_in(text, len) ? ARGUMENT_BEFORE_SECRET : ARGUMENT_PLAIN;
}
