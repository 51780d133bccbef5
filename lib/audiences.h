/* audiences: of a scope, for issuers that let the caller choose who may accept a token. */
#ifndef SBX_AUDIENCES_H
#define SBX_AUDIENCES_H

#include "json.h"

#define AUDIENCES_WANTED "a list of one to eight texts: who may accept the token"

/* The list of SETTINGS into *OUT, the caller's; jv_invalid() when there is none. -1 for anything but one to eight
 * visible texts of at most 256 bytes. */
int audiences_read(jv settings, jv *out);

#endif
