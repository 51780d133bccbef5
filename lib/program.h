/* Digests of the programs that a step may start, and of providers, as the host has them. A terraform of 90 MB is hashed
 * once, not once a call: state/cache/programs/ remembers the digest with what stat says of the file. */
#ifndef SBX_PROGRAM_H
#define SBX_PROGRAM_H

#include "digest.h"
#include "state.h"

/* SHA-256 of the program file PATH (absolute; a symlink is followed, as the mount of the sandbox does).
 * "missing_program" (78) when it is not there or no regular file, "unsafe_file" (78) when others may write it. The
 * cache is a help, never a need: one that cannot be read or written is left alone. */
int program_digest(const struct state *state, const char *path, char sha256[DIGEST_HEX_SIZE], struct sbx_error *err);

/* The same for the open regular file FD, without the checks; PATH is its name in the cache. */
int program_digest_fd(const struct state *state, int fd, const char *path, char sha256[DIGEST_HEX_SIZE],
		      struct sbx_error *err);

/* The checks alone. */
int program_check(const char *path, struct sbx_error *err);

#endif
