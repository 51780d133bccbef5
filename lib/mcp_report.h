/* The words of a call's outcome: what state it came to, why, what was found, what to do next. For a model that sees the
 * text alone. */
#ifndef SBX_MCP_REPORT_H
#define SBX_MCP_REPORT_H

#include "json.h"
#include "words.h"

/* What a call came to, from its members "result" and "error" (both may be invalid). */
enum mcp_state {
	MCP_COMPLETED,
	MCP_FAILED,
	MCP_TIMEOUT,
	MCP_CANCELLED,
	MCP_REFUSED,
	MCP_UNKNOWN,
	MCP_APPROVAL,
	MCP_DENIED,
	MCP_NOT_RUN,
};
enum mcp_state mcp_report_state(jv result, jv error);
const char *mcp_report_state_name(enum mcp_state state);

/* Everything but the output of the command. TOOL is the client's name for it, STATUS the door's. */
void mcp_report(struct words *w, const char *tool, enum mcp_state state, jv call, int status);

/* What the command printed, between marks with the word FENCE, which it cannot have guessed. */
void mcp_report_output(struct words *w, jv result, const char *fence);

#endif
