/* The arithmetic of SSH signatures, by libcrypto. */
#ifndef SBX_SSHSIG_CHECK_H
#define SBX_SSHSIG_CHECK_H

#include "sshsig.h"

/* Verify the parsed SIG, of a native kind, over TEXT. Says nothing of who the key is or what its
 * flags mean. "signature_invalid" (77: also for a point that is not on the curve), "crypto_failed"
 * (71: libcrypto cannot work). */
sshsig_check_fn sshsig_check;

#endif
