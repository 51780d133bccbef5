/* The format of the review text, pinned: test/golden/NAME.json is what a text is made from, NAME.txt the text. (After a
 * change that is meant: review_golden_test --write.) And what others chose, at every place where something of theirs
 * stands, makes no line and no word of ours. */
#include "review_text.h"

#include <fcntl.h>
#include <stdio.h>

#include "io.h"
#include "unit.h"

enum { READ_LINES = 32, DIGEST_LINES = 16 };

static const char *const names[] = {"review-plan", "review-tool", "review-kubernetes", "review-apply", "review-large"};

static jv load(const char *name)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_free char *text = NULL;
	char path[128];
	jv value = jv_invalid();
	size_t len;

	snprintf(path, sizeof path, "test/golden/%s.json", name);
	if (io_read_file(AT_FDCWD, path, LIMIT_CALL, 0, &text, &len, &err) < 0 ||
	    json_parse(text, len, LIMIT_CALL, &value, &err) < 0)
		printf("# %s: %s\n", path, err.message);
	return value;
}

/* -1 when there is no such text. */
static int make_text(jv input, struct buf *out)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_jv terms = json_object(input, "terms"), call = json_object(input, "call"), seal = json_object(input, "seal"),
		report = json_object(input, "report");
	const char *level = json_str(input, "level");
	const struct review review = {.call = call,
				      .seal = seal,
				      .report = report,
				      .installation = "01c8b802ee3ea1076c25ae288e3f1109",
				      .level = level != NULL && strcmp(level, "L0") == 0 ? REVIEW_LEVEL_0
											 : REVIEW_SEPARATE};
	struct review_terms said = {.id = "00112233445566778899aabbccddeeff",
				    .created = 1796000000,
				    .expires = 1796001800,
				    .nonce = "ffeeddccbbaa99887766554433221100",
				    .head = "80a271c755871c6ac6160667bb086ddfe08b72e8e1eca08bf97c3bf4a7941f0e",
				    .client = json_str(terms, "client")};

	json_int(terms, "number", &said.number);
	buf_reset(out);
	return review_text(&review, &said, out, &err);
}

/* Lines of TEXT up to END. */
static int count_lines(const char *text, const char *end)
{
	int lines = 0;

	for (; text < end; text++)
		lines += *text == '\n';
	return lines;
}

static void write_golden(const char *path, const struct buf *text)
{
	FILE *file = fopen(path, "w");

	CHECK(file != NULL && fwrite(text->data, 1, text->len, file) == text->len && fclose(file) == 0);
}

static void test_golden(const char *name, int write)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf text = BUF_INIT(LIMIT_REVIEW_TEXT);
	auto_free char *golden = NULL;
	auto_jv input = load(name);
	char path[128];
	size_t len;

	snprintf(path, sizeof path, "test/golden/%s.txt", name);
	CHECK(make_text(input, &text) == 0);
	if (write)
		write_golden(path, &text);
	CHECK(io_read_file(AT_FDCWD, path, LIMIT_REVIEW_TEXT, 0, &golden, &len, &err) == 0);
	CHECK_STR(buf_str(&text), golden != NULL ? golden : "");
}

/* A person sees all that is to be read at once; the digests follow. */
static void test_one_screen(void)
{
	auto_buf text = BUF_INIT(LIMIT_REVIEW_TEXT);

	for (size_t i = 0; i < 3; i++) {
		auto_jv input = load(names[i]);
		CHECK(make_text(input, &text) == 0);
		const char *start = buf_str(&text), *digests = strstr(start, "\nDigests (SHA-256)\n");
		CHECK(digests != NULL && count_lines(start, digests) <= READ_LINES);
		CHECK(digests != NULL && count_lines(digests, start + text.len) <= DIGEST_LINES);
	}
}

/* --- what others choose --- */

/* Words and lines of ours, and what a terminal or a careless reader would take for the end of a quote. */
static const char evil[] = "\n\nNot inspected\n  nothing: EVIL\r\n\"EVIL\\\" \"EVIL\"\\\"EVIL\033[2JEVIL\xc2\x9b\xe2\x80\xae"
			   "EVIL\\";

/* 1 when EVIL stands in quotes alone, each line is one of ours, and all is printable ASCII. */
static int is_harmless(const char *text)
{
	int quoted = 0, starts = 1;

	for (const char *p = text; *p != '\0'; p++) {
		if (*p != '\n' && (*p < 0x20 || *p > 0x7e))
			return 0;
		if (starts && (quoted || *p == '"'))
			return 0;
		starts = *p == '\n';
		if (!quoted && strncmp(p, "EVIL", 4) == 0)
			return 0;
		if (quoted && *p == '\\' && p[1] != '\0' && p[1] != '\n')
			p++;
		else
			quoted ^= *p == '"';
	}
	return !quoted;
}

