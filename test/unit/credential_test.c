/* Secret fields, rendered files, sealed memory, the poll loop around a child, lease files. */
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "clock.h"
#include "credential.h"
#include "credential_lease.h"
#include "credential_process.h"
#include "credential_render.h"
#include "credential_seal.h"
#include "io.h"
#include "unit.h"

static char dir[] = "/tmp/credential_test.XXXXXX";

static void fill(struct secret *s, const void *bytes, size_t len)
{
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK(secret_alloc(s, len + 1, &err) == 0 && secret_append(s, bytes, len, &err) == 0);
}

static jv parse(const char *text)
{
	struct sbx_error err = SBX_ERROR_INIT;
	jv value = jv_invalid();

	CHECK(json_parse(text, strlen(text), LIMIT_CALL, &value, &err) == 0);
	return value;
}

#define FIELD(name, length, bytes) name "\0" length "\0" bytes

static int fields_are(const void *bytes, size_t len, const char *names)
{
	auto_secret s = SECRET_INIT;
	auto_jv list = parse(names);

	fill(&s, bytes, len);
	return credential_fields_are(&s, list);
}
#define FIELDS_ARE(literal, names) fields_are(literal, sizeof(literal) - 1, names)

static void test_fields(void)
{
	CHECK(FIELDS_ARE(FIELD("token", "8", "12345678"), "[\"token\"]"));
	CHECK(FIELDS_ARE(FIELD("a", "8", "12345678") FIELD("b", "9", "\0\n3456789"), "[\"a\",\"b\"]"));
	CHECK(!FIELDS_ARE(FIELD("token", "8", "12345678"), "[]"));
	CHECK(!FIELDS_ARE(FIELD("token", "8", "12345678"), "[\"other\"]"));
	CHECK(!FIELDS_ARE(FIELD("token", "8", "12345678"), "[\"token\",\"token\"]"));
	CHECK(!FIELDS_ARE(FIELD("token", "8", "12345678"), "\"token\""));
	CHECK(!FIELDS_ARE(FIELD("a", "8", "12345678") FIELD("b", "8", "12345678"), "[\"b\",\"a\"]"));
	CHECK(!FIELDS_ARE("", "[]"));
	CHECK(!FIELDS_ARE(FIELD("token", "7", "1234567"), "[\"token\"]"));
	CHECK(!FIELDS_ARE(FIELD("token", "9", "12345678"), "[\"token\"]"));
	CHECK(!FIELDS_ARE(FIELD("token", "08", "12345678"), "[\"token\"]"));
	CHECK(!FIELDS_ARE(FIELD("token", "+8", "12345678"), "[\"token\"]"));
	CHECK(!FIELDS_ARE(FIELD("token", "0", ""), "[\"token\"]"));
	CHECK(!FIELDS_ARE(FIELD("token", "", "12345678"), "[\"token\"]"));
	CHECK(!FIELDS_ARE(FIELD("token", "99999999999999999999", "12345678"), "[\"token\"]"));
	CHECK(!FIELDS_ARE(FIELD("token", "18446744073709551615", "12345678"), "[\"token\"]"));
	CHECK(!FIELDS_ARE(FIELD("", "8", "12345678"), "[\"\"]"));
	CHECK(!FIELDS_ARE(FIELD("TOKEN", "8", "12345678"), "[\"TOKEN\"]"));
	CHECK(!FIELDS_ARE("token", "[\"token\"]"));
	CHECK(!FIELDS_ARE("token\0"
			  "8",
			  "[\"token\"]"));
	CHECK(!FIELDS_ARE(FIELD("token", "8", "12345678") "x", "[\"token\"]"));
}

static void test_is_in(void)
{
	static const char block[] = FIELD("token", "8", "s3cr3tXX") FIELD("other", "9", "0therSecr");
	auto_secret s = SECRET_INIT;

	fill(&s, block, sizeof block - 1);
	CHECK(credential_is_in(&s, "{\"jti\":\"s3cr3tXX\"}", 18));
	CHECK(credential_is_in(&s, "xx0therSecr", 11));
	CHECK(!credential_is_in(&s, "s3cr3tX", 7));
	CHECK(!credential_is_in(&s, "", 0));
}

