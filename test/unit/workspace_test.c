/* Workspaces and the Terraform state kept for them: locks, what is taken back, what is kept beside, recovery. */
#include "workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "io.h"
#include "unit.h"
#include "ws_dir.h"

#define CALL_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define CALL_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static char place[64];
static struct sbx_error err;

static const char *code(void)
{
	static char last[sizeof err.code];

	memcpy(last, err.code, sizeof last);
	sbx_error_clear(&err);
	return last;
}

static const char *state_text(const char *lineage, int serial, const char *note)
{
	static char text[512];

	snprintf(text, sizeof text,
		 "{\"version\":4,\"terraform_version\":\"1.11.4\",\"serial\":%d,\"lineage\":\"%s\",\"note\":%s,\"big\":"
		 "1e999}",
		 serial, lineage, note);
	return text;
}

static void put(int dirfd, const char *name, const char *text)
{
	auto_fd fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		perror(name);
}

static char *get(int dirfd, const char *name)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	char *text = NULL;
	size_t len;

	io_read_file(dirfd, name, 1 << 20, 0, &text, &len, &ignored);
	return text;
}

static int there(int dirfd, const char *name)
{
	return faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int same_file(int dirfd, const char *name, const char *text)
{
	auto_free char *found = get(dirfd, name);

	return found != NULL && strcmp(found, text) == 0;
}

static void open_fresh(struct state *state, const char *name)
{
	auto_free char *path = NULL;

	if (asprintf(&path, "%s/%s", place, name) < 0 || state_open(path, state, &err) < 0)
		printf("# %s\n", err.message);
}

/* Write TEXT as the state of envs/a, by adopting it. */
static int adopt(const struct state *state, const char *text)
{
	auto_free char *file = NULL;
	auto_fd dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	put(dir, "adopted.tfstate", text);
	if (asprintf(&file, "%s/adopted.tfstate", place) < 0)
		return -1;
	return ws_state_adopt(state, "", "envs/a", file, &err);
}

/* Check out for CALL, replace the working copy by TEXT (NULL: leave it), take back. */
static enum ws_taken round_trip(const struct state *state, const char *call, const char *text, int *run_fd)
{
	auto_ws_state ws = WS_STATE_NONE;
	auto_free char *file = NULL;
	enum ws_taken taken = WS_UNCHANGED;
	auto_fd run = state_run_create(state, call, &err);

	CHECK(run >= 0 && ws_state_open(state, "", "envs/a", WS_WRITE, &ws, &err) == 0);
	CHECK(ws_state_checkout(state, &ws, run, call, "", "envs/a", &file, &err) == 0);
	CHECK(file != NULL && file[0] == '/' && access(file, R_OK) == 0);
	if (text != NULL)
		put(run, "state", text);
	CHECK(ws_state_take_back(&ws, run, &taken, &err) == 0);
	CHECK(!there(run, "state") && !there(run, "state.note") && !there(ws.dir_fd, "checked-out"));
	if (run_fd != NULL)
		*run_fd = take_fd(&run);
	return taken;
}

static void test_first_state(void)
{
	auto_state state = STATE_NONE;
	auto_ws_state ws = WS_STATE_NONE, look = WS_STATE_NONE;
	auto_fd content = -1;
	struct stat st;

	open_fresh(&state, "first");
	CHECK(ws_state_look(&state, "", "envs/a", &look, &err) == 0);
	CHECK(!look.present && look.serial == -1 && look.lineage[0] == '\0' && look.dir_fd == -1);
	CHECK(!there(state.fd, "ws"));
	CHECK(round_trip(&state, CALL_A, NULL, NULL) == WS_UNCHANGED);
	CHECK(round_trip(&state, CALL_B, state_text("L1", 0, "1"), NULL) == WS_TAKEN);
	CHECK(ws_state_open(&state, "", "./envs//a/", WS_READ, &ws, &err) == 0);
	CHECK(ws.present && ws.serial == 0);
	CHECK_STR(ws.lineage, "L1");
	CHECK(fstatat(ws.dir_fd, "terraform.tfstate", &st, 0) == 0 && (st.st_mode & 0777) == 0600);
	CHECK(fstat(ws.dir_fd, &st) == 0 && (st.st_mode & 0777) == 0700);
	content = ws_state_content(&ws, &err);
	CHECK(content >= 0 && fstat(content, &st) == 0 && (uint64_t)st.st_size == ws.size);
	CHECK(!there(ws.dir_fd, "terraform.tfstate.backup"));
}

static void test_take_back(void)
{
	static const char *const bad[] = {
		"",		   /* emptied */
		"{",		   /* cut off */
		"[]",		   /* another kind */
		"{\"version\":4}", /* members missing */
		"{\"version\":3,\"serial\":9,\"lineage\":\"L1\"}",
		"{\"version\":4,\"serial\":9,\"lineage\":\"\"}",
		"{\"version\":4,\"serial\":\"9\",\"lineage\":\"L1\"}",
		"{\"version\":4,\"serial\":-9,\"lineage\":\"L1\"}",
		"{\"version\":4,\"serial\":9.5,\"lineage\":\"L1\"}",
		"{\"version\":4,\"serial\":9,\"lineage\":\"L1\",\"serial\":9}",
		"{\"version\":4,\"serial\":9,\"lineage\":\"L1\"} x",
		"{\"version\":4,\"serial\":9,\"lineage\":\"L1\\u0000\"}",
		"{\"version\":4,\"serial\":9,\"lineage\":\"L2\"}", /* another state's */
		"{\"version\":4,\"serial\":4,\"lineage\":\"L1\"}", /* older */
		"{\"version\":4,\"serial\":5,\"lineage\":\"L1\"}", /* as old, but not the same */
	};
	auto_state state = STATE_NONE;
	auto_ws_state ws = WS_STATE_NONE;
	char before[512], call[STATE_ID_SIZE] = CALL_A;

	open_fresh(&state, "take");
	snprintf(before, sizeof before, "%s", state_text("L1", 5, "1"));
	CHECK(adopt(&state, before) == 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		auto_fd run = -1;
		call[0] = (char)("0123456789abcdef"[i]);
		CHECK(round_trip(&state, call, bad[i], &run) == WS_KEPT_BESIDE);
		CHECK(same_file(run, "state.rejected", bad[i]));
	}
	CHECK(ws_state_look(&state, "", "envs/a", &ws, &err) == 0 && ws.serial == 5);
	CHECK(same_file(ws.dir_fd, "terraform.tfstate", before));
	CHECK(round_trip(&state, CALL_B, state_text("L1", 6, "2"), NULL) == WS_TAKEN);
	CHECK(same_file(ws.dir_fd, "terraform.tfstate", state_text("L1", 6, "2")));
	CHECK(same_file(ws.dir_fd, "terraform.tfstate.backup", before));
}

/* What the sandbox may have made of the working copy's name. */
static void test_odd_copies(void)
{
	auto_state state = STATE_NONE;
	char call[STATE_ID_SIZE] = CALL_A;

	open_fresh(&state, "odd");
	CHECK(adopt(&state, state_text("L1", 1, "1")) == 0);
	for (int how = 0; how < 4; how++) {
		auto_ws_state ws = WS_STATE_NONE;
		auto_free char *file = NULL;
		enum ws_taken taken;
		call[0] = (char)('0' + how);
		auto_fd run = state_run_create(&state, call, &err);
		CHECK(ws_state_open(&state, "", "envs/a", WS_WRITE, &ws, &err) == 0);
		CHECK(ws_state_checkout(&state, &ws, run, call, "", "envs/a", &file, &err) == 0);
		unlinkat(run, "state", 0);
		put(run, "other", state_text("L1", 9, "1"));
		if (how == 0)
			CHECK(symlinkat("other", run, "state") == 0);
		else if (how == 1)
			CHECK(linkat(run, "other", run, "state", 0) == 0);
		else if (how == 2)
			CHECK(mkdirat(run, "state", 0700) == 0);
		else
			CHECK(mkfifoat(run, "state", 0600) == 0);
		CHECK(ws_state_take_back(&ws, run, &taken, &err) == 0 && taken == WS_KEPT_BESIDE);
		CHECK(there(run, "state.rejected") && ws.serial == 1);
	}
}

/* As root the driver gives the file to the sandbox's user; both ways out make it ours again. */
static void test_foreign_owner(void)
{
	static const uid_t nobody = 65534;
	auto_state state = STATE_NONE;
	auto_ws_state ws = WS_STATE_NONE;
	auto_free char *file = NULL;
	enum ws_taken taken;
	struct stat st;

	if (geteuid() != 0)
		return;
	open_fresh(&state, "owner");
	CHECK(adopt(&state, state_text("L1", 1, "1")) == 0);
	auto_fd run = state_run_create(&state, CALL_A, &err);
	CHECK(ws_state_open(&state, "", "envs/a", WS_WRITE, &ws, &err) == 0);
	CHECK(ws_state_checkout(&state, &ws, run, CALL_A, "", "envs/a", &file, &err) == 0);
	put(run, "state", state_text("L1", 2, "1"));
	CHECK(fchownat(run, "state", nobody, nobody, 0) == 0);
	CHECK(ws_state_take_back(&ws, run, &taken, &err) == 0 && taken == WS_TAKEN);
	CHECK(fstatat(ws.dir_fd, "terraform.tfstate", &st, 0) == 0 && st.st_uid == 0 && (st.st_mode & 0777) == 0600);
	free(take_ptr(&file));
	CHECK(ws_state_checkout(&state, &ws, run, CALL_A, "", "envs/a", &file, &err) == 0);
	put(run, "state", "nonsense");
	CHECK(fchownat(run, "state", nobody, nobody, 0) == 0 && fchmodat(run, "state", 0666, 0) == 0);
	CHECK(ws_state_take_back(&ws, run, &taken, &err) == 0 && taken == WS_KEPT_BESIDE);
	CHECK(fstatat(run, "state.rejected", &st, 0) == 0 && st.st_uid == 0 && (st.st_mode & 0777) == 0600);
}

/* A run is killed between check-out and take-back: the next one that opens the state, or mending, takes its copy. */
static void test_recovery(void)
{
	auto_state state = STATE_NONE;
	enum ws_taken taken;

	open_fresh(&state, "recover");
	CHECK(adopt(&state, state_text("L1", 1, "1")) == 0);
	for (int how = 0; how < 3; how++) {
		auto_ws_state dead = WS_STATE_NONE, next = WS_STATE_NONE;
		auto_free char *file = NULL;
		char call[STATE_ID_SIZE] = CALL_A;
		call[0] = (char)('0' + how);
		auto_fd run = state_run_create(&state, call, &err);
		CHECK(ws_state_open(&state, "", "envs/a", WS_WRITE, &dead, &err) == 0);
		CHECK(ws_state_checkout(&state, &dead, run, call, "", "envs/a", &file, &err) == 0);
		put(run, "state", state_text("L1", how + 2, "1"));
		ws_state_close(&dead);
		if (how == 2)
			CHECK(ws_state_recover(&state, call, &taken, &err) == 0 && taken == WS_TAKEN);
		CHECK(ws_state_open(&state, "", "envs/a", how == 0 ? WS_READ : WS_WRITE, &next, &err) == 0);
		CHECK(next.serial == how + 2 && !there(run, "state") && !there(next.dir_fd, "checked-out"));
	}
	CHECK(ws_state_recover(&state, CALL_B, &taken, &err) == 0 && taken == WS_UNCHANGED);
}

/* A copy that another call has overtaken never comes back; a call whose directory is gone leaves no mark. */
static void test_overtaken(void)
{
	auto_state state = STATE_NONE;
	auto_ws_state dead = WS_STATE_NONE, next = WS_STATE_NONE;
	auto_free char *file = NULL;
	enum ws_taken taken;

	open_fresh(&state, "overtaken");
	CHECK(adopt(&state, state_text("L1", 1, "1")) == 0);
	auto_fd run = state_run_create(&state, CALL_A, &err);
	CHECK(ws_state_open(&state, "", "envs/a", WS_WRITE, &dead, &err) == 0);
	CHECK(ws_state_checkout(&state, &dead, run, CALL_A, "", "envs/a", &file, &err) == 0);
	put(run, "state", state_text("L1", 7, "1"));
	put(dead.dir_fd, "checked-out", CALL_B);
	ws_state_close(&dead);
	CHECK(ws_state_recover(&state, CALL_A, &taken, &err) == 0 && taken == WS_KEPT_BESIDE);
	CHECK(there(run, "state.rejected") && !there(run, "state.note"));
	CHECK(ws_state_open(&state, "", "envs/a", WS_WRITE, &next, &err) == 0);
	CHECK(next.serial == 1 && !there(next.dir_fd, "checked-out"));
}

/* Readers share, a writer is alone; who cannot have the lock is told so, and not before the time is over. */
static void test_locks(void)
{
	auto_state state = STATE_NONE;
	auto_ws_state one = WS_STATE_NONE, two = WS_STATE_NONE, other = WS_STATE_NONE;

	open_fresh(&state, "locks");
	CHECK(ws_state_open(&state, "", "envs/a", WS_READ, &one, &err) == 0);
	CHECK(ws_state_open(&state, "", "envs/a", WS_READ, &two, &err) == 0);
	ws_state_close(&two);
	CHECK(ws_state_open(&state, "", "envs/b", WS_WRITE, &other, &err) == 0);
	CHECK(ws_dir_lock(one.dir_fd, LOCK_EX, 0, &err) < 0);
	CHECK_STR(code(), "workspace_busy");
	ws_state_close(&one);
	CHECK(ws_state_open(&state, "", "envs/a", WS_WRITE, &one, &err) == 0);
	CHECK(ws_dir_lock(one.dir_fd, LOCK_SH, 0, &err) < 0);
	CHECK_STR(code(), "workspace_busy");
	/* A copy of the descriptor (the driver's) keeps the lock. */
	auto_fd drivers = fcntl(one.lock_fd, F_DUPFD_CLOEXEC, 3);
	auto_fd dir = fcntl(one.dir_fd, F_DUPFD_CLOEXEC, 3);
	ws_state_close(&one);
	CHECK(ws_dir_lock(dir, LOCK_SH, 0, &err) < 0);
	CHECK_STR(code(), "workspace_busy");
	base_close_fd(&drivers);
	CHECK(ws_state_open(&state, "", "envs/a", WS_READ, &one, &err) == 0);
}

static void test_adopt(void)
{
	auto_state state = STATE_NONE;
	auto_free char *missing = NULL;
	auto_ws_state ws = WS_STATE_NONE;

	open_fresh(&state, "adopt");
	CHECK(adopt(&state, "{\"version\":4}") < 0);
	CHECK(err.class == SBX_BAD_REQUEST);
	CHECK_STR(code(), "state_unreadable");
	CHECK(asprintf(&missing, "%s/nowhere", place) > 0 && ws_state_adopt(&state, "", "envs/a", missing, &err) < 0);
	CHECK_STR(code(), "missing_file");
	CHECK(adopt(&state, state_text("L1", 3, "1")) == 0);
	CHECK(adopt(&state, state_text("L1", 3, "1")) == 0);
	CHECK(adopt(&state, state_text("L1", 4, "1")) < 0);
	CHECK_STR(code(), "state_exists");
	CHECK(ws_state_look(&state, "", "envs/a", &ws, &err) == 0 && ws.serial == 3);
	CHECK(same_file(ws.dir_fd, "directory", "envs/a"));
}

static void test_names(void)
{
	static const char *const bad_paths[] = {"/etc", "../a", "a/../../b", ".."};
	static const char *const bad_names[] = {".", "..", "a/b", ".hidden", "a b"};
	auto_state state = STATE_NONE;
	auto_ws_state ws = WS_STATE_NONE, root = WS_STATE_NONE;

	open_fresh(&state, "names");
	for (size_t i = 0; i < ARRAY_LEN(bad_paths); i++) {
		CHECK(ws_state_open(&state, "", bad_paths[i], WS_READ, &ws, &err) < 0 && ws.dir_fd == -1 &&
		      ws.lock_fd == -1);
		CHECK_STR(code(), "bad_parameter");
	}
	for (size_t i = 0; i < ARRAY_LEN(bad_names); i++) {
		CHECK(ws_state_open(&state, bad_names[i], "a", WS_READ, &ws, &err) < 0);
		CHECK_STR(code(), "unknown_workspace");
	}
	CHECK(ws_state_open(&state, "prod-1", ".", WS_READ, &root, &err) == 0);
}

static void test_roots(void)
{
	auto_free char *root = NULL;
	auto_fd dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct config config = {.workspaces = jv_object()};
	char one[DIGEST_HEX_SIZE], two[DIGEST_HEX_SIZE];
	uint64_t size;

	CHECK(mkdirat(dir, "root", 0755) == 0 && mkdirat(dir, "root/sub", 0755) == 0 &&
	      asprintf(&root, "%s/root", place) > 0);
	CHECK(symlinkat("/etc", dir, "root/out") == 0 && symlinkat("sub", dir, "root/in") == 0);
	put(dir, "root/sub/main.tf", "# one\n");
	config.workspaces = json_set_str(config.workspaces, "main", root);
	static const struct {
		const char *name, *tree, *code;
	} bad[] = {{"", ".", "unknown_workspace"},	     {"other", ".", "unknown_workspace"},
		   {"main", "out", "workspace_missing"},     {"main", "in", "workspace_missing"},
		   {"main", "../root", "workspace_missing"}, {"main", "/etc", "workspace_missing"},
		   {"main", "nowhere", "workspace_missing"}, {"main", "sub/main.tf", "workspace_missing"}};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CHECK(workspace_open(&config, bad[i].name, bad[i].tree, &err) < 0);
		CHECK_STR(code(), bad[i].code);
	}
	auto_fd sub = workspace_open(&config, "main", "sub", &err);
	CHECK(sub >= 0 && there(sub, "main.tf"));
	auto_fd copy = workspace_copy(&config, "main", "sub", one, &size, &err);
	CHECK(copy >= 0 && size > 0 && io_is_sealed(copy) && lseek(copy, 0, SEEK_CUR) == 0);
	put(dir, "root/sub/main.tf", "# two\n");
	auto_fd again = workspace_copy(&config, "main", "sub", two, &size, &err);
	CHECK(again >= 0 && strcmp(one, two) != 0);
	jv_free(config.workspaces);
}

int main(void)
{
	snprintf(place, sizeof place, "/tmp/sbx-workspace-XXXXXX");
	if (mkdtemp(place) == NULL)
		return 1;
	test_first_state();
	test_take_back();
	test_odd_copies();
	test_foreign_owner();
	test_recovery();
	test_overtaken();
	test_locks();
	test_adopt();
	test_names();
	test_roots();
	io_remove_tree(AT_FDCWD, place, &err);
	return unit_done();
}