/* What the text says without what stands in quotes. */
static void put_ours(const char *text, struct buf *out)
{
	struct sbx_error err = SBX_ERROR_INIT;
	int quoted = 0;

	buf_reset(out);
	for (const char *p = text; *p != '\0'; p++) {
		if (quoted && *p == '\\')
			p++;
		else if (*p == '"')
			quoted = !quoted;
		else if (!quoted)
			buf_add(out, p, 1, &err);
	}
}

struct places {
	jv root; /* borrowed */
	const char *text;
	int tried, seen, bad; /* places; those whose string stands in the text; those where it does harm */
};

/* Words that choose how a text is made, and so may change what stands outside quotes. */
static int chooses(const char *key)
{
	static const char *const words[] = {"verdict", "signals", "actions", "reason", "level", "path",
					    "because", "before",  "after",   "address"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(key, words[i]) == 0)
			return 1;
	return 0;
}

/* INPUT is consumed. */
static void try_input(struct places *places, jv input, const char *key)
{
	auto_buf text = BUF_INIT(LIMIT_REVIEW_TEXT), ours = BUF_INIT(LIMIT_REVIEW_TEXT), was = BUF_INIT(LIMIT_REVIEW_TEXT);

	places->tried++;
	int harmless = make_text(input, &text) == 0 && is_harmless(buf_str(&text));
	places->seen += strstr(buf_str(&text), "EVIL") != NULL;
	put_ours(buf_str(&text), &ours);
	put_ours(places->text, &was);
	int same = chooses(key) || strcmp(buf_str(&ours), buf_str(&was)) == 0;
	places->bad += !harmless || !same;
	if (!harmless || !same)
		printf("# harm at %s:\n%s", key, buf_str(&text));
	jv_free(input);
}

/* Every string below PATH, and every name of a member, becomes EVIL, one at a time. */
static void try_places(struct places *places, jv value, jv path, const char *key)
{
	jv_kind kind = jv_get_kind(value);

	if (kind == JV_KIND_STRING)
		try_input(places, jv_setpath(jv_copy(places->root), jv_copy(path), jv_string(evil)), key);
	if (kind == JV_KIND_ARRAY)
		jv_array_foreach(value, i, element)
			try_places(places, element, jv_array_append(jv_copy(path), jv_number(i)), key);
	if (kind == JV_KIND_OBJECT)
		jv_object_foreach(value, name, member) {
			const char *text = jv_string_value(name);
			try_places(places, member, jv_array_append(jv_copy(path), jv_copy(name)), text);
			jv_free(name);
		}
	jv_free(value);
	jv_free(path);
}

/* Names that others choose: of parameters, environment variables, limits and programs. */
static void try_names(struct places *places)
{
	static const char *const maps[][4] = {{"call", "call", "params", NULL},
					      {"call", "policy", "run", "env"},
					      {"call", "policy", "run", "programs"},
					      {"call", "policy", "run", "limits"}};

	for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
		jv path = jv_array();
		for (size_t k = 0; k < 4 && maps[i][k] != NULL; k++)
			path = jv_array_append(path, jv_string(maps[i][k]));
		jv map = jv_object_set(jv_object(), jv_string(evil), jv_string("x"));
		auto_jv input = jv_setpath(jv_copy(places->root), path, map);
		auto_buf text = BUF_INIT(LIMIT_REVIEW_TEXT);
		CHECK(make_text(input, &text) == 0);
		CHECK(is_harmless(buf_str(&text)) && strstr(buf_str(&text), "EVIL") != NULL);
	}
}

static void test_hostile(const char *name)
{
	auto_buf text = BUF_INIT(LIMIT_REVIEW_TEXT);
	auto_jv input = load(name);
	struct places places = {.root = input};

	CHECK(make_text(input, &text) == 0 && is_harmless(buf_str(&text)));
	places.text = buf_str(&text);
	try_places(&places, jv_copy(input), jv_array(), "");
	try_names(&places);
	printf("# %s: %d places, %d of them in the text\n", name, places.tried, places.seen);
	CHECK(places.bad == 0 && places.seen > 10);
}

int main(int argc, char **argv)
{
	int write = argc > 1 && strcmp(argv[1], "--write") == 0;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		test_golden(names[i], write);
		test_hostile(names[i]);
	}
	test_one_screen();
	return unit_done();
}
