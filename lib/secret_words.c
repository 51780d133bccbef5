/* Looks for words in names that are reduced to letters and digits. */
#include "secret_words.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base.h"

enum { NAME_MAX_BYTES = 256 };

static const char *const words[] = {
	"password",   "passwd",		  "passphrase",	 "pwd",	       "secret",	"token",      "apikey",
	"accesskey",  "privatekey",	  "clientkey",	 "signingkey", "encryptionkey", "credential", "authorization",
	"bearer",     "cookie",		  "kubeconfig",	 "accountkey", "masterkey",	"sharedkey",  "sshkey",
	"passcode",   "connectionstring", "requirepass", "masterauth", "sessionkey",	"hmackey",    "storagekey",
	"licensekey", "dbpass",		  "pgpass",	 "mysqlpass"};
/* Too short to be looked for within a word (compass, author, path): the last word is one of them, as in DB_PASS, also
 * with a number behind it. */
static const char *const last_words[] = {"pass", "auth", "pat", "dsn", "pw", "creds", "otp", "jwt",
					 "pin",  "salt"};
/* Of these the word before is the name of something that is elsewhere, or is told of it. */
static const char *const ends[] = {"name", "names",    "ref",	  "path", "file",   "namespace", "kind", "url",
				   "uri",  "audience", "seconds", "type", "sha256", "publickey", "ttl",	 "count"};
/* Words that only end as those do. */
static const char *const no_ends[] = {"account", "discount", "profile"};

/* Lower-case; the length. */
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

static int ends_in_one_of(const char *text, size_t len, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ends_in(text, len, list[i]))
			return 1;
	return 0;
}

/* The letters and digits at the end of NAME, from a capital behind a small letter on. */
static int is_last_word(const char *name, size_t len)
{
	while (len > 0 && (isdigit((unsigned char)name[len - 1]) || strchr("_-.", name[len - 1]) != NULL))
		len--;
	size_t at = len;
	while (at > 0 && isalnum((unsigned char)name[at - 1]) &&
	       !(at < len && islower((unsigned char)name[at - 1]) && isupper((unsigned char)name[at])))
		at--;
	for (size_t i = 0; i < ARRAY_LEN(last_words); i++)
		if (strlen(last_words[i]) == len - at && strncasecmp(name + at, last_words[i], len - at) == 0)
			return 1;
	return 0;
}

/* STRIPE_KEY: a setting of an environment. As members of objects, keys have other names and are names themselves
 * (topologyKey). */
static int is_key_of_environment(const char *name, size_t len)
{
	static const char end[] = "_KEY", *const plain[] = {"PUBLIC", "PRIMARY", "FOREIGN", "SORT", "PARTITION", "ROUTING",
							    "CACHE"};
	size_t before = len - (sizeof end - 1);

	if (len < sizeof end || memcmp(name + before, end, sizeof end - 1) != 0)
		return 0;
	for (size_t i = 0; i < before; i++)
		if (islower((unsigned char)name[i]))
			return 0;
	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		if (ends_in(name, before, plain[i]))
			return 0;
	return 1;
}

int secret_words_in(const char *name, size_t len)
{
	char plain[NAME_MAX_BYTES + 1];

	if (len > NAME_MAX_BYTES)
		return 1;
	size_t n = reduce(name, len, plain);
	if (ends_in_one_of(plain, n, ends, ARRAY_LEN(ends)) && !ends_in_one_of(plain, n, no_ends, ARRAY_LEN(no_ends)))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strstr(plain, words[i]) != NULL)
			return 1;
	return is_last_word(name, len) || is_key_of_environment(name, len);
}
