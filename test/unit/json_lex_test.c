/* The strict lexer: what it accepts, what it refuses and where, the same for memory and for any
 * split into reads. */
#include "json_lex.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "io.h"
#include "json_lex_impl.h"
#include "key_hash.h"
#include "unit.h"

static const struct json_lex_limits wide = {
	.bytes = 1 << 20, .depth = 64, .string = 1 << 16, .integers = JSON_ANY_NUMBER};
static struct sbx_error err;

/* What a read gives at most: PIECE bytes, or with PIECE 0 a number by chance. In place of the C
 * library's. */
static size_t piece = SIZE_MAX;
static unsigned chance = 1;

static unsigned by_chance(unsigned below)
{
	chance = chance * 1103515245u + 12345u;
	return (chance >> 8) % below;
}

ssize_t read(int fd, void *out, size_t size)
{
	size_t most = piece != 0 ? piece : 1 + by_chance(by_chance(4) == 0 ? 70000 : 40);

	return syscall(SYS_read, fd, out, size < most ? size : most);
}

static const char *code(void)
{
	static char last[sizeof err.code];

	memcpy(last, err.code, sizeof last);
	sbx_error_clear(&err);
	return last;
}

/* One letter for each token, and its text between < and > where it has one; at an error its code.
 */
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
		{"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"",
		 "s<\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f>."},
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
	CHECK(json_lex_next(lex, &token, &text, &len, &err) == 0 && len == 3 &&
	      memcmp(text, "a\0b", 4) == 0);
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
		buf_addf(&text, &err,
			 "%s\"key-%zu\":{\"key-%zu\":{\"a\":1},\"b\":[{\"a\":1},{\"a\":2}]}",
			 i ? "," : "", i, i);
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

/* Which bytes are special, by both ways of finding them, wherever they stand. */
static void test_specials(void)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < 20000; i++) {
		unsigned char bytes[JSON_STEP];
		unsigned expected = 0;
		for (unsigned k = 0; k < JSON_STEP; k++) {
			unsigned c = i < 256 ? (k == i % JSON_STEP ? i : 'x')
					     : by_chance(by_chance(2) == 0 ? 256 : 128);
			bytes[k] = (unsigned char)c;
			expected |= (unsigned)(c == '"' || c == '\\' || c < 0x20 || c >= 0x80) << k;
		}
		wrong += json_lex_specials(bytes) != expected;
		wrong += json_lex_specials_portable(bytes) != expected;
		unsigned plain = json_lex_plain(bytes);
		wrong += plain != (expected == 0 ? JSON_STEP : (unsigned)__builtin_ctz(expected));
	}
	CHECK(wrong == 0);
}

/* A key for NUMBER: in the order of numbers, or with an end alone that tells it from the others, or
 * in no order; with a NUL in some. */
enum key_style { KEYS_SORTED, KEYS_LONG, KEYS_MIXED, KEY_STYLES };
static size_t make_key(char out[64], enum key_style style, unsigned number)
{
	int len = snprintf(out, 64, style == KEYS_LONG ? "a_common_beginning_%u" : "%06u",
			   style == KEYS_MIXED ? number * 2654435761u % 1000000 : number);

	if (number % 5 == 4)
		out[len++] = '\0';
	return (size_t)len;
}

/* How many of COUNT keys give another answer than EXPECTED. */
static unsigned add_keys(struct json_keys *keys, struct json_run *run, enum key_style style,
			 unsigned count, int expected)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < count; i++) {
		char key[64];
		size_t len = make_key(key, style, i);
		wrong += json_keys_add(keys, run, key, len, &err) != expected;
	}
	return wrong;
}

/* Runs that are short, of the most keys that are looked through, and long, in and behind each
 * other, whatever the order of their keys. */
