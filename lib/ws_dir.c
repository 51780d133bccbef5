/* The directory of one state, its lock, its mark. */
#include "ws_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "clock.h"
#include "limit.h"

static const int lock_poll_ms = 20; /* flock has no descriptor to poll; short beside any Terraform run */
static const size_t name_max = 64;
static const size_t mark_max = 64; /* an id and a line feed */

/* A name becomes a directory of ours, so it is one plain component. */
static int is_plain_name(const char *name)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t len = strlen(name);

	return len > 0 && len <= name_max && name[0] != '.' && strspn(name, allowed) == len;
}

/* One directory must have one digest, or one state would become two: "a/b" is also "./a//b/". OUT holds strlen(PATH)
 * + 2. */
static int normalize(const char *path, char *out, struct sbx_error *err)
{
	size_t used = 0;

	if (path[0] == '/')
		return sbx_fail(err, SBX_DENIED, "bad_parameter", "the directory of a state must be relative");
	for (const char *p = path; *p != '\0';) {
		size_t len = strcspn(p, "/");
		if (len == 2 && memcmp(p, "..", 2) == 0)
			return sbx_fail(err, SBX_DENIED, "bad_parameter",
					"the directory of a state leaves its workspace");
		if (len > 0 && !(len == 1 && *p == '.')) {
			if (used > 0)
				out[used++] = '/';
			memcpy(out + used, p, len);
			used += len;
		}
		p += len;
		p += *p == '/';
	}
	if (used == 0)
		out[used++] = '.';
	out[used] = '\0';
	return 0;
}

/* One directory below another; -1 without an error when it is not there and may not be made. */
static int step_into(int dir_fd, const char *name, enum io_create create, struct sbx_error *err)
{
	if (create == IO_MUST_EXIST && faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return -1;
	return io_open_dir(dir_fd, name, create, err);
}

int ws_dir_open(const struct state *state, const char *name, const char *path, enum io_create create,
		struct sbx_error *err)
{
	auto_free char *normal = malloc(strlen(path) + 2);
	char digest[DIGEST_HEX_SIZE];
	struct sbx_error note = SBX_ERROR_INIT;

	if (normal == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (normalize(path, normal, err) < 0)
		return -1;
	if (name[0] != '\0' && !is_plain_name(name))
		return sbx_fail(err, SBX_DENIED, "unknown_workspace", "a workspace with a state needs a plain name");
	digest_sha256_hex(normal, strlen(normal), digest);
	auto_fd all = step_into(state->fd, "ws", create, err);
	if (all < 0)
		return -1;
	auto_fd root = step_into(all, name[0] != '\0' ? name : "default", create, err);
	if (root < 0)
		return -1;
	auto_fd dir = step_into(root, digest, create, err);
	if (dir < 0)
		return -1;
	/* For people alone: which directory this is. */
	if (create == IO_CREATE && faccessat(dir, "directory", F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	    io_create_file(dir, "directory", normal, strlen(normal), &note) < 0 && strcmp(note.code, "exists") != 0)
		return *err = note, -1;
	return take_fd(&dir);
}

int ws_dir_relock(int lock_fd, int operation, int64_t deadline, struct sbx_error *err)
{
	while (flock(lock_fd, operation | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return sbx_fail_errno(err, SBX_OS, "os_error", "cannot lock the workspace's state");
		if (clock_left_ms(deadline) == 0) {
			sbx_fail(err, SBX_UNAVAILABLE, "workspace_busy",
				 "another call is working on the state of this directory");
			return sbx_hint(err, "try again when it has ended");
		}
		nanosleep(&(struct timespec){.tv_nsec = lock_poll_ms * 1000000L}, NULL);
	}
	return 0;
}

int ws_dir_lock(int dir_fd, int operation, int64_t deadline, struct sbx_error *err)
{
	auto_fd fd = openat(dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create",
				      "cannot make the lock of the workspace's state");
	if (ws_dir_relock(fd, operation, deadline, err) < 0)
		return -1;
	return take_fd(&fd);
}

int ws_dir_mark(int dir_fd, char call[STATE_ID_SIZE], struct sbx_error *err)
{
	struct sbx_error missing = SBX_ERROR_INIT;
	auto_free char *text = NULL;
	size_t len;

	if (io_read_file(dir_fd, WS_MARK_FILE, mark_max, IO_PRIVATE, &text, &len, &missing) < 0) {
		if (strcmp(missing.code, "missing_file") == 0)
			return 0;
		return *err = missing, -1;
	}
	if (!state_is_id(text))
		return sbx_fail(err, SBX_CONFIG, "unsafe_state", "the mark %s of a workspace's state is damaged",
				WS_MARK_FILE);
	memcpy(call, text, STATE_ID_SIZE);
	return 1;
}

static int fill(int to, int from, struct sbx_error *err)
{
	if (lseek(from, 0, SEEK_SET) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read a state file");
	if (io_copy(from, to, LIMIT_STATE_FILE, NULL, err) < 0)
		return -1;
	if (fsync(to) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot sync a state file");
	return 0;
}

int ws_dir_put(int dir_fd, const char *name, int from, struct sbx_error *err)
{
	char temp[64], random[17];

	io_random_hex(random, 8);
	snprintf(temp, sizeof temp, ".tmp-%s", random);
	auto_fd to = openat(dir_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (to < 0)
		return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot create %s", name);
	int result = fill(to, from, err);
	if (result == 0 && renameat(dir_fd, temp, dir_fd, name) < 0)
		result = sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot replace %s", name);
	if (result < 0)
		unlinkat(dir_fd, temp, 0);
	else if (fsync(dir_fd) < 0)
		result = sbx_fail_errno(err, SBX_IO, "io_error", "cannot sync a directory");
	return result;
}

int ws_dir_load(struct ws_state *ws, struct sbx_error *err)
{
	struct ws_file file;

	if (ws_file_open(ws->dir_fd, WS_STATE_FILE, SBX_PROTOCOL, &file, NULL, err) < 0)
		return -1;
	ws->present = file.present;
	memcpy(ws->lineage, file.lineage, sizeof ws->lineage);
	ws->serial = file.serial;
	memcpy(ws->sha256, file.sha256, sizeof ws->sha256);
	ws->size = file.size;
	return 0;
}
