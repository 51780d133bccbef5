/* The list of tools, kept as text: a client waits for it at its start, so that the door answers without starting anything when nothing changed since it was
 * made. It stands in the state directory, in cache/DIGEST of the policy's files (without signals/, on which no list depends), under the digest of the settings. */
#ifndef SBX_TOOL_LIST_H
#define SBX_TOOL_LIST_H

#include "buf.h"
#include "state.h"

/* Append to OUT the list that was kept for just what the settings file CONFIG and its policy directory hold now: 1; 0 when there is none, or anything is not
 * as it should be: who makes the list anew says what. */
int tool_list_find(const char *config, struct buf *out);

/* Keep the LEN bytes at LIST, made from settings and tools of these digests (struct config, struct policy_files). */
int tool_list_keep(const struct state *state, const char config_sha256[65], const char tools_sha256[65], const char *list, size_t len,
		   struct sbx_error *err);

#endif
