/* The list of tools as a client's revision knows it, made from the door's text as it stands: a list of a hundred tools is larger than all else that the
 * dispatcher starts with, and none of it is looked at but the names of its members. */
#ifndef SBX_MCP_LIST_H
#define SBX_MCP_LIST_H

#include "mcp.h"

/* Append to OUT the object of tools/list: what the array "tools" of the object TEXT (LEN bytes, a NUL behind; read under the limits of json_parse) holds, each
 * with the members that VERSION knows, and behind them the dispatcher's own tool. An entry without a name or without a schema is left out. -1 when TEXT is no
 * object with such an array ("json_*", or no error at all), or OUT has no room ("too_large"); what was appended then is the caller's to take back. */
int mcp_list_write(enum mcp_version version, const char *text, size_t len, struct buf *out, struct sbx_error *err);

#endif
