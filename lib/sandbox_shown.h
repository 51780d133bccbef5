/* Produced files that a tool shows to its client (show: in its file): scrubbed, and small enough to stand in the call.
 */
#ifndef SBX_SANDBOX_SHOWN_H
#define SBX_SANDBOX_SHOWN_H

#include "sandbox.h"

/* Artefact NAME is whole in FD (SIZE bytes). If the run shows it, an entry is appended to the outcome's "shown": {name,
 * media, encoding: utf-8 | base64, data}, or {name, media, omitted: true} for one that is too large or cannot be read
 * or scrubbed. */
void shown_take(const struct sandbox_job *job, struct sandbox_outcome *outcome, const char *name, int fd,
		uint64_t size);

#endif
