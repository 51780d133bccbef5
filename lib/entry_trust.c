/* The terms, line by line. */
#include "entry_trust.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "io.h"

static const size_t terms_max = 64 << 10;

int entry_trust_is_there(struct sbx_error *err)
{
	if (access(ENTRY_TRUST, F_OK) == 0)
		return 1;
	if (errno == ENOENT || errno == ENOTDIR)
		return 0;
	return sbx_fail_errno(err, SBX_CONFIG, "trust_invalid", "cannot look at " ENTRY_TRUST);
}

static int invalid(unsigned line, const char *what, struct sbx_error *err)
{
	return sbx_fail(err, SBX_CONFIG, "trust_invalid", "line %u of " ENTRY_TRUST "/terms: %s", line, what);
}

/* Cut TEXT at its blanks; -1 for two of them side by side, and for more words than a line has. */
static int split(char *text, struct trust_line *line)
{
	*line = (struct trust_line){.count = 0};
	for (char *word = text; word != NULL;) {
		char *blank = strchr(word, ' ');
		if (blank != NULL)
			*blank++ = '\0';
		if (word[0] == '\0' || line->count == ARRAY_LEN(line->words))
			return -1;
		line->words[line->count++] = word;
		word = blank;
	}
	return 0;
}

static int take_people(struct entry_trust *trust, const struct trust_line *line)
{
	const char *key = line->words[2];

	if (trust->people != 0 || line->count < 2 || line->count > 3 ||
	    io_parse_u64(line->words[1], 1, LIMIT_APPROVERS, &trust->people) < 0)
		return -1;
	if (key == NULL)
		return 0;
	trust->key = strcmp(key, "touched") == 0 ? TRUST_TOUCHED : TRUST_VERIFIED;
	return trust->key == TRUST_TOUCHED || strcmp(key, "verified") == 0 ? 0 : -1;
}

static int take_line(struct entry_trust *trust, const struct trust_line *line)
{
	const char *first = line->words[0];

	if (strcmp(first, "people") == 0)
		return take_people(trust, line);
	if (strcmp(first, "free") == 0 && line->count == 3 && trust->free_count < TRUST_LINES) {
		trust->free[trust->free_count++] = *line;
		return 0;
	}
	if (strcmp(first, "person") == 0 && line->count >= 3 && trust->person_count < TRUST_LINES) {
		trust->persons[trust->person_count++] = *line;
		return 0;
	}
	if (strcmp(first, "installation") == 0 && line->count == 2 && trust->installation == NULL) {
		trust->installation = line->words[1];
		return 0;
	}
	return -1;
}

/* A signer with two people would count twice. */
static int is_shared(const struct entry_trust *trust)
{
	for (size_t i = 0; i < trust->person_count; i++)
		for (size_t k = 2; k < trust->persons[i].count; k++)
			if (entry_trust_person(trust, trust->persons[i].words[k]) != trust->persons[i].words[1])
				return 1;
	return 0;
}

int entry_trust_load(struct entry_trust *trust, struct sbx_error *err)
{
	struct sbx_error unread = SBX_ERROR_INIT;
	struct trust_line line;
	unsigned number = 0;
	size_t len;

	if (io_read_file(AT_FDCWD, ENTRY_TRUST "/terms", terms_max, IO_TRUSTED, &trust->text, &len, &unread) < 0)
		return sbx_fail(err, SBX_CONFIG, "trust_invalid", "the terms of this image's trust file: %s",
				unread.message);
	if (strlen(trust->text) != len)
		return invalid(0, "there is a NUL in it", err);
	for (char *at = trust->text, *end; at != NULL; at = end) {
		end = strchr(at, '\n');
		if (end != NULL)
			*end++ = '\0';
		number++;
		if (at[0] == '\0' || at[0] == '#')
			continue;
		if (split(at, &line) < 0 || take_line(trust, &line) < 0)
			return invalid(number, "it is none that is known", err);
	}
	if (trust->people == 0)
		return invalid(number, "nothing says how many people must sign", err);
	return is_shared(trust) ? invalid(number, "a signer is two people", err) : 0;
}

void entry_trust_clear(struct entry_trust *trust)
{
	free(trust->text);
	*trust = (struct entry_trust){.text = NULL};
}

const char *entry_program_name(const struct step *step, size_t *len)
{
	static const char place[] = SANDBOX_PROGRAMS "/";

	if (strncmp(step->program, place, sizeof place - 1) != 0)
		return NULL;
	const char *name = step->program + sizeof place - 1;
	*len = strcspn(name, "/");
	/* NAME/BASENAME, and no place further down or above. */
	return *len > 0 && name[0] != '.' && name[*len] == '/' && strchr(name + *len + 1, '/') == NULL ? name : NULL;
}

static int frees_step(const struct entry_trust *trust, const struct step *step)
{
	size_t len = 0;
	const char *name = entry_program_name(step, &len);

	if (name == NULL || step->argc < 2 || step->argv[1].kind != SLOT_TEXT)
		return 0;
	for (size_t i = 0; i < trust->free_count; i++) {
		char *const *words = trust->free[i].words;
		if (strlen(words[1]) == len && memcmp(words[1], name, len) == 0 &&
		    strcmp(words[2], step->argv[1].text) == 0)
			return 1;
	}
	return 0;
}

int entry_trust_frees(const struct entry_trust *trust, const struct steps *table)
{
	for (uint32_t i = 0; i < table->step_count; i++)
		if (!frees_step(trust, &table->steps[i]))
			return 0;
	return 1;
}

const char *entry_trust_person(const struct entry_trust *trust, const char *signer)
{
	if (trust->person_count == 0)
		return signer;
	for (size_t i = 0; i < trust->person_count; i++)
		for (size_t k = 2; k < trust->persons[i].count; k++)
			if (strcmp(trust->persons[i].words[k], signer) == 0)
				return trust->persons[i].words[1];
	return NULL;
}
