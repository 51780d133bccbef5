/* Kept plans: what is sealed comes back, and nothing else does. */
#include "plan.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "clock.h"
#include "digest.h"
#include "io.h"
#include "plan_room.h"
#include "unit.h"

static char place[64];
static struct sbx_error err;
static const char plan_bytes[] = "PK plan", tree_bytes[] = "tree";

static const char *code(void)
{
	static char last[sizeof err.code];

	memcpy(last, err.code, sizeof last);
	sbx_error_clear(&err);
	return last;
}

static jv some_report(void)
{
	jv finding = json_set_str(json_set_str(jv_object(), "address", "a.b"), "verdict", "destructive");

	return json_set(jv_object(), "findings", json_append(jv_array(), finding));
}

static jv some_seal(const char *expires_at)
{
	char digest[DIGEST_HEX_SIZE];
	auto_jv report = some_report();
	jv seal = json_set_str(json_set_str(jv_object(), "principal", "agent"), "verdict", "destructive");

	digest_sha256_hex(plan_bytes, strlen(plan_bytes), digest);
	seal = json_set_str(seal, "plan_sha256", digest);
	digest_sha256_hex(tree_bytes, strlen(tree_bytes), digest);
	seal = json_set_str(seal, "tree_sha256", digest);
	json_digest(report, digest, &err);
	seal = json_set_str(seal, "findings_sha256", digest);
	return json_set_str(seal, "expires_at", expires_at);
}

static int keep(const struct state *state, const struct secret *key, jv seal, char id[STATE_ID_SIZE], char sha256[65])
{
	auto_jv report = some_report();
	auto_fd plan = io_sealed_memfd("p", plan_bytes, strlen(plan_bytes), &err);
	auto_fd tree = io_sealed_memfd("t", tree_bytes, strlen(tree_bytes), &err);

	return plan_keep(state, key, seal, plan, tree, report, id, sha256, &err);
}

/* The plan's file NAME below the state directory. */
static int open_in(const struct state *state, const char *id, const char *name, int flags)
{
	char path[128];

	snprintf(path, sizeof path, "plans/%s/%s", id, name);
	return openat(state->fd, path, flags | O_CLOEXEC);
}

static void flip(const struct state *state, const char *id, const char *name, off_t at)
{
	char byte;
	auto_fd fd = open_in(state, id, name, O_RDWR);

	CHECK(fd >= 0 && pread(fd, &byte, 1, at) == 1);
	byte ^= 1;
	CHECK(pwrite(fd, &byte, 1, at) == 1);
}

static void test_round_trip(const struct state *state, const struct secret *key)
{
	char id[STATE_ID_SIZE], sha256[65], again[65], read_back[65] = "";
	auto_jv seal = some_seal(NULL), found = jv_invalid(), report = jv_invalid(), expected = some_report();
	auto_fd plan = -1, tree = -1;
	int64_t created, expires;
	uint64_t size = 0;
	struct stat st;

	CHECK(keep(state, key, seal, id, sha256) == 0 && state_is_id(id));
	CHECK(plan_find(state, key, id, &found, again, &err) == 0);
	CHECK_STR(again, sha256);
	CHECK(json_digest(found, read_back, &err) == 0);
	CHECK_STR(read_back, sha256);
	CHECK_STR(json_str(found, "id"), id);
	CHECK_STR(json_str(found, "installation"), state->installation);
	CHECK(clock_parse(json_str(found, "created_at"), &created) == 0 &&
	      clock_parse(json_str(found, "expires_at"), &expires) == 0);
	CHECK(expires - created == PLAN_TTL_S && created <= clock_seconds() && created > clock_seconds() - 60);
	CHECK(plan_open_file(state, found, &plan, &size, &err) == 0 && io_is_sealed(plan));
	CHECK(read(plan, read_back, sizeof read_back) == (ssize_t)strlen(plan_bytes) &&
	      memcmp(read_back, plan_bytes, strlen(plan_bytes)) == 0);
	CHECK(plan_open_tree(state, found, &tree, &size, &err) == 0 && size == strlen(tree_bytes));
	CHECK(plan_open_report(state, found, &report, &err) == 0 && json_same(report, expected));
	for (const char *const *name = (const char *const[]){"plan.bin", "tree", "findings.json", "seal.json", NULL};
	     *name != NULL; name++) {
		auto_fd fd = open_in(state, id, *name, O_RDONLY);
		CHECK(fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0600);
	}
	CHECK(plan_drop(state, id, &err) == 0 && plan_drop(state, id, &err) == 0);
	jv_free(take_jv(&found));
	CHECK(plan_find(state, key, id, &found, again, &err) < 0);
	CHECK_STR(code(), "plan_unknown");
}

