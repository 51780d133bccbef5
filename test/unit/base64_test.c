/* base64: what is written is read back, and nothing else is read. */
#include "base64.h"

#include "unit.h"

static void test_both_ways(void)
{
	static const char *const texts[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"}; /* RFC 4648 */
	struct sbx_error err = SBX_ERROR_INIT;

	for (size_t n = 0; n < ARRAY_LEN(texts); n++) {
		auto_buf text = BUF_INIT(64);
		auto_free unsigned char *bytes = NULL;
		size_t len;
		CHECK(base64_add(&text, (const unsigned char *)"foobar", n, &err) == 0);
		CHECK_STR(buf_str(&text), texts[n]);
		if (n > 0)
			CHECK(base64_read(texts[n], strlen(texts[n]), &bytes, &len) == 0 && len == n &&
			      memcmp(bytes, "foobar", n) == 0);
	}
	auto_buf full = BUF_INIT(6);
	CHECK(base64_add(&full, (const unsigned char *)"foobar", 6, &err) < 0);
}

static void test_refused(void)
{
	static const char *const texts[] = {"", "AAF=", "AB==", "A===", "====", "AA=A", "AA==AAAA", "AAE", "AA E", "AAE\n", "AA-_"};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		unsigned char *out = NULL;
		size_t len;
		CHECK(base64_read(texts[i], strlen(texts[i]), &out, &len) < 0 && out == NULL);
	}
}

int main(void)
{
	test_both_ways();
	test_refused();
	return unit_done();
}
