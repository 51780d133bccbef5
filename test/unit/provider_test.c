/* What providers share: the claims of tokens that others signed, the wait before another try, whether a credential
 * lives long enough. */
#include "clock.h"
#include "http_again.h"
#include "jwt_claims.h"
#include "kube_api.h"
#include "provider_work.h"
#include "unit.h"

static int read_text(const char *text, jv *claims)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_secret token = SECRET_INIT;

	CHECK(secret_alloc(&token, strlen(text) + 1, &err) == 0 &&
	      secret_append(&token, text, strlen(text), &err) == 0);
	return jwt_claims_read(&token, claims);
}

static void test_claims(void)
{
	static const char *const bad[] = {"",
					  ".",
					  "..",
					  "a.b",
					  "a.b.c.d",
					  "a.eyJleHAiOjF9",
					  "a.WzFd.c" /* [1] */,
					  "a.eyJleHAiOjF9.c.d",
					  "a.eyJleHAi!jF9.c",
					  "a.eyJleHAiOjE.c"};
	auto_jv claims = jv_invalid(), padded = jv_invalid(), url = jv_invalid(), none = jv_invalid();
	int64_t exp = 0;

	CHECK(read_text("a.eyJleHAiOjF9.c", &claims) == 0 && json_int(claims, "exp", &exp) == 0 && exp == 1);
	/* {"exp":12}: one that would have padding; {"a":"~~~?"}: digits that base64 writes otherwise. */
	CHECK(read_text("a.eyJleHAiOjEyfQ.c", &padded) == 0 && json_int(padded, "exp", &exp) == 0 && exp == 12);
	CHECK(read_text("a.eyJhIjoifn5-PyJ9.c", &url) == 0);
	CHECK_STR(json_str(url, "a"), "~~~?");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		CHECK(read_text(bad[i], &none) < 0 && !jv_is_valid(none));
}

static void test_again(void)
{
	struct http_again again = HTTP_AGAIN_INIT, late = HTTP_AGAIN_INIT, asked = HTTP_AGAIN_INIT;
	int64_t began = clock_mono_ms(), far = began + 60000;
	int tries = 0;

	while (http_again_wait(&again, 1, far) == 0)
		tries++;
	CHECK(tries == 4 && clock_mono_ms() - began < 30000);
	CHECK(http_again_wait(&late, 0, clock_mono_ms() + 1000) < 0);
	CHECK(http_again_wait(&asked, 30000, clock_mono_ms() + 20000) < 0);
	CHECK(clock_mono_ms() - began < 30000);
}

static void test_life(void)
{
	const struct provider_wish wish = {.lifetime_s = 900};
	struct provider_minted minted = PROVIDER_MINTED_INIT;

	minted.expires_at = clock_seconds() + 900;
	CHECK(provider_minted_suffices(&minted, &wish));
	minted.expires_at -= 60;
	CHECK(!provider_minted_suffices(&minted, &wish));
}

static void test_names(void)
{
	CHECK(kube_is_name("apps") && kube_is_name("a.b-c"));
	CHECK(!kube_is_name(NULL) && !kube_is_name("") && !kube_is_name("A") && !kube_is_name("a/b") &&
	      !kube_is_name("a%2f"));
}

int main(void)
{
	test_claims();
	test_again();
	test_life();
	test_names();
	return unit_done();
}
