/* What providers share: the claims of tokens that others signed, the wait before another try, whether a credential
 * lives long enough. */
#include <fcntl.h>
#include <sys/wait.h>

#include "clock.h"
#include "http_again.h"
#include "jwt_claims.h"
#include "kube_api.h"
#include "provider_stay.h"
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

/* ---- staying ---- */

static const char lease[] = "0123456789abcdef0123456789abcdef";

/* A provider with a secret's pipe, a lock, and where it is asked again, and what waits for it there. */
struct staying {
	int secret[2], lock, again[2], kept[3];
	struct provider provider;
};

static void begin(struct staying *s, const char *asked)
{
	CHECK(pipe2(s->secret, O_CLOEXEC) == 0 && pipe2(s->again, O_CLOEXEC) == 0);
	s->lock = open("/dev/null", O_RDONLY | O_CLOEXEC);
	s->kept[0] = s->secret[1];
	s->kept[1] = s->lock;
	s->kept[2] = s->again[0];
	s->provider = (struct provider){.name = "sbx-cred-test",
					.started = {.config = "CONFIG", .reply_fd = STDOUT_FILENO},
					.secret_fd = s->secret[1],
					.kept = s->kept,
					.kept_count = ARRAY_LEN(s->kept)};
	if (asked != NULL) {
		CHECK(write(s->again[1], asked, strlen(asked)) == (ssize_t)strlen(asked));
		close(s->again[1]);
		s->again[1] = -1;
	}
}

static int is_closed(int fd)
{
	return fcntl(fd, F_GETFD) < 0;
}

static int stay(const char *asked, jv *request, struct sbx_error *err)
{
	struct staying s;
	char byte;

	begin(&s, asked);
	int got = provider_stay(&s.provider, s.again[0], lease, 60 * 1000, request, err);
	CHECK(is_closed(s.lock) && is_closed(s.secret[1]) && is_closed(s.again[0]));
	/* Whoever reads the secrets sees that there are no more. */
	CHECK(read(s.secret[0], &byte, 1) == 0);
	close(s.secret[0]);
	return got;
}

static void test_stay(void)
{
	static const char asked[] = "{\"lease\":\"0123456789abcdef0123456789abcdef\",\"jti\":\"j\"}\n";
	static const struct {
		const char *asked, *code;
	} bad[] = {{"{\"lease\":\"ffffffffffffffffffffffffffffffff\"}", "bad_request"},
		   {"{\"lease\":\"0123456789abcdef0123456789abcdef\"}{}", "json_trailing"},
		   {"{\"lease\":\"0123456789abcdef", "json_truncated"},
		   {"[]", "bad_request"},
		   {" ", "json_truncated"}};
	auto_jv request = jv_invalid(), none = jv_invalid();
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK(stay(asked, &request, &err) == 1);
	CHECK_STR(json_str(request, "jti"), "j");
	CHECK(stay("", &none, &err) == 0 && !jv_is_valid(none) && err.class == SBX_OK);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct sbx_error why = SBX_ERROR_INIT;
		CHECK(stay(bad[i].asked, &none, &why) < 0 && !jv_is_valid(none));
		CHECK_STR(why.code, bad[i].code);
	}
}

static int64_t again_fd(const struct staying *s, jv said)
{
	auto_jv request = json_set(jv_object(), "again_fd", said);

	return provider_again_fd(&s->provider, request);
}

/* A request may name a descriptor that was given for that, and no other of ours. */
static void test_again_fd(void)
{
	struct staying s;
	auto_jv empty = jv_object();

	begin(&s, "");
	CHECK(again_fd(&s, jv_number(s.again[0])) == s.again[0]);
	CHECK(provider_again_fd(&s.provider, empty) < 0);
	CHECK(again_fd(&s, jv_number(s.secret[1])) < 0 && again_fd(&s, jv_number(s.secret[0])) < 0 &&
	      again_fd(&s, jv_number(0)) < 0 && again_fd(&s, jv_string("5")) < 0);
	for (size_t i = 0; i < ARRAY_LEN(s.kept); i++)
		close(s.kept[i]);
	close(s.secret[0]);
}

/* After its time it is another process: this program again, as "revoke", which says on its output what it reads. */
static void test_another(void)
{
	struct staying s;
	int out[2], status = -1;
	char said[64] = "";

	begin(&s, NULL);
	CHECK(pipe2(out, O_CLOEXEC) == 0);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		auto_jv none = jv_invalid();
		struct sbx_error err = SBX_ERROR_INIT;
		close(s.again[1]);
		s.provider.started.reply_fd = out[1];
		provider_stay(&s.provider, s.again[0], lease, 1, &none, &err);
		_exit(99);
	}
	close(out[1]);
	CHECK(pid > 0 && read(out[0], said, sizeof said - 1) > 0);
	CHECK_STR(said, "sbx-cred-test --config CONFIG\n");
	CHECK(write(s.again[1], "x", 1) == 1);
	close(s.again[1]);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 'x');
	close(out[0]);
	for (size_t i = 0; i < ARRAY_LEN(s.kept); i++)
		close(s.kept[i]);
	close(s.secret[0]);
}

static int another(char **argv)
{
	char byte = 0;

	dprintf(STDOUT_FILENO, "%s %s %s\n", argv[0], argv[2], argv[3]);
	/* Nothing but the three: what was kept is closed. */
	for (int fd = 3; fd < 64; fd++)
		if (!is_closed(fd))
			return 1;
	return read(STDIN_FILENO, &byte, 1) == 1 ? byte : 2;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "revoke") == 0)
		return another(argv);
	test_claims();
	test_again();
	test_life();
	test_names();
	test_stay();
	test_again_fd();
	test_another();
	return unit_done();
}
