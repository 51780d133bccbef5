/* The settings that an MCP client needs to start this server: one JSON object, in the form that the client's file has.
 */
#ifndef SBX_CLIENT_CONFIG_H
#define SBX_CLIENT_CONFIG_H

#include "buf.h"

/* Where a client keeps it, for people ("~/.cursor/mcp.json"); NULL for a client that is not known. */
const char *client_config_place(const char *client);

/* The names of the known ones, for a message. */
#define CLIENT_CONFIG_NAMES "claude-desktop, cursor, claude-code, vscode"

/* Write the snippet for CLIENT: the command ARGV (NULL at the end, argv[0] absolute), with HOST through ssh (NULL: this
 * machine). An unknown CLIENT, or a HOST that ssh or the shell behind it could take for something else: "usage" (64).
 */
int client_config_write(const char *client, const char *host, const char *const *argv, struct buf *out,
			struct sbx_error *err);

#endif
