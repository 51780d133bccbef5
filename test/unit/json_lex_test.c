/* The strict lexer: what it accepts, what it refuses and where, the same for memory and for any split into reads. */
#include "json_lex.h"

#include <fcntl.h>

#include "buf.h"
#include "unit.h"

static const struct json_lex_limits wide = {
	.bytes = 1 << 20, .depth = 64, .string = 1 << 16, .integers = JSON_ANY_NUMBER};
static struct sbx_error err;

static const char *code(void)
{
	static char last[sizeof err.code];

	memcpy(last, err.code, sizeof last);
	sbx_error_clear(&err);
	return last;
}

/* One letter for each token, and its text between < and > where it has one; at an error its code. */
static void trace(struct json_lex *lex, struct buf *out)
{
	static const char letters[] = ".{}[]ksntf0";
	struct sbx_error ignored = SBX_ERROR_INIT;
	enum json_token token = JSON_NULL;
	const char *text;
	size_t len;

	while (token != JSON_END) {
		if (json_lex_next(lex, &token, &text, &len, &err) < 0) {
			buf_addf(out, &ignored, "!%s %s", err.code, err.message);
			sbx_error_clear(&err);
			return;
		}
		buf_add(out, letters + token, 1, &ignored);
		if (token == JSON_KEY || token == JSON_STRING || token == JSON_NUMBER) {
			buf_add(out, "<", 1, &ignored);
			buf_add(out, text, len, &ignored);
			buf_add(out, ">", 1, &ignored);
		}
	}
}

static const char *trace_memory(const char *bytes, size_t len, const struct json_lex_limits *limits)
{
	static struct buf out = BUF_INIT(1 << 20);
	auto_json_lex *lex = json_lex_memory(bytes, len, limits, &err);

	buf_reset(&out);
	trace(lex, &out);
	return buf_str(&out);
}