static void test_keys(void)
{
	static const unsigned runs[] = {0, 1, 15, 16, 17, 18, 400};
	struct json_keys keys;
	unsigned wrong = 0;

	json_keys_init(&keys);
	for (unsigned i = 0; i < ARRAY_LEN(runs) * ARRAY_LEN(runs) * KEY_STYLES * KEY_STYLES; i++) {
		unsigned outer = runs[i % ARRAY_LEN(runs)],
			 inner = runs[i / ARRAY_LEN(runs) % ARRAY_LEN(runs)];
		unsigned styles = i / (ARRAY_LEN(runs) * ARRAY_LEN(runs));
		enum key_style first = styles % KEY_STYLES, second = styles / KEY_STYLES;
		struct json_run a;
		json_keys_open(&keys, &a);
		wrong += add_keys(&keys, &a, first, outer, 1);
		struct json_run b;
		json_keys_open(&keys, &b);
		wrong += add_keys(&keys, &b, second, inner, 1);
		wrong += add_keys(&keys, &b, second, inner, 0);
		json_keys_close(&keys, &b);
		struct json_run c;
		json_keys_open(&keys, &c);
		wrong += add_keys(&keys, &c, second, inner, 1);
		json_keys_close(&keys, &c);
		wrong += add_keys(&keys, &a, first, outer, 0);
		wrong += keys.count != outer;
		json_keys_close(&keys, &a);
		wrong += keys.count != 0 || keys.table.count != 0;
	}
	CHECK(wrong == 0);
	json_keys_clear(&keys);
}

/* A set against an array of truth values, with hashes that share their slots. */
static void test_hash_set(void)
{
	enum { HASHES = 300 };
	struct hash_set set = {.slots = NULL};
	unsigned char there[HASHES] = {0};
	unsigned wrong = 0;
	size_t count = 0;

	wrong += hash_set_has(&set, 1) != 0;
	hash_set_remove(&set, 1);
	for (unsigned i = 0; i < 20000; i++) {
		unsigned n = by_chance(HASHES);
		uint64_t hash = 1 + (uint64_t)(n % 40) * 1024 + n / 40;
		int add = by_chance(3) > i / 5000 % 2;
		if (add)
			wrong += hash_set_add(&set, hash, &err) < 0;
		else
			hash_set_remove(&set, hash);
		count += (size_t)add - there[n];
		there[n] = (unsigned char)add;
		wrong += set.count != count;
		for (unsigned k = i % 64; k < HASHES; k += 64)
			wrong += hash_set_has(&set, 1 + (uint64_t)(k % 40) * 1024 + k / 40) !=
				 there[k];
	}
	CHECK(wrong == 0 && count > 0);
	hash_set_empty(&set);
	for (unsigned k = 0; k < HASHES; k++)
		wrong += hash_set_has(&set, 1 + (uint64_t)(k % 40) * 1024 + k / 40) != 0;
	CHECK(wrong == 0 && set.count == 0);
	hash_set_clear(&set);
}

/* A value of every kind, of about SIZE bytes, on several lines: long and short strings and keys
 * with and without escapes and characters above ASCII, numbers, words, and objects of few and many
 * keys. */
static void add_document(struct buf *out, size_t size)
{
	static const char *const parts[] = {
		"plain",
		"\\\"quoted\\\"",
		"\xc3\xa9\xe2\x82\xac",
		"\\u00e9\\ud83d\\ude00",
		"\\n\\t\\/",
		"=",
		"0123456789",
		"\xf0\x9f\x98\x80",
		"a much longer run of text that is plain",
	};
	static const char *const values[] = {"0",
					     "-17",
					     "6.02e+23",
					     "123456789012345",
					     "1234567890123456789",
					     "true",
					     "false",
					     "null",
					     "[]",
					     "{ }",
					     "[ [1,\"a\"] , {\"k\" : [ ] } ]"};

	buf_add_str(out, "[", &err);
	for (unsigned object = 0; out->len < size; object++) {
		buf_add_str(out, object == 0 ? "{" : ",\n {", &err);
		unsigned keys = by_chance(8) == 0 ? 70 : by_chance(12);
		for (unsigned key = 0; key < keys; key++) {
			buf_addf(out, &err, "%s\"%u", key == 0 ? "" : ",", key);
			for (unsigned n = by_chance(4); n > 0; n--)
				buf_add_str(out, parts[by_chance(ARRAY_LEN(parts))], &err);
			buf_add_str(out, by_chance(9) == 0 ? "\" \n: " : "\":", &err);
			if (by_chance(2) == 0) {
				buf_add_str(out, values[by_chance(ARRAY_LEN(values))], &err);
				continue;
			}
			buf_add_str(out, "\"", &err);
			for (unsigned n = by_chance(by_chance(50) == 0 ? 4000 : 6); n > 0; n--)
				buf_add_str(out, parts[by_chance(ARRAY_LEN(parts))], &err);
			buf_add_str(out, "\"", &err);
		}
		buf_add_str(out, "}", &err);
	}
	buf_add_str(out, "]\n", &err);
}

static uint64_t mixed(uint64_t hash, const void *bytes, size_t len)
{
	static const struct key_seed seed = {{1, 2}};

	return key_hash(&seed, hash, bytes, len);
}

