/* Times as people write them in options and settings: "500ms", "20s", "5m", "1h". */
#ifndef SBX_DURATION_H
#define SBX_DURATION_H

#include <stdint.h>

#include "limit.h"

/* The most that --wait takes, in every program: no approval can be had later. */
#define DURATION_WAIT_MAX_MS ((uint64_t)LIMIT_APPROVAL_S * 1000)

/* A whole number, without sign, space or leading zeros, and at once one of ms, s, m, h. -1 when TEXT is none, or means
 * more than MAX_MS; *MS is left alone then. */
int duration_parse_ms(const char *text, uint64_t max_ms, uint64_t *ms);

#endif
