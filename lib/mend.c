/* What dead stages left behind. */
#include "mend.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "audit.h"
#include "call.h"
#include "clock.h"
#include "io.h"
#include "limit.h"
#include "log.h"
#include "plan.h"
#include "spawn.h"
#include "process.h"

static const char ended[] = "ended";
static const char ended_briefly[] = "ended.brief";

/* One helper. sbx-run may wait 10 s for the lock of a workspace, sbx-cred for a server. */
static const int64_t helper_ms = 60 * 1000;
/* A call whose mending fails (a server that is away) must not cost every later call two seconds. */
static const int64_t try_again_s = 60;

struct look {
	int running, dead; /* a stage holds its lock; a stage died */
	int has_run, has_cred, has_object;
	int64_t newest; /* seconds */
};

static int64_t modified(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (int64_t)st.st_mtim.tv_sec : 0;
}

static struct look look_at(int run_fd)
{
	struct look look = {.newest = modified(run_fd, ".")};
	int64_t at, newest = 0;

	for (size_t i = 0; i < STATE_STAGES; i++) {
		enum stage_state state = state_stage_look(run_fd, state_stages[i], &at);
		look.running |= state == STAGE_LOCKED;
		look.dead |= state == STAGE_DEAD;
		look.has_run |= state != STAGE_ABSENT && strcmp(state_stages[i], "run") == 0;
		look.has_cred |= state != STAGE_ABSENT && strcmp(state_stages[i], "cred") == 0;
		if (state != STAGE_ABSENT && at > newest)
			newest = at;
	}
	if (newest > 0)
		look.newest = newest;
	look.has_object = io_exists(run_fd, CALL_OBJECT);
	return look;
}

static void mark(int run_fd, const char *name)
{
	auto_fd fd = openat(run_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		log_line("cannot mark a call as ended: %s", strerror(errno));
}

void mend_end(int run_fd, enum mend_keep keep)
{
	for (size_t i = 0; i < STATE_STAGES; i++)
		if (!state_stage_is_over(run_fd, state_stages[i]))
			return;
	mark(run_fd, keep == MEND_KEEP ? ended : ended_briefly);
}

int mend_is_over(const struct state *state, const char *call)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_fd runs = state_dir(state, "runs", &ignored);
	auto_fd run = runs < 0 ? -1 : openat(runs, call, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (run < 0)
		return runs >= 0 && errno == ENOENT;
	return (io_exists(run, ended) || io_exists(run, ended_briefly)) && !state_run_works(run);
}

/* What the record says of the call. */
struct told {
	char state[32]; /* of sandbox.completed; "" without one */
	char plan[STATE_ID_SIZE]; /* that it took to run; "" for none */
	int has_result, claimed, started;
};

static int hear(jv event, void *context, struct sbx_error *err)
{
	struct told *told = context;
	const char *name = json_str(event, "event"), *state = json_str(event, "state"), *plan = json_str(event, "plan");

	(void)err;
	if (name == NULL)
		return 0;
	if (strcmp(name, "sandbox.completed") == 0 && state != NULL)
		snprintf(told->state, sizeof told->state, "%s", state);
	if (strcmp(name, "sandbox.started") == 0 && plan != NULL)
		snprintf(told->plan, sizeof told->plan, "%s", plan);
	told->has_result |= strcmp(name, "tool.result") == 0;
	told->claimed |= strcmp(name, "approval.claimed") == 0;
	told->started |= strcmp(name, "sandbox.started") == 0;
	return 0;
}

/* What sbx-audit kept of a call says best how it ended; else the record and the stages' files do. */
static jv outcome_of(int run_fd, const struct look *look, const struct told *told)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_free char *text = NULL;
	auto_jv object = jv_invalid();
	size_t len;

	if (io_read_file(run_fd, CALL_OBJECT, LIMIT_CALL, IO_PRIVATE, &text, &len, &ignored) == 0 &&
	    call_parse(text, len, SBX_PROTOCOL, &object, &ignored) == 0)
		return call_outcome(object);
	/* The record outlives a power failure that loses the stage's file. */
	int began = look->has_run || told->started;
	const char *state = told->state[0] != '\0' ? told->state : began ? "unknown" : "cancelled";
	return json_set_int(json_set_str(jv_object(), "state", state), "class", call_state_class(state));
}

