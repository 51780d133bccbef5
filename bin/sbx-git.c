/* sbx-git: what stands at /usr/bin/git in the sandbox of a fetch. terraform starts git with words that the configuration
 * chose; this lets through the commands that a module takes, over https alone, with a configuration of ours and without
 * hooks, helpers and submodules. Static, for its root need hold no library, and without start(), whose look at the accounts
 * would load some. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "error.h"
#include "log.h"
#include "steps.h"

static const char real_git[] = SANDBOX_PROGRAMS "/git/git";

static const char usage[] =
	"usage: git clone [--depth N] [--branch REF] -- URL DIRECTORY\n"
	"       git checkout REF [--]\n"
	"       git ls-remote --symref [--] URL HEAD\n"
	"       git submodule update ... (where there are none)\n"
	"       git version\n"
	"What terraform needs of git, for modules from https.\n";

enum { WORDS_MAX = 24, ENV_MAX = 24 };

/* Before every command: nothing that the repository holds is started or asked. */
static const char *const always[] = {
	"git",
	"-c", "core.hooksPath=/dev/null",
	"-c", "core.fsmonitor=false",
	"-c", "core.attributesFile=/dev/null",
	"-c", "credential.helper=",
	"-c", "submodule.recurse=false",
	"-c", "gc.auto=0",
	"-c", "advice.detachedHead=false",
};

static const char *const environment[] = {
	"PATH=/usr/bin:/bin",
	"HOME=/nonexistent",
	"LC_ALL=C",
	"TZ=UTC",
	"GIT_CONFIG_NOSYSTEM=1",
	"GIT_CONFIG_GLOBAL=/dev/null",
	"GIT_ALLOW_PROTOCOL=https",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_ASKPASS=",
	"GIT_TEMPLATE_DIR=",
	"GIT_COMMITTER_NAME=sbx",
	"GIT_COMMITTER_EMAIL=sbx",
};

/* What an operator may have set for terraform, and git should know too. */
static const struct {
	const char *from, *to;
} passed[] = {
	{"SSL_CERT_FILE", "GIT_SSL_CAINFO"}, {"SSL_CERT_DIR", "GIT_SSL_CAPATH"}, {"HTTPS_PROXY", "HTTPS_PROXY"},
	{"https_proxy", "https_proxy"},	     {"NO_PROXY", "NO_PROXY"},		 {"no_proxy", "no_proxy"},
};

struct command {
	const char *words[WORDS_MAX];
	size_t count;
};

static int refuse(const char *why)
{
	log_line("%s", why);
	return SBX_DENIED;
}

static void add(struct command *command, const char *word)
{
	if (command->count + 1 >= WORDS_MAX)
		abort(); /* none of the commands below has as many */
	command->words[command->count++] = word;
}

static int is_ref(const char *text)
{
	return text != NULL && text[0] != '-' && text[0] != '\0' &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+-")] == '\0';
}

static int is_number(const char *text)
{
	return text != NULL && text[0] != '\0' && strlen(text) <= 6 && text[strspn(text, "0123456789")] == '\0';
}

/* https://HOST/…: nobody's name and password in front. */
static int is_url(const char *text)
{
	static const char https[] = "https://";

	return text != NULL && strncmp(text, https, sizeof https - 1) == 0 && strchr(text, '@') == NULL &&
	       strspn(text + sizeof https - 1, "/") == 0;
}

/* The directory is terraform's own choice: below its directory of modules, or of temporary files. */
static int is_directory(const char *text)
{
	return text != NULL && text[0] != '-' && text[0] != '\0';
}

static int clone(char **argv, struct command *command)
{
	add(command, "clone");
	add(command, "--no-recurse-submodules");
	for (; *argv != NULL && strcmp(*argv, "--") != 0; argv += 2) {
		if (!(strcmp(*argv, "--depth") == 0 && is_number(argv[1])) && !(strcmp(*argv, "--branch") == 0 && is_ref(argv[1])))
			return -1;
		if (command->count + 5 > WORDS_MAX)
			return -1;
		add(command, argv[0]);
		add(command, argv[1]);
	}
	if (*argv == NULL || !is_url(argv[1]) || !is_directory(argv[2]) || argv[3] != NULL)
		return -1;
	for (int i = 0; i < 3; i++)
		add(command, argv[i]);
	return 0;
}

static int checkout(char **argv, struct command *command)
{
	if (!is_ref(argv[0]) || (argv[1] != NULL && (strcmp(argv[1], "--") != 0 || argv[2] != NULL)))
		return -1;
	add(command, "checkout");
	add(command, argv[0]);
	add(command, "--"); /* a branch or a commit, never a file of that name */
	return 0;
}

static int ls_remote(char **argv, struct command *command)
{
	if (*argv == NULL || strcmp(*argv++, "--symref") != 0)
		return -1;
	if (*argv != NULL && strcmp(*argv, "--") == 0)
		argv++;
	if (!is_url(argv[0]) || argv[1] == NULL || strcmp(argv[1], "HEAD") != 0 || argv[2] != NULL)
		return -1;
	add(command, "ls-remote");
	add(command, "--symref");
	add(command, "--");
	add(command, argv[0]);
	add(command, "HEAD");
	return 0;
}

/* terraform asks for them whether there are some or not. */
static int submodules(void)
{
	struct stat st;

	if (lstat(".gitmodules", &st) < 0 && errno == ENOENT)
		return 0;
	return refuse("the module has submodules, which are not fetched: its author can make it one without");
}

static int run(const struct command *command)
{
	const char *argv[ARRAY_LEN(always) + WORDS_MAX], *envp[ENV_MAX];
	char texts[ARRAY_LEN(passed)][4096];
	size_t n = 0, used = 0;

	memcpy(argv, always, sizeof always);
	memcpy(argv + ARRAY_LEN(always), command->words, sizeof command->words);
	for (; n < ARRAY_LEN(environment); n++)
		envp[n] = environment[n];
	for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
		const char *value = getenv(passed[i].from);
		if (value == NULL || snprintf(texts[used], sizeof texts[used], "%s=%s", passed[i].to, value) >= (int)sizeof texts[used])
			continue;
		envp[n++] = texts[used++];
	}
	envp[n] = NULL;
	execve(real_git, (char **)argv, (char **)envp);
	log_line("cannot start git: %s", strerror(errno));
	log_line("policy.yaml names it, and the libraries that it is linked with, under programs: git: {path: ..., mounts: [...]}");
	return SBX_CONFIG;
}

int main(int argc, char **argv)
{
	struct command command = {.count = 0};
	const char *name = argc > 1 ? argv[1] : "";
	int known = -1;

	log_set_name("sbx-git");
	if (strcmp(name, "submodule") == 0 && argc > 2 && strcmp(argv[2], "update") == 0)
		return submodules();
	if (strcmp(name, "clone") == 0)
		known = clone(argv + 2, &command);
	else if (strcmp(name, "checkout") == 0)
		known = checkout(argv + 2, &command);
	else if (strcmp(name, "ls-remote") == 0)
		known = ls_remote(argv + 2, &command);
	else if (strcmp(name, "version") == 0 && argc == 2)
		known = (add(&command, "version"), 0);
	if (strcmp(name, "-h") == 0 || strcmp(name, "--help") == 0) {
		fputs(usage, stdout);
		return 0;
	}
	if (known < 0) {
		fputs(usage, stderr);
		return refuse("this is nothing that a module needs: modules come over https, as git::https://HOST/PATH?ref=REF");
	}
	return run(&command);
}