/* Tokens, texts and places, with some values passed over, and what stood wrong: all in one number.
 */
static uint64_t read_all(struct json_lex *lex, int *refused)
{
	struct sbx_error local = SBX_ERROR_INIT;
	enum json_token token = JSON_NULL;
	uint64_t hash = 0;
	unsigned count = 0;
	int result = 0;

	while (token != JSON_END) {
		const char *text;
		size_t len;
		unsigned line, column;
		if ((result = json_lex_next(lex, &token, &text, &len, &local)) < 0)
			break;
		unsigned numbers[] = {(unsigned)token, json_lex_depth(lex), text[len] == '\0'};
		hash = mixed(mixed(hash, numbers, sizeof numbers), text, len);
		if (count % 3 == 0) {
			json_lex_place(lex, &line, &column);
			numbers[0] = line;
			numbers[1] = column;
			hash = mixed(hash, numbers, sizeof numbers);
		}
		if (token == JSON_KEY && ++count % 5 == 0 &&
		    (result = json_lex_skip_value(lex, &local)) < 0)
			break;
	}
	*refused = result < 0;
	hash = mixed(hash, local.message, strlen(local.message));
	uint64_t offset = result < 0 ? 0 : json_lex_offset(lex);
	return mixed(hash, &offset, sizeof offset);
}

/* The same whatever the reads give; 1 when TEXT was refused. */
static int is_the_same(const char *text, size_t len, uint64_t string_max, const size_t *pieces,
		       size_t piece_count, unsigned *different)
{
	const struct json_lex_limits limits = {
		.bytes = 1 << 22, .depth = 64, .string = string_max, .integers = JSON_ANY_NUMBER};
	auto_json_lex *memory = json_lex_memory(text, len, &limits, &err);
	auto_fd fd = io_sealed_memfd("document", text, len, &err);
	int refused, also;
	uint64_t whole = read_all(memory, &refused);

	for (size_t i = 0; i < piece_count; i++) {
		lseek(fd, 0, SEEK_SET);
		piece = pieces[i];
		auto_json_lex *lex = json_lex_fd(fd, &limits, &err);
		*different += read_all(lex, &also) != whole || also != refused;
	}
	piece = SIZE_MAX;
	return refused;
}

static void test_splits(void)
{
	static const char *const documents[] = {
		"{\"a\\u00e9\":[1.5e-7,\"\\ud83d\\ude00 "
		"\xf0\x9f\x98\x80\",null],\"b\":{\"c\":true}}\n",
		"[\"\xe2\x82\xac\",\"\\ud83d\",1]",
		"{\"a\":1,\"a\":2}",
		"[12345678901234567890,\"cut",
		"[1]\n\n ]",
		"",
		"7",
	};
	static const size_t pieces[] = {1, 2, 3, 7, 4095, 65535, 65536, 65537, 0};
	auto_buf large = BUF_INIT(1 << 20);
	unsigned different = 0, refused = 0;

	for (size_t i = 0; i < ARRAY_LEN(documents); i++)
		is_the_same(documents[i], strlen(documents[i]), 1 << 16, pieces, ARRAY_LEN(pieces),
			    &different);
	CHECK(different == 0);
	add_document(&large, 300000);
	CHECK(err.class == SBX_OK);
	CHECK(is_the_same(large.data, large.len, 1 << 16, pieces, ARRAY_LEN(pieces), &different) ==
	      0);
	CHECK(is_the_same(large.data, large.len, 5000, pieces, ARRAY_LEN(pieces), &different) == 1);
	CHECK(different == 0);
	/* One byte is another, or all behind it is gone. */
	for (unsigned i = 0; i < 400; i++) {
		auto_buf small = BUF_INIT(1 << 20);
		add_document(&small, 1 + by_chance(i % 20 == 0 ? 140000 : 3000));
		size_t at = by_chance((unsigned)small.len);
		small.data[at] = "\"\\{}[],:u \n\x01\x80\xe2z0.e"[by_chance(19)];
		size_t first = small.len < 4000 ? 0 : 3; /* of large ones not byte by byte */
		refused += (unsigned)is_the_same(small.data, by_chance(8) == 0 ? at : small.len,
						 i % 4 == 0 ? 20 : 1 << 16, pieces + first,
						 ARRAY_LEN(pieces) - first, &different);
	}
	CHECK(different == 0);
	CHECK(refused > 100 && refused < 400);
}

