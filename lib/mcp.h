/* The Model Context Protocol for a server of tools alone, as functions of one message: which revision it speaks, and
 * what is to be done. Revisions 2024-11-05 to 2025-11-25 ("legacy") open with initialize, and what that settled holds
 * for the process; 2026-07-28 ("modern") says everything in each request's _meta. Both may be spoken on one connection,
 * so the era is decided message by message (specification 2026-07-28, basic/versioning). */
#ifndef SBX_MCP_H
#define SBX_MCP_H

#include "rpc.h"

enum mcp_version { MCP_NONE, MCP_2024_11_05, MCP_2025_03_26, MCP_2025_06_18, MCP_2025_11_25, MCP_2026_07_28 };

/* A client's name for itself goes into the record; sbx-policy takes no longer one. */
#define MCP_CLIENT_MAX 256

/* The specification's own limit for the name of a tool. */
#define MCP_TOOL_MAX 128

/* The dispatcher's own tool: the kept result of a call. */
#define MCP_RESULT_TOOL "sbx_result"

/* What a client can be asked for while a call waits. */
#define MCP_CAN_FORM 1u	 /* elicitation: a form for the person */
#define MCP_CAN_ROOTS 2u /* roots/list */

/* All that is remembered between messages, and used for legacy ones only. */
struct mcp_session {
	enum mcp_version version; /* as initialize settled it; MCP_NONE before */
	unsigned can;
	char client[MCP_CLIENT_MAX + 1];
};

enum mcp_verb {
	MCP_SILENT, /* nothing to say or do */
	MCP_ANSWER, /* TEXT is the complete response */
	MCP_LIST,   /* answer ID with the list of tools */
	MCP_CALL,   /* TEXT is the request for the door; answer ID with its outcome */
	MCP_RESULT, /* TEXT is the id of a call or approval; answer ID with the result that is kept */
	MCP_CANCEL, /* the request ID is no longer wanted; never answer it */
	MCP_REPLY,  /* the client answers our request ID with REPLY */
};

struct mcp_step {
	enum mcp_verb verb;
	enum mcp_version version;
	char id[RPC_ID_SIZE];
	char token[RPC_ID_SIZE];     /* "": no progress is wanted */
	char tool[MCP_TOOL_MAX + 1]; /* MCP_CALL */
	unsigned can;		     /* MCP_CALL: MCP_CAN_… of whoever calls */
	jv reply;		     /* MCP_CALL: inputResponses; MCP_REPLY: the result; invalid when there is none */
	struct buf state;	     /* MCP_CALL: requestState; empty when there is none */
	struct buf text;
};
#define MCP_STEP_NONE                                                                                                  \
	{                                                                                                              \
		.verb = MCP_SILENT, .reply = jv_invalid()                                                              \
	}

/* Whether the message stands alone or in a batch, where initialize is not allowed. */
enum mcp_place { MCP_ALONE, MCP_IN_BATCH };

/* Decide on MESSAGE (borrowed, any kind of value). STEP must be MCP_STEP_NONE; mcp_step_clear frees it. -1 only when
 * out of memory. */
int mcp_decide(struct mcp_session *session, jv message, enum mcp_place place, struct mcp_step *step,
	       struct sbx_error *err);
void mcp_step_clear(struct mcp_step *step);
#define auto_mcp_step __attribute__((cleanup(mcp_step_clear))) struct mcp_step

/* The longest requestState (2026-07-28): a call's parameters and what binds them. */
#define MCP_STATE_MAX LIMIT_CALL
/* One that is none of ours: WHY becomes "bad_state" (65); -1. */
int mcp_bad_state(struct sbx_error *why);

/* The answer to a line that is no message (PROBLEM says why): without an id unless it can be salvaged. */
int mcp_refuse_line(const char *line, size_t len, const struct sbx_error *problem, struct buf *out,
		    struct sbx_error *err);

#endif
