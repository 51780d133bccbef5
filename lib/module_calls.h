/* Which modules from elsewhere a directory calls: its own calls, those of its tests, and those of the local modules that
 * they call, read without understanding the rest of the configuration. */
#ifndef SBX_MODULE_CALLS_H
#define SBX_MODULE_CALLS_H

#include "json.h"

#define MODULE_ONLY_TERRAFORM "terraform"
#define MODULE_ONLY_TOFU "tofu"

/* Of the directory DIR ("." is the top) of a packed tree (SIZE bytes of TREE_FD). *CALLS, the caller's: an array of
 * {key, source, version, only} in a fixed order; KEY is the names of the calls on the way, with dots between, as Terraform's
 * modules.json has it; VERSION is absent where the call says none; ONLY is there where one of Terraform and
 * OpenTofu does not read the file, and names the one that does. "module_unreadable" (65), naming the file: a source
 * that is no plain text, a file that cannot be read, a local module outside the tree, more than LIMIT_MODULE_CALLS. */
int module_calls(int tree_fd, uint64_t size, const char *dir, jv *calls, struct sbx_error *err);

#endif
