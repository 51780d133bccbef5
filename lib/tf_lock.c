/* The message's lines, in their order. */
#include "tf_lock.h"

#include <string.h>

#include "base.h"

static const char letters_and_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

struct lines {
	const char *at, *end;
};

/* The next one without its line feed; 0 behind the last. */
static int next_line(struct lines *lines, const char **line, size_t *len)
{
	if (lines->at == lines->end)
		return 0;
	const char *feed = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
	*line = lines->at;
	*len = (size_t)((feed != NULL ? feed : lines->end) - lines->at);
	lines->at = feed != NULL ? feed + 1 : lines->end;
	return 1;
}

static int begins(const char *line, size_t len, const char *word)
{
	return len >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

static int is_line(const char *line, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(line, word, len) == 0;
}

/* Letters, digits and MORE: then OUT is VALUE; else "". */
static void take_words(const char *value, size_t len, const char *more, size_t max, char *out)
{
	out[0] = '\0';
	for (size_t i = 0; i < len; i++)
		if (value[i] == '\0' ||
		    (strchr(letters_and_digits, value[i]) == NULL && strchr(more, value[i]) == NULL))
			return;
	if (len > max)
		return;
	memcpy(out, value, len);
	out[len] = '\0';
}

/* A host's name that begins with sbx- and a call. */
static void take_call(struct tf_lock *lock)
{
	static const char sandbox[] = "@sbx-";
	enum { DIGITS = sizeof lock->call - 1 };
	const char *host = strstr(lock->who, sandbox);

	if (host == NULL)
		return;
	host += sizeof sandbox - 1;
	if (strspn(host, "0123456789abcdef") != DIGITS || (host[DIGITS] != '\0' && host[DIGITS] != '-'))
		return;
	memcpy(lock->call, host, DIGITS);
}

/* An ID is no option. */
static int is_id(const char *id)
{
	size_t len = strlen(id);

	return len > 0 && id[0] != '-' && id[len - 1] != '-';
}

/* Behind "Lock Info:": its seven lines, all of them, or it is none. */
static int take_info(struct lines *lines, struct tf_lock *lock)
{
	struct tf_lock found = {.id = ""};
	const struct {
		const char *key, *more;
		size_t max;
		char *out;
	} keys[] = {
		{"  ID: ", "-", TF_LOCK_ID_MAX, found.id},
		{"  Path: ", NULL, 0, NULL},
		{"  Operation: ", " -_", TF_LOCK_WORD_MAX, found.operation},
		{"  Who: ", "._@+\\-", TF_LOCK_WORD_MAX, found.who},
		{"  Version: ", NULL, 0, NULL},
		{"  Created: ", " .:+-", TF_LOCK_WORD_MAX, found.created},
		{"  Info: ", NULL, 0, NULL},
	};
	const char *line;
	size_t len;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		size_t key = strlen(keys[i].key);
		if (!next_line(lines, &line, &len) || !begins(line, len, keys[i].key))
			return 0;
		while (key < len && line[key] == ' ')
			key++;
		if (keys[i].out != NULL)
			take_words(line + key, len - key, keys[i].more, keys[i].max, keys[i].out);
	}
	if (!is_id(found.id))
		return 0;
	take_call(&found);
	*lock = found;
	return 1;
}

/* The http backend says "ID=…", maybe on the next line, and behind it the lock that was asked for instead of the one
 * that is there. */
static int take_http(struct lines *lines, const char *rest, size_t len, struct tf_lock *lock)
{
	static const char id[] = "ID=";
	struct tf_lock found = {.id = ""};

	while (len > 0 && *rest == ' ') {
		rest++;
		len--;
	}
	if ((len == 0 && !next_line(lines, &rest, &len)) || !begins(rest, len, id))
		return 0;
	take_words(rest + sizeof id - 1, len - (sizeof id - 1), "-", TF_LOCK_ID_MAX, found.id);
	if (!is_id(found.id))
		return 0;
	*lock = found;
	return 1;
}

int tf_lock_find(const char *text, size_t len, struct tf_lock *lock)
{
	static const char http[] = "Error message: HTTP remote state already locked:";
	struct lines lines = {.at = text, .end = text + len};
	int is_about_lock = 0, found = 0;
	const char *line;
	size_t n;

	while (next_line(&lines, &line, &n)) {
		struct lines rest = lines;
		if (begins(line, n, "Error: ")) {
			is_about_lock = is_line(line, n, "Error: Error acquiring the state lock");
		} else if (is_about_lock && begins(line, n, http)) {
			found |= take_http(&rest, line + sizeof http - 1, n - (sizeof http - 1), lock);
			is_about_lock = 0;
		} else if (is_about_lock && is_line(line, n, "Lock Info:")) {
			found |= take_info(&rest, lock);
			is_about_lock = 0;
		}
	}
	return found;
}
