/* The system calls of a sandbox: an allow-list, written once (isolate_rules.c) and compiled by libseccomp when the
 * toolkit is built, because compiling it takes longer (1.4 ms) than making the whole sandbox. */
#ifndef SBX_ISOLATE_SECCOMP_H
#define SBX_ISOLATE_SECCOMP_H

#include "isolate_sys.h"

/* Put the filter on the calling process and all that it starts; no_new_privs must be set. */
int isolate_seccomp(struct isolate_failure *f);

#endif
