/* The trust file (allowed_signers of ssh-keygen(1)), of which a small part is understood and
 * everything else refused by name: exact principals, namespaces="…", valid-after="…Z",
 * valid-before="…Z", and keys that count (sshsig_key.h). A line that two readers could take
 * differently is no ground for trust.
 *
 * And the file of revoked keys beside it. Taking a line out of the trust file ends what a key may
 * do; a key that is revoked stays refused also where a line comes back, or names another person. */
#ifndef SBX_SIGNERS_H
#define SBX_SIGNERS_H

#include <stdint.h>

#include "base.h"
#include "error.h"

/* A principal and its NUL. */
#define SIGNER_SIZE 65
/* Behind the name of the trust file: the revoked keys. */
#define SIGNERS_REVOKED_SUFFIX ".revoked"

/* 1 when TEXT is a principal that a trust file may have: 1 to SIGNER_SIZE - 1 letters, digits and @._+-. */
int signers_is_name(const char *text, size_t len);

/* Find the key KEY (public key blob) in the TEXT of a trust file, in a line that allows NAMESPACE
 * and is valid at NOW: NAME gets the first principal of the first such line. The whole text is
 * checked first: "signers_invalid" (78, with the line's number). The key is in no line:
 * "signer_unknown" (77); only in lines for other namespaces or times: "signer_not_valid" (77).
 * *LINE, owned by the caller, is a line that says no more than that NAME has this key: a trust file
 * for a second opinion. */
int signers_find(const char *text, size_t len, const unsigned char *key, size_t key_len,
		 const char *name_space, int64_t now, char name[SIGNER_SIZE], char **line,
		 struct sbx_error *err);

/* EACH signer of the TEXT of a trust file whose line allows NAME_SPACE and is valid at NOW, with its key; -1 from EACH
 * ends it. The text is checked like signers_find does. */
typedef int signers_each_fn(void *context, const char *name, const unsigned char *key, size_t key_len,
			    struct sbx_error *err);
int signers_each(const char *text, size_t len, const char *name_space, int64_t now, signers_each_fn *each,
		 void *context, struct sbx_error *err);

/* Whether KEY is none of those in the TEXT of a file of revoked keys: lines as in a public key file
 * (type, key, comment), empty lines, and comments with a #. 0; "signer_revoked" (77); anything else
 * in the file, wherever: "revoked_invalid" (78, with the line's number). */
int signers_check_revoked(const char *text, size_t len, const unsigned char *key, size_t key_len,
			  struct sbx_error *err);

#endif