/* What BLOCK becomes as AS; the file's text or the code of the error. */
static const char *rendered(const char *as, const void *block, size_t len, const char *target)
{
	static char text[2 * LIMIT_SECRET];
	struct sbx_error err = SBX_ERROR_INIT;
	auto_secret fields = SECRET_INIT, file = SECRET_INIT;
	auto_jv t = parse(target);

	fill(&fields, block, len);
	if (credential_render(credential_form(as), &fields, t, &file, &err) < 0) {
		snprintf(text, sizeof text, "%s", err.code);
	} else {
		memcpy(text, file.data, file.len);
		text[file.len] = '\0';
	}
	return text;
}
#define RENDERED(as, block, target) rendered(as, block, sizeof(block) - 1, target)

static void test_render(void)
{
	char target[256], ca[64];
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK_STR(RENDERED("token", FIELD("token", "10", "abc.def-_~"), "null"), "abc.def-_~");
	CHECK_STR(RENDERED("token", FIELD("other", "8", "12345678"), "null"), "provider_protocol");
	CHECK_STR(RENDERED("token", FIELD("token", "8", "1234\n678"), "null"), "provider_protocol");
	CHECK_STR(RENDERED("token", FIELD("token", "8", "1234 678"), "null"), "provider_protocol");
	CHECK_STR(RENDERED("token", FIELD("token", "8", "1234\"678"), "null"), "provider_protocol");
	CHECK_STR(RENDERED("token", FIELD("token", "8", "1234\\678"), "null"), "provider_protocol");
	CHECK_STR(RENDERED("token",
			   FIELD("token", "8",
				 "1234\xff"
				 "678"),
			   "null"),
		  "provider_protocol");
	CHECK_STR(RENDERED("kubeconfig", FIELD("token", "8", "12345678"), "{\"server\":\"https://k:6443\"}"),
		  "apiVersion: v1\nkind: Config\nclusters:\n- name: sbx\n  cluster:\n    server: \"https://k:6443\"\n"
		  "contexts:\n- name: sbx\n  context:\n    cluster: sbx\n    user: sbx\ncurrent-context: "
		  "sbx\nusers:\n- name: sbx\n"
		  "  user:\n    token: \"12345678\"\n");
	snprintf(ca, sizeof ca, "%s/ca.pem", dir);
	CHECK(io_replace_file(AT_FDCWD, ca, "PEM!", 4, &err) == 0);
	snprintf(target, sizeof target, "{\"server\":\"https://k:6443\",\"ca_file\":\"%s\"}", ca);
	CHECK(strstr(RENDERED("kubeconfig", FIELD("token", "8", "12345678"), target),
		     "    certificate-authority-data: \"UEVNIQ==\"\n"));
	CHECK(chmod(ca, 0666) == 0);
	CHECK_STR(RENDERED("kubeconfig", FIELD("token", "8", "12345678"), target), "bad_target");
	CHECK(unlink(ca) == 0);
	CHECK_STR(RENDERED("kubeconfig", FIELD("token", "8", "12345678"), target), "bad_target");
	CHECK_STR(RENDERED("kubeconfig", FIELD("token", "8", "12345678"), "{\"server\":\"http://k:6443\"}"),
		  "bad_target");
	CHECK_STR(RENDERED("kubeconfig", FIELD("token", "8", "12345678"), "{\"server\":\"https://k\\n\"}"),
		  "bad_target");
	CHECK_STR(RENDERED("kubeconfig", FIELD("token", "8", "12345678"), "null"), "bad_target");
	CHECK_STR(RENDERED("aws-credentials",
			   FIELD("access_key_id", "8", "AKIDAKID") FIELD("secret_access_key", "9", "secret+/=")
				   FIELD("session_token", "8", "tokentok"),
			   "null"),
		  "[default]\naws_access_key_id = AKIDAKID\naws_secret_access_key = secret+/=\naws_session_token = "
		  "tokentok\n");
	CHECK_STR(RENDERED("aws-credentials", FIELD("access_key_id", "8", "AKIDAKID"), "null"), "provider_protocol");
	CHECK_STR(RENDERED("password", FIELD("token", "8", "12345678"), "null"), "bug");
	CHECK(credential_form(NULL) == CREDENTIAL_FORMS && credential_form("") == CREDENTIAL_FORMS);
}