/* The missing end of the call in the record. A process that died right behind writing it has left it there. */
static int record_result(const struct mend *mend, int run_fd, const char *call, const struct look *look,
			 struct told *told, struct sbx_error *err)
{
	*told = (struct told){.has_result = 0};
	if (audit_each(mend->state, call, hear, told, err) < 0)
		return -1;
	if (told->has_result)
		return 0;
	auto_jv details = json_set_bool(outcome_of(run_fd, look, told), "mended", 1);
	return audit_append(mend->state, AUDIT_OUTCOME, "tool.result", call, details, err);
}

struct helper {
	const char *name;
	int wanted;
	struct child child;
};

static int start_helper(const struct mend *mend, struct helper *helper, const char *call, struct sbx_error *err)
{
	auto_free char *path = process_helper(helper->name, err);
	const char *argv[] = {helper->name, "--config", mend->config, "--mend", call, NULL};
	const struct spawn what = {.path = path, .argv = argv, .flags = SPAWN_GROUP | SPAWN_NO_TERMINAL};

	return path == NULL ? -1 : spawn_start(&what, &helper->child, err);
}

static int end_helper(struct helper *helper, int64_t deadline, struct sbx_error *err)
{
	int status;

	if (!helper->wanted)
		return 0;
	if (spawn_wait(&helper->child, deadline, &status) == 0)
		return sbx_fail(err, SBX_UNAVAILABLE, "mend_failed", "%s --mend did not end in time", helper->name);
	if (status != 0) {
		sbx_fail(err, SBX_UNAVAILABLE, "mend_failed", "%s --mend ended with %d", helper->name,
			 spawn_exit_code(status));
		return sbx_hint(err, "its own lines above say why; try again with: sbx-audit --mend");
	}
	return 0;
}

/* Sandbox and state on one side, credentials on the other: neither waits for the other, a live credential least of all.
 */
static int run_helpers(const struct mend *mend, const char *call, const struct look *look, struct sbx_error *err)
{
	int64_t deadline = mend->patience == MEND_SHORT ? mend->deadline : clock_mono_ms() + helper_ms;
	struct helper helpers[] = {{"sbx-run", look->has_run, CHILD_NONE}, {"sbx-cred", look->has_cred, CHILD_NONE}};
	int result = 0;

	for (size_t i = 0; i < ARRAY_LEN(helpers); i++)
		if (helpers[i].wanted && start_helper(mend, &helpers[i], call, err) < 0) {
			helpers[i].wanted = 0;
			result = -1;
		}
	for (size_t i = 0; i < ARRAY_LEN(helpers); i++) {
		if (end_helper(&helpers[i], deadline, err) < 0)
			result = -1;
		spawn_kill(&helpers[i].child);
	}
	return result;
}

/* The call's own lock is held. */
static int mend_locked(const struct mend *mend, int run_fd, int mend_fd, const char *call, enum mend_outcome *outcome,
		       struct sbx_error *err)
{
	struct look look = look_at(run_fd);
	struct told told;

	if (look.running) {
		/* It took its lock before it could see our file: it works on, and so may the stages behind it. */
		unlinkat(run_fd, "mend", 0);
		*outcome = MEND_RUNNING;
		return 0;
	}
	(void)!futimens(mend_fd, NULL); /* when it was tried last */
	if (run_helpers(mend, call, &look, err) < 0 || record_result(mend, run_fd, call, &look, &told, err) < 0)
		return -1;
	/* It did not come to say what became of the plan that it had taken, so nobody gets it. */
	if (told.plan[0] != '\0' && told.state[0] == '\0' && plan_drop(mend->state, told.plan, err) < 0)
		return -1;
	mark(run_fd, look.has_run || look.has_object || told.claimed ? ended : ended_briefly);
	*outcome = MEND_DONE;
	return 0;
}

static int is_dead(const struct look *look)
{
	return !look->running &&
	       (look->dead || (!look->has_object && clock_seconds() - look->newest > LIMIT_DEAD_AGE_S));
}

static int mend_unended(const struct mend *mend, int run_fd, const char *call, enum mend_outcome *outcome,
			struct sbx_error *err)
{
	struct look look = look_at(run_fd);

