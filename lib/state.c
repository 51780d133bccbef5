/* The state directory and the directory of one call. */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "clock.h"
#include "io.h"

#define SEAL_KEY_SIZE 32
/* A stage file is writable while its stage works and read-only when it is done: a mode needs no block, so it can be set on a full disk too. */
static const mode_t mode_working = 0600, mode_done = 0400;

const char *const state_stages[STATE_STAGES] = {"policy", "approve", "cred", "run", "audit"};

static int check_directory(int fd, const char *path, struct sbx_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot look at the state directory");
	if (st.st_uid != geteuid()) {
		sbx_fail(err, SBX_CONFIG, "unsafe_state", "the state directory %s belongs to another user", path);
		return sbx_hint(err, "run sbx as that user, or chown -R it to the account that runs sbx");
	}
	if (st.st_mode & 077) {
		sbx_fail(err, SBX_CONFIG, "unsafe_state", "the state directory %s is open to others (mode %04o)", path,
			 st.st_mode & 07777);
		return sbx_hint(err, "chmod 700 %s", path);
	}
	return 0;
}

/* Read NAME, making it from BYTES when it is not there. Two that make it at once agree on one. */
static int read_or_make(const struct state *state, const char *name, const void *bytes, size_t len, char **out, size_t *out_len,
			struct sbx_error *err)
{
	struct sbx_error missing = SBX_ERROR_INIT, made = SBX_ERROR_INIT;

	if (io_read_file(state->fd, name, 4096, IO_PRIVATE, out, out_len, &missing) == 0)
		return 0;
	if (strcmp(missing.code, "missing_file") != 0) {
		*err = missing;
		return -1;
	}
	if (io_create_file(state->fd, name, bytes, len, &made) < 0 && strcmp(made.code, "exists") != 0) {
		*err = made;
		return -1;
	}
	return io_read_file(state->fd, name, 4096, IO_PRIVATE, out, out_len, err);
}

static int load_installation(struct state *state, struct sbx_error *err)
{
	char fresh[STATE_ID_SIZE];
	auto_free char *text = NULL;
	size_t len;

	io_random_hex(fresh, (STATE_ID_SIZE - 1) / 2);
	if (read_or_make(state, "installation", fresh, strlen(fresh), &text, &len, err) < 0)
		return -1;
	if (!state_is_id(text)) {
		sbx_fail(err, SBX_CONFIG, "unsafe_state", "the file installation in the state directory is damaged");
		return sbx_hint(err, "restore it from a copy; a new name would make every seal and approval invalid");
	}
	memcpy(state->installation, text, STATE_ID_SIZE);
	return 0;
}

int state_open(const char *path, struct state *state, struct sbx_error *err)
{
	*state = (struct state)STATE_NONE;
	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot make the state directory %s", path);
		return sbx_hint(err, "make it by hand, mode 700, or set `state` in sbx.yaml");
	}
	state->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (state->fd < 0)
		return sbx_fail_errno(err, SBX_CONFIG, "unsafe_state", "cannot open the state directory %s", path);
	state->path = strdup(path);
	if (state->path == NULL)
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (state->path == NULL || check_directory(state->fd, path, err) < 0 || load_installation(state, err) < 0) {
		state_close(state);
		return -1;
	}
	return 0;
}

void state_close(struct state *state)
{
	base_close_fd(&state->fd);
	free(take_ptr(&state->path));
}

