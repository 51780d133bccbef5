/* Kept plans that nobody can use any more. */
#include "plan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "io.h"
#include "plan_kept.h"

static const int64_t half_made_age_s = 15 * 60; /* no call keeps a plan for this long */

/* What is certain without the key: the time that the seal's file says, or that there is no seal in an old directory. A
 * forged time costs its forger a plan. */
static int is_over(int plans, const char *name)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_free char *text = NULL;
	auto_jv file = jv_invalid();
	int64_t expires_at;
	struct stat st;
	size_t len;
	auto_fd dir = openat(plans, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (dir < 0 || fstat(dir, &st) < 0)
		return 0;
	if (strncmp(name, PLAN_HALF_MADE, strlen(PLAN_HALF_MADE)) == 0)
		return clock_seconds() - st.st_mtim.tv_sec > half_made_age_s;
	/* Its run has copies of its own, and what became of the run is not told here. */
	if (strncmp(name, PLAN_TAKEN, strlen(PLAN_TAKEN)) == 0)
		return clock_seconds() - st.st_mtim.tv_sec > PLAN_TTL_S;
	if (!state_is_id(name) ||
	    io_read_file(dir, PLAN_SEAL_FILE, LIMIT_CALL, IO_PRIVATE, &text, &len, &ignored) < 0 ||
	    json_parse(text, len, LIMIT_CALL, &file, &ignored) < 0)
		return 0;
	auto_jv seal = json_object(file, "seal");
	const char *until = json_str(seal, "expires_at");
	return until != NULL && clock_parse(until, &expires_at) == 0 && clock_seconds() >= expires_at;
}

int plan_drop_expired(const struct state *state, struct sbx_error *err)
{
	auto_fd plans = state_dir(state, "plans", err);
	int listed = plans < 0 ? -1 : openat(plans, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = listed < 0 ? NULL : fdopendir(listed);
	int result = 0;

	if (dir == NULL) {
		base_close_fd(&listed);
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot list the kept plans");
	}
	for (struct dirent *entry; result == 0 && (entry = readdir(dir)) != NULL;)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    is_over(plans, entry->d_name))
			result = io_remove_tree(plans, entry->d_name, err);
	closedir(dir);
	return result;
}

int plan_sweep(const struct state *state, struct sbx_error *err)
{
	struct stat st;

	/* Nobody has planned here yet. */
	if (fstatat(state->fd, "plans", &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return 0;
	auto_fd plans = state_dir(state, "plans", err);
	if (plans < 0)
		return -1;
	if (fstatat(plans, PLAN_SWEPT, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		int64_t age = clock_seconds() - st.st_mtim.tv_sec;
		if (age >= 0 && age < PLAN_SWEEP_S)
			return 0;
	}
	auto_fd mark = openat(plans, PLAN_SWEPT, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (mark < 0 || futimens(mark, NULL) < 0)
		return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create",
				      "cannot mark the kept plans as looked at");
	return plan_drop_expired(state, err);
}
