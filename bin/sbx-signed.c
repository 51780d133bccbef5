/* sbx-signed: says whose signatures stand under a text, or by which keys they were made. Stands in images with a trust
 * file, where sbx-entry starts it, and beside sbx-approve: a static program, for the root of an image holds no library,
 * and one of its own, so that the arithmetic of signatures is in no other program. */
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
	"usage: sbx-signed [ALLOWED_SIGNERS any|touched|verified] <TEXT-AND-SIGNATURES\n"
	"A line for each signature: ok SIGNER (without a trust file: ok SHA256-OF-THE-KEY), or no CODE.\n";

enum key { ANY_KEY, TOUCHED, VERIFIED };

struct options {
	const char *signers; /* NULL: whose key it is, is not asked */
	enum key key;
};

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

static int check_trust(const struct options *o, const struct signed_text *s, size_t i, struct sshsig *sig,
		       struct sbx_error *err)
{
	if (sshsig_verify(o->signers, s->signatures[i].armor, s->signatures[i].len, s->text, s->len, clock_seconds(),
			  o->key == VERIFIED ? SSHSIG_USER_VERIFIED : SSHSIG_USER_PRESENT, sshsig_check, sig, err) < 0)
		return -1;
	return o->key == ANY_KEY || sig->security_key
		       ? 0
		       : sbx_fail(err, SBX_DENIED, "touch_required", "only security keys count here");
}

/* SAYS becomes the word behind "ok". */
static int check(const struct options *o, const struct signed_text *s, size_t i, char says[SIGNER_SIZE],
		 struct sbx_error *err)
{
	auto_sshsig parsed = {0}, sig = {0};

	if (sshsig_parse(s->signatures[i].armor, s->signatures[i].len, &parsed, err) < 0)
		return -1;
	/* Those kinds of keys that sshsig leaves to ssh-keygen count nowhere where there is none. */
	if (!sshsig_key_is_native(parsed.key.kind))
		return sbx_fail(err, SBX_DENIED, "key_type_refused",
				"a key of this kind counts nowhere but at the desk");
	if (o->signers == NULL ? sshsig_check(&parsed, s->text, s->len, err) < 0 : check_trust(o, s, i, &sig, err) < 0)
		return -1;
	snprintf(says, SIGNER_SIZE, "%s", o->signers == NULL ? parsed.key_sha256 : sig.signer);
	return 0;
}

static int serve(const struct options *o, struct sbx_error *err)
{
	auto_free char *bytes = NULL;
	struct signed_text handed;
	size_t len;

	if (io_read_all(STDIN_FILENO, SIGNED_TEXT_MAX, &bytes, &len, err) < 0 ||
	    signed_text_decode(bytes, len, &handed, err) < 0)
		return -1;
	for (size_t i = 0; i < handed.count; i++) {
		struct sbx_error why = SBX_ERROR_INIT;
		char says[SIGNER_SIZE];
		if (check(o, &handed, i, says, &why) == 0)
			printf("ok %s\n", says);
		else
			printf("no %s\n", why.code);
	}
	return fflush(stdout) == 0 ? 0 : sbx_fail_errno(err, SBX_IO, "io_error", "cannot write");
}

int main(int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct options o = {.signers = argc == 3 ? argv[1] : NULL};

	log_set_name("sbx-signed");
	signal(SIGPIPE, SIG_IGN);
	if (argc != 1 && (argc != 3 || parse_key(argv[2], &o.key) < 0)) {
		fputs(usage, stderr);
		return SBX_USAGE;
	}
	if (serve(&o, &err) < 0)
		log_error(&err);
	return (int)err.class;
}