static int read_seal_key(const struct state *state, struct secret *key, struct sbx_error *err)
{
	auto_fd fd = openat(state->fd, "seal.key", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return errno == ENOENT ? 1 : sbx_fail_errno(err, SBX_CONFIG, "unsafe_state", "cannot open seal.key");
	if (io_check_trust(fd, "seal.key", IO_PRIVATE, err) < 0 || secret_read_fd(key, fd, SEAL_KEY_SIZE, err) < 0)
		return -1;
	if (key->len != SEAL_KEY_SIZE)
		return sbx_fail(err, SBX_CONFIG, "unsafe_state", "the file seal.key in the state directory is damaged");
	return 0;
}

int state_seal_key(const struct state *state, struct secret *key, struct sbx_error *err)
{
	struct sbx_error made = SBX_ERROR_INIT;
	auto_secret fresh = SECRET_INIT;
	int found = read_seal_key(state, key, err);

	if (found <= 0)
		return found;
	if (secret_alloc(&fresh, SEAL_KEY_SIZE, err) < 0)
		return -1;
	io_random(fresh.data, SEAL_KEY_SIZE);
	if (io_create_file(state->fd, "seal.key", fresh.data, SEAL_KEY_SIZE, &made) < 0 && strcmp(made.code, "exists") != 0) {
		*err = made;
		return -1;
	}
	found = read_seal_key(state, key, err);
	return found == 1 ? sbx_fail(err, SBX_CONFIG, "unsafe_state", "seal.key went away") : found;
}

int state_dir(const struct state *state, const char *name, struct sbx_error *err)
{
	return io_open_dir(state->fd, name, IO_CREATE, err);
}

int state_is_id(const char *text)
{
	return text != NULL && strlen(text) == STATE_ID_SIZE - 1 && strspn(text, "0123456789abcdef") == STATE_ID_SIZE - 1;
}

int state_run_create(const struct state *state, const char *call, struct sbx_error *err)
{
	auto_fd runs = state_dir(state, "runs", err);

	if (runs < 0)
		return -1;
	if (mkdirat(runs, call, 0700) < 0)
		return errno == EEXIST ? sbx_fail(err, SBX_DENIED, "call_reused", "this call was made before")
				       : sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot make the call's directory");
	return io_open_dir(runs, call, IO_MUST_EXIST, err);
}

int state_run_open(const struct state *state, const char *call, struct sbx_error *err)
{
	auto_fd runs = state_dir(state, "runs", err);

	if (runs < 0)
		return -1;
	int fd = openat(runs, call, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		return sbx_fail(err, SBX_DENIED, "call_closed", "this call is over, or was never begun here");
	if (fd < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot open the call's directory");
	return fd;
}

/* 0 or an errno; EEXIST when there is a NAME. */
static int give_name(int run_fd, const char *temp, const char *name)
{
	if (renameat2(run_fd, temp, run_fd, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL)
		return errno;
	/* A file system without that flag. */
	if (linkat(run_fd, temp, run_fd, name, 0) < 0)
		return errno;
	unlinkat(run_fd, temp, 0);
	return 0;
}

/* Locked before it has its name: a stage file that is there without a lock, and not done, is that of a dead stage at
 * whatever moment somebody looks. */
int state_stage_begin(int run_fd, const char *name, struct sbx_error *err)
{
	char random[17], temp[sizeof ".tmp-" + sizeof random];

	io_random_hex(random, 8);
	snprintf(temp, sizeof temp, ".tmp-%s", random);
	auto_fd fd = openat(run_fd, temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode_working);
	if (fd < 0)
		return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot make the stage file");
	int failed = flock(fd, LOCK_EX | LOCK_NB) < 0 ? errno : give_name(run_fd, temp, name);
	if (failed != 0)
		unlinkat(run_fd, temp, 0);
	if (failed == EEXIST)
		return sbx_fail(err, SBX_DENIED, "call_reused", "this call went through this stage before");
	errno = failed;
	if (failed != 0)
		return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot make the stage file");
	if (io_exists(run_fd, "mend"))
		return sbx_fail(err, SBX_DENIED, "call_closed", "this call was given up and mended");
	return take_fd(&fd);
}

int state_stage_done(int stage_fd, struct sbx_error *err)
{
	if (fchmod(stage_fd, mode_done) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot mark the stage as done");
	return 0;
}

static int is_done(int run_fd, const char *name)
{
	struct stat st;

	return fstatat(run_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & 07777) == mode_done;
}

enum stage_state state_stage_look(int run_fd, const char *name, int64_t *modified_s)
{
	struct stat st;
	auto_fd fd = openat(run_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	*modified_s = 0;
	if (fd < 0 && errno == ENOENT)
		return STAGE_ABSENT;
	if (fd < 0 || fstat(fd, &st) < 0)
		return STAGE_LOCKED; /* nothing is known: whoever mends must keep away */
	*modified_s = st.st_mtim.tv_sec;
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return STAGE_LOCKED;
	return is_done(run_fd, name) ? STAGE_DONE : STAGE_DEAD;
}

int state_stage_is_over(int run_fd, const char *name)
{
	return !io_exists(run_fd, name) || is_done(run_fd, name);
}

int state_run_works(int run_fd)
{
	int64_t modified;

	for (size_t i = 0; i < STATE_STAGES; i++)
		if (state_stage_look(run_fd, state_stages[i], &modified) == STAGE_LOCKED)
			return 1;
	return 0;
}

int state_mend_begin(int run_fd, struct sbx_error *err)
{
	auto_fd fd = openat(run_fd, "mend", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot make the mend file");
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -1; /* another process mends it */
	return take_fd(&fd);
}
