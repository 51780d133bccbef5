/* Strict YAML: what is accepted and how it is typed, and that everything two readers could take differently is refused,
 * with its place. */
#include "buf.h"
#include "unit.h"
#include "yaml_jv.h"
#include "yaml_walk.h"
#include "yaml_lex.h"
#include "yaml_path.h"

static struct sbx_error err;

/* The canonical JSON of TEXT, or the error's code. */
static const char *parsed_n(const char *text, size_t len)
{
	static char out[4096];
	auto_jv value = jv_invalid();
	auto_buf json = BUF_INIT(sizeof out - 1);

	sbx_error_clear(&err);
	if (yaml_jv_parse(text, len, "t", &value, &err) < 0 || json_write(value, &json, &err) < 0)
		snprintf(out, sizeof out, "%s", err.code);
	else
		snprintf(out, sizeof out, "%s", buf_str(&json));
	return out;
}

static const char *parsed(const char *text)
{
	return parsed_n(text, strlen(text));
}

static void test_values(void)
{
	CHECK_STR(parsed("a: b\n"), "{\"a\":\"b\"}");
	CHECK_STR(parsed("--- {a: [b, 'c', \"d\"]}\n...\n"), "{\"a\":[\"b\",\"c\",\"d\"]}");
	CHECK_STR(parsed("a: true\nb: false\nc: 0\nd: -7\ne: 9007199254740991\n"),
		  "{\"a\":true,\"b\":false,\"c\":0,\"d\":-7,\"e\":9007199254740991}");
	CHECK_STR(parsed("a: \"true\"\nb: '12'\nc: \"\"\n"), "{\"a\":\"true\",\"b\":\"12\",\"c\":\"\"}");
	CHECK_STR(parsed("a: |\n  12\n  no\n"), "{\"a\":\"12\\nno\\n\"}");
	CHECK_STR(parsed("a: >-\n  two\n  lines\n"), "{\"a\":\"two lines\"}");
	/* What looks like a number and is none to anybody. */
	CHECK_STR(parsed("[300s, 2Gi, -chdir=x, ../etc, 10.0.0.0/8, a:b, envs/*, 1.2.3, -input=false]"),
		  "[\"300s\",\"2Gi\",\"-chdir=x\",\"../etc\",\"10.0.0.0/8\",\"a:b\",\"envs/"
		  "*\",\"1.2.3\",\"-input=false\"]");
	CHECK_STR(parsed("just text"), "\"just text\"");
	CHECK_STR(parsed("{}"), "{}");
}

static void test_ambiguous(void)
{
	static const char *const words[] = {
		"yes",
		"no",
		"on",
		"off",
		"y",
		"N",
		"~",
		"null",
		"Null",
		"True",
		"FALSE",
		"0777",
		"0o17",
		"0x1f",
		"1_000",
		"1e3",
		"1.5",
		".5",
		"+1",
		"-0",
		"00",
		".inf",
		"-.INF",
		".nan",
		"12:30",
		"190:20:30",
		"2026-01-01",
		"2026-1-1 10:00:00",
		"9007199254740992",
		"1.",
		"=",
		"<<",
		"1e+3",
		"0b11",
		"",
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		char text[64];
		snprintf(text, sizeof text, "a: %s\n", words[i]);
		const char *got = parsed(text);
		if (strcmp(got, "yaml_quote") != 0)
			printf("# %s\n", words[i]);
		CHECK_STR(got, "yaml_quote");
		CHECK(err.class == SBX_CONFIG && strncmp(err.message, "t:1:", 4) == 0 && *err.hint != '\0');
		snprintf(text, sizeof text, "a: \"%s\"\n", words[i]);
		CHECK(strncmp(parsed(text), "{\"a\":\"", 6) == 0);
	}
	CHECK_STR(parsed("yes: 1\n"), "yaml_quote");
	CHECK_STR(parsed("1: a\n"), "yaml_quote");
	CHECK_STR(parsed("true: a\n"), "yaml_quote");
	CHECK_STR(parsed("\"true\": a\n"), "{\"true\":\"a\"}");
}

struct seen {
	char text[64];
};

static int note(void *context, const struct yaml_place *place, const struct yaml_item *item, struct sbx_error *unused)
{
	struct seen *seen = context;
	size_t len = strlen(seen->text);

	(void)item;
	(void)unused;
	snprintf(seen->text + len, sizeof seen->text - len, "%s ", place->path);
	return 0;
}

/* What the two ways of walking visit in TEXT; the code of an error. */
static const char *walked(yaml_walker *walk, const char *text)
{
	static struct seen seen;

	seen.text[0] = '\0';
	sbx_error_clear(&err);
	return walk(text, strlen(text), "t", note, &seen, &err) < 0 ? err.code : seen.text;
}

static void test_null(void)
{
	static const char text[] = "a: null\nb: {c: [null, 1]}\nd: \"null\"\n";

	CHECK_STR(walked(yaml_walk_foreign, text), "b.c d ");
	CHECK_STR(walked(yaml_walk_foreign, "{\"a\":null,\"b\":2}"), "b ");
	CHECK_STR(walked(yaml_walk, text), "yaml_quote");
	CHECK_STR(walked(yaml_walk, "b: 1\n"), "b ");
	/* The one spelling that is the same to every reader. */
	CHECK_STR(walked(yaml_walk_foreign, "a: Null\n"), "yaml_quote");
	CHECK_STR(walked(yaml_walk_foreign, "a: ~\n"), "yaml_quote");
	CHECK_STR(walked(yaml_walk_foreign, "a:\n"), "yaml_quote");
	CHECK_STR(walked(yaml_walk_foreign, "null: a\n"), "yaml_quote");
}

