/* requestState of 2026-07-28: what a call has been answered so far, carried by the client until it repeats the call. It
 * comes back from wherever the client is (a gateway may stand between), so it is bound to the call and to a time, and
 * authenticated by a key of this account, which outlives the process: any server of the account can take the call up.
 * The key proves that and nothing else. */
#ifndef SBX_MCP_STATE_H
#define SBX_MCP_STATE_H

#include "mcp_ask.h"

/* Append the state of a call of TOOL with the parameters ASKED that has ANSWERS so far. HOME is the person's directory,
 * where the key is made at first use (.local/state/sbx-mcp.key, mode 0600); NULL, or one that cannot hold it:
 * "cannot_create" (73) or as io.h says. "too_large" (65) when it would be longer than MCP_STATE_MAX. */
int mcp_state_seal(const char *home, const char *tool, jv asked, const struct mcp_answers *answers, struct buf *out,
		   struct sbx_error *err);

/* Open STATE for the same call: ANSWERS (empty) is filled. "bad_state" (65) for anything that was not sealed by this
 * account for exactly this call, or more than an hour ago; what keeps the key from being read, as mcp_state_seal says.
 */
int mcp_state_open(const char *home, const char *tool, jv asked, const char *state, struct mcp_answers *answers,
		   struct sbx_error *err);

#endif
