/* What the door said of a call, as an MCP answer: everything in words for a model that sees the text alone, and the
 * same as structuredContent for a client that shows that instead (revisions from 2025-06-18 on). Files that the tool
 * shows are blocks of their own. Pure functions. */
#ifndef SBX_MCP_RESULT_H
#define SBX_MCP_RESULT_H

#include "mcp.h"
#include "mcp_reply.h"

/* The answer to tools/call: isError for everything that did not complete, error -32602 for a tool that the policy does
 * not know. */
int mcp_call_result(enum mcp_version version, const char *id, const struct mcp_reply *reply, struct buf *out,
		    struct sbx_error *err);

/* The answer to a call of MCP_RESULT_TOOL: the kept call as mcp_call_result has it, or why there is no result (yet). */
int mcp_kept_result(enum mcp_version version, const char *id, const struct mcp_reply *reply, struct buf *out,
		    struct sbx_error *err);

/* The same without a door's reply: refused here (WHY), or still running at this program's own deadline (CALL_ID and
 * LAST_LINE, what the door said last, may be ""). */
int mcp_call_refused(enum mcp_version version, const char *id, const char *tool, const struct sbx_error *why,
		     struct buf *out, struct sbx_error *err);
int mcp_call_running(enum mcp_version version, const char *id, const char *tool, const char *call_id,
		     const char *last_line, struct buf *out, struct sbx_error *err);

#endif
