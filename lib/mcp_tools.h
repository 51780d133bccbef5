/* The tools of the door's list as a client sees them, with the dispatcher's own beside them. */
#ifndef SBX_MCP_TOOLS_H
#define SBX_MCP_TOOLS_H

#include "mcp_result.h"

/* The answer to tools/list, with the members that the revision knows. A door that gives no list: an error with code
 * -32603. */
int mcp_list_result(enum mcp_version version, const char *id, const struct mcp_reply *reply, struct buf *out,
		    struct sbx_error *err);

/* The questions of every tool that has some: an object of arrays by tool; empty when the door gives no list. Each has
 * name, fields (each the text of a JSON object, on one line), required, and message or roots; what is malformed is left
 * out. */
jv mcp_list_asks(const struct mcp_reply *reply);

#endif
