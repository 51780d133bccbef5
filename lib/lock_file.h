/* Terraform's dependency lock file (.terraform.lock.hcl): which providers, in which version, with which digests. Read
 * strictly, in the form that terraform itself writes: it names what a run may load, and an agent may have written it.
 */
#ifndef SBX_LOCK_FILE_H
#define SBX_LOCK_FILE_H

#include "digest.h"
#include "json.h"

/* *LOCKED, the caller's: an array of {source, version, hashes} in the order of the file. A source is
 * HOST/NAMESPACE/TYPE and, like a version, safe as part of a path and in a sentence. "lock_invalid" (65), naming the
 * line: no lock file, a source that is written twice, more than LIMIT_PROVIDERS of them. */
int lock_file_read(const char *text, size_t len, jv *locked, struct sbx_error *err);

/* Its path in a tree, for the directory DIR (NULL or ".": the top), owned by the caller; NULL with an error. */
char *lock_file_path(const char *dir, struct sbx_error *err);

/* The lock file in DIR of a packed tree (tree.h; TREE_FD -1: none): *TEXT, owned by the caller, or NULL when there is
 * none; and its digest, "" when there is none. "too_large" (65) above LIMIT_LOCK_FILE. */
int lock_file_find(int tree_fd, uint64_t size, const char *dir, char **text, size_t *len, struct sbx_error *err);
int lock_file_digest(int tree_fd, uint64_t size, const char *dir, char sha256[DIGEST_HEX_SIZE], struct sbx_error *err);

#endif
