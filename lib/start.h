/* The first act of every main, after its options: nothing of the caller's environment, descriptors, signals or modes reaches
 * our code or our children. */
#ifndef SBX_START_H
#define SBX_START_H

#include "base.h"
#include "error.h"

/* The account for which /etc/sbx/sbx.yaml is the only settings file; fixed when built (ACCOUNT=). */
#ifndef SBX_ACCOUNT
#define SBX_ACCOUNT "sbx"
#endif
#define SBX_CONFIG_DEFAULT "/etc/sbx/sbx.yaml"

/* What a person's programs (ssh, ssh-keygen, sudo, a pager) need of the caller's environment; handed on to them alone. */
#define START_PERSON_VARIABLES 7

struct started {
	const char *config;	/* settings file: option, $SBX_CONFIG or the default; fixed in the toolkit's account */
	int in_account;		/* 1: the effective user is SBX_ACCOUNT */
	int reply_fd;		/* START_REPLY: where stdout was; fd 1 is stderr then, so that no library can write into a reply */
	char *person[START_PERSON_VARIABLES + 1]; /* START_PERSON: "NAME=value" strings, NULL at the end; for child programs */
};

#define START_REPLY 1u	/* move stdout aside */
#define START_PERSON 2u /* keep the person's variables in .person */

/* NAME is the program's. CONFIG_OPTION is what --config said, or NULL. KEEP lists the KEEP_COUNT descriptors that options named.
 * Starts the program again when the caller's environment holds LD_* or GLIBC_TUNABLES. Makes descriptors 0 to 2 exist, ignores SIGPIPE, resets the other signals and the mask, empties the environment and sets HOME,
 * LC_ALL, TZ and PATH, closes every other descriptor, sets umask 077, no core file, not dumpable. Fails only when /dev/null
 * cannot be opened or --config is given in the toolkit's account (77, "config_fixed"). */
int start(const char *name, const char *config_option, const int *keep, size_t keep_count, unsigned flags,
	  struct started *out, struct sbx_error *err);

/* Directory of the running program's file ("/usr/bin"), for finding helpers beside it; owned by the caller. */
char *start_program_dir(struct sbx_error *err);

/* Path of helper NAME: beside the program, else ../libexec/sbx/NAME; owned by the caller. Missing: "missing_helper" (78). */
char *start_helper(const char *name, struct sbx_error *err);

#endif
