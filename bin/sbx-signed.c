/* sbx-signed: says whose signatures stand under a text. Stands in images with a trust file, where sbx-entry starts it: a static
 * program, for their root holds no library, and one of its own, so that the arithmetic of signatures is in no other image. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "io.h"
#include "log.h"
#include "signed_text.h"
#include "sshsig.h"
#include "sshsig_check.h"

static const char usage[] =
	"usage: sbx-signed ALLOWED_SIGNERS any|touched|verified <TEXT-AND-SIGNATURES\n"
	"A line for each signature: ok SIGNER, or no CODE.\n";

enum key { ANY_KEY, TOUCHED, VERIFIED };

static int parse_key(const char *word, enum key *key)
{
	static const char *const words[] = {"any", "touched", "verified"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(word, words[i]) == 0) {
			*key = (enum key)i;
			return 0;
		}
	return -1;
}

/* Those kinds of keys that sshsig leaves to ssh-keygen count nowhere where there is none. */
static int check(const char *signers, const struct signed_text *s, size_t i, enum key key, struct sshsig *sig,
		 struct sbx_error *err)
{
	auto_sshsig parsed = {0};

	if (sshsig_parse(s->signatures[i].armor, s->signatures[i].len, &parsed, err) < 0)
		return -1;
	if (!sshsig_is_native(parsed.key.kind))
		return sbx_fail(err, SBX_DENIED, "key_type_refused", "a key of this kind counts nowhere but at the desk");
	if (sshsig_verify(signers, s->signatures[i].armor, s->signatures[i].len, s->text, s->len, clock_seconds(),
			  key == VERIFIED ? SSHSIG_USER_VERIFIED : SSHSIG_USER_PRESENT, sig, err) < 0)
		return -1;
	return key == ANY_KEY || sig->security_key
		       ? 0
		       : sbx_fail(err, SBX_DENIED, "touch_required", "only security keys count here");
}

static int serve(const char *signers, enum key key, struct sbx_error *err)
{
	auto_free char *bytes = NULL;
	struct signed_text handed;
	size_t len;

	if (io_read_all(STDIN_FILENO, SIGNED_TEXT_MAX, &bytes, &len, err) < 0 ||
	    signed_text_decode(bytes, len, &handed, err) < 0)
		return -1;
	for (size_t i = 0; i < handed.count; i++) {
		struct sbx_error why = SBX_ERROR_INIT;
		auto_sshsig sig = {0};
		if (check(signers, &handed, i, key, &sig, &why) == 0)
			printf("ok %s\n", sig.signer);
		else
			printf("no %s\n", why.code);
	}
	return fflush(stdout) == 0 ? 0 : sbx_fail_errno(err, SBX_IO, "io_error", "cannot write");
}

int main(int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	enum key key;

	log_set_name("sbx-signed");
	signal(SIGPIPE, SIG_IGN);
	if (argc != 3 || parse_key(argv[2], &key) < 0) {
		fputs(usage, stderr);
		return SBX_USAGE;
	}
	if (serve(argv[1], key, &err) < 0)
		log_error(&err);
	return (int)err.class;
}
