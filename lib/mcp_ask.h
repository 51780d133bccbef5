/* Questions that a tool's file lets the client put to its person (ask: in sbx-policy(5)): which of them a call leaves
 * open, how each revision asks it, and what the answer makes of the call's parameters. An answer is the client's claim,
 * like every parameter; it is no approval. Pure functions. */
#ifndef SBX_MCP_ASK_H
#define SBX_MCP_ASK_H

#include "mcp.h"

/* A call's parameters, and the names of the questions that were answered (an object). Both are owned. */
struct mcp_answers {
	jv params, done;
};
#define MCP_ANSWERS_NONE                                                                                               \
	{                                                                                                              \
		.params = jv_invalid(), .done = jv_invalid()                                                           \
	}
void mcp_answers_clear(struct mcp_answers *answers);

/* The first question of ASKS (as the door lists them; may be invalid) that has to be asked: a parameter of it is not
 * given, it was not answered, and the client CAN show it. Invalid when there is none. */
jv mcp_ask_next(jv asks, const struct mcp_answers *answers, unsigned can);

/* Its method, and the JSON text of its parameters ("elicitation/create" of 2025-06-18 and later, "roots/list"). */
const char *mcp_ask_method(jv ask);
int mcp_ask_params(enum mcp_version version, jv ask, struct buf *out, struct sbx_error *err);

/* Take RESPONSE (the client's result, any kind of value) as the answer to ASK. ANSWERS changes only with MCP_TAKEN. */
enum mcp_taken {
	MCP_TAKEN,
	MCP_DECLINED,  /* the person declined, or closed the form */
	MCP_MALFORMED, /* it is no answer to such a question, or holds a value longer than LIMIT_PARAMETER */
};
enum mcp_taken mcp_ask_take(jv ask, jv response, struct mcp_answers *answers);

#endif
