/* json: strict parsing, look-ups that never abort, the one written form. */
#include "unit.h"

#include "json.h"

static const char *code_of(const char *text, size_t len)
{
	static struct sbx_error e;
	jv v = jv_invalid();

	sbx_error_clear(&e);
	int result = json_parse(text, len, LIMIT_CALL, &v, &e);
	jv_free(v);
	return result == 0 ? "accepted" : e.code;
}

#define CODE(text) code_of((text), sizeof(text) - 1)

static void test_refusals(void)
{
	CHECK_STR(CODE("{\"a\":[1,-5,true,null,\"\\u00e9\\ud83d\\ude00\"]}"), "accepted");
	CHECK_STR(CODE(" 7 "), "accepted");
	CHECK_STR(CODE(""), "json_empty");
	CHECK_STR(CODE("{"), "json_truncated");
	CHECK_STR(CODE("{\"a\":1}{}"), "json_trailing");
	CHECK_STR(CODE("{\"a\":1,\"\\u0061\":2}"), "json_duplicate_key");
	CHECK_STR(CODE("{\"a\":{\"b\":1},\"c\":{\"b\":1}}"), "accepted");
	CHECK_STR(CODE("\"a\0b\""), "json_control");
	CHECK_STR(CODE("1\0"), "json_trailing");
	CHECK_STR(CODE("\"\xff\""), "json_utf8");
	CHECK_STR(CODE("\"\\udc00\""), "json_surrogate");
	CHECK_STR(CODE("\"\\ud800x\""), "json_surrogate");
	CHECK_STR(CODE("1.5"), "json_number");
	CHECK_STR(CODE("1e2"), "json_number");
	CHECK_STR(CODE("9007199254740992"), "json_number");
	CHECK_STR(CODE("-9007199254740991"), "accepted");
	CHECK_STR(CODE("01"), "json_number");
	CHECK_STR(CODE("nan"), "json_syntax");
	CHECK_STR(CODE("\xef\xbb\xbf{}"), "json_bom");
	CHECK_STR(CODE("{\"a\":1}\x1e{\"b\":2}"), "json_trailing");
	CHECK_STR(CODE("[1,]"), "json_syntax");
	CHECK_STR(CODE("{,}"), "json_syntax");
	CHECK_STR(CODE("[1}"), "json_syntax");
	CHECK_STR(CODE("\"\\x\""), "json_escape");
}

static void test_limits(void)
{
	char deep[200];

	memset(deep, '[', 64);
	memset(deep + 64, ']', 64);
	CHECK_STR(code_of(deep, 128), "accepted");
	memset(deep, '[', 65);
	memset(deep + 65, ']', 65);
	CHECK_STR(code_of(deep, 130), "json_depth");
	char *big = malloc(LIMIT_CALL + 2);
	memset(big, ' ', LIMIT_CALL + 1);
	big[0] = '1';
	big[LIMIT_CALL + 1] = '\0';
	CHECK_STR(code_of(big, LIMIT_CALL), "accepted");
	CHECK_STR(code_of(big, LIMIT_CALL + 1), "too_large");
	free(big);
}

static void test_lookups(void)
{
	struct sbx_error e = SBX_ERROR_INIT;
	auto_jv v = jv_invalid();
	int64_t n = 0;
	static const char *const only_s[] = {"s", "n", "b", "z", "a", NULL}, *const fewer[] = {"s", NULL};
	static const char text[] = "{\"s\":\"x\",\"n\":3000000000,\"b\":false,\"z\":\"a\\u0000b\",\"a\":[1]}";

	CHECK(json_parse(text, sizeof text - 1, LIMIT_CALL, &v, &e) == 0);
	CHECK_STR(json_str(v, "s"), "x");
	CHECK(json_str(v, "z") == NULL && json_str(v, "n") == NULL && json_str(v, "none") == NULL);
	CHECK(json_int(v, "n", &n) == 0 && n == 3000000000 && json_int(v, "s", &n) == -1);
	CHECK(json_bool(v, "b") == 0 && json_bool(v, "s") == -1);
	auto_jv array = json_array(v, "a");
	CHECK(json_length(array) == 1 && json_str(array, "s") == NULL && !json_has(array, "s"));
	auto_jv outside = json_at(array, 5);
	CHECK(!jv_is_valid(outside));
	CHECK(json_unknown_key(v, only_s) == NULL);
	auto_free char *unknown = json_unknown_key(v, fewer);
	CHECK(unknown != NULL);
}

static void test_written_form(void)
{
	struct sbx_error e = SBX_ERROR_INIT;
	auto_jv v = jv_invalid(), w = jv_invalid();
	auto_buf out = BUF_INIT(1000);
	static const char text[] = "{\"b\":1, \"a\":{\"\\u00e9\":[true,null],\"z\":\"\\/\\u0041\"}}", same[] = "{\"a\":{\"z\":\"/A\",\"\xc3\xa9\":[true,null]},\"b\":1}";
	char one[65], two[65];

	CHECK(json_parse(text, sizeof text - 1, LIMIT_CALL, &v, &e) == 0 && json_parse(same, sizeof same - 1, LIMIT_CALL, &w, &e) == 0);
	CHECK(json_write(v, &out, &e) == 0);
	CHECK_STR(buf_str(&out), "{\"a\":{\"z\":\"/A\",\"\xc3\xa9\":[true,null]},\"b\":1}");
	CHECK(json_digest(v, one, &e) == 0 && json_digest(w, two, &e) == 0 && strcmp(one, two) == 0 && json_same(v, w));
	auto_jv fraction = jv_number(1.5);
	CHECK(json_write(fraction, &out, &e) == -1);
	CHECK_STR(e.code, "json_number");
}

int main(void)
{
	test_refusals();
	test_limits();
	test_lookups();
	test_written_form();
	return unit_done();
}
