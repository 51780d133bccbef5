/* What a JSON Web Token (RFC 7519) that somebody else signed says of itself. */
#ifndef SBX_JWT_CLAIMS_H
#define SBX_JWT_CLAIMS_H

#include "json.h"
#include "secret.h"

/* The claims of TOKEN into *CLAIMS, an object, the caller's; without the signature, which is not looked at, they are no
 * secret. Only for a token that comes straight from who made it. -1 and no error: it is no JWT (three parts of RFC
 * 7515, at most 16 KiB of claims). */
int jwt_claims_read(const struct secret *token, jv *claims);

#endif
