/* The files of a policy directory: every one is read and hashed, so that the digest in a call covers what decided. Nothing is parsed here. */
#ifndef SBX_POLICY_FILES_H
#define SBX_POLICY_FILES_H

#include "base.h"
#include "error.h"

#define POLICY_FILE_SUFFIX ".yaml"

struct policy_file {
	char *name; /* "policy.yaml", "tools/NAME.yaml", "signals/NAME.yaml" */
	char *path; /* for messages */
	char *text; /* NUL behind it; NULL for those of signals/, which are read again when they are compiled */
	size_t len;
	unsigned char sha256[32];
};

struct policy_files {
	struct policy_file *file; /* in byte order of their names; all owned */
	size_t count;
	char *dir;	     /* owned; NULL: the files of signals/ alone */
	int has_signals;     /* 1: there is a directory signals/, be it empty */
	size_t signal_count; /* files in it */
	/* Over names and bytes: of all files, of those of signals/, of the others. */
	char sha256[65], signals_sha256[65], tools_sha256[65];
};

/* Read the files of the policy directory DIR and digest them: enough to know whether anything changed. Signal rules are larger than all the rest; the
 * list of tools does not depend on them. FILES is the caller's afterwards, also after an error. Class 78: "missing_file", "unsafe_file", "policy_invalid",
 * "too_large". */
enum policy_part { POLICY_WHOLE, POLICY_WITHOUT_SIGNALS };
int policy_files_read(const char *dir, enum policy_part part, struct policy_files *files, struct sbx_error *err);

/* Read the files of a directory that holds those of signals/ and nothing else (none is fine), with their text. FLAGS: IO_TRUSTED, or 0 for sources that a
 * table is built from. */
int policy_files_read_signals(const char *dir, unsigned flags, struct policy_files *files, struct sbx_error *err);

/* The file NAME; NULL when there is none. */
const struct policy_file *policy_files_find(const struct policy_files *files, const char *name);

void policy_files_clear(struct policy_files *files);
#define auto_policy_files __attribute__((cleanup(policy_files_clear))) struct policy_files

#endif
