/* The two sealed memory files that go to sbx-run: the rendered credentials for the sandbox, the bare secrets for the
 * scrubber. */
#ifndef SBX_CREDENTIAL_SEAL_H
#define SBX_CREDENTIAL_SEAL_H

#include "credential.h"

/* Render every one of LEASES (all issued). *CREDENTIALS_FD: for each a 4-byte index, a 4-byte length, the bytes of its
 * file. *SECRETS_FD: for each secret field a 4-byte length and its bytes. Numbers are big-endian; both descriptors are
 * the caller's. Errors: those of credential_render. */
int credential_seal(const struct leases *leases, int *credentials_fd, int *secrets_fd, struct sbx_error *err);

#endif
