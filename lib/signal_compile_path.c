/* Paths as text. */
#include <string.h>

#include "io.h"
#include "signal_compile_impl.h"

static const char document_step[] = "@json";
/* Who needs a later element looks at each. */
static const uint64_t index_max = 1000;
static const char hint[] = "names joined by dots, [*] for each element, .* for each member, [0], "
			   "[\"a.b\"], @json for the value in a string";

/* Where a path's text is read. */
struct reader {
	const char *at;
	int is_first; /* nothing was read yet */
	struct signal_draft *draft;
	struct sbx_error *err;
};

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
static const char in_names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-";

static size_t name_length(const char *text)
{
	return *text != '\0' && strchr(letters, *text) != NULL ? strspn(text, in_names) : 0;
}

int path_is_name(const char *text)
{
	return *text != '\0' && text[name_length(text)] == '\0';
}

struct path_facts path_facts(const struct signal_draft *draft, struct signal_range range)
{
	const struct signal_step *steps = (const void *)buf_str(&draft->steps);
	struct path_facts facts = {.documents = 0};

	for (uint32_t i = 0; i < range.count; i++) {
		uint32_t kind = steps[range.first + i].kind;
		facts.is_many |= kind == SIGNAL_ELEMENTS || kind == SIGNAL_MEMBERS;
		facts.documents += kind == SIGNAL_JSON;
		facts.is_many_documents |= kind == SIGNAL_JSON && facts.is_many;
	}
	return facts;
}

static int add_step(struct reader *r, struct signal_step step, const char *name)
{
	if (draft_text(r->draft, name, strlen(name), &step.name, r->err) < 0)
		return -1;
	return draft_add(&r->draft->steps, &step, sizeof step, NULL, r->err);
}

/* 1: read; 0: this is no path; -1. */
static int put(struct reader *r, enum signal_step_kind kind, const char *name, uint32_t index)
{
	return add_step(r, (struct signal_step){.kind = kind, .index = index}, name) < 0 ? -1 : 1;
}

/* ["..."] behind its opening bracket; \" and \\ stand for the second character. */
static int read_quoted(struct reader *r)
{
	char name[256];
	size_t len = 0;

	for (r->at++; *r->at != '"'; r->at++) {
		r->at += *r->at == '\\';
		if (*r->at == '\0' || len == sizeof name - 1)
			return 0;
		name[len++] = *r->at;
	}
	name[len] = '\0';
	if (strncmp(r->at, "\"]", 2) != 0)
		return 0;
	r->at += 2;
	return put(r, SIGNAL_NAME, name, 0);
}

static int read_bracket(struct reader *r)
{
	char digits[16];
	uint64_t index;

	r->at++;
	if (*r->at == '"')
		return read_quoted(r);
	size_t len = strcspn(r->at, "]");
	if (r->at[len] == '\0' || len >= sizeof digits)
		return 0;
	memcpy(digits, r->at, len);
	digits[len] = '\0';
	r->at += len + 1;
	if (strcmp(digits, "*") == 0)
		return put(r, SIGNAL_ELEMENTS, "", 0);
	if (io_parse_u64(digits, 0, index_max, &index) < 0)
		return 0;
	return put(r, SIGNAL_INDEX, "", (uint32_t)index);
}

static int read_step(struct reader *r)
{
	char name[256];

	if (*r->at == '[')
		return read_bracket(r);
	if (*r->at == '.')
		r->at++;
	else if (!r->is_first)
		return 0;
	if (*r->at == '*') {
		r->at++;
		return put(r, SIGNAL_MEMBERS, "", 0);
	}
	if (strncmp(r->at, document_step, sizeof document_step - 1) == 0) {
		r->at += sizeof document_step - 1;
		return put(r, SIGNAL_JSON, "", 0);
	}
	size_t len = name_length(r->at);
	if (len == 0 || len >= sizeof name)
		return 0;
	memcpy(name, r->at, len);
	name[len] = '\0';
	r->at += len;
	return put(r, SIGNAL_NAME, name, 0);
}

int compile_path(const struct schema *s, const struct yaml_at *up, jv parent, const char *key,
		 struct signal_draft *draft, struct signal_range *range)
{
	const struct yaml_at at = {.up = up, .key = key};
	const char *text = json_str(parent, key);

	range->first = draft_count(&draft->steps, sizeof(struct signal_step));
	range->count = 0;
	if (text == NULL || *text == '\0')
		return schema_fail(s, &at, hint, "must be a path");
	if (strcmp(text, ".") == 0) /* the value itself */
		return 0;
	struct reader r = {.at = text, .is_first = 1, .draft = draft, .err = s->err};
	while (*r.at != '\0') {
		int read = read_step(&r);
		if (read < 0)
			return -1;
		if (read == 0)
			return schema_fail(s, &at, hint, "is no path");
		r.is_first = 0;
		if (++range->count > SIGNAL_STEPS)
			return schema_fail(s, &at, NULL, "has more than %d steps",
					   (int)SIGNAL_STEPS);
	}
	return 0;
}
