/* Which of the two programs reads a file of configuration or of tests. Terraform does not know OpenTofu's own files
 * (.tofu, .tofu.json, .tofutest.hcl, .tofutest.json); OpenTofu reads one instead of Terraform's file of the same name. */
#ifndef SBX_TF_READER_H
#define SBX_TF_READER_H

#include "json.h"

enum tf_reader { TF_READ_BY_BOTH, TF_READ_BY_TERRAFORM, TF_READ_BY_TOFU, TF_READ_BY_NONE };

/* The names of OpenTofu's own files right in DIR of a packed tree (SIZE bytes of TREE_FD): *NAMES, an array, the
 * caller's. -1 as tree_each. */
int tf_reader_names(int tree_fd, uint64_t size, const char *dir, jv *names, struct sbx_error *err);

/* Who reads NAME, one of the files of a directory with these NAMES (borrowed). */
enum tf_reader tf_reader_of(const char *name, jv names);

/* Who reads what stands in a file read by ONE that only OTHER comes to. */
enum tf_reader tf_reader_both(enum tf_reader one, enum tf_reader other);

#endif