/* A run takes it: nobody finds it then, and a second run gets nothing. What was not begun can be used again. */
static void test_taken(const struct state *state, const struct secret *key)
{
	static const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	char id[STATE_ID_SIZE], sha256[65], path[128];
	auto_jv seal = some_seal(NULL), found = jv_invalid(), again = jv_invalid();

	CHECK(keep(state, key, seal, id, sha256) == 0 && plan_take(state, id, &err) == 0);
	CHECK(plan_take(state, id, &err) < 0 && err.class == SBX_DENIED);
	CHECK_STR(code(), "plan_unknown");
	CHECK(plan_find(state, key, id, &found, sha256, &err) < 0);
	CHECK_STR(code(), "plan_unknown");
	CHECK(plan_put_back(state, id, &err) == 0 && plan_find(state, key, id, &again, sha256, &err) == 0);
	CHECK(plan_put_back(state, id, &err) < 0);
	sbx_error_clear(&err);
	CHECK(plan_take(state, id, &err) == 0 && plan_drop(state, id, &err) == 0);
	CHECK(plan_put_back(state, id, &err) < 0);
	sbx_error_clear(&err);
	CHECK(plan_take(state, "../plans", &err) < 0);
	CHECK_STR(code(), "plan_unknown");
	/* One whose run died goes by itself, in time. */
	CHECK(keep(state, key, seal, id, sha256) == 0 && plan_take(state, id, &err) == 0);
	snprintf(path, sizeof path, "plans/.used-%s", id);
	CHECK(plan_drop_expired(state, &err) == 0 && faccessat(state->fd, path, F_OK, 0) == 0);
	CHECK(utimensat(state->fd, path, long_ago, 0) == 0 && plan_drop_expired(state, &err) == 0);
	CHECK(faccessat(state->fd, path, F_OK, 0) < 0);
}

static void test_unknown(const struct state *state, const struct secret *key)
{
	static const char *const ids[] = {"", "..", "../plans", "0123456789abcdef0123456789abcdef",
					  "0123456789ABCDEF0123456789ABCDEF"};
	auto_jv found = jv_invalid();
	char sha256[65];

	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		CHECK(plan_find(state, key, ids[i], &found, sha256, &err) < 0 && err.class == SBX_DENIED);
		CHECK_STR(code(), "plan_unknown");
	}
}

/* One bit anywhere in the seal or in a file: refused. */
static void test_tampered(const struct state *state, const struct secret *key)
{
	char id[STATE_ID_SIZE], sha256[65];
	auto_jv seal = some_seal(NULL), found = jv_invalid(), report = jv_invalid();
	int fd = -1;
	uint64_t size;
	struct stat st;

	CHECK(keep(state, key, seal, id, sha256) == 0);
	auto_fd file = open_in(state, id, "seal.json", O_RDONLY);
	CHECK(file >= 0 && fstat(file, &st) == 0);
	unsigned accepted = 0;
	for (off_t at = 0; at < st.st_size; at++) {
		auto_jv wrong = jv_invalid();
		auto_fd seal_fd = open_in(state, id, "seal.json", O_RDWR);
		char byte, other;
		if (pread(seal_fd, &byte, 1, at) != 1)
			break;
		other = (char)(byte ^ 1);
		if (pwrite(seal_fd, &other, 1, at) != 1)
			break;
		accepted += plan_find(state, key, id, &wrong, sha256, &err) == 0;
		if (strcmp(code(), "plan_seal_invalid") != 0)
			accepted++;
		if (pwrite(seal_fd, &byte, 1, at) != 1)
			break;
	}
	CHECK(accepted == 0);
	CHECK(plan_find(state, key, id, &found, sha256, &err) == 0);
	flip(state, id, "plan.bin", 3);
	CHECK(plan_open_file(state, found, &fd, &size, &err) < 0 && fd == -1);
	CHECK_STR(code(), "plan_file_changed");
	flip(state, id, "tree", 0);
	CHECK(plan_open_tree(state, found, &fd, &size, &err) < 0);
	CHECK_STR(code(), "plan_tree_changed");
	flip(state, id, "findings.json", 5);
	CHECK(plan_open_report(state, found, &report, &err) < 0);
	CHECK_STR(code(), "plan_seal_invalid");
	flip(state, id, "plan.bin", 3);
	CHECK(plan_open_file(state, found, &fd, &size, &err) == 0);
	close(fd);
}

