/* The revocation list of the jwt provider: a file for each revoked token, named by its jti, that holds the time at
 * which the token expires. */
#ifndef SBX_JWT_REVOKED_H
#define SBX_JWT_REVOKED_H

#include <stdint.h>

#include "base.h"
#include "error.h"

/* Revoke JTI (32 hex digits) until EXP (seconds since the epoch); on disk when 0 is returned. Again: 0. Also drops
 * entries whose token has expired long ago. Errors: those of io_create_file. */
int jwt_revoke(int dirfd, const char *jti, int64_t exp, struct sbx_error *err);

/* 1: revoked, 0: not, -1: it cannot be known ("io_error"), which no caller may take for "not". */
int jwt_is_revoked(int dirfd, const char *jti, struct sbx_error *err);

#endif
