/* One run of the door (design section 7): a process that takes a request line on stdin and gives one JSON object on
 * stdout, while its stderr tells people what happens. It runs in a session of its own, so that a client that kills our
 * process group does not kill an apply; closing its pipes tells it that the reader has gone. */
#ifndef SBX_MCP_DOOR_H
#define SBX_MCP_DOOR_H

#include <poll.h>
#include <stdint.h>

#include "buf.h"
#include "spawn.h"

struct mcp_door_command {
	const char *path; /* absolute */
	const char *const *argv;
	const char *const *envp; /* NULL: spawn.h's */
};

#define MCP_DOOR_LINE 1024 /* of a stderr line, the rest is dropped */
#define MCP_DOOR_CALL_ID 32

struct mcp_door {
	struct child child;
	int in, out, log; /* our ends; -1: closed */
	struct buf request;
	size_t sent;
	struct buf answer;
	int overflow; /* the answer was longer than LIMIT_CALL: not kept */
	char line[MCP_DOOR_LINE];
	size_t line_len;
	char last_line[MCP_DOOR_LINE];
	unsigned lines;			    /* complete ones so far */
	char call_id[MCP_DOOR_CALL_ID + 1]; /* once a line has said "call ID" */
	int status;			    /* exit status, as a shell says it */
	int64_t ended_at;		    /* -1: it runs */
};
#define MCP_DOOR_NONE                                                                                                  \
	{                                                                                                              \
		.child = CHILD_NONE, .in = -1, .out = -1, .log = -1, .ended_at = -1                                    \
	}

/* Start it with the request line WORD, or WORD and JSON (NULL: none). DOOR must be MCP_DOOR_NONE, and is again on
 * failure. */
int mcp_door_start(struct mcp_door *door, const struct mcp_door_command *command, const char *word,
		   const struct buf *json, struct sbx_error *err);

/* Ask it to cancel what runs; it still answers and ends by itself. */
void mcp_door_cancel(struct mcp_door *door);

/* What to poll for, always MCP_DOOR_FDS entries (fd -1 where there is nothing); and the work when poll has returned. */
#define MCP_DOOR_FDS 4
enum mcp_door_reading { MCP_DOOR_READ, MCP_DOOR_PAUSE }; /* pause: leave its answer in the pipe */
void mcp_door_poll(const struct mcp_door *door, enum mcp_door_reading reading, struct pollfd fds[MCP_DOOR_FDS]);
void mcp_door_work(struct mcp_door *door, const struct pollfd fds[MCP_DOOR_FDS], int64_t now);

/* 1 from a successful start until it is cleared. */
int mcp_door_there(const struct mcp_door *door);
/* 1 when it has ended and all it said was read (a process that it left behind may hold the pipe: that is not waited
 * for). */
int mcp_door_done(struct mcp_door *door, int64_t now);
/* When mcp_door_done may change without an event; -1: never. */
int64_t mcp_door_wakes(const struct mcp_door *door);

/* Close the pipes and forget it; a process that still runs is left to itself (mcp_door_kill: killed and reaped). */
void mcp_door_clear(struct mcp_door *door);
void mcp_door_kill(struct mcp_door *door);

#endif
