/* Workspace roots and the packed copy that a run gets. */
#include "workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>

#include "io.h"
#include "tree.h"

/* The path that the settings give NAME. Nothing of NAME reaches the file system itself. */
static const char *root_path(const struct config *config, const char *name, struct sbx_error *err)
{
	const char *path = json_str(config->workspaces, name);

	if (path == NULL && name[0] == '\0') {
		sbx_fail(err, SBX_DENIED, "unknown_workspace", "there are several workspaces, and none was named");
		sbx_hint(err, "put NAME: before the directory, with a NAME of `workspaces` in sbx.yaml");
	} else if (path == NULL) {
		sbx_fail(err, SBX_DENIED, "unknown_workspace", "there is no workspace of this name");
		sbx_hint(err, "names are those of `workspaces` in sbx.yaml");
	}
	return path;
}

int workspace_open(const struct config *config, const char *name, const char *tree, struct sbx_error *err)
{
	const char *path = root_path(config, name, err);

	if (path == NULL)
		return -1;
	auto_fd root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0) {
		sbx_fail_errno(err, SBX_CONFIG, "workspace_unreadable", "cannot open the workspace root");
		return sbx_hint(err, "check `workspaces` in sbx.yaml, and that the account of sbx may read it");
	}
	if (strcmp(tree, ".") == 0)
		return take_fd(&root);
	int fd = io_open_beneath(root, tree, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
	if (fd >= 0)
		return fd;
	sbx_fail_errno(err, SBX_DENIED, "workspace_missing", "cannot open the tool's directory in the workspace");
	return sbx_hint(err, "it must be a directory below the root, with no symbolic link on the way");
}

int workspace_copy(const struct config *config, const char *name, const char *tree, char sha256[DIGEST_HEX_SIZE],
		   uint64_t *size, struct sbx_error *err)
{
	auto_fd dir = workspace_open(config, name, tree, err);

	if (dir < 0)
		return -1;
	auto_fd copy = io_memfd("sbx-tree", err);
	if (copy < 0 || tree_pack(dir, copy, sha256, size, err) < 0 || io_seal(copy, err) < 0)
		return -1;
	return take_fd(&copy);
}