/* Every byte that is read is told, once and in order. */
static void collect(void *context, const void *bytes, size_t len)
{
	buf_add(context, bytes, len, &err);
}

static void test_tee(void)
{
	auto_buf text = BUF_INIT(1 << 20), seen = BUF_INIT(1 << 20);
	enum json_token token = JSON_NULL;
	const char *word;
	size_t len;

	add_document(&text, 200000);
	auto_fd fd = io_sealed_memfd("document", text.data, text.len, &err);
	auto_json_lex *lex = json_lex_fd(fd, &wide, &err);
	json_lex_tee(lex, collect, &seen);
	while (token != JSON_END && json_lex_next(lex, &token, &word, &len, &err) == 0)
		;
	CHECK(token == JSON_END && seen.len == text.len &&
	      memcmp(seen.data, text.data, text.len) == 0);
}

/* A value that was passed over once is jumped over: what follows is the same, and stands at the
 * same place. */
static void test_jump(void)
{
	auto_buf text = BUF_INIT(1 << 20);
	static const size_t pieces[] = {1, 4095, 65536, 0};
	enum json_token token;
	const char *word;
	size_t len;
	unsigned line, column, again_line, again_column;

	buf_add_str(&text, "{\"a\":", &err);
	add_document(&text, 200000);
	buf_add_str(&text, ",\n\"b\":[7]}", &err);
	auto_json_lex *lex = json_lex_memory(text.data, text.len, &wide, &err);
	json_lex_next(lex, &token, &word, &len, &err);
	json_lex_next(lex, &token, &word, &len, &err);
	CHECK(json_lex_skip_value(lex, &err) == 0);
	uint64_t end = json_lex_offset(lex);
	CHECK(json_lex_next(lex, &token, &word, &len, &err) == 0 && token == JSON_KEY &&
	      word[0] == 'b');
	json_lex_place(lex, &line, &column);
	auto_fd fd = io_sealed_memfd("document", text.data, text.len, &err);
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		lseek(fd, 0, SEEK_SET);
		piece = pieces[i];
		auto_json_lex *again = json_lex_fd(fd, &wide, &err);
		json_lex_next(again, &token, &word, &len, &err);
		json_lex_next(again, &token, &word, &len, &err);
		CHECK(json_lex_jump(again, end, 1, &err) == 0 && json_lex_offset(again) == end);
		CHECK(json_lex_next(again, &token, &word, &len, &err) == 0 && token == JSON_KEY &&
		      word[0] == 'b');
		json_lex_place(again, &again_line, &again_column);
		CHECK(line > 1 && line == again_line && column == again_column);
		CHECK(json_lex_skip_value(again, &err) == 0 &&
		      json_lex_next(again, &token, &word, &len, &err) == 0 &&
		      token == JSON_OBJECT_CLOSE);
	}
	piece = SIZE_MAX;
	/* The bytes are not the same: there are less. */
	auto_json_lex *cut = json_lex_memory(text.data, 1000, &wide, &err);
	json_lex_next(cut, &token, &word, &len, &err);
	json_lex_next(cut, &token, &word, &len, &err);
	CHECK(json_lex_jump(cut, end, 1, &err) < 0);
	CHECK_STR(code(), "json_truncated");
	CHECK(json_lex_next(cut, &token, &word, &len, &err) < 0);
	sbx_error_clear(&err);
}

/* From the middle of a value to its end, with brackets of both kinds open. */
static void test_jump_out(void)
{
	static const char document[] = "{\"a\":[1,{\"b\":[2,3]}],\"a\":4}";
	enum json_token token = JSON_NULL;
	const char *text;
	size_t len;

	for (unsigned reads = 2; reads < 8; reads++) {
		auto_json_lex *lex = json_lex_memory(document, sizeof document - 1, &wide, &err);
		for (unsigned i = 0; i < reads; i++)
			CHECK(json_lex_next(lex, &token, &text, &len, &err) == 0);
		CHECK(json_lex_jump(lex, 20, 1, &err) == 0 && json_lex_depth(lex) == 1);
		/* The key of the object that is open is still known. */
		CHECK(json_lex_next(lex, &token, &text, &len, &err) < 0);
		CHECK_STR(code(), "json_duplicate_key");
	}
}

