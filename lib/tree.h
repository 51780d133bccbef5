/* A copy of a directory as one byte string: sorted, without times and owners, so that its SHA-256 is the digest of the
 * tree. Taken by descriptors only: nothing outside the directory can come in, whatever is swapped while it is read. */
#ifndef SBX_TREE_H
#define SBX_TREE_H

#include <linux/limits.h>

#include "digest.h"

/* Pack the directory DIRFD into FD (from its current offset). Directories, regular files with one link and symlinks
 * that stay inside are taken; *.tfstate and *.tfstate.*, .terraform/, terraform.d/ and .git/ are left out; anything else (a device, a
 * socket, a file with two links, a symlink out) is "unsafe_tree" (65), naming the path; past a limit "tree_too_large"
 * (65). SHA256 gets the digest of all bytes written, *SIZE their number. */
int tree_pack(int dirfd, int fd, char sha256[DIGEST_HEX_SIZE], uint64_t *size, struct sbx_error *err);

/* The same with at most MAX bytes of content, for what is no workspace. */
int tree_pack_up_to(int dirfd, int fd, uint64_t max, char sha256[DIGEST_HEX_SIZE], uint64_t *size, struct sbx_error *err);

/* The digest alone. */
int tree_digest(int dirfd, char sha256[DIGEST_HEX_SIZE], struct sbx_error *err);

/* Unpack SIZE bytes of FD (from its current offset, which stands behind them afterwards) into the directory DIRFD. That
 * may hold directories already, and files that the archive does not name. Modes are 0755 and 0644 (0755 for what its
 * owner could execute). Fails on any name that leaves DIRFD and on bytes that no packer makes ("bad_tree", 76). */
int tree_unpack(int fd, uint64_t size, int dirfd, struct sbx_error *err);

/* One file of a packed tree (SIZE bytes of FD from its start; the offset does not move): 1 and *OUT (owned by the
 * caller, NUL behind it) if PATH is there, 0 if not; more than MAX bytes: "too_large" (65). Used for the lock file. */
int tree_find(int fd, uint64_t size, const char *path, size_t max, char **out, size_t *len, struct sbx_error *err);

/* 1 and where it leads, as it is written there, if PATH is a symlink of a packed tree; 0 if not. */
int tree_link(int fd, uint64_t size, const char *path, char target[PATH_MAX], struct sbx_error *err);

/* PATH of a packed tree without symlinks on its way and at its end, as the kernel goes: OUT, "" for the top. 1 when there
 * was one, 0 when not; nothing need be there. "unsafe_tree" (65): it leads out, or in a circle. */
int tree_follow(int fd, uint64_t size, const char *path, char out[PATH_MAX], struct sbx_error *err);

/* Every file and symlink right in the directory DIR ("." is the top) of a packed tree that WANTED asks for by its name, in
 * the order of the names: TAKE gets its bytes with a NUL behind them, or NULL for a symlink and for more than MAX bytes.
 * -1 when TAKE says so, or as tree_find. */
struct tree_taker {
	int (*wanted)(const char *name);
	int (*take)(void *context, const char *name, const char *bytes, size_t len, struct sbx_error *err);
	void *context;
	size_t max;
};
int tree_each(int fd, uint64_t size, const char *dir, const struct tree_taker *taker, struct sbx_error *err);

#endif
