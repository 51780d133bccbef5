/* Workspaces: the roots that settings name, the copy that a run gets, and (ws_state.h) the Terraform state that is kept
 * for a directory. */
#ifndef SBX_WORKSPACE_H
#define SBX_WORKSPACE_H

#include "config.h"
#include "digest.h"
#include "ws_state.h"

/* Open the root NAME ("" when there is one) as a directory descriptor, then TREE ("." or a path, through no symlink)
 * beneath it; owned by the caller. "unknown_workspace" (77), "workspace_missing" (77), "workspace_unreadable" (78). */
int workspace_open(const struct config *config, const char *name, const char *tree, struct sbx_error *err);

/* Copy the tree into a sealed memfd, packed (tree.h), at offset 0: a descriptor owned by the caller. */
int workspace_copy(const struct config *config, const char *name, const char *tree, char sha256[DIGEST_HEX_SIZE],
		   uint64_t *size, struct sbx_error *err);

#endif