/* The kinds of scalars, whichever reader takes them; brackets and keys are not told. */
static void test_skip_kinds(void)
{
	static const struct {
		const char *value;
		unsigned kinds;
	} cases[] = {
		{"{}", 0},
		{"[{\"a\":[],\"b\":{}}]", 0},
		{"true", JSON_KIND(JSON_TRUE)},
		{"\"x\"", JSON_KIND(JSON_STRING)},
		{"{\"a\":{\"b\":[false, null]}}", JSON_KIND(JSON_FALSE) | JSON_KIND(JSON_NULL)},
		{"[7,{\"k\":\"\\u0041\"}]", JSON_KIND(JSON_NUMBER) | JSON_KIND(JSON_STRING)},
		{"[ -7.5 , [ true ] ]", JSON_KIND(JSON_NUMBER) | JSON_KIND(JSON_TRUE)},
	};
	const unsigned scalars = JSON_KIND(JSON_STRING) | JSON_KIND(JSON_NUMBER) |
				 JSON_KIND(JSON_TRUE) | JSON_KIND(JSON_FALSE) |
				 JSON_KIND(JSON_NULL);

	/* Alone, where all is the slow reader's, and with much behind it. */
	for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
		auto_buf text = BUF_INIT(4096);
		enum json_token token;
		const char *word;
		size_t len;
		unsigned kinds = scalars;
		buf_addf(&text, &err, "{\"mask\":%s,\"next\":\"%*s\"}", cases[i / 2].value,
			 i % 2 ? 1000 : 0, "");
		auto_json_lex *lex = json_lex_memory(text.data, text.len, &wide, &err);
		json_lex_next(lex, &token, &word, &len, &err);
		json_lex_next(lex, &token, &word, &len, &err);
		CHECK(json_lex_skip_kinds(lex, &kinds, &err) == 0 &&
		      (kinds & scalars) == cases[i / 2].kinds);
		CHECK(json_lex_next(lex, &token, &word, &len, &err) == 0 && token == JSON_KEY &&
		      strcmp(word, "next") == 0);
	}
	static const char broken[] = "{\"a\":[tru]}";
	auto_json_lex *cut = json_lex_memory(broken, sizeof broken - 1, &wide, &err);
	enum json_token token;
	const char *word;
	size_t len;
	unsigned kinds;
	json_lex_next(cut, &token, &word, &len, &err);
	json_lex_next(cut, &token, &word, &len, &err);
	CHECK(json_lex_skip_kinds(cut, &kinds, &err) < 0);
	CHECK_STR(code(), "json_syntax");
	CHECK(json_lex_skip_kinds(cut, &kinds, &err) < 0);
	CHECK_STR(code(), "json_syntax");
}

static void test_skip_to(void)
{
	static const char document[] = "[[1,{\"a\":[2,3]},[]],4]";
	auto_json_lex *lex = json_lex_memory(document, sizeof document - 1, &wide, &err);
	enum json_token token;
	const char *text;
	size_t len;

	for (int i = 0; i < 6; i++)
		CHECK(json_lex_next(lex, &token, &text, &len, &err) == 0);
	CHECK(token == JSON_ARRAY_OPEN && json_lex_depth(lex) == 4);
	CHECK(json_lex_skip_to(lex, 1, &err) == 0 && json_lex_depth(lex) == 1);
	CHECK(json_lex_skip_to(lex, 1, &err) == 0);
	CHECK(json_lex_next(lex, &token, &text, &len, &err) == 0 && token == JSON_NUMBER &&
	      text[0] == '4');
	/* What is passed over is checked. */
	static const char repeated[] = "[{\"a\":1,\"a\":2}]";
	auto_json_lex *twice = json_lex_memory(repeated, sizeof repeated - 1, &wide, &err);
	CHECK(json_lex_next(twice, &token, &text, &len, &err) == 0 &&
	      json_lex_skip_to(twice, 0, &err) < 0);
	CHECK_STR(code(), "json_duplicate_key");
}

/* A text that was read before: its keys alone are not looked at again. */
static void test_trusted_keys(void)
{
	static const char *const cases[][2] = {
		{"{\"a\":1,\"a\":2,\"\\u0061\":3}", ""},
		{"{\"a\":1,\"b\":{\"a\":[]},\"c\":\"a text that is long enough for the fast "
		 "way\",\"b\":2}",
		 ""},
		{"{\"a\":1,\"a\":2", "json_truncated"},
		{"{\"a\":1,\"a\" 2}", "json_syntax"},
		{"{\"a\":\"\xff\"}", "json_utf8"},
	};
	enum json_token token;
	const char *text;
	size_t len;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		auto_json_lex *lex = json_lex_memory(cases[i][0], strlen(cases[i][0]), &wide, &err);
		json_lex_trust_keys(lex);
		int result = json_lex_skip_value(lex, &err);
		if (result == 0)
			result = json_lex_next(lex, &token, &text, &len, &err);
		CHECK(result == (cases[i][1][0] == '\0' ? 0 : -1));
		CHECK_STR(code(), cases[i][1]);
	}
}

