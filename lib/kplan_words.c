/* Look for few letters in short texts, and for few marks in long ones, once over each. */
#include "kplan_words.h"

#include <string.h>

#include "base.h"

enum { NAME_MAX_BYTES = 256 /* of a name that is looked at: a longer one counts as a secret's */ };

/* Letters and digits alone, lower-case; the length. */
static size_t reduce(const char *name, size_t len, char out[NAME_MAX_BYTES + 1])
{
	size_t put = 0;

	for (size_t i = 0; i < len; i++) {
		char c = name[i];
		if (c >= 'A' && c <= 'Z')
			out[put++] = (char)(c - 'A' + 'a');
		else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
			out[put++] = c;
	}
	out[put] = '\0';
	return put;
}

static int ends_in(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(text + len - n, end, n) == 0;
}

int kplan_words_name(const char *name, size_t len)
{
	static const char *const words[] = {"password",	     "passwd",	   "passphrase",    "pwd",
					    "secret",	     "token",	   "apikey",	    "accesskey",
					    "privatekey",    "signingkey", "encryptionkey", "credential",
					    "authorization", "kubeconfig", "clientkeydata"};
	/* Of these the word before is the name of something that is elsewhere. */
	static const char *const references[] = {"name", "names", "ref", "path",     "file",	"namespace",
						 "kind", "url",	  "uri", "audience", "seconds", "type"};
	char plain[NAME_MAX_BYTES + 1];

	if (len > NAME_MAX_BYTES)
		return 1;
	size_t n = reduce(name, len, plain);
	for (size_t i = 0; i < ARRAY_LEN(references); i++)
		if (ends_in(plain, n, references[i]))
			return 0;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strstr(plain, words[i]) != NULL)
			return 1;
	return 0;
}

static const char *find(const char *text, size_t len, const char *word)
{
	return memmem(text, len, word, strlen(word));
}

/* SCHEME://USER:PASSWORD@ */
static int has_password(const char *text, size_t len)
{
	const char *end = text + len, *from = text, *marks;

	while ((marks = find(from, (size_t)(end - from), "://")) != NULL) {
		const char *colon = NULL, *p = from = marks + 3;
		for (; p < end && *p != '/' && *p != ' ' && *p != '@'; p++)
			if (*p == ':' && colon == NULL)
				colon = p;
		if (p < end && *p == '@' && colon != NULL && p > colon + 1)
			return 1;
		from = p;
	}
	return 0;
}

/* Three parts of base64url of which the first is an object: eyJ is {". */
static int has_token(const char *text, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const char *end = text + len, *from = text;

	while ((from = find(from, (size_t)(end - from), "eyJ")) != NULL) {
		int parts = 1;
		for (; from < end && (*from == '.' || (*from != '\0' && strchr(digits, *from) != NULL)); from++)
			parts += *from == '.';
		if (parts >= 3)
			return 1;
	}
	return 0;
}

/* A line that gives a name a value. A colon with neither a blank nor a quote behind it is that of an image or an
 * address. */
static int has_setting(const char *text, size_t len)
{
	const char *end = text + len, *line = text;

	while (line < end) {
		const char *next = memchr(line, '\n', (size_t)(end - line)), *p = line;
		next = next == NULL ? end : next + 1;
		while (p + 1 < next && *p != '=' && !(*p == ':' && (p[1] == ' ' || p[1] == '"')))
			p++;
		size_t name = (size_t)(p - line);
		if (p + 1 < next && name <= NAME_MAX_BYTES && kplan_words_name(line, name))
			return 1;
		line = next;
	}
	return 0;
}

int kplan_words_value(const char *text, size_t len)
{
	return find(text, len, "PRIVATE KEY-----") != NULL || has_password(text, len) || has_token(text, len) ||
	       has_setting(text, len);
}

enum kplan_argument kplan_words_argument(const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len);

	if (equals != NULL)
		return kplan_words_name(text, (size_t)(equals - text)) ? ARGUMENT_WITH_SECRET : ARGUMENT_PLAIN;
	return len > 0 && text[0] == '-' && kplan_words_name(text, len) ? ARGUMENT_BEFORE_SECRET : ARGUMENT_PLAIN;
}
