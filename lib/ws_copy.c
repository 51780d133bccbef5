/* The working copy that a run may write: out, back, and what a killed run left. Decisions are made on our own copy of
 * its bytes: the file itself was in the hands of the sandbox. */
#include "ws_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "clock.h"
#include "io.h"
#include "json.h"
#include "limit.h"
#include "ws_dir.h"

/* Which directory the working copy of this call belongs to, for mending. */
static int write_note(int run_fd, const char *name, const char *path, struct sbx_error *err)
{
	auto_jv note = json_set_str(json_set_str(jv_object(), "name", name), "path", path);
	auto_buf text = BUF_INIT(LIMIT_CALL);

	if (json_write(note, &text, err) < 0)
		return -1;
	return io_replace_file(run_fd, WS_NOTE_FILE, buf_str(&text), text.len, err);
}

int ws_state_checkout(const struct state *state, struct ws_state *ws, int run_fd, const char *call, const char *name,
		      const char *path, char **file, struct sbx_error *err)
{
	auto_fd content = ws_state_content(ws, err);
	char *made = NULL;

	*file = NULL;
	if (content < 0 || write_note(run_fd, name, path, err) < 0)
		return -1;
	/* The mark stands before the copy does: from then on nobody works on the state without looking for the copy. */
	if (io_replace_file(ws->dir_fd, WS_MARK_FILE, call, strlen(call), err) < 0 ||
	    ws_dir_put(run_fd, WS_WORKING_FILE, content, err) < 0)
		return -1;
	if (asprintf(&made, "%s/runs/%s/%s", state->path, call, WS_WORKING_FILE) < 0)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	*file = made;
	return 0;
}

