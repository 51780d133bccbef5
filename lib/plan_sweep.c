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

/* What a crash left: half of a plan, or one whose run has copies of its own; what became of the run is not told here. */
static int is_left_over(const char *name, int64_t age_s)
{
	return (strncmp(name, PLAN_HALF_MADE, strlen(PLAN_HALF_MADE)) == 0 && age_s > half_made_age_s) ||
	       (strncmp(name, PLAN_TAKEN, strlen(PLAN_TAKEN)) == 0 && age_s > PLAN_TTL_S);
}

static jv read_seal(int dir_fd)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_free char *text = NULL;
	auto_jv file = jv_invalid();
	size_t len;

	if (io_read_file(dir_fd, PLAN_SEAL_FILE, LIMIT_CALL, IO_PRIVATE, &text, &len, &ignored) < 0 ||
	    json_parse(text, len, LIMIT_CALL, &file, &ignored) < 0)
		return jv_invalid();
	return json_object(file, "seal");
}

/* Certain without the key: a forged time costs its forger a plan. */
static int has_expired(jv seal)
{
	const char *until = json_str(seal, "expires_at");
	int64_t expires_at;

	return until != NULL && clock_parse(until, &expires_at) == 0 && clock_seconds() >= expires_at;
}

static int look_at(int plans, const char *name, plan_stays_fn *each, void *context, struct sbx_error *err)
{
	auto_fd dir = openat(plans, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (dir < 0 || fstat(dir, &st) < 0)
		return 0;
	if (!state_is_id(name))
		return is_left_over(name, clock_seconds() - st.st_mtim.tv_sec) ? io_remove_tree(plans, name, err) : 0;
	auto_jv seal = read_seal(dir);
	if (has_expired(seal))
		return io_remove_tree(plans, name, err);
	if (each != NULL && jv_is_valid(seal))
		each(dir, seal, context);
	return 0;
}

int plan_drop_expired_of(const struct state *state, plan_stays_fn *each, void *context, struct sbx_error *err)
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
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			result = look_at(plans, entry->d_name, each, context, err);
	closedir(dir);
	return result;
}

int plan_drop_expired(const struct state *state, struct sbx_error *err)
{
	return plan_drop_expired_of(state, NULL, NULL, err);
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
