/* What sbx-approve does for a person at a terminal: show the text, ask for its code, and have ssh-keygen sign it. Runs
 * in the person's own account and holds no authority: whatever it shows or signs, the desk judges. */
#ifndef SBX_PERSON_H
#define SBX_PERSON_H

#include "buf.h"
#include "start.h"

/* 1 when both stdin and stdout are a terminal. */
int person_is_there(void);

/* Print TEXT on stdout, every byte that is neither printable ASCII nor a line feed as \xNN: the desk may be another
 * machine's, and what it says must not move the cursor. On a terminal, lines that are longer than a row go on further
 * in, so that nothing but the beginning of a line begins a row. person_show uses a pager when a person is there; ENVP is the
 * person's (started.person), for the pager alone. */
int person_print(const char *text, size_t len, struct sbx_error *err);
int person_show(const char *text, size_t len, const char *const *envp, struct sbx_error *err);

/* When a person is there: ask for the name LOST of an object that holds data and is destroyed (""
 * for none), and for the short code of TEXT, which is the first 8 digits in base32 (RFC 4648) of
 * its SHA-256: a security key shows nothing of what it signs, and a key press too many signs
 * nothing. 0 when both were typed, or nobody is there to type; else "not_signed" (1). */
int person_confirm(const char *text, size_t len, const char *lost, struct sbx_error *err);

/* That code. */
#define PERSON_CODE_SIZE 9
void person_code(const char *text, size_t len, char code[PERSON_CODE_SIZE]);

/* *KEY (the caller's, also on error) is the file to sign with: NAMED, a private key file or the public key of one in an
 * agent; NULL: the first of ~/.ssh/id_sbx, id_ed25519_sk, id_ecdsa_sk, id_ed25519 that is there. "no_key" (66). */
int person_choose_key(const char *named, const char *const *envp, char **key, struct sbx_error *err);

/* Have ssh-keygen sign TEXT with KEY, with a person's ENVP, in a directory of its own that is removed again. The armor
 * goes to SIGNATURE. Text that is not printable ASCII is not signed: "unprintable" (76). "not_signed" (1: ssh-keygen
 * failed). */
int person_sign(const char *text, size_t len, const char *key, const char *const *envp, struct buf *signature,
		struct sbx_error *err);

/* The home directory in ENVP; NULL when there is none. */
const char *person_home(const char *const *envp);

/* What a person types. */
struct person_words {
	char **words;
	int count;
	const char *key;    /* --key; NULL */
	const char *reason; /* --reason; NULL */
};

/* 0 when the words (count > 0) and options are a command: list, show ID, sign ID [--key],
 * deny ID [REASON... | --reason REASON], resolve ID, export ID DIR, verify PATH,
 * enrol NAME [--key]; else "usage" (64), which says what they lack. Then do it: through the desk that the settings name (by default the
 * sbx-approve beside this program), as the person of STARTED; verify and enrol need no desk. What
 * is done is said on stderr, texts and lists go to stdout. */
int person_check(const struct person_words *said, struct sbx_error *err);
int person_command(const struct started *started, const struct person_words *said,
		   struct sbx_error *err);

#endif
