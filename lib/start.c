/* First act: forget the caller, but for what it may say. */
#include "start.h"

#include <fcntl.h>
#include <linux/ioprio.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static const char *const person_variables[START_PERSON_VARIABLES] = {
	"HOME", "PATH", "TERM", "DISPLAY", "SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_SK_PROVIDER",
};

/* The name of the user from /etc/passwd itself, where a system account stands; asking NSS at once costs every process of a call a look at half a dozen files
 * and sockets. Only a user who is not there is looked up in full, and not by a static program (the door), which cannot: the stages behind it do. */
static int is_account(void)
{
	FILE *file = fopen("/etc/passwd", "re");
	uid_t user = geteuid();
	struct passwd *entry = NULL;

	while (file != NULL && (entry = fgetpwent(file)) != NULL && entry->pw_uid != user)
		;
#ifndef SBX_STATIC
	if (entry == NULL)
		entry = getpwuid(user);
#endif
	int same = entry != NULL && strcmp(entry->pw_name, SBX_ACCOUNT) == 0;
	if (file != NULL)
		fclose(file);
	return same;
}

static void keep_person(struct started *out)
{
	size_t used = 0;

	for (size_t i = 0; i < ARRAY_LEN(person_variables); i++) {
		const char *value = getenv(person_variables[i]);
		char *pair = NULL;
		if (value != NULL && asprintf(&pair, "%s=%s", person_variables[i], value) > 0)
			out->person[used++] = pair;
	}
	out->person[used] = NULL;
}

static const char *choose_config(const char *option, int in_account, struct sbx_error *err)
{
	const char *variable = getenv("SBX_CONFIG");

	if (in_account && option != NULL && strcmp(option, SBX_CONFIG_DEFAULT) != 0) {
		sbx_fail(err, SBX_DENIED, "config_fixed", "in this account the settings file is fixed");
		sbx_hint(err, "edit " SBX_CONFIG_DEFAULT " as root");
		return NULL;
	}
	if (in_account)
		return SBX_CONFIG_DEFAULT;
	if (option != NULL)
		return option;
	if (variable == NULL || variable[0] == '\0')
		return SBX_CONFIG_DEFAULT;
	const char *copy = strdup(variable); /* the environment is emptied; this lives as long as the process */
	if (copy == NULL)
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	return copy;
}

/* Limits go through sudo. With one on files an agent would choose the byte at which the record, or a state file, is cut;
 * with one on time or memory the moment at which a stage dies: after an apply has begun, before its credential is
 * revoked. A stage can raise none that is hard, so it does not begin. */
static int check_limits(struct sbx_error *err)
{
	static const struct {
		int resource;
		rlim_t least;
	} needs[] = {
		{RLIMIT_FSIZE, RLIM_INFINITY}, {RLIMIT_CPU, RLIM_INFINITY},	{RLIMIT_AS, RLIM_INFINITY},
		{RLIMIT_DATA, RLIM_INFINITY},  {RLIMIT_STACK, (rlim_t)8 << 20}, {RLIMIT_NOFILE, 256},
		{RLIMIT_NPROC, 256},
	};

	for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
		struct rlimit limit;
		if (prlimit(0, (unsigned)needs[i].resource, NULL, &limit) < 0)
			return sbx_fail_errno(err, SBX_OS, "os_error", "cannot read this process's limits");
		if (limit.rlim_max < needs[i].least) {
			sbx_fail(err, SBX_DENIED, "limits_lowered", "whoever started this has lowered its limits");
			return sbx_hint(err, "try again where ulimit -H -a says unlimited for files, time and memory");
		}
		limit.rlim_cur = limit.rlim_cur < needs[i].least ? needs[i].least : limit.rlim_cur;
		if (setrlimit(needs[i].resource, &limit) < 0)
			return sbx_fail_errno(err, SBX_OS, "os_error", "cannot raise this process's limits");
	}
	return 0;
}

/* The caller's place in the queues for the processor and the disk goes through sudo too, and whoever holds a lock keeps the
 * others waiting as long as it waits there. What can be undone is; the kernel lets nobody but root raise a nice value or
 * leave SCHED_IDLE (RLIMIT_NICE). That is no reason to refuse: an agent under nice is an honest one, and one that wants us
 * slow starts a hundred processes of its own. */
static void undo_scheduling(void)
{
	const struct sched_param none = {0};

	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_NONE, 0));
	(void)sched_setscheduler(0, SCHED_OTHER, &none);
	(void)setpriority(PRIO_PROCESS, 0, 0);
}

int start(const char *name, const char *config_option, const int *keep, size_t keep_count, unsigned flags,
	  struct started *out, struct sbx_error *err)
{
	*out = (struct started){.reply_fd = STDOUT_FILENO};
	out->in_account = is_account();
	out->config = choose_config(config_option, out->in_account, err);
	if (flags & START_PERSON)
		keep_person(out);
	if (process_clean(name, keep, keep_count, err) < 0 || out->config == NULL ||
	    (out->in_account && check_limits(err) < 0))
		return -1;
	if (out->in_account)
		undo_scheduling();
	if (flags & START_PERSON)
		process_obey_terminal();
	if (flags & START_REPLY) {
		out->reply_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		if (out->reply_fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
			return sbx_fail_errno(err, SBX_OS, "os_error", "cannot move stdout aside");
	}
	return 0;
}
