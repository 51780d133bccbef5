/* The message's lines, in their order. */
#include "tf_lock.h"

#include <stdio.h>
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

/* USER@HOST, where the host's name is sbx- and a call, maybe with the suffix that a Pod gets. */
static void take_call(struct tf_lock *lock)
{
	static const char sandbox[] = "@sbx-";
	enum { DIGITS = sizeof lock->call - 1 };
	const char *host = strrchr(lock->who, '@');

	if (host == NULL || strncmp(host, sandbox, sizeof sandbox - 1) != 0)
		return;
	host += sizeof sandbox - 1;
	if (strspn(host, "0123456789abcdef") != DIGITS || (host[DIGITS] != '\0' && host[DIGITS] != '-'))
		return;
	if (host[DIGITS] == '-' && (host[DIGITS + 1] == '\0' ||
				    host[DIGITS + 1 + strspn(host + DIGITS + 1, letters_and_digits)] != '\0'))
		return;
	memcpy(lock->call, host, DIGITS);
}

int tf_lock_is_id(const char *id)
{
	char taken[TF_LOCK_ID_MAX + 1];
	size_t len = strlen(id);

	take_words(id, len, "-", TF_LOCK_ID_MAX, taken);
	return taken[0] != '\0' && id[0] != '-' && id[len - 1] != '-';
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
	if (!tf_lock_is_id(found.id))
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
	if (!tf_lock_is_id(found.id))
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

/* Behind "Failed to unlock state: " on its LINE: the backend names ASKED, and, if it is Terraform's for S3, the other one. OTHER gets that
 * or stays. */
static int is_other(const char *line, size_t len, const char *asked, char other[TF_LOCK_ID_MAX + 1])
{
	static const char s3[] = "' does not match the existing lock ID '";
	/* Terraform for Kubernetes and DynamoDB; OpenTofu for S3. */
	static const char *const wheres[] = {"", " from s3"};
	char words[2 * TF_LOCK_ID_MAX + 80];

	for (size_t i = 0; i < ARRAY_LEN(wheres); i++) {
		snprintf(words, sizeof words, "lock id \"%s\"%s does not match existing lock", asked, wheres[i]);
		if (is_line(line, len, words))
			return 1;
	}
	int n = snprintf(words, sizeof words, "lock ID '%s%s", asked, s3);
	if (n < 0 || (size_t)n >= sizeof words || !begins(line, len, words) || line[len - 1] != '\'' || len <= (size_t)n + 1)
		return 0;
	take_words(line + n, len - (size_t)n - 1, "-", TF_LOCK_ID_MAX, other);
	return other[0] != '\0';
}

int tf_lock_find_other(const char *text, size_t len, const char *asked, struct tf_lock *lock)
{
	static const char red[] = "\x1b[31m", failed[] = "Failed to unlock state: ";
	struct lines lines = {.at = text, .end = text + len};
	char other[TF_LOCK_ID_MAX + 1];
	int count = 0, found = 0;
	const char *line;
	size_t n;

	while (next_line(&lines, &line, &n)) {
		size_t colour = begins(line, n, red) ? sizeof red - 1 : 0;
		if (!begins(line + colour, n - colour, failed))
			continue;
		size_t front = colour + sizeof failed - 1;
		count++;
		other[0] = '\0';
		found = is_other(line + front, n - front, asked, other) && next_line(&lines, &line, &n) &&
			is_line(line, n, "Lock Info:") && take_info(&lines, lock) && (other[0] == '\0' || strcmp(other, lock->id) == 0);
	}
	return found && count == 1;
}
