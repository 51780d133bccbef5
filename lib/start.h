/* The first act of every main, after its options: nothing of the caller's environment, descriptors, signals or modes reaches
 * our code or our children. */
#ifndef SBX_START_H
#define SBX_START_H

#include "process.h"

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
#define START_PERSON 2u /* keep the person's variables in .person, and obey the terminal (process_obey_terminal) */

/* process_clean, and what is asked for by FLAGS. CONFIG_OPTION is what --config said, or NULL. In the toolkit's account it also fails when --config names
 * another file (77, "config_fixed"), and under limits (setrlimit) with which the caller could end us where it wants (77, "limits_lowered"); and the caller's scheduling (ionice,
 * nice, SCHED_IDLE) is undone there as far as the kernel lets us. */
int start(const char *name, const char *config_option, const int *keep, size_t keep_count, unsigned flags,
	  struct started *out, struct sbx_error *err);

#endif
