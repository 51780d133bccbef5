/* What the door said, as an MCP answer: everything in words for a model that sees the text alone, and the same as
 * structuredContent for a client that shows that instead (revisions from 2025-06-18 on). Pure functions. */
#ifndef SBX_MCP_RESULT_H
#define SBX_MCP_RESULT_H

#include "mcp.h"

/* One run of the door. sudo and ssh end with statuses of their own, so STATUS counts only beside an object of ours. */
struct mcp_reply {
	const char *tool; /* as the client named it; NULL for a list */
	const char *text; /* its stdout, a NUL behind it; NULL when it was too long to keep */
	size_t len;
	int status;	       /* exit status; 128 + n for signal n */
	const char *last_line; /* of its stderr, "" if none */
	const char
		*fence; /* fresh random word in the marks around foreign output, so that the output cannot end them */
};

/* The answer to tools/list, with the members that the revision knows. A door that gives no list: an error with code
 * -32603. */
int mcp_list_result(enum mcp_version version, const char *id, const struct mcp_reply *reply, struct buf *out,
		    struct sbx_error *err);

/* The answer to tools/call: isError for everything that did not complete, error -32602 for a tool that the policy does
 * not know. */
int mcp_call_result(enum mcp_version version, const char *id, const struct mcp_reply *reply, struct buf *out,
		    struct sbx_error *err);

/* The same without a door's reply: refused here (WHY), or still running at this program's own deadline (CALL_ID may be
 * ""). */
int mcp_call_refused(enum mcp_version version, const char *id, const char *tool, const struct sbx_error *why,
		     struct buf *out, struct sbx_error *err);
int mcp_call_running(enum mcp_version version, const char *id, const char *tool, const char *call_id, struct buf *out,
		     struct sbx_error *err);

#endif