static void test_tokens(void)
{
	static const char *const cases[][2] = {
		{"null", "0."},
		{" \t\r\n true ", "t."},
		{"[1,-0,2.50,1e+9,-3E-2]", "[n<1>n<-0>n<2.50>n<1e+9>n<-3E-2>]."},
		{"{\"a\":{},\"b\":[[]],\"\":false}", "{k<a>{}k<b>[[]]k<>f}."},
		{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"",
		 "s<\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80>."},
		{"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"", "s<\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f>."},
		{"{\"a\":{\"a\":1},\"b\":{\"a\":1}}", "{k<a>{k<a>n<1>}k<b>{k<a>n<1>}}."},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_STR(trace_memory(cases[i][0], strlen(cases[i][0]), &wide), cases[i][1]);
}

static void test_refused(void)
{
	static const char *const cases[][3] = {
		/* text, code, place */
		{"", "json_empty", "1:0"},
		{" ", "json_truncated", "1:1"},
		{"[1", "json_truncated", "1:2"},
		{"{\"a\"", "json_truncated", "1:4"},
		{"\"ab", "json_truncated", "1:3"},
		{"tru", "json_truncated", "1:3"},
		{"\xef\xbb\xbf{}", "json_bom", "1:0"},
		{"{} {}", "json_trailing", "1:3"},
		{"1 2", "json_trailing", "1:2"},
		{"{}\n,", "json_trailing", "2:0"},
		{"\"\x01\"", "json_control", "1:1"},
		{"\"\n\"", "json_control", "1:1"},
		{"\"\\x\"", "json_escape", "1:2"},
		{"\"\\u12g4\"", "json_escape", "1:5"},
		{"\"\\ud800\"", "json_surrogate", "1:7"},
		{"\"\\ud800\\n\"", "json_surrogate", "1:8"},
		{"\"\\ud800\\u0041\"", "json_surrogate", "1:13"},
		{"\"\\udc00\"", "json_surrogate", "1:7"},
		{"\"\xc3\"", "json_utf8", "1:2"},
		{"\"\xc0\x80\"", "json_utf8", "1:3"},
		{"\"\xed\xa0\x80\"", "json_utf8", "1:4"},
		{"\"\xf4\x90\x80\x80\"", "json_utf8", "1:5"},
		{"\"\xff\"", "json_utf8", "1:2"},
		{"01", "json_number", "1:2"},
		{"-", "json_number", "1:1"},
		{"1.", "json_number", "1:2"},
		{"1e", "json_number", "1:2"},
		{".5", "json_syntax", "1:0"},
		{"+1", "json_syntax", "1:0"},
		{"NaN", "json_syntax", "1:0"},
		{"nulL", "json_syntax", "1:3"},
		{"'a'", "json_syntax", "1:0"},
		{"[1,]", "json_syntax", "1:3"},
		{"[,1]", "json_syntax", "1:1"},
		{"[1 2]", "json_syntax", "1:3"},
		{"{\"a\":1,}", "json_syntax", "1:7"},
		{"{\"a\" 1}", "json_syntax", "1:5"},
		{"{\"a\",1}", "json_syntax", "1:4"},
		{"{1:2}", "json_syntax", "1:1"},
		{"{a:2}", "json_syntax", "1:1"},
		{"[1}", "json_syntax", "1:2"},
		{"]", "json_syntax", "1:0"},
		{"/**/1", "json_syntax", "1:0"},
		{"{\"a\":1,\"a\":2}", "json_duplicate_key", "1:10"},
		{"{\"a\":1,\"\\u0061\":2}", "json_duplicate_key", "1:15"},
		{"{\"a\":{\"b\":{}},\n\"a\":2}", "json_duplicate_key", "2:3"},
		{"[{\"\":1,\"\":2}]", "json_duplicate_key", "1:9"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CHECK(json_lex_check(cases[i][0], strlen(cases[i][0]), &wide, &err) < 0 &&
		      err.class == SBX_BAD_REQUEST);
		const char *place = strrchr(err.message, ' ');
		CHECK_STR(place != NULL ? place + 1 : "", cases[i][2]);
		CHECK_STR(code(), cases[i][1]);
	}
	/* A NUL is a byte like any other: raw it is refused, escaped it is part of the text. */
	CHECK(json_lex_check("\"a\0b\"", 5, &wide, &err) < 0);
	CHECK_STR(code(), "json_control");
	CHECK(json_lex_check("1\0", 2, &wide, &err) < 0);
	CHECK_STR(code(), "json_trailing");
	auto_json_lex *lex = json_lex_memory("\"a\\u0000b\"", 10, &wide, &err);
	enum json_token token;
	const char *text;
	size_t len;
	CHECK(json_lex_next(lex, &token, &text, &len, &err) == 0 && len == 3 && memcmp(text, "a\0b", 4) == 0);
	CHECK(json_lex_check("{\"a\\u0000b\":1,\"a\\u0000c\":2}", 27, &wide, &err) == 0);
}

static void test_limits(void)
{
	static const struct json_lex_limits small = {
		.bytes = 20, .depth = 2, .string = 4, .integers = JSON_INTEGERS_ONLY};
	static const char *const cases[][2] = {
		{"[[1]]", ""},
		{"[[[1]]]", "json_depth"},
		{"[{\"a\":{}}]", "json_depth"},
		{"\"abcd\"", ""},
		{"\"abcde\"", "too_large"},
		{"\"\\u20ac\\u20ac\"", "too_large"},
		{"[                  ]", ""},
		{"[                   ]", "too_large"},
		{"-7", ""},
		{"1.0", "json_number"},
		{"1e3", "json_number"},
		{"-0", ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int result = json_lex_check(cases[i][0], strlen(cases[i][0]), &small, &err);
		CHECK(result == (cases[i][1][0] == '\0' ? 0 : -1));
		CHECK_STR(code(), cases[i][1]);
	}
	struct json_lex_limits integers = wide;
	integers.integers = JSON_INTEGERS_ONLY;
	CHECK(json_lex_check("9007199254740991", 16, &integers, &err) == 0 &&
	      json_lex_check("-9007199254740991", 17, &integers, &err) == 0);
	CHECK(json_lex_check("9007199254740992", 16, &integers, &err) < 0);
	CHECK_STR(code(), "json_number");
	CHECK(json_lex_check("99999999999999999999999", 23, &integers, &err) < 0);
	CHECK_STR(code(), "json_number");
}

/* After an error nothing more is read. */
static void test_stays_failed(void)
{
	auto_json_lex *lex = json_lex_memory("[x,1]", 5, &wide, &err);
	enum json_token token;
	const char *text;
	size_t len;

	CHECK(json_lex_next(lex, &token, &text, &len, &err) == 0);
	CHECK(json_lex_next(lex, &token, &text, &len, &err) < 0);
	sbx_error_clear(&err);
	CHECK(json_lex_next(lex, &token, &text, &len, &err) < 0);
	sbx_error_clear(&err);
}

static void test_skip(void)
{
	static const char document[] = "{\"a\":[{\"x\":[1,\"]\"]},2],\"b\":7,\"c\":\"s\",\"d\":{}}";
	auto_json_lex *lex = json_lex_memory(document, sizeof document - 1, &wide, &err);
	enum json_token token;
	const char *text;
	size_t len;
	unsigned keys = 0, line, column;

	CHECK(json_lex_next(lex, &token, &text, &len, &err) == 0 && token == JSON_OBJECT_OPEN &&
	      json_lex_depth(lex) == 1);
	while (json_lex_next(lex, &token, &text, &len, &err) == 0 && token == JSON_KEY) {
		keys++;
		json_lex_place(lex, &line, &column);
		CHECK(document[column] == '"' && document[column + 1] == text[0] && line == 1);
		CHECK(json_lex_skip_value(lex, &err) == 0 && json_lex_depth(lex) == 1);
	}
	CHECK(keys == 4 && token == JSON_OBJECT_CLOSE && json_lex_depth(lex) == 0);
	CHECK(json_lex_next(lex, &token, &text, &len, &err) == 0 && token == JSON_END);
}

/* Many keys: the set grows, shrinks with each object, and still finds every duplicate. */
static void test_many_keys(void)
{
	auto_buf text = BUF_INIT(1 << 20);
	const size_t whole = 1000;

	buf_add_str(&text, "{", &err);
	for (size_t i = 0; i < whole; i++)
		buf_addf(&text, &err, "%s\"key-%zu\":{\"key-%zu\":{\"a\":1},\"b\":[{\"a\":1},{\"a\":2}]}", i ? "," : "",
			 i, i);
	CHECK(err.class == SBX_OK);
	size_t len = text.len;
	buf_add_str(&text, "}", &err);
	CHECK(json_lex_check(text.data, text.len, &wide, &err) == 0);
	unsigned missed = 0;
	for (size_t i = 0; i < whole; i += 7) {
		text.len = len;
		buf_addf(&text, &err, ",\"key-%zu\":1}", i);
		missed += json_lex_check(text.data, text.len, &wide, &err) == 0 ||
			  strcmp(code(), "json_duplicate_key") != 0;
	}
	CHECK(missed == 0);
}

/* The same tokens, text and errors, however the bytes come. */
static void test_splits(void)
{
	static const int pipe_size = 1 << 20; /* a packet takes a page */
	static const char *const documents[] = {
		"{\"a\\u00e9\":[1.5e-7,\"\\ud83d\\ude00 \xf0\x9f\x98\x80\",null],\"b\":{\"c\":true}}\n",
		"[\"\xe2\x82\xac\",\"\\ud83d\",1]",
		"{\"a\":1,\"a\":2}",
		"[12345678901234567890,\"cut",
		"[1]\n\n ]",
	};

	for (size_t d = 0; d < ARRAY_LEN(documents); d++) {
		auto_buf whole = BUF_INIT(1 << 16);
		buf_add_str(&whole, trace_memory(documents[d], strlen(documents[d]), &wide), &err);
		/* A pipe in packet mode gives back each write as one read. */
		for (size_t split = 1; split < 4; split++) {
			auto_buf pieces = BUF_INIT(1 << 16);
			int ends[2];
			CHECK(pipe2(ends, O_CLOEXEC | O_DIRECT) == 0 &&
			      fcntl(ends[1], F_SETPIPE_SZ, pipe_size) >= pipe_size);
			for (size_t at = 0; at < strlen(documents[d]); at += split) {
				size_t left = strlen(documents[d]) - at;
				if (write(ends[1], documents[d] + at, left < split ? left : split) < 0)
					perror("write");
			}
			close(ends[1]);
			auto_json_lex *lex = json_lex_fd(ends[0], &wide, &err);
			trace(lex, &pieces);
			CHECK_STR(buf_str(&pieces), buf_str(&whole));
			close(ends[0]);
		}
	}
}

static void test_read_error(void)
{
	auto_fd directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_json_lex *lex = json_lex_fd(directory, &wide, &err);
	enum json_token token;
	const char *text;
	size_t len;

	CHECK(json_lex_next(lex, &token, &text, &len, &err) < 0 && err.class == SBX_IO);
	CHECK_STR(code(), "io_error");
}

int main(void)
{
	test_tokens();
	test_refused();
	test_limits();
	test_stays_failed();
	test_skip();
	test_many_keys();
	test_splits();
	test_read_error();
	return unit_done();
}