/* A good seal somewhere else: another plan's directory, another installation, another key. */
static void test_moved(const struct state *state, const struct secret *key)
{
	char one[STATE_ID_SIZE], two[STATE_ID_SIZE], sha256[65];
	auto_jv seal = some_seal(NULL), found = jv_invalid();
	auto_secret other = SECRET_INIT;
	char from[128], to[128];
	auto_state elsewhere = STATE_NONE;

	CHECK(keep(state, key, seal, one, sha256) == 0 && keep(state, key, seal, two, sha256) == 0);
	snprintf(from, sizeof from, "plans/%s/seal.json", one);
	snprintf(to, sizeof to, "plans/%s/seal.json", two);
	CHECK(renameat(state->fd, from, state->fd, to) == 0);
	CHECK(plan_find(state, key, two, &found, sha256, &err) < 0);
	CHECK_STR(code(), "plan_seal_invalid");
	CHECK(plan_find(state, key, one, &found, sha256, &err) < 0);
	CHECK_STR(code(), "plan_seal_invalid");
	CHECK(keep(state, key, seal, one, sha256) == 0);
	CHECK(secret_alloc(&other, 32, &err) == 0 &&
	      secret_append(&other, "another key of thirty-two bytes!", 32, &err) == 0);
	CHECK(plan_find(state, &other, one, &found, sha256, &err) < 0);
	CHECK_STR(code(), "plan_seal_invalid");
	elsewhere = (struct state){.path = strdup(state->path), .fd = fcntl(state->fd, F_DUPFD_CLOEXEC, 3)};
	memset(elsewhere.installation, '0', STATE_ID_SIZE - 1);
	CHECK(plan_find(&elsewhere, key, one, &found, sha256, &err) < 0);
	CHECK_STR(code(), "plan_seal_invalid");
}

static void test_expiry(const struct state *state, const struct secret *key)
{
	char old[STATE_ID_SIZE], fresh[STATE_ID_SIZE], sha256[65];
	auto_jv past = some_seal("2020-01-01T00:00:00Z"), none = some_seal("soon"),
		future = some_seal("2999-01-01T00:00:00Z"), found = jv_invalid();

	/* In this order: what has expired goes when the next one is kept. */
	CHECK(keep(state, key, future, fresh, sha256) == 0 && keep(state, key, past, old, sha256) == 0);
	CHECK(plan_find(state, key, old, &found, sha256, &err) < 0);
	CHECK_STR(code(), "plan_expired");
	CHECK(mkdirat(state->fd, "plans/.new-0", 0700) == 0);
	CHECK(plan_drop_expired(state, &err) == 0);
	CHECK(faccessat(state->fd, "plans/.new-0", F_OK, 0) == 0); /* young: may be in the making */
	const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	CHECK(utimensat(state->fd, "plans/.new-0", long_ago, 0) == 0 && plan_drop_expired(state, &err) == 0);
	CHECK(faccessat(state->fd, "plans/.new-0", F_OK, 0) < 0);
	CHECK(plan_find(state, key, old, &found, sha256, &err) < 0);
	CHECK_STR(code(), "plan_unknown");
	CHECK(plan_find(state, key, fresh, &found, sha256, &err) == 0);
	jv_free(take_jv(&found));
	CHECK(keep(state, key, none, old, sha256) == 0 && plan_find(state, key, old, &found, sha256, &err) < 0);
	CHECK_STR(code(), "plan_seal_invalid");
}

/* Whoever comes by looks, but not each time. */
static void test_sweep(const struct state *state, const struct secret *key)
{
	static const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	auto_jv past = some_seal("2020-01-01T00:00:00Z"), future = some_seal("2999-01-01T00:00:00Z");
	char old[STATE_ID_SIZE], fresh[STATE_ID_SIZE], sha256[65], path[64];
	char elsewhere[sizeof place + 16];
	auto_state none = STATE_NONE;

	CHECK(keep(state, key, future, fresh, sha256) == 0 && plan_sweep(state, &err) == 0);
	CHECK(keep(state, key, past, old, sha256) == 0 && plan_sweep(state, &err) == 0);
	snprintf(path, sizeof path, "plans/%s", old);
	CHECK(faccessat(state->fd, path, F_OK, 0) == 0);
	CHECK(utimensat(state->fd, "plans/.swept", long_ago, 0) == 0 && plan_sweep(state, &err) == 0);
	CHECK(faccessat(state->fd, path, F_OK, 0) < 0);
	snprintf(path, sizeof path, "plans/%s", fresh);
	CHECK(faccessat(state->fd, path, F_OK, 0) == 0 && plan_drop(state, fresh, &err) == 0);
	/* Where nobody plans, nothing is made. */
	snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", place);
	CHECK(state_open(elsewhere, &none, &err) == 0 && plan_sweep(&none, &err) == 0);
	CHECK(faccessat(none.fd, "plans", F_OK, 0) < 0);
}

