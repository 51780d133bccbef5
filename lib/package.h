/* The digest of a provider package, in the form in which Terraform's lock file has it: "h1:" and the base64 of a
 * SHA-256 for an unpacked directory (golang.org/x/mod/sumdb/dirhash, Hash1: over the lines "SHA-256 of the file, two
 * spaces, name" of its files in the order of their names), "zh:" and the SHA-256 in hex for a packed one. */
#ifndef SBX_PACKAGE_H
#define SBX_PACKAGE_H

#include "digest.h"

#define PACKAGE_HASH_SIZE 72 /* "zh:" and 64 digits are the longest */

/* Who reads a file of a package: FD is open at offset 0, PATH is PATH of package_hash and its name in it. As
 * digest_fd_hex; may refuse it. */
struct package_reader {
	int (*read)(void *context, int fd, const char *path, char sha256[DIGEST_HEX_SIZE], struct sbx_error *err);
	/* Looks at each directory that is entered; NULL: nobody does. */
	int (*enter)(void *context, int fd, const char *path, struct sbx_error *err);
	void *context;
};

/* The digest of what FD is, a directory or a regular file; PATH is what readers and messages call it. READER NULL: the
 * bytes are read, at most LIMIT_PROGRAM of each file. "provider_unsafe" (78): a symlink or anything else that is
 * neither file nor directory, a name that is no line, more than LIMIT_PROVIDER_FILES files, no file at all. */
int package_hash(int fd, const char *path, const struct package_reader *reader, char hash[PACKAGE_HASH_SIZE],
		 struct sbx_error *err);

#endif
