/* Where Terraform would keep the state of a directory: the backend that its configuration names, its settings, and the
 * workspace of Terraform's own. What a person is told of it, and what a later run of a plan must find again. */
#ifndef SBX_BACKEND_H
#define SBX_BACKEND_H

#include "json.h"

/* Of the steps and the environment of RUN (policy.run) and the packed tree (SIZE bytes of TREE_FD; -1: none). *BACKEND,
 * the caller's: {type, config_sha256, workspace}. TYPE is the label of the backend block in the steps' directory,
 * "cloud" for a cloud block, "local" without any, "unknown" where the configuration cannot be read, or where OpenTofu's own
 * files give it another one than Terraform reads and RUN's programs do not say which of the two they are; CONFIG_SHA256 is of
 * its settings without the values of those that could hold a secret (left out where there are none); WORKSPACE is
 * TF_WORKSPACE of the environment, or "default". A step that is given -backend-config has a backend that nobody can
 * read beforehand: "backend_config" (78). A block with a secret in it (a password, a key; not the path of a file):
 * "backend_secret" (77). */
int backend_of(jv run, int tree_fd, uint64_t size, jv *backend, struct sbx_error *err);

#endif