/* The words of a short text are its bytes alone; a hash depends on each of them and on what stands
 * before. */
static void test_key_hash(void)
{
	static const struct key_seed seed = {{0x123456789abcdef0u, 0xfedcba9876543210u}};
	static const char text[] = "0123456789abcdef0123456789abcdef";
	unsigned different = 0, same = 0;

	for (size_t at = 0; at < 16; at++)
		for (size_t len = 0; len <= 16; len++) {
			char padded[16] = "", other[16];
			memcpy(padded, text + at, len);
			memset(other, 'x', sizeof other);
			memcpy(other, text + at, len);
			struct key_words words = key_hash_words(text + at, len),
					 again = key_hash_words(other, len);
			different += words.first != again.first || words.second != again.second ||
				     words.first != key_hash_load(padded, 8) ||
				     words.second != key_hash_load(padded + 8, 8);
			uint64_t hash = key_hash(&seed, at, padded, len);
			different += hash == 0 || hash != key_hash(&seed, at, other, len);
			other[len > 0 ? by_chance((unsigned)len) : 0] ^= 1;
			same += len > 0 && hash == key_hash(&seed, at, other, len);
			same += hash == key_hash(&seed, at + 1, padded, len);
		}
	CHECK(different == 0 && same == 0);
	CHECK(key_hash(&seed, 0, text, 17) != key_hash(&seed, 0, text, 18) &&
	      key_hash(&seed, 0, text, 32) != key_hash(&seed, 0, text, 16));
}

/* Whatever a lexer has read before, and wherever it stopped, it reads the next text as a new one would. */
static void test_again(void)
{
	static const char *const texts[] = {
		"{\"a\":[1,{\"b\":\"\\u00e9\"}],\"c\":2}", "{\"a\":1,\"a\":2}", "[[[[", "{\"b\":", "\"x", "", "tru", "[1]",
	};
	static struct buf fresh = BUF_INIT(1 << 20), again = BUF_INIT(1 << 20);
	auto_buf many = BUF_INIT(1 << 20);
	auto_json_lex *kept = json_lex_memory("0", 1, &wide, &err);
	enum json_token token;
	const char *text;
	size_t len;
	int different = 0;

	/* So many keys that they stand in a table, and none is closed. */
	for (int i = 0; i < 500; i++)
		different += buf_addf(&many, &err, "%c\"k%d\":1", i == 0 ? '{' : ',', (i * 7) % 500) < 0;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		for (size_t j = 0; j <= ARRAY_LEN(texts); j++)
			for (int stop = 0; stop < 12; stop++) {
				const char *before = j == ARRAY_LEN(texts) ? buf_str(&many) : texts[j];
				json_lex_again(kept, before, strlen(before));
				for (int n = 0; n < stop && json_lex_next(kept, &token, &text, &len, &err) == 0; n++)
					;
				if (stop == 11)
					while (json_lex_next(kept, &token, &text, &len, &err) == 0 && token != JSON_END)
						;
				sbx_error_clear(&err);
				auto_json_lex *lex = json_lex_memory(texts[i], strlen(texts[i]), &wide, &err);
				buf_reset(&fresh);
				trace(lex, &fresh);
				buf_reset(&again);
				json_lex_again(kept, texts[i], strlen(texts[i]));
				trace(kept, &again);
				different += strcmp(buf_str(&fresh), buf_str(&again)) != 0;
			}
	CHECK(different == 0);
	/* The limit of the whole is that of the lexer. */
	const struct json_lex_limits narrow = {.bytes = 3, .depth = 1, .string = 1, .integers = JSON_ANY_NUMBER};
	auto_json_lex *small = json_lex_memory("1", 1, &narrow, &err);
	json_lex_again(small, "[1, 2]", 6);
	CHECK(json_lex_next(small, &token, &text, &len, &err) < 0);
	CHECK_STR(code(), "too_large");
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
	test_specials();
	test_keys();
	test_hash_set();
	test_splits();
	test_tee();
	test_jump();
	test_jump_out();
	test_skip_kinds();
	test_skip_to();
	test_trusted_keys();
	test_key_hash();
	test_again();
	test_read_error();
	return unit_done();
}
