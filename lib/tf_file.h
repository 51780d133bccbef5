/* Which files of a directory are Terraform's or OpenTofu's configuration, told by their names. */
#ifndef SBX_TF_FILE_H
#define SBX_TF_FILE_H

#include <stddef.h>

/* The length of NAME without the ending of a file of configuration (.tf, .tofu, and these with .json); 0 for any other
 * file, and for one that is passed over because its name begins with a dot. */
size_t tf_file_base(const char *name);

/* 1 when it is one; and 1 when it is JSON, for one that is. */
int tf_file_is(const char *name);
int tf_file_is_json(const char *name);

#endif
