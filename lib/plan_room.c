/* Counting what a principal keeps. */
#include "plan_room.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "plan_kept.h"

struct kept {
	const char *principal; /* whose */
	int64_t plans;
	uint64_t bytes;
	int64_t first_end; /* when the first of them expires; 0: none */
};

static int is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* The sizes of what lies in DIR_FD. */
static uint64_t bytes_in(int dir_fd)
{
	int listed = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = listed < 0 ? NULL : fdopendir(listed);
	uint64_t bytes = 0;
	struct stat st;

	if (dir == NULL) {
		base_close_fd(&listed);
		return 0;
	}
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		if (!is_dots(entry->d_name) &&
		    fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			bytes += (uint64_t)st.st_size;
	closedir(dir);
	return bytes;
}

static void add_plan(int dir_fd, jv seal, void *context)
{
	struct kept *kept = context;
	const char *owner = json_str(seal, "principal"), *until = json_str(seal, "expires_at");
	int64_t end;

	if (owner == NULL || strcmp(owner, kept->principal) != 0)
		return;
	kept->plans++;
	kept->bytes += bytes_in(dir_fd);
	if (until != NULL && clock_parse(until, &end) == 0 &&
	    (kept->first_end == 0 || end < kept->first_end))
		kept->first_end = end;
}

int plan_make_room(const struct state *state, const char *principal, uint64_t bytes,
		   struct sbx_error *err)
{
	char end[CLOCK_RFC3339_SIZE] = "a later time";
	struct kept kept = {.principal = principal};

	if (plan_drop_expired_of(state, add_plan, &kept, err) < 0)
		return -1;
	if (kept.plans < LIMIT_KEPT_PLANS && kept.bytes + bytes <= LIMIT_KEPT_PLAN_BYTES)
		return 0;
	if (kept.first_end > 0)
		clock_format(kept.first_end, end);
	sbx_fail(err, SBX_UNAVAILABLE, "too_many_plans",
		 "%lld plans of this principal are kept, with %llu MiB, and there is no room for "
		 "another one",
		 (long long)kept.plans, (unsigned long long)(kept.bytes >> 20));
	return sbx_hint(err,
			"at most %d plans and %llu MiB are kept: apply one, or wait until %s, when "
			"the first of them expires",
			LIMIT_KEPT_PLANS, (unsigned long long)(LIMIT_KEPT_PLAN_BYTES >> 20), end);
}
