/* Notes with the names of calls, in each the backend; when they were made is the time of the file. */
#include "left_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "digest.h"
#include "io.h"
#include "limit.h"
#include "log.h"
#include "mend.h"

static const char notes_dir[] = "locks";

int left_lock_note(const struct state *state, const char *call, const char *backend, struct sbx_error *err)
{
	auto_fd notes = state_dir(state, notes_dir, err);

	return notes < 0 ? -1 : io_create_file(notes, call, backend, strlen(backend), err);
}

void left_lock_forget(const struct state *state, const char *call)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_fd notes = state_dir(state, notes_dir, &err);

	if (notes < 0)
		log_error(&err);
	else if (unlinkat(notes, call, 0) < 0 && errno != ENOENT)
		log_line("cannot remove the note about the lock of call %s: %s", call, strerror(errno));
}

struct left {
	char call[STATE_ID_SIZE];
	int is_same; /* its note is about the backend that is asked for */
	int64_t since;
};

static int is_before(const struct left *a, const struct left *b)
{
	return a->is_same != b->is_same ? a->is_same : a->since > b->since;
}

/* The best ones so far, in their order. */
struct newest {
	struct left left[LIMIT_LEFT_LOCKS];
	size_t count;
};

static void add(struct newest *newest, const struct left *left)
{
	size_t at = newest->count;

	while (at > 0 && is_before(left, &newest->left[at - 1]))
		at--;
	if (at == LIMIT_LEFT_LOCKS)
		return;
	if (newest->count < LIMIT_LEFT_LOCKS)
		newest->count++;
	memmove(&newest->left[at + 1], &newest->left[at], (newest->count - 1 - at) * sizeof newest->left[0]);
	newest->left[at] = *left;
}

static int is_about(int notes, const char *call, const char *backend)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_free char *text = NULL;
	size_t len;

	return io_read_file(notes, call, DIGEST_HEX_SIZE, IO_PRIVATE, &text, &len, &ignored) == 0 && strcmp(text, backend) == 0;
}

/* NAME may be a half-written note, too, which goes when it is old. */
static void look_at(const struct state *state, int notes, const char *name, const char *backend, struct newest *newest)
{
	struct stat st;

	if (fstatat(notes, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return;
	if (clock_seconds() - st.st_mtim.tv_sec > LIMIT_LEFT_AGE_S)
		(void)!unlinkat(notes, name, 0);
	else if (state_is_id(name) && mend_is_over(state, name)) {
		struct left left = {.is_same = is_about(notes, name, backend), .since = st.st_mtim.tv_sec};
		memcpy(left.call, name, STATE_ID_SIZE);
		add(newest, &left);
	}
}

int left_lock_list(const struct state *state, const char *backend, jv *calls, struct sbx_error *err)
{
	struct newest newest = {.count = 0};
	int notes = state_dir(state, notes_dir, err);
	DIR *dir = notes < 0 ? NULL : fdopendir(notes);

	if (dir == NULL) {
		int failed = notes < 0 ? -1 : sbx_fail_errno(err, SBX_IO, "io_error", "cannot list the locks of dead calls");
		base_close_fd(&notes);
		return failed;
	}
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		look_at(state, notes, entry->d_name, backend, &newest);
	closedir(dir);
	*calls = jv_array();
	for (size_t i = 0; i < newest.count; i++)
		*calls = json_append(take_jv(calls), jv_string(newest.left[i].call));
	return 0;
}

void left_lock_settle(const struct state *state, jv calls, const char *backend)
{
	struct sbx_error err = SBX_ERROR_INIT;
	int n = json_length(calls);
	auto_fd notes = n > 0 ? state_dir(state, notes_dir, &err) : -1;

	if (n > 0 && notes < 0)
		log_error(&err);
	for (int i = 0; i < n && notes >= 0; i++) {
		auto_jv call = json_at(calls, i);
		if (state_is_id(json_text(call)) && is_about(notes, json_text(call), backend))
			left_lock_forget(state, json_text(call));
	}
}

enum left_lock left_lock_by(const struct state *state, const char *call)
{
	struct sbx_error ignored = SBX_ERROR_INIT;

	if (!state_is_id(call))
		return LEFT_BY_OTHERS;
	auto_fd notes = state_dir(state, notes_dir, &ignored);
	if (notes < 0 || !io_exists(notes, call))
		return LEFT_BY_OTHERS;
	if (mend_is_over(state, call))
		return LEFT_BY_DEAD;
	auto_fd run = state_run_open(state, call, &ignored);
	return run >= 0 && state_run_works(run) ? LEFT_BY_RUNNING : LEFT_BY_UNMENDED;
}
