/* What a person types, and ssh-keygen. */
#include "person.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "digest.h"
#include "io.h"
#include "person_screen.h"
#include "sshsig.h"

#define KEYGEN "/usr/bin/ssh-keygen"
/* A PIN is typed, a passphrase, and a key touched. */
static const int64_t sign_ms = 5 * 60 * 1000;

void person_code(const char *text, size_t len, char code[PERSON_CODE_SIZE])
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
	unsigned char digest[DIGEST_SIZE];
	uint64_t bits = 0;

	digest_sha256(text, len, digest);
	/* 8 digits of 5 bits are 5 bytes. */
	for (int i = 0; i < 5; i++)
		bits = bits << 8 | digest[i];
	for (int i = 0; i < PERSON_CODE_SIZE - 1; i++)
		code[i] = digits[bits >> (35 - 5 * i) & 31];
	code[PERSON_CODE_SIZE - 1] = '\0';
}

/* 0 when exactly WANTED is typed. */
static int ask_for(const char *question, const char *wanted, struct sbx_error *err)
{
	char typed[1024] = "";

	printf("%s%s, anything else to leave it: ", question, wanted);
	fflush(stdout);
	if (fgets(typed, sizeof typed, stdin) != NULL)
		typed[strcspn(typed, "\n")] = '\0';
	return strcmp(typed, wanted) == 0
		       ? 0
		       : sbx_fail(err, SBX_COMMAND_FAILED, "not_signed", "nothing was signed");
}

int person_confirm(const char *text, size_t len, const char *lost, struct sbx_error *err)
{
	char code[PERSON_CODE_SIZE];

	if (!person_is_there())
		return 0;
	person_code(text, len, code);
	if (lost[0] != '\0' && ask_for("Data is lost. Type the address ", lost, err) < 0)
		return -1;
	return ask_for("To sign this text type ", code, err);
}

const char *person_home(const char *const *envp)
{
	for (; *envp != NULL; envp++)
		if (strncmp(*envp, "HOME=/", 6) == 0)
			return *envp + 5;
	return NULL;
}

/* A key of an agent is named by its public key, alone or as FILE.pub. */
static int is_key_file(const char *path)
{
	auto_free char *public = NULL;

	return access(path, F_OK) == 0 || (asprintf(&public, "%s.pub", path) > 0 && access(public, F_OK) == 0);
}

int person_choose_key(const char *named, const char *const *envp, char **key, struct sbx_error *err)
{
	static const char *const names[] = {"id_sbx", "id_ed25519_sk", "id_ecdsa_sk", "id_ed25519"};
	const char *home = person_home(envp);

	if (named != NULL) {
		*key = strdup(named);
		return is_key_file(named) ? 0 : sbx_fail(err, SBX_NO_INPUT, "no_key", "there is no key file %s", named);
	}
	for (size_t i = 0; home != NULL && i < ARRAY_LEN(names); i++) {
		char *path = NULL;
		if (asprintf(&path, "%s/.ssh/%s", home, names[i]) < 0)
			break;
		*key = path;
		if (access(path, R_OK) == 0)
			return 0;
		free(take_ptr(key));
	}
	sbx_fail(err, SBX_NO_INPUT, "no_key", "there is no key to sign with in ~/.ssh");
	return sbx_hint(err, "name one: --key FILE (make one: sbx-approve enrol NAME)");
}

static int write_file(const char *path, const char *text, size_t len, struct sbx_error *err)
{
	auto_fd fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot make a file to sign");
	return io_write_all(fd, text, len, err);
}

/* The text stands in a file, not on stdin: there a passphrase is asked for. */
static int sign_in(const char *dir, const char *text, size_t len, const char *key, const char *const *envp,
		   struct buf *signature, struct sbx_error *err)
{
	auto_free char *file = NULL, *armor_file = NULL, *armor = NULL;
	size_t armor_len;

	if (asprintf(&file, "%s/request", dir) < 0 || asprintf(&armor_file, "%s/request.sig", dir) < 0)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	const char *const argv[] = {"ssh-keygen", "-q", "-Y", "sign", "-n", SSHSIG_NAMESPACE, "-f", key, file, NULL};
	const struct spawn_fd fds[] = {{STDIN_FILENO, STDIN_FILENO}, {STDOUT_FILENO, STDERR_FILENO}};
	const struct spawn what = {.path = KEYGEN, .argv = argv, .envp = envp, .fds = fds, .fd_count = ARRAY_LEN(fds)};
	if (write_file(file, text, len, err) < 0 || person_run(&what, clock_mono_ms() + sign_ms, err) < 0 ||
	    io_read_file(AT_FDCWD, armor_file, SSHSIG_MAX, IO_TRUSTED, &armor, &armor_len, err) < 0)
		return -1;
	return buf_add(signature, armor, armor_len, err);
}

int person_sign(const char *text, size_t len, const char *key, const char *const *envp, struct buf *signature,
		struct sbx_error *err)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	char dir[] = "/tmp/sbx-sign-XXXXXX";
	sigset_t before;

	/* What was shown escaped is not what would be signed. */
	for (size_t i = 0; i < len; i++)
		if (!person_is_plain(text[i]))
			return sbx_fail(err, SBX_PROTOCOL, "unprintable",
					"the desk's text holds bytes that no review text has");
	person_hold_signals(&before);
	int done = -1;
	if (mkdtemp(dir) == NULL) {
		sbx_fail_errno(err, SBX_CANNOT_CREATE, "cannot_create", "cannot make a directory below /tmp");
	} else {
		done = sign_in(dir, text, len, key, envp, signature, err);
		io_remove_tree(AT_FDCWD, dir, &ignored);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return done;
}
