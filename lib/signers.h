/* The trust file (allowed_signers of ssh-keygen(1)), of which a small part is understood and everything else refused by
 * name: exact principals, namespaces="…", valid-after="…Z", valid-before="…Z". A line that two readers could take
 * differently is no ground for trust. */
#ifndef SBX_SIGNERS_H
#define SBX_SIGNERS_H

#include <stdint.h>

#include "base.h"
#include "error.h"

#define SIGNER_SIZE 65

/* Find the key KEY (public key blob) in the TEXT of a trust file, in a line that allows NAMESPACE and is valid at NOW:
 * NAME gets the first principal of the first such line. The whole text is checked first: "signers_invalid" (78, with
 * the line's number). The key is in no line: "signer_unknown" (77); only in lines for other namespaces or times:
 * "signer_not_valid" (77). *LINE, owned by the caller, is a line that says no more than that NAME has this key: a trust
 * file for a second opinion. */
int signers_find(const char *text, size_t len, const unsigned char *key, size_t key_len, const char *name_space,
		 int64_t now, char name[SIGNER_SIZE], char **line, struct sbx_error *err);

/* Standard base64 (RFC 4648, padded, nothing else in it) of LEN bytes; *OUT is owned by the caller, -1 for anything
 * else. */
int signers_base64(const char *text, size_t len, unsigned char **out, size_t *out_len);

#endif
