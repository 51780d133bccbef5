/* left_lock: who may have left a lock, by notes and by what the calls' directories say; the newest, and none for ever. */
#include "left_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "io.h"
#include "limit.h"
#include "unit.h"

#define ONE "00000000000000000000000000000001"
#define TWO "00000000000000000000000000000002"
#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define GONE "00000000000000000000000000000003"

static struct state state;
static struct sbx_error err;

/* How many the list for BACKEND has, and whether CALL is one of them. */
static int listed_for(const char *backend, const char *call, int *is_in)
{
	auto_jv calls = jv_invalid();

	CHECK(left_lock_list(&state, backend, &calls, &err) == 0);
	*is_in = 0;
	for (int i = 0; i < json_length(calls); i++) {
		auto_jv one = json_at(calls, i);
		*is_in |= strcmp(json_text(one), call) == 0;
	}
	return json_length(calls);
}

static int listed(const char *call, int *is_in)
{
	return listed_for(A, call, is_in);
}

static void mark(const char *call, const char *name)
{
	auto_fd run = state_run_open(&state, call, &err);

	CHECK(run >= 0 && io_create_file(run, name, "", 0, &err) == 0);
}

static void test_states(void)
{
	int is_in;

	CHECK(listed(ONE, &is_in) == 0);
	CHECK(left_lock_by(&state, ONE) == LEFT_BY_OTHERS);
	auto_fd run = state_run_create(&state, ONE, &err);
	CHECK(run >= 0);
	int stage = state_stage_begin(run, "run", &err);
	CHECK(stage >= 0);
	CHECK(left_lock_by(&state, ONE) == LEFT_BY_OTHERS); /* it takes no lock */
	CHECK(left_lock_note(&state, ONE, A, &err) == 0);
	CHECK(left_lock_by(&state, ONE) == LEFT_BY_RUNNING);
	CHECK(listed(ONE, &is_in) == 0);
	/* Marked by one of its stages, while another still works. */
	mark(ONE, "ended");
	CHECK(left_lock_by(&state, ONE) == LEFT_BY_RUNNING);
	CHECK(listed(ONE, &is_in) == 0);
	CHECK(unlinkat(run, "ended", 0) == 0);
	close(stage);
	CHECK(left_lock_by(&state, ONE) == LEFT_BY_UNMENDED);
	CHECK(listed(ONE, &is_in) == 0);
	mark(ONE, "ended");
	CHECK(left_lock_by(&state, ONE) == LEFT_BY_DEAD);
	CHECK(listed(ONE, &is_in) == 1 && is_in);
	/* The same mark for a call that is not kept, and no directory at all. */
	auto_fd second = state_run_create(&state, TWO, &err);
	CHECK(second >= 0 && left_lock_note(&state, TWO, A, &err) == 0);
	CHECK(listed(TWO, &is_in) == 1 && !is_in);
	mark(TWO, "ended.brief");
	CHECK(listed(TWO, &is_in) == 2 && is_in);
	CHECK(left_lock_note(&state, GONE, A, &err) == 0);
	CHECK(left_lock_by(&state, GONE) == LEFT_BY_DEAD);
	CHECK(listed(GONE, &is_in) == 3 && is_in);
	/* Once. */
	CHECK(left_lock_note(&state, GONE, A, &err) == -1);
	CHECK_STR(err.code, "exists");
	sbx_error_clear(&err);
	left_lock_forget(&state, GONE);
	left_lock_forget(&state, GONE);
	CHECK(listed(GONE, &is_in) == 2 && !is_in);
	CHECK(left_lock_by(&state, GONE) == LEFT_BY_OTHERS);
	CHECK(left_lock_by(&state, "../" ONE) == LEFT_BY_OTHERS && left_lock_by(&state, "") == LEFT_BY_OTHERS);
	left_lock_forget(&state, ONE);
	left_lock_forget(&state, TWO);
}

static void age(const char *name, int64_t seconds)
{
	struct timespec times[2] = {{.tv_sec = clock_seconds() - seconds}, {.tv_sec = clock_seconds() - seconds}};
	auto_fd notes = state_dir(&state, "locks", &err);

	CHECK(notes >= 0 && utimensat(notes, name, times, 0) == 0);
}

