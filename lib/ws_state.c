/* Lock, look, adopt: the state of one directory. */
#include "ws_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "clock.h"
#include "io.h"
#include "ws_dir.h"

void ws_state_close(struct ws_state *ws)
{
	base_close_fd(&ws->lock_fd);
	base_close_fd(&ws->dir_fd);
}

/* A mark without a live run (whose driver would hold the lock): take back what it left. Needs the lock for itself
 * alone. */
static int recover_marked(const struct state *state, enum ws_access access, struct ws_state *ws, int64_t deadline,
			  struct sbx_error *err)
{
	char call[STATE_ID_SIZE];
	enum ws_taken taken;
	int marked;

	while ((marked = ws_dir_mark(ws->dir_fd, call, err)) == 1) {
		if (access == WS_READ && ws_dir_relock(ws->lock_fd, LOCK_EX, deadline, err) < 0)
			return -1;
		/* The lock was free for an instant: another may have recovered, or begun. */
		marked = ws_dir_mark(ws->dir_fd, call, err);
		if (marked < 0 || (marked == 1 && ws_copy_recover(state, ws, call, &taken, err) < 0))
			return -1;
		if (access == WS_READ && ws_dir_relock(ws->lock_fd, LOCK_SH, deadline, err) < 0)
			return -1;
	}
	return marked;
}

int ws_state_open(const struct state *state, const char *name, const char *path, enum ws_access access,
		  struct ws_state *ws, struct sbx_error *err)
{
	int64_t deadline = clock_mono_ms() + WS_LOCK_WAIT_MS;
	auto_ws_state opened = WS_STATE_NONE;

	opened.dir_fd = ws_dir_open(state, name, path, IO_CREATE, err);
	if (opened.dir_fd < 0)
		return -1;
	opened.lock_fd = ws_dir_lock(opened.dir_fd, access == WS_WRITE ? LOCK_EX : LOCK_SH, deadline, err);
	if (opened.lock_fd < 0 || recover_marked(state, access, &opened, deadline, err) < 0 ||
	    ws_dir_load(&opened, err) < 0)
		return -1;
	*ws = opened;
	opened = (struct ws_state)WS_STATE_NONE;
	return 0;
}

int ws_state_look(const struct state *state, const char *name, const char *path, struct ws_state *ws,
		  struct sbx_error *err)
{
	struct sbx_error failed = SBX_ERROR_INIT;
	auto_ws_state opened = WS_STATE_NONE;

	opened.dir_fd = ws_dir_open(state, name, path, IO_MUST_EXIST, &failed);
	if (failed.class != SBX_OK)
		return *err = failed, -1;
	if (opened.dir_fd < 0) {
		opened.serial = -1;
		digest_sha256_hex("", 0, opened.sha256);
	} else if (ws_dir_load(&opened, err) < 0) {
		return -1;
	}
	*ws = opened;
	opened = (struct ws_state)WS_STATE_NONE;
	return 0;
}

int ws_state_content(const struct ws_state *ws, struct sbx_error *err)
{
	if (!ws->present)
		return io_sealed_memfd("sbx-state", "", 0, err);
	int fd = openat(ws->dir_fd, WS_STATE_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
	if (fd < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot open the Terraform state");
	return fd;
}

/* 1 when another directory of the workspace NAME_FD holds a state of LINEAGE; OWN is the directory that it is to have. */
static int is_elsewhere(int name_fd, const char *lineage, ino_t own, struct sbx_error *err)
{
	DIR *dir = fdopendir(name_fd);
	int found = 0;

	if (dir == NULL) {
		close(name_fd);
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot list the kept states");
	}
	for (struct dirent *entry; found == 0 && (entry = readdir(dir)) != NULL;) {
		struct sbx_error unreadable = SBX_ERROR_INIT;
		struct ws_file file;
		if (entry->d_name[0] == '.' || entry->d_ino == own)
			continue;
		auto_fd fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd >= 0 && ws_file_open(fd, WS_STATE_FILE, SBX_PROTOCOL, &file, NULL, &unreadable) == 0)
			found = file.present && strcmp(file.lineage, lineage) == 0;
	}
	closedir(dir);
	return found;
}

/* Two directories with one state would each believe that the other's objects are theirs. */
static int check_lineage(const struct state *state, const struct ws_state *ws, const char *lineage, struct sbx_error *err)
{
	auto_fd all = state_dir(state, "ws", err);
	auto_fd listed = all < 0 ? -1 : openat(all, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *names = listed < 0 ? NULL : fdopendir(take_fd(&listed));
	struct stat own;
	int found = 0;

	if (names == NULL || fstat(ws->dir_fd, &own) < 0) {
		if (names != NULL)
			closedir(names);
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot list the kept states");
	}
	for (struct dirent *entry; found == 0 && (entry = readdir(names)) != NULL;) {
		int fd = entry->d_name[0] == '.' ? -1 : openat(all, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd >= 0)
			found = is_elsewhere(fd, lineage, own.st_ino, err);
	}
	closedir(names);
	if (found <= 0)
		return found;
	sbx_fail(err, SBX_CANNOT_CREATE, "state_shared", "another directory has this state already");
	return sbx_hint(err, "two directories cannot own the same objects; adopt each its own state");
}

int ws_state_adopt(const struct state *state, const char *name, const char *path, const char *file,
		   struct sbx_error *err)
{
	struct sbx_error unread = SBX_ERROR_INIT;
	auto_ws_state ws = WS_STATE_NONE;
	struct ws_file theirs;
	auto_fd from = -1;

	if (ws_file_open(AT_FDCWD, file, SBX_BAD_REQUEST, &theirs, &from, &unread) < 0) {
		if (strcmp(unread.code, "state_unreadable") != 0) {
			*err = unread;
			return -1;
		}
		sbx_fail(err, unread.class, unread.code, "%s is no Terraform state", file);
		return sbx_hint(err, "%s", unread.message);
	}
	if (!theirs.present)
		return sbx_fail(err, SBX_NO_INPUT, "missing_file",
				"there is no state to adopt: %s is missing or empty", file);
	if (ws_state_open(state, name, path, WS_WRITE, &ws, err) < 0)
		return -1;
	if (ws.present && strcmp(ws.sha256, theirs.sha256) == 0)
		return 0;
	if (ws.present) {
		sbx_fail(err, SBX_CANNOT_CREATE, "state_exists", "this directory has another state already");
		return sbx_hint(
			err,
			"move the state under ws/ in the state directory away first, if it is really to be replaced");
	}
	if (check_lineage(state, &ws, theirs.lineage, err) < 0)
		return -1;
	return ws_dir_put(ws.dir_fd, WS_STATE_FILE, from, err);
}