/* Behind the last use of the working copy: the call forgets it, then the directory does. */
static int forget_copy(int dir_fd, int run_fd, struct sbx_error *err)
{
	if ((unlinkat(run_fd, WS_WORKING_FILE, 0) < 0 && errno != ENOENT) ||
	    (unlinkat(run_fd, WS_NOTE_FILE, 0) < 0 && errno != ENOENT) ||
	    (unlinkat(dir_fd, WS_MARK_FILE, 0) < 0 && errno != ENOENT) || fsync(dir_fd) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot remove the working copy of the state");
	return 0;
}

/* Whatever it is by now (a directory, a symlink), it keeps its name's place beside; a file is made ours again. */
static int keep_beside(int run_fd, struct sbx_error *err)
{
	if (renameat(run_fd, WS_WORKING_FILE, run_fd, WS_REJECTED_FILE) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot keep the working copy of the state beside");
	auto_fd fd = openat(run_fd, WS_REJECTED_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	    ((geteuid() == 0 && fchown(fd, 0, 0) < 0) || fchmod(fd, 0600) < 0))
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot make the working copy of the state ours");
	return 0;
}

/* Our own copy of the working copy's bytes as an unlinked file beside the state. 1: *COPY; 0: it may not be taken,
 * whatever it holds. */
static int copy_bytes(int dir_fd, int run_fd, int *copy, struct sbx_error *err)
{
	auto_fd from = openat(run_fd, WS_WORKING_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	char temp[64], random[17];
	struct stat st;

	if (from < 0)
		return errno == ELOOP
			       ? 0
			       : sbx_fail_errno(err, SBX_IO, "io_error", "cannot open the working copy of the state");
	if (fstat(from, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 || (uint64_t)st.st_size > LIMIT_STATE_FILE)
		return 0;
	io_random_hex(random, 8);
	snprintf(temp, sizeof temp, ".tmp-%s", random);
	auto_fd to = openat(dir_fd, temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (to < 0)
		return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create",
				      "cannot copy the working copy of the state");
	unlinkat(dir_fd, temp, 0);
	if (io_copy(from, to, LIMIT_STATE_FILE, NULL, err) < 0)
		return -1;
	*copy = take_fd(&to);
	return 1;
}

/* 1 when NEW may follow what WS holds. */
static int may_follow(const struct ws_state *ws, const struct ws_file *new)
{
	if (!new->present)
		return 0;
	return !ws->present || (strcmp(ws->lineage, new->lineage) == 0 && new->serial > ws->serial);
}

/* The state before is kept as a copy, so that the state itself is there at every moment. */
static int put_state(struct ws_state *ws, int copy, struct sbx_error *err)
{
	if (ws->present) {
		auto_fd before = ws_state_content(ws, err);
		if (before < 0 || ws_dir_put(ws->dir_fd, WS_BACKUP_FILE, before, err) < 0)
			return -1;
	}
	return ws_dir_put(ws->dir_fd, WS_STATE_FILE, copy, err);
}

/* Whether something may have written the copy that was to. */
enum writer { WRITER_NONE, WRITER_RAN };

/* What becomes of the working copy that is there. */
static int settle_copy(struct ws_state *ws, int run_fd, enum writer writer, enum ws_taken *taken,
		       struct sbx_error *err)
{
	struct sbx_error reason = SBX_ERROR_INIT;
	struct ws_file new;
	auto_fd copy = -1;
	int usable = copy_bytes(ws->dir_fd, run_fd, &copy, err);

	*taken = WS_KEPT_BESIDE;
	if (usable < 0)
		return -1;
	if (usable && ws_file_read(copy, WS_FILE_STORED, SBX_PROTOCOL, &new, &reason) < 0) {
		if (strcmp(reason.code, "state_unreadable") != 0)
			return *err = reason, -1;
		usable = 0;
	}
	if (usable && strcmp(new.sha256, ws->sha256) == 0)
		*taken = WS_UNCHANGED;
	else if (usable && writer == WRITER_RAN && may_follow(ws, &new))
		*taken = WS_TAKEN;
	if (*taken == WS_TAKEN)
		return put_state(ws, copy, err);
	return *taken == WS_KEPT_BESIDE ? keep_beside(run_fd, err) : 0;
}

static int take_back(struct ws_state *ws, int run_fd, enum writer writer, enum ws_taken *taken, struct sbx_error *err)
{
	*taken = WS_UNCHANGED;
	if (faccessat(run_fd, WS_WORKING_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		if (settle_copy(ws, run_fd, writer, taken, err) < 0)
			return -1;
	} else if (errno != ENOENT) {
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot look for the working copy of the state");
	}
	if (forget_copy(ws->dir_fd, run_fd, err) < 0)
		return -1;
	return *taken == WS_TAKEN ? ws_dir_load(ws, err) : 0;
}

int ws_state_take_back(struct ws_state *ws, int run_fd, enum ws_taken *taken, struct sbx_error *err)
{
	return take_back(ws, run_fd, WRITER_RAN, taken, err);
}

int ws_state_put_back(struct ws_state *ws, int run_fd, enum ws_taken *taken, struct sbx_error *err)
{
	return take_back(ws, run_fd, WRITER_NONE, taken, err);
}

int ws_copy_recover(const struct state *state, struct ws_state *ws, const char *call, enum ws_taken *taken,
		    struct sbx_error *err)
{
	auto_fd runs = state_dir(state, "runs", err);

	if (runs < 0 || ws_dir_load(ws, err) < 0)
		return -1;
	*taken = WS_UNCHANGED;
	auto_fd run = openat(runs, call, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (run >= 0)
		return ws_state_take_back(ws, run, taken, err);
	if (errno != ENOENT)
		return sbx_fail_errno(err, SBX_IO, "io_error",
				      "cannot open the directory of the call that left the state");
	if (unlinkat(ws->dir_fd, WS_MARK_FILE, 0) < 0 && errno != ENOENT)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot remove the mark of the workspace's state");
	return 0;
}

/* The note of the call in RUN_FD: 1 and NOTE, 0 when it has none. */
static int read_note(int run_fd, jv *note, struct sbx_error *err)
{
	struct sbx_error missing = SBX_ERROR_INIT;
	auto_free char *text = NULL;
	size_t len;

	if (io_read_file(run_fd, WS_NOTE_FILE, LIMIT_CALL, IO_PRIVATE, &text, &len, &missing) < 0) {
		if (strcmp(missing.code, "missing_file") == 0)
			return 0;
		return *err = missing, -1;
	}
	if (json_parse(text, len, LIMIT_CALL, note, err) < 0)
		return -1;
	if (json_str(*note, "name") == NULL || json_str(*note, "path") == NULL)
		return sbx_fail(err, SBX_CONFIG, "unsafe_state", "the note %s of a call is damaged", WS_NOTE_FILE);
	return 1;
}

int ws_state_recover(const struct state *state, const char *call, enum ws_taken *taken, struct sbx_error *err)
{
	struct sbx_error gone = SBX_ERROR_INIT;
	auto_ws_state ws = WS_STATE_NONE;
	auto_jv note = jv_invalid();
	char marked_call[STATE_ID_SIZE];

	*taken = WS_UNCHANGED;
	auto_fd run = state_run_open(state, call, &gone);
	int noted = run >= 0 ? read_note(run, &note, err) : 0;
	if (noted <= 0)
		return noted;
	ws.dir_fd = ws_dir_open(state, json_str(note, "name"), json_str(note, "path"), IO_CREATE, err);
	if (ws.dir_fd < 0)
		return -1;
	ws.lock_fd = ws_dir_lock(ws.dir_fd, LOCK_EX, clock_mono_ms() + WS_LOCK_WAIT_MS, err);
	if (ws.lock_fd < 0)
		return -1;
	int marked = ws_dir_mark(ws.dir_fd, marked_call, err);
	if (marked < 0)
		return -1;
	if (marked == 1 && strcmp(marked_call, call) == 0)
		return ws_copy_recover(state, &ws, call, taken, err);
	/* The state went on without this copy: it must not come back over what others made of it. */
	if (faccessat(run, WS_WORKING_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		*taken = WS_KEPT_BESIDE;
		if (keep_beside(run, err) < 0)
			return -1;
	}
	if (unlinkat(run, WS_NOTE_FILE, 0) < 0 && errno != ENOENT)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot remove the note of the working copy");
	return 0;
}