static void test_seal(void)
{
	static const char first[] = FIELD("token", "8", "11111111");
	static const char second[] = FIELD("access_key_id", "8", "AKIDAKID") FIELD("secret_access_key", "8", "22222222")
		FIELD("session_token", "8", "33333333");
	static const char files[] = "\0\0\0\0\0\0\0\x08"
				    "11111111"
				    "\0\0\0\x01\0\0\0\x65"
				    "[default]";
	static const char bare[] = "\0\0\0\x08"
				   "11111111"
				   "\0\0\0\x08"
				   "AKIDAKID"
				   "\0\0\0\x08"
				   "22222222"
				   "\0\0\0\x08"
				   "33333333";
	struct sbx_error err = SBX_ERROR_INIT;
	auto_leases leases;
	auto_fd credentials = -1, secrets = -1;
	char got[512];

	leases_init(&leases);
	leases.count = 2;
	leases.lease[0].record = parse("{\"as\":\"token\",\"target\":null}");
	leases.lease[1].record = parse("{\"as\":\"aws-credentials\",\"target\":null}");
	fill(&leases.lease[0].fields, first, sizeof first - 1);
	fill(&leases.lease[1].fields, second, sizeof second - 1);
	CHECK(credential_seal(&leases, &credentials, &secrets, &err) == 0);
	CHECK(io_is_sealed(credentials) && io_is_sealed(secrets));
	CHECK(pread(credentials, got, sizeof got, 0) == 8 + 8 + 8 + 0x65 && memcmp(got, files, sizeof files - 1) == 0);
	CHECK(pread(secrets, got, sizeof got, 0) == (ssize_t)sizeof bare - 1 &&
	      memcmp(got, bare, sizeof bare - 1) == 0);
	CHECK(lseek(credentials, 0, SEEK_CUR) == 0 && lseek(secrets, 0, SEEK_CUR) == 0);
}

struct outcome {
	int result, status;
	struct sbx_error err;
	size_t len;
};

static struct outcome drive(const char *const *argv, const char *input, size_t input_len, size_t max,
			    struct secret *secret, int signal_fd, int ms)
{
	struct buf answer = BUF_INIT(max);
	struct outcome o = {.err = SBX_ERROR_INIT};
	auto_credential_process p = CREDENTIAL_PROCESS_INIT;

	p.path = argv[0];
	p.argv = argv;
	p.input = input;
	p.input_len = input_len;
	p.answer = &answer;
	p.secret = secret;
	p.secret_number = 3;
	p.signal_fd = signal_fd;
	CHECK(credential_process_start(&p, &o.err) == 0);
	o.result = credential_process_wait(&p, clock_mono_ms() + ms, &o.status, &o.err);
	o.len = answer.len;
	buf_clear(&answer);
	return o;
}
#define SH(script) ((const char *const[]){"/bin/sh", "-c", script, NULL})

static void test_process(void)
{
	static char big[LIMIT_CALL];
	auto_secret secret = SECRET_INIT, flood = SECRET_INIT;
	int64_t began;

	memset(big, 'x', sizeof big);
	struct outcome o = drive((const char *const[]){"/bin/cat", NULL}, big, sizeof big, sizeof big, NULL, -1, 20000);
	CHECK(o.result == 0 && o.status == 0 && o.len == sizeof big);
	o = drive(SH("exit 3"), big, sizeof big, 100, NULL, -1, 20000);
	CHECK(o.result == 0 && WEXITSTATUS(o.status) == 3 && o.len == 0);
	/* Too much: read to its end all the same, then refused. */
	o = drive(SH("cat; exit 0"), big, sizeof big, sizeof big - 1, NULL, -1, 20000);
	CHECK(o.result < 0 && o.err.class == SBX_PROTOCOL);
	CHECK_STR(o.err.code, "too_large");
	/* A secret beside an answer, both larger than a pipe. */
	o = drive(SH("head -c 65536 /dev/zero >&3; exec 3>&-; head -c 200000 /dev/zero"), NULL, 0, 200000, &secret, -1,
		  20000);
	CHECK(o.result == 0 && o.len == 200000 && secret.len == LIMIT_SECRET);
	o = drive(SH("head -c 65537 /dev/zero >&3; echo done"), NULL, 0, 100, &flood, -1, 20000);
	CHECK(o.result < 0 && flood.len == 0);
	CHECK_STR(o.err.code, "too_large");
	/* Neither a child that hangs nor one that floods gets past the deadline. */
	began = clock_mono_ms();
	o = drive((const char *const[]){"/bin/sleep", "60", NULL}, NULL, 0, 100, NULL, -1, 100);
	CHECK(o.result < 0 && clock_mono_ms() - began < 10000);
	CHECK_STR(o.err.code, "timeout");
	o = drive((const char *const[]){"/usr/bin/yes", NULL}, NULL, 0, 100, NULL, -1, 100);
	CHECK(o.result < 0 && clock_mono_ms() - began < 20000);
	CHECK_STR(o.err.code, "timeout");
	/* Ready at every look: /dev/zero as the signals is so for certain, a flooding pipe nearly always. */
	auto_fd ready = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	o = drive((const char *const[]){"/bin/sleep", "5", NULL}, NULL, 0, 100, NULL, ready, 100);
	CHECK(o.result < 0);
	CHECK_STR(o.err.code, "timeout");
	/* Whoever inherits the pipe does not keep us from seeing the end. */
	o = drive(SH("sleep 60 & echo whole"), NULL, 0, 100, NULL, -1, 30000);
	CHECK(o.result == 0 && o.len == 6 && clock_mono_ms() - began < 30000);
}

