/* Reading and writing files and descriptors: whole, bounded, and checked. Everything is opened O_CLOEXEC. */
#ifndef SBX_IO_H
#define SBX_IO_H

#include <stdint.h>
#include <sys/types.h>

#include "base.h"
#include "error.h"

/* Read FD to its end into a heap block with a NUL behind it (*OUT owned by the caller, *LEN without the NUL). More than MAX
 * bytes: "too_large" (65). A read error: "io_error" (74). */
int io_read_all(int fd, size_t max, char **out, size_t *len, struct sbx_error *err);

/* Write every byte; EAGAIN waits in poll. -1 with "io_error" (74): a full disk or a closed reader is never success. */
int io_write_all(int fd, const void *bytes, size_t len, struct sbx_error *err);

/* Read the regular file NAME below directory DIRFD (no symlink as its last part; AT_FDCWD is allowed). Missing: "missing_file"
 * (66). Flags: refuse a file that group or others may write, or that is owned by neither root nor us ("unsafe_file", 78, with
 * the chmod or chown that mends it). */
#define IO_TRUSTED 1u  /* owner root or we, not writable by group and others */
#define IO_PRIVATE 2u  /* IO_TRUSTED, and not readable by group and others either */
int io_read_file(int dirfd, const char *name, size_t max, unsigned flags, char **out, size_t *len,
		 struct sbx_error *err);

/* The same, opened only: the descriptor, which is the caller's. WHAT names the file in messages, such as its whole path. */
int io_open_file(int dirfd, const char *name, unsigned flags, struct sbx_error *err);
int io_open_file_as(int dirfd, const char *name, const char *what, unsigned flags, struct sbx_error *err);

/* Check owner and mode of an open descriptor as above; WHAT names it in the message. */
int io_check_trust(int fd, const char *what, unsigned flags, struct sbx_error *err);

/* Write the whole file so that a crash leaves the old one or the new one: temporary file beside it (mode 0600), fsync, rename,
 * fsync of the directory. io_create_file is the same but never replaces: "exists" (73). */
int io_replace_file(int dirfd, const char *name, const void *bytes, size_t len, struct sbx_error *err);
int io_create_file(int dirfd, const char *name, const void *bytes, size_t len, struct sbx_error *err);

/* 1 when something of this NAME lies in directory DIRFD, were it a symlink to nowhere. */
int io_exists(int dirfd, const char *name);

/* Open PATH beneath DIRFD: openat2 with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS; RESOLVE may add RESOLVE_NO_SYMLINKS.
 * Returns the descriptor or -1 with errno. */
int io_open_beneath(int dirfd, const char *path, int flags, uint64_t resolve);

/* Open (and with CREATE make, mode 0700) the directory NAME below DIRFD, without following a symlink. */
enum io_create { IO_MUST_EXIST, IO_CREATE };
int io_open_dir(int dirfd, const char *name, enum io_create create, struct sbx_error *err);

/* A memfd holding BYTES, sealed against every change, offset 0; close-on-exec. Owned by the caller. */
int io_sealed_memfd(const char *name, const void *bytes, size_t len, struct sbx_error *err);
/* An empty one to fill; and the seal (SHRINK, GROW, WRITE, SEAL). io_is_sealed says whether FD can still change. */
int io_memfd(const char *name, struct sbx_error *err);
int io_seal(int fd, struct sbx_error *err);
int io_is_sealed(int fd);

/* Copy FD from its current offset to its end into OUT, at most MAX bytes ("too_large"). *COPIED may be NULL. */
int io_copy(int from, int to, uint64_t max, uint64_t *copied, struct sbx_error *err);

/* Random bytes of the kernel; and as lower-case hex (OUT holds 2 * N + 1). Never fails (aborts without entropy). */
void io_random(void *out, size_t n);
void io_random_hex(char *out, size_t n);

/* Remove DIRFD/NAME and all below it, never following a symlink; absent is fine. */
int io_remove_tree(int dirfd, const char *name, struct sbx_error *err);

/* A decimal number within [MIN, MAX], digits only ("0" or no leading zero); -1 for anything else. */
int io_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out);

#endif