	if (!is_dead(&look)) {
		*outcome = look.running ? MEND_RUNNING : MEND_NOTHING;
		/* sbx-audit died between its answer and its mark. */
		if (!look.running && !look.dead && look.has_object)
			mark(run_fd, ended);
		return 0;
	}
	*outcome = MEND_LATER;
	if (mend->patience == MEND_SHORT && clock_seconds() - modified(run_fd, "mend") < try_again_s)
		return 0;
	auto_fd mend_fd = state_mend_begin(run_fd, err);
	if (mend_fd < 0)
		return err->class == SBX_OK ? 0 : -1;
	return mend_locked(mend, run_fd, mend_fd, call, outcome, err);
}

static int one(const struct mend *mend, int runs_fd, const char *call, enum mend_outcome *outcome,
	       struct sbx_error *err)
{
	char path[STATE_ID_SIZE + sizeof ended_briefly];
	int64_t now = clock_seconds(), at;

	*outcome = MEND_NOTHING;
	snprintf(path, sizeof path, "%s/%s", call, ended);
	int64_t keep = LIMIT_RESULT_AGE_S;
	at = modified(runs_fd, path);
	if (at == 0) {
		snprintf(path, sizeof path, "%s/%s", call, ended_briefly);
		keep = LIMIT_DEAD_AGE_S;
		at = modified(runs_fd, path);
	}
	if (at != 0 && now - at <= keep)
		return 0;
	auto_fd run_fd = openat(runs_fd, call, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (run_fd < 0)
		return errno == ENOENT ? 0
				       : sbx_fail_errno(err, SBX_OS, "os_error", "cannot open the directory of a call");
	if (at == 0)
		return mend_unended(mend, run_fd, call, outcome, err);
	/* A state that could not be taken back yet is somebody's only copy: the next call on its directory takes it. */
	if (state_run_works(run_fd) || io_exists(run_fd, "state"))
		return 0;
	*outcome = MEND_REMOVED;
	return io_remove_tree(runs_fd, call, err);
}

int mend_call(const struct mend *mend, const char *call, enum mend_outcome *outcome, struct sbx_error *err)
{
	auto_fd runs_fd = state_dir(mend->state, "runs", err);

	if (runs_fd < 0)
		return -1;
	if (!state_is_id(call) || !io_exists(runs_fd, call))
		return sbx_fail(err, SBX_NO_INPUT, "call_unknown",
				"there is no such call here, or it is over for more than a day");
	return one(mend, runs_fd, call, outcome, err);
}

static void count_one(const struct mend *mend, int runs_fd, const char *call, struct mend_count *count)
{
	struct sbx_error err = SBX_ERROR_INIT;
	enum mend_outcome outcome = MEND_NOTHING;

	if (one(mend, runs_fd, call, &outcome, &err) < 0) {
		count->failed++;
		log_line("call %s: %s (%s)", call, err.message, err.code);
		return;
	}
	count->mended += outcome == MEND_DONE;
	count->removed += outcome == MEND_REMOVED;
	count->running += outcome == MEND_RUNNING;
}

/* Kept plans hold secrets, and are gone in time although nobody plans any more. */
static void sweep_plans(const struct mend *mend)
{
	struct sbx_error err = SBX_ERROR_INIT;
	int swept = mend->patience == MEND_WHOLE ? plan_drop_expired(mend->state, &err) : plan_sweep(mend->state, &err);

	if (swept < 0)
		log_line("kept plans: %s (%s)", err.message, err.code);
}

int mend_all(const struct mend *mend, struct mend_count *count, struct sbx_error *err)
{
	auto_fd runs_fd = state_dir(mend->state, "runs", err);

	*count = (struct mend_count){.mended = 0};
	if (runs_fd < 0)
		return -1;
	int list_fd = openat(runs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = list_fd < 0 ? NULL : fdopendir(list_fd);
	if (dir == NULL) {
		base_close_fd(&list_fd);
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot list the calls");
	}
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
		if (mend->patience == MEND_SHORT && clock_left_ms(mend->deadline) == 0)
			break;
		if (state_is_id(entry->d_name))
			count_one(mend, runs_fd, entry->d_name, count);
	}
	closedir(dir);
	sweep_plans(mend);
	return 0;
}
