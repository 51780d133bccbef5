/* The arithmetic of SSH signatures, by libcrypto. */
#ifndef SBX_SSHSIG_CHECK_H
#define SBX_SSHSIG_CHECK_H

#include "sshsig.h"

/* Whether sshsig_check can judge keys of KIND; the others are ssh-keygen's. */
int sshsig_is_native(enum sshsig_key_kind kind);

/* Verify the parsed SIG, of a native kind, over TEXT. Says nothing of who the key is or what its
 * flags mean. "signature_invalid" (77: also for a point that is not on the curve), "crypto_failed"
 * (71: libcrypto cannot work). */
int sshsig_check(const struct sshsig *sig, const void *text, size_t len, struct sbx_error *err);

#endif
