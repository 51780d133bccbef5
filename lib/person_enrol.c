/* A security key for approvals, and its line in the trust file. */
#include "person_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base64.h"
#include "clock.h"
#include "io.h"
#include "person.h"
#include "signers.h"
#include "spawn.h"
#include "sshsig.h"

#define KEYGEN "/usr/bin/ssh-keygen"
/* A PIN is typed and a key touched, perhaps after the key was looked for. */
static const int64_t make_ms = 5 * 60 * 1000;
static const size_t public_max = 16 << 10;

static int make_key(const char *name, const char *file, const char *const *envp,
		    struct sbx_error *err)
{
	const char *const argv[] = {"ssh-keygen",
				    "-t",
				    "ed25519-sk",
				    "-O",
				    "application=ssh:sbx-approve",
				    "-O",
				    "verify-required",
				    "-C",
				    name,
				    "-f",
				    file,
				    NULL};
	const struct spawn_fd fds[] = {{STDIN_FILENO, STDIN_FILENO},
				       {STDOUT_FILENO, STDERR_FILENO}};
	const struct spawn what = {
		.path = KEYGEN, .argv = argv, .envp = envp, .fds = fds, .fd_count = ARRAY_LEN(fds)};
	auto_child child = CHILD_NONE;
	int status;

	if (spawn_start(&what, &child, err) < 0)
		return -1;
	if (spawn_wait(&child, clock_mono_ms() + make_ms, &status) == 1 &&
	    spawn_exit_code(status) == 0)
		return 0;
	sbx_fail(err, SBX_COMMAND_FAILED, "not_enrolled", "ssh-keygen made no security key");
	return sbx_hint(err, "plug in a FIDO2 key that has a PIN, and try again");
}

static int wrong_key(const char *why, struct sbx_error *err)
{
	sbx_fail(err, SBX_BAD_REQUEST, "not_security_key", "the public key %s", why);
	return sbx_hint(err, "name another file with --key, or none, and a new key is made");
}

/* TEXT is a public key file: type, base64, comment. */
static int print_line(const char *name, char *text, struct sbx_error *err)
{
	auto_free unsigned char *blob = NULL;
	struct sshsig_key key;
	size_t len;
	const char *type = strsep(&text, " "), *base64 = strsep(&text, " \n");

	if (type == NULL || base64 == NULL ||
	    base64_read(base64, strlen(base64), &blob, &len) < 0 ||
	    sshsig_key_read(blob, len, &key) != SSHSIG_KEY_GOOD || strcmp(type, key.type) != 0)
		return wrong_key("cannot be read", err);
	if (!sshsig_key_is_hardware(key.kind))
		return wrong_key("is that of a key file, which programs can use", err);
	if (sshsig_key_counts(&key) != SSHSIG_KEY_GOOD)
		return wrong_key("has an application that does not begin with ssh:", err);
	printf("%s namespaces=\"" SSHSIG_NAMESPACE "\" %s %s\n", name, type, base64);
	return fflush(stdout) == 0
		       ? 0
		       : sbx_fail(err, SBX_IO, "io_error", "cannot write to standard output");
}

/* ~/.ssh/id_sbx, and the directory, which a new account has not. */
static char *default_file(const char *home, struct sbx_error *err)
{
	auto_free char *dir = NULL;
	char *file = NULL;

	if (home == NULL) {
		sbx_fail(err, SBX_NO_INPUT, "no_key", "there is no home directory");
	} else if (asprintf(&dir, "%s/.ssh", home) < 0 || asprintf(&file, "%s/id_sbx", dir) < 0) {
		file = NULL;
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	} else {
		(void)mkdir(dir, 0700); /* where it cannot be made ssh-keygen says so */
	}
	return file;
}

int person_enrol(const char *name, const char *file, const char *const *envp, struct sbx_error *err)
{
	auto_free char *chosen = NULL, *public = NULL, *text = NULL;
	size_t len;

	/* It is an argument of ssh-keygen too. */
	if (name[0] == '-' || !signers_is_name(name, strlen(name)))
		return sbx_fail(err, SBX_USAGE, "bad_name",
				"the name of the person is no principal of a trust file");
	if (file == NULL && (file = chosen = default_file(person_home(envp), err)) == NULL)
		return -1;
	if (asprintf(&public, "%s.pub", file) < 0)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (access(public, F_OK) != 0 && make_key(name, file, envp, err) < 0)
		return -1;
	if (io_read_file(AT_FDCWD, public, public_max, 0, &text, &len, err) < 0)
		return -1;
	return print_line(name, text, err);
}
