/* The dispatcher's loop: messages from a client, one run of the door for each call, answers in the order in which they
 * are ready. Nothing in it blocks but poll, so a slow call, a slow client or a slow door holds up nobody else. */
#ifndef SBX_MCP_SERVE_H
#define SBX_MCP_SERVE_H

#include "mcp_door.h"

struct mcp_serve {
	struct mcp_door_command door;
	int64_t deadline_ms; /* a call that takes longer is answered with "still running"; clients give up after 60 s */
	const char *home;    /* the person's directory, for the key of mcp_state.h; NULL when it is not known */
};

/* Serve until the client closes IN or stops reading OUT: its running calls are left to the door, which sees its reader
 * go. 0, or -1 with "io_error" (74) or "no_memory" (71). */
int mcp_serve(const struct mcp_serve *options, int in, int out, struct sbx_error *err);

#endif