/* So many of one principal, and so many bytes; what has expired makes room. */
static void test_room(const struct state *state, const struct secret *key)
{
	auto_jv mine = json_set_str(some_seal(NULL), "principal", "keeper"),
		over = json_set_str(some_seal("2020-01-01T00:00:00Z"), "principal", "keeper"),
		other = json_set_str(some_seal(NULL), "principal", "other");
	char id[STATE_ID_SIZE], sha256[65], path[128];

	CHECK(keep(state, key, over, id, sha256) == 0);
	for (int i = 0; i < LIMIT_KEPT_PLANS; i++)
		CHECK(keep(state, key, mine, id, sha256) == 0);
	CHECK(keep(state, key, mine, path, sha256) < 0);
	CHECK(err.class == SBX_UNAVAILABLE && strstr(err.hint, "expires") != NULL);
	CHECK_STR(code(), "too_many_plans");
	CHECK(keep(state, key, other, path, sha256) == 0);
	CHECK(plan_drop(state, id, &err) == 0 && keep(state, key, mine, id, sha256) == 0);
	CHECK(plan_drop(state, id, &err) == 0);
	CHECK(plan_make_room(state, "keeper", LIMIT_KEPT_PLAN_BYTES / 2, &err) == 0);
	CHECK(plan_make_room(state, "keeper", LIMIT_KEPT_PLAN_BYTES, &err) < 0);
	CHECK_STR(code(), "too_many_plans");
	/* What lies there counts. */
	CHECK(keep(state, key, mine, id, sha256) == 0);
	auto_fd grown = open_in(state, id, "plan.bin", O_WRONLY);
	CHECK(ftruncate(grown, (off_t)(LIMIT_KEPT_PLAN_BYTES / 2)) == 0 && plan_drop(state, path, &err) == 0);
	CHECK(plan_make_room(state, "keeper", LIMIT_KEPT_PLAN_BYTES / 2, &err) < 0);
	CHECK_STR(code(), "too_many_plans");
	CHECK(plan_drop(state, id, &err) == 0);
	CHECK(plan_make_room(state, "keeper", LIMIT_KEPT_PLAN_BYTES / 2, &err) == 0);
}

/* What does not match its digest is not kept, and leaves nothing. */
static void test_mismatch(const struct state *state, const struct secret *key)
{
	static const char *const members[] = {"plan_sha256", "tree_sha256", "findings_sha256"};
	char id[STATE_ID_SIZE], sha256[65], path[128];

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		auto_jv seal = json_set_str(some_seal(NULL), members[i],
					    "0000000000000000000000000000000000000000000000000000000000000000");
		CHECK(keep(state, key, seal, id, sha256) < 0);
		CHECK_STR(code(), "plan_mismatch");
		snprintf(path, sizeof path, "plans/%s", id);
		CHECK(faccessat(state->fd, path, F_OK, 0) < 0);
		snprintf(path, sizeof path, "plans/.new-%s", id);
		CHECK(faccessat(state->fd, path, F_OK, 0) < 0);
	}
}

static void test_verdicts(void)
{
	enum plan_verdict verdict;

	for (unsigned i = 0; i < PLAN_VERDICTS; i++)
		CHECK(plan_verdict_parse(plan_verdict_name((enum plan_verdict)i), &verdict) == 0 &&
		      verdict == (enum plan_verdict)i);
	CHECK(plan_verdict_parse("Safe", &verdict) < 0 && plan_verdict_parse("", &verdict) < 0 &&
	      plan_verdict_parse(NULL, &verdict) < 0);
	CHECK(PLAN_SAFE < PLAN_REVIEW && PLAN_REVIEW < PLAN_DESTRUCTIVE);
}

int main(void)
{
	auto_state state = STATE_NONE;
	auto_secret key = SECRET_INIT;

	snprintf(place, sizeof place, "/tmp/sbx-plan-XXXXXX");
	if (mkdtemp(place) == NULL || state_open(place, &state, &err) < 0 || state_seal_key(&state, &key, &err) < 0)
		return 1;
	test_round_trip(&state, &key);
	test_taken(&state, &key);
	test_unknown(&state, &key);
	test_tampered(&state, &key);
	test_moved(&state, &key);
	test_expiry(&state, &key);
	test_sweep(&state, &key);
	test_room(&state, &key);
	test_mismatch(&state, &key);
	test_verdicts();
	io_remove_tree(AT_FDCWD, place, &err);
	return unit_done();
}