static void test_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	auto_fd fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	CHECK(kill(getpid(), SIGTERM) == 0);
	struct outcome o = drive((const char *const[]){"/bin/sleep", "60", NULL}, NULL, 0, 100, NULL, fd, 30000);
	CHECK(o.result == 0 && WIFSIGNALED(o.status) && WTERMSIG(o.status) == SIGTERM);
	/* And the child of a caller with blocked signals has none blocked. */
	CHECK(kill(getpid(), SIGTERM) == 0);
	o = drive(SH("trap 'echo stopped; exit 7' TERM; while :; do sleep 0.02; done"), NULL, 0, 100, NULL, fd, 30000);
	CHECK(o.result == 0 && ((WIFEXITED(o.status) && WEXITSTATUS(o.status) == 7) || WIFSIGNALED(o.status)));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* A reader that has gone is a HUP for the child. */
static void test_reader(void)
{
	struct buf answer = BUF_INIT(100);
	struct sbx_error err = SBX_ERROR_INIT;
	static const char *const argv[] = {"/bin/sleep", "60", NULL};
	auto_credential_process p = CREDENTIAL_PROCESS_INIT;
	int pipe_fds[2], status = 0;

	CHECK(pipe2(pipe_fds, O_CLOEXEC) == 0);
	p.path = argv[0];
	p.argv = argv;
	p.answer = &answer;
	p.reader_fd = pipe_fds[1];
	CHECK(credential_process_start(&p, &err) == 0);
	close(pipe_fds[0]);
	CHECK(credential_process_wait(&p, clock_mono_ms() + 30000, &status, &err) == 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);
	close(pipe_fds[1]);
}

static void test_left(void)
{
	static const char call[] = "0123456789abcdef0123456789abcdef";
	static const char good[] = "{\"call\":\"0123456789abcdef0123456789abcdef\",\"index\":1,\"lease\":"
				   "\"ffffffffffffffffffffffffffffffff\","
				   "\"provider\":\"jwt\",\"state\":\"requested\"}";
	struct sbx_error err = SBX_ERROR_INIT;
	char path[128], name[64];
	auto_state state = STATE_NONE;

	snprintf(path, sizeof path, "%s/state", dir);
	CHECK(state_open(path, &state, &err) == 0);
	auto_fd leases_fd = state_dir(&state, "leases", &err);
	{
		auto_leases leases;
		leases_init(&leases);
		CHECK(lease_left(&state, call, &leases, &err) == 0 && leases.count == 0);
	}
	snprintf(name, sizeof name, "%s-1.json", call);
	CHECK(io_create_file(leases_fd, name, good, sizeof good - 1, &err) == 0);
	{
		auto_leases leases;
		leases_init(&leases);
		CHECK(lease_left(&state, call, &leases, &err) == 0 && leases.count == 1 &&
		      leases.lease[0].state == LEASE_REQUESTED);
		CHECK_STR(json_str(leases.lease[0].record, "lease"), "ffffffffffffffffffffffffffffffff");
	}
	/* A damaged one does not hide the others; one under another number, or of another call, is damaged. */
	static const char *const damaged[] = {"{", "{}", good};
	snprintf(name, sizeof name, "%s-0.json", call);
	for (size_t i = 0; i < ARRAY_LEN(damaged); i++) {
		auto_leases leases;
		leases_init(&leases);
		CHECK(io_replace_file(leases_fd, name, damaged[i], strlen(damaged[i]), &err) == 0);
		CHECK(lease_left(&state, call, &leases, &err) < 0 && leases.count == 1 && err.class == SBX_CONFIG);
		CHECK_STR(err.code, "bad_lease");
		sbx_error_clear(&err);
	}
}

int main(void)
{
	struct sbx_error err = SBX_ERROR_INIT;

	signal(SIGPIPE, SIG_IGN);
	if (mkdtemp(dir) == NULL)
		return 1;
	test_fields();
	test_is_in();
	test_render();
	test_seal();
	test_process();
	test_signals();
	test_reader();
	test_left();
	io_remove_tree(AT_FDCWD, dir, &err);
	return unit_done();
}
