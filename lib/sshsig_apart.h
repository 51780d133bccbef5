/* The arithmetic of SSH signatures, by a process of its own: the few programs that decide by signatures hold keys and
 * databases, and start thousands of times for each signature that they see. */
#ifndef SBX_SSHSIG_APART_H
#define SBX_SSHSIG_APART_H

#include "sshsig.h"

/* As sshsig_check, by the program sbx-signed of this installation, which gets SIG's armor and TEXT on its stdin and
 * nothing else. Any other answer than the two of sshsig_check, and none within ten seconds, is "crypto_failed" (71);
 * also "missing_helper" (78) and those of spawn. TEXT is a review text: longer than LIMIT_REVIEW_TEXT, or with a NUL in
 * it, is "crypto_failed" too. Takes 2 ms. */
sshsig_check_fn sshsig_check_apart;

#endif
