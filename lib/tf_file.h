/* Which files of a directory are Terraform's or OpenTofu's configuration, told by their names; and what symlinks to such
 * files hold. */
#ifndef SBX_TF_FILE_H
#define SBX_TF_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

/* The length of NAME without the ending of a file of configuration (.tf, .tofu, and these with .json); 0 for any other
 * file, and for one that is passed over because its name begins with a dot. */
size_t tf_file_base(const char *name);

/* 1 when it is one; and 1 when it is JSON, for one that is. */
int tf_file_is(const char *name);
int tf_file_is_json(const char *name);

/* 1 when it holds tests (.tftest.hcl, .tofutest.hcl, and these with .json): right in a directory, and in its directory TF_FILE_TESTS. */
#define TF_FILE_TESTS "tests"
int tf_file_is_test(const char *name);

/* Bytes of the file that the symlink NAME in DIR of a packed tree (SIZE bytes of TREE_FD) leads to: *BYTES, owned by the
 * caller. 1; 0: it is no symlink, leads to no file of at most TF_FILE_MAX bytes, or out. -1 as tree_find. */
#define TF_FILE_MAX ((size_t)1 << 20) /* a file of configuration that somebody reads */
int tf_file_follow(int tree_fd, uint64_t size, const char *dir, const char *name, char **bytes, size_t *len,
		   struct sbx_error *err);

#endif
