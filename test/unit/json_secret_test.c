/* json_secret: where the one value stands, what is no value, and that nothing of it stays behind. */
#include "json_secret.h"

#include "unit.h"

/* What is taken out of TEXT at auth.token: "" for nothing, NULL for an error; what is left into REST. */
static const char *taken(const char *text, char rest[256])
{
	static char out[256];
	auto_secret body = SECRET_INIT, secret = SECRET_INIT;
	struct sbx_error err = SBX_ERROR_INIT;

	if (secret_alloc(&body, 256, &err) < 0 || secret_append(&body, text, strlen(text), &err) < 0)
		return NULL;
	int got = json_take_secret(&body, "auth", "token", &secret, &err);
	snprintf(rest, 256, "%.*s", (int)body.len, (const char *)body.data);
	snprintf(out, sizeof out, "%.*s", (int)secret.len, (const char *)secret.data);
	return got < 0 ? NULL : out;
}

int main(void)
{
	static const char *const none[] = {"",
					   "{}",
					   "null",
					   "[",
					   "\"",
					   "{\"auth\":null}",
					   "{\"auth\":{\"token\":null}}",
					   "{\"auth\":{\"token\":5}}",
					   "{\"token\":\"s.1\"}",
					   "{\"auth\":[{\"token\":\"s.1\"}]}",
					   "{\"auth\":\"token\"}",
					   "{\"a\":{\"auth\":{\"token\":\"s.1\"}}}",
					   "{\"auth\":{\"x\":{\"token\":\"s.1\"}}}",
					   "{\"auth\":{},\"data\":{\"token\":\"s.1\"}}",
					   "{\"auth\":{\"token",
					   "{\"auth\":{\"token\":"};
	static const char *const wrong[] = {
		"{\"auth\":{\"token\":\"\"}}", "{\"auth\":{\"token\":\"a b\"}}", "{\"auth\":{\"token\":\"a\\u0062\"}}",
		"{\"auth\":{\"token\":\"a",    "{\"auth\":{\"token\":\"a\\",	 "{\"auth\":{\"token\":\"\xc3\xa9\"}}"};
	char rest[256];
	auto_secret out = SECRET_INIT;
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK_STR(taken("{\"auth\":{\"token\":\"s.123\",\"n\":1}}", rest), "s.123");
	CHECK_STR(rest, "{\"auth\":{\"token\":\"xxxxx\",\"n\":1}}");
	CHECK_STR(taken(" { \"a\" : \"{\\\"auth\" , \"auth\" :\n{ \"token\"\t: \"s.1\" } } ", rest), "s.1");
	CHECK_STR(rest, " { \"a\" : \"{\\\"auth\" , \"auth\" :\n{ \"token\"\t: \"xxx\" } } ");
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		CHECK_STR(taken(none[i], rest), "");
		CHECK_STR(rest, none[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		CHECK(taken(wrong[i], rest) == NULL);

	CHECK(secret_alloc(&out, 64, &err) == 0 && secret_append(&out, "{", 1, &err) == 0);
	CHECK(json_add_secret(&out, "a", "b", 1, &err) == 0 && json_add_secret(&out, "c", "d", 1, &err) == 0);
	snprintf(rest, sizeof rest, "%.*s", (int)out.len, (const char *)out.data);
	CHECK_STR(rest, "{\"a\":\"b\",\"c\":\"d\"");
	CHECK(json_add_secret(&out, "e", "\"", 1, &err) < 0 && json_add_secret(&out, "e", "", 0, &err) < 0);
	CHECK_STR(err.code, "bad_secret");
	return unit_done();
}
