/* What goes to the client, in the envelope that its revision asks for: JSON-RPC from rpc.h, and what MCP adds. All
 * append one message without a line feed to OUT; ID is the JSON text of the request's id. */
#ifndef SBX_MCP_WRITE_H
#define SBX_MCP_WRITE_H

#include "mcp.h"

/* Who we are: name and version. */
jv mcp_server_info(void);

/* A result; consumes RESULT, an object. A client may keep it for TTL_MS. */
#define MCP_TTL_NONE 0 /* it may not */
int mcp_write_result(enum mcp_version version, const char *id, jv result, int ttl_ms, struct buf *out,
		     struct sbx_error *err);
/* The same of an object that is JSON text already, LEN bytes. */
int mcp_write_result_text(enum mcp_version version, const char *id, const char *object, size_t len, int ttl_ms,
			  struct buf *out, struct sbx_error *err);

/* An InputRequiredResult of 2026-07-28 (basic/patterns/mrtr): REQUESTS is the JSON text of its inputRequests, STATE its
 * requestState. */
int mcp_write_input_required(const char *id, const char *requests, const char *state, struct buf *out,
			     struct sbx_error *err);

/* Error -32602 with what WHY says; its code is error.data.code. */
int mcp_write_invalid(const char *id, const struct sbx_error *why, struct buf *out, struct sbx_error *err);

/* notifications/progress number N (each larger than the last) for TOKEN; MESSAGE may hold any bytes. */
int mcp_write_progress(enum mcp_version version, const char *token, unsigned n, const char *message, struct buf *out,
		       struct sbx_error *err);

#endif