static void test_refusals(void)
{
	CHECK_STR(parsed("a: &x 1\nb: *x\n"), "yaml_anchor");
	CHECK_STR(parsed("a: *x\n"), "yaml_anchor");
	CHECK_STR(parsed("&a [*a]\n"), "yaml_anchor");
	CHECK_STR(parsed("a: !!str 1\n"), "yaml_tag");
	CHECK_STR(parsed("a: ! 1\n"), "yaml_tag");
	CHECK_STR(parsed("a: !!python/object:os.system {}\n"), "yaml_tag");
	CHECK_STR(parsed("%YAML 1.1\n---\na: 1\n"), "yaml_directive");
	CHECK_STR(parsed("%TAG ! tag:x,2000:\n---\na: 1\n"), "yaml_directive");
	CHECK_STR(parsed("a: 1\n---\nb: 2\n"), "yaml_documents");
	CHECK_STR(parsed(""), "yaml_documents");
	CHECK_STR(parsed("# only a comment\n"), "yaml_documents");
	CHECK_STR(parsed("a: 1\nb: 2\na: 3\n"), "yaml_duplicate_key");
	CHECK_STR(err.message, "t:3:1: this key stands at 1:1 already");
	CHECK_STR(parsed("a: 1\n\"a\": 2\n"), "yaml_duplicate_key");
	CHECK_STR(parsed("{a: {b: 1}, c: {b: 1}}"), "{\"a\":{\"b\":1},\"c\":{\"b\":1}}");
	CHECK_STR(parsed("? [1, 2]\n: a\n"), "yaml_key");
	CHECK_STR(parsed("a: [1, 2\n"), "yaml_syntax");
	CHECK_STR(parsed("a: 1\n  b: 2\n"), "yaml_syntax");
	CHECK_STR(parsed("a: 1\n... trailing\n"), "yaml_syntax");
	CHECK_STR(parsed("a: \"x\\0y\"\n"), "yaml_character");
	CHECK_STR(parsed("a: \"x\\ey\"\n"), "yaml_character");
	CHECK_STR(parsed("a: \"x\\u202Ey\"\n"), "yaml_character");
	CHECK_STR(parsed("a: \"x\\u2028y\"\n"), "yaml_character");
	CHECK_STR(parsed("a: \"x\\u3164y\"\n"), "yaml_character");
	CHECK_STR(parsed("a: \"x\\uFE01y\"\n"), "yaml_character");
	CHECK_STR(parsed("a: \xff\n"), "yaml_character");
	CHECK_STR(parsed("\xef\xbb\xbf"
			 "a: 1\n"),
		  "yaml_character");
	CHECK_STR(parsed_n("a: 1\0\n", 6), "yaml_character");
	CHECK_STR(parsed_n("\xff\xfe"
			   "a\0:\0 \0"
			   "1\0",
			   10),
		  "yaml_character");
	CHECK_STR(parsed("a: \"tab\\tand\\nfeed\"\n"), "{\"a\":\"tab\\tand\\nfeed\"}");
}

static void test_limits(void)
{
	char deep[128] = "";
	auto_free char *large = malloc(LIMIT_YAML + 2);
	auto_buf keys = BUF_INIT(LIMIT_YAML);

	memset(deep, '[', LIMIT_YAML_DEPTH);
	memset(deep + LIMIT_YAML_DEPTH, ']', LIMIT_YAML_DEPTH);
	CHECK(parsed(deep)[0] == '[');
	memset(deep, '[', LIMIT_YAML_DEPTH + 1);
	memset(deep + LIMIT_YAML_DEPTH + 1, ']', LIMIT_YAML_DEPTH + 1);
	CHECK_STR(parsed(deep), "yaml_depth");
	if (large == NULL)
		return;
	memset(large, '#', LIMIT_YAML + 1);
	memcpy(large, "a: 1\n", 5);
	CHECK_STR(parsed_n(large, LIMIT_YAML), "{\"a\":1}");
	CHECK_STR(parsed_n(large, LIMIT_YAML + 1), "yaml_too_large");
	for (int i = 0; i < 2049; i++)
		buf_addf(&keys, &err, "k%d: 1\n", i);
	CHECK_STR(parsed(buf_str(&keys)), "yaml_too_large");
}

static void test_lines(void)
{
	static const char text[] = "a: 1\nb:\n  - x\n  - c: [p, q]\n    d:\n      e: 5\n";
	struct yaml_at b = {.key = "b"}, second = {.up = &b, .index = 1}, d = {.up = &second, .key = "d"},
		       e = {.up = &d, .key = "e"};
	struct yaml_at absent = {.up = &d, .key = "nothing"};

	CHECK(yaml_line(text, strlen(text), NULL) == 1);
	CHECK(yaml_line(text, strlen(text), &b) == 2);
	CHECK(yaml_line(text, strlen(text), &second) == 4);
	CHECK(yaml_line(text, strlen(text), &d) == 5);
	CHECK(yaml_line(text, strlen(text), &e) == 6);
	CHECK(yaml_line(text, strlen(text), &absent) == 5);
}

int main(void)
{
	test_values();
	test_ambiguous();
	test_null();
	test_refusals();
	test_limits();
	test_lines();
	return unit_done();
}
