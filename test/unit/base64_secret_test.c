/* base64_secret: the vectors of RFC 4648, section 10, and what is not the one spelling. */
#include "base64_secret.h"

#include "unit.h"

static const char *const vectors[][2] = {{"f", "Zg=="},	       {"fo", "Zm8="},	      {"foo", "Zm9v"},
					 {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};

static void round_trip(const char *bytes, const char *text)
{
	auto_secret secret = SECRET_INIT, back = SECRET_INIT;
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK(secret_alloc(&secret, strlen(text), &err) == 0 &&
	      base64_add_secret(&secret, bytes, strlen(bytes), &err) == 0);
	CHECK(secret.len == strlen(text) && memcmp(secret.data, text, secret.len) == 0);
	CHECK(base64_read_secret(text, strlen(text), &back, &err) == 0);
	CHECK(back.len == strlen(bytes) && memcmp(back.data, bytes, back.len) == 0);
}

static int refused(const char *text)
{
	auto_secret out = SECRET_INIT;
	struct sbx_error err = SBX_ERROR_INIT;

	return base64_read_secret(text, strlen(text), &out, &err) < 0 && strcmp(err.code, "bad_base64") == 0;
}

int main(void)
{
	auto_secret all = SECRET_INIT, back = SECRET_INIT;
	struct sbx_error err = SBX_ERROR_INIT;
	unsigned char bytes[256];

	for (size_t i = 0; i < ARRAY_LEN(vectors); i++)
		round_trip(vectors[i][0], vectors[i][1]);
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)i;
	CHECK(secret_alloc(&all, base64_size(sizeof bytes), &err) == 0 &&
	      base64_add_secret(&all, bytes, sizeof bytes, &err) == 0);
	CHECK(base64_read_secret((const char *)all.data, all.len, &back, &err) == 0);
	CHECK(back.len == sizeof bytes && memcmp(back.data, bytes, sizeof bytes) == 0);
	CHECK(refused(""));
	CHECK(refused("Zg="));
	CHECK(refused("Zg"));
	CHECK(refused("Zh==")); /* bits that stand for nothing */
	CHECK(refused("Zm9="));
	CHECK(refused("Zg==Zg=="));
	CHECK(refused("Z==="));
	CHECK(refused("===="));
	CHECK(refused("Zm9v\nZm8"));
	CHECK(refused("Zm-_"));
	return unit_done();
}
