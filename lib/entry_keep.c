/* Directories that are kept. */
#include "entry_keep.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#include "io.h"
#include "limit.h"
#include "tree.h"

const struct entry_keep entry_keeps[ENTRY_KEEPS] = {
	{STEP_KEEPS_MODULES, SANDBOX_KEPT_MODULES, SANDBOX_MODULES},
	{STEP_KEEPS_PROVIDERS, SANDBOX_KEPT_PROVIDERS, SANDBOX_PROVIDERS},
};

int entry_keep_begin(uint32_t flags, int cwd_fd, struct sbx_error *err)
{
	struct stat st;

	for (size_t i = 0; i < ENTRY_KEEPS; i++)
		if ((flags & entry_keeps[i].flag) &&
		    (fstatat(cwd_fd, entry_keeps[i].path, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT))
			return sbx_fail(err, SBX_BAD_REQUEST, "artifact_unsafe", "%s is there before the step that fills it",
					entry_keeps[i].path);
	return 0;
}

int entry_keep_take(const struct entry_keep *keep, int cwd_fd, struct artifacts *artifacts, const struct artifact **artifact,
		    struct sbx_error *err)
{
	auto_fd dir = io_open_beneath(cwd_fd, keep->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);

	*artifact = NULL;
	if (dir < 0 && errno == ENOENT)
		return 0;
	if (dir < 0)
		return sbx_fail_errno(err, SBX_BAD_REQUEST, "artifact_unsafe", "%s is no directory", keep->path);
	struct artifact *made = entry_new_artifact(artifacts, keep->name, err);
	if (made == NULL || tree_pack_up_to(dir, made->fd, LIMIT_FETCHED_BYTES, made->sha256, &made->size, err) < 0 ||
	    io_seal(made->fd, err) < 0)
		return -1;
	*artifact = made;
	return 0;
}