static int is_there(const char *name)
{
	auto_fd notes = state_dir(&state, "locks", &err);

	return io_exists(notes, name);
}

static void test_mode(void)
{
	struct stat dir, note;

	CHECK(left_lock_note(&state, ONE, A, &err) == 0);
	CHECK(fstatat(state.fd, "locks", &dir, 0) == 0 && (dir.st_mode & 07777) == 0700);
	CHECK(fstatat(state.fd, "locks/" ONE, &note, 0) == 0 && (note.st_mode & 07777) == 0600);
	left_lock_forget(&state, ONE);
}

/* What somebody had the lock of after them, and nothing else. */
static void test_settle(void)
{
	auto_jv none = jv_array(), calls = jv_array();
	int is_in;

	CHECK(left_lock_note(&state, ONE, A, &err) == 0 && left_lock_note(&state, TWO, B, &err) == 0 &&
	      left_lock_note(&state, GONE, A, &err) == 0);
	left_lock_settle(&state, none, A);
	left_lock_settle(&state, jv_invalid(), A);
	CHECK(listed(ONE, &is_in) == 3);
	calls = json_append(json_append(take_jv(&calls), jv_string(ONE)), jv_string(TWO));
	left_lock_settle(&state, calls, A);
	CHECK(is_there(TWO) && is_there(GONE) && !is_there(ONE));
	left_lock_settle(&state, calls, "");
	CHECK(is_there(TWO) && is_there(GONE));
	left_lock_settle(&state, calls, B);
	CHECK(!is_there(TWO) && is_there(GONE));
	left_lock_forget(&state, GONE);
}

static void test_bounds(void)
{
	char call[STATE_ID_SIZE];
	int is_in;

	auto_fd notes = state_dir(&state, "locks", &err);
	CHECK(io_create_file(notes, "neither", "", 0, &err) == 0 && symlinkat("neither", notes, ONE) == 0);
	CHECK(listed(ONE, &is_in) == 0); /* a link is no note */
	CHECK(unlinkat(notes, ONE, 0) == 0);
	for (int i = 0; i < LIMIT_LEFT_LOCKS + 3; i++) {
		snprintf(call, sizeof call, "%032x", 256 + i);
		CHECK(left_lock_note(&state, call, A, &err) == 0);
		age(call, 1000 - i);
	}
	CHECK(listed(call, &is_in) == LIMIT_LEFT_LOCKS && is_in);
	snprintf(call, sizeof call, "%032x", 256 + 2);
	CHECK(listed(call, &is_in) == LIMIT_LEFT_LOCKS && !is_in);
	CHECK(is_there(call));
	snprintf(call, sizeof call, "%032x", 256 + 3);
	CHECK(listed(call, &is_in) == LIMIT_LEFT_LOCKS && is_in);
	/* However many there are about another state, the one about this is told. */
	CHECK(left_lock_note(&state, GONE, B, &err) == 0);
	age(GONE, 2000);
	CHECK(listed_for(A, GONE, &is_in) == LIMIT_LEFT_LOCKS && !is_in);
	CHECK(listed_for(B, GONE, &is_in) == LIMIT_LEFT_LOCKS && is_in);
	left_lock_forget(&state, GONE);
	/* Just not too old, and too old. */
	age(call, LIMIT_LEFT_AGE_S - 60);
	age("neither", LIMIT_LEFT_AGE_S + 60);
	listed(call, &is_in);
	CHECK(is_there(call) && !is_there("neither"));
	age(call, LIMIT_LEFT_AGE_S + 60);
	listed(call, &is_in);
	CHECK(!is_there(call) && !is_in);
}

int main(void)
{
	char place[] = "/tmp/sbx-left-XXXXXX";

	CHECK(mkdtemp(place) != NULL);
	if (state_open(place, &state, &err) < 0)
		abort();
	test_states();
	test_mode();
	test_settle();
	test_bounds();
	state_close(&state);
	io_remove_tree(AT_FDCWD, place, &err);
	return unit_done();
}
