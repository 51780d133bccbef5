/* The requests that a door works on: each is accepted, gets a run of the door when there is room, and is answered once,
 * or never when it was cancelled. Lists that wait at the same time share one run. Answers go to the writer in the order
 * in which they are ready. */
#ifndef SBX_MCP_QUEUE_H
#define SBX_MCP_QUEUE_H

#include "mcp.h"
#include "mcp_door.h"
#include "rpc_batch.h"

/* With those that were answered or cancelled and are still ending. */
#define MCP_QUEUE_DOORS 80
/* Accepted and not answered; more is refused, so that memory has a bound. */
#define MCP_QUEUE_REQUESTS 256
#define MCP_QUEUE_FDS (MCP_QUEUE_DOORS * MCP_DOOR_FDS)

struct mcp_request;

/* Zeroed but for the first four. */
struct mcp_queue {
	const struct mcp_door_command *door;
	int64_t deadline_ms; /* of a call */
	struct rpc_writer *writer;
	const char *home; /* where a key for questions is kept (mcp_state.h); NULL: nowhere */
	jv asks;	  /* questions by tool; invalid: not known yet */
	int64_t asks_until;
	int wants_asks;	     /* a call waits for them */
	size_t calls_limit;  /* at once, as the door has turned out to take; 0: not known yet */
	unsigned calls_good; /* since it last took no more */
	unsigned questions;  /* put so far */
	struct mcp_request *requests[MCP_QUEUE_REQUESTS + MCP_QUEUE_DOORS]; /* in order of arrival */
	size_t count;
};

/* All return 0, or -1 when the writer or memory has no room; NOW is clock_mono_ms. */

/* Accept STEP (MCP_LIST, MCP_CALL or MCP_RESULT; what it holds is taken) as part of BATCH, or alone. A full queue is an
 * answer too. */
int mcp_queue_add(struct mcp_queue *q, struct mcp_step *step, struct rpc_batch *batch, int64_t now,
		  struct sbx_error *err);
/* 1 when an unanswered request has this id. */
int mcp_queue_has(const struct mcp_queue *q, const char *id);
/* Stop it, and never say anything about it again; an unknown id is none of ours. */
int mcp_queue_cancel(struct mcp_queue *q, const char *id, struct sbx_error *err);
/* The client's answer to request ID of ours (RESULT is borrowed; invalid for an error). */
int mcp_queue_reply(struct mcp_queue *q, const char *id, jv result, struct sbx_error *err);

/* Start what may start. */
int mcp_queue_start(struct mcp_queue *q, int64_t now, struct sbx_error *err);
/* What to poll for (at most MCP_QUEUE_FDS entries; their number is returned), and the work afterwards, with the same
 * entries. */
size_t mcp_queue_poll(const struct mcp_queue *q, struct pollfd *fds);
void mcp_queue_work(struct mcp_queue *q, const struct pollfd *fds, int64_t now);
/* Ends, deadlines, progress. mcp_queue_wakes: when it must be called although nothing happens; -1: never. */
int mcp_queue_tick(struct mcp_queue *q, int64_t now, struct sbx_error *err);
int64_t mcp_queue_wakes(const struct mcp_queue *q);

/* The client has closed its end: calls lose their reader at once (the door decides what that means), lists may end.
 * mcp_queue_clear drops those as well. */
void mcp_queue_hang_up(struct mcp_queue *q);
void mcp_queue_clear(struct mcp_queue *q);

#endif
