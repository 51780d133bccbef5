/* Names of the environment that no policy and no step table may give to a program. */
#ifndef SBX_ENV_NAME_H
#define SBX_ENV_NAME_H

#include <stddef.h>

/* 1 for a name (LEN bytes) that makes a program load, start or log something else than what the policy says: no
 * credential and no fixed setting needs one. */
int env_name_is_forbidden(const char *name, size_t len);

#endif
