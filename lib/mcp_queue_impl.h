/* Inside of the queue: one request while it lasts, and its questions to the client. */
#ifndef SBX_MCP_QUEUE_IMPL_H
#define SBX_MCP_QUEUE_IMPL_H

#include "mcp_ask.h"
#include "mcp_queue.h"
#include "mcp_reply.h"

enum mcp_wants { WANTS_LIST, WANTS_CALL, WANTS_RESULT };
enum mcp_stage {
	QUEUED,
	ASKING, /* the client has a question of ours */
	RUNNING,
	UNWANTED, /* answered or cancelled; its door has yet to end */
};

#define MCP_ASK_ID_SIZE 32

/* What a call may still have to ask, and what it was answered. */
struct mcp_asking {
	unsigned can;	  /* of the client; 0: nothing is asked, or all of it was */
	jv responses;	  /* what came with the call (2026-07-28), or invalid */
	struct buf state; /* likewise */
	int begun;	  /* the next three are filled */
	jv asked;	  /* parameters as they came */
	struct mcp_answers answers;
	jv question;			   /* that is open; invalid for none */
	char question_id[MCP_ASK_ID_SIZE]; /* the JSON text of our request's id */
};

struct mcp_request {
	enum mcp_wants wants;
	enum mcp_stage stage;
	enum mcp_version version;
	char id[RPC_ID_SIZE], token[RPC_ID_SIZE], tool[MCP_TOOL_MAX + 1]; /* id "": asked for by the queue itself */
	struct rpc_batch *batch;
	struct buf json; /* for the door; kept until it is answered, since the door may have to be asked again */
	struct mcp_asking asking;
	struct mcp_door door;
	int64_t deadline;
	int64_t not_before; /* the door is not asked again earlier; 0: now */
	unsigned crowded;   /* how often there was no room behind it */
	unsigned progress;  /* notifications so far */
	unsigned told;	    /* lines of the door that were told */
	int64_t progress_at;
};

/* --- mcp_queue_end.c --- */

/* Send TEXT as the answer of R; when it could not be written (WROTE -1, WHY), an error instead: a request is never left
 * without one. */
int mcp_queue_answer(struct mcp_queue *q, struct mcp_request *r, int wrote, struct buf *text,
		     const struct sbx_error *why, struct sbx_error *err);
/* No answer is owed to R any more; it is forgotten when its door has ended too. */
int mcp_queue_settle(struct mcp_queue *q, struct mcp_request *r, struct sbx_error *err);
/* The door of R has ended: its answer, for everyone who waits for the same. */
int mcp_queue_finish(struct mcp_queue *q, struct mcp_request *r, int64_t now, struct sbx_error *err);
/* The same when its door has given a whole list and not ended yet. Who lists gives nobody any right, so its exit status
 * is not waited for; an error object is, and so is the end of a call. */
int mcp_queue_early(struct mcp_queue *q, struct mcp_request *r, int64_t now, struct sbx_error *err);
/* Answer R, which has no door that could, with WHY. */
int mcp_queue_give_up(struct mcp_queue *q, struct mcp_request *r, const struct sbx_error *why, int64_t now,
		      struct sbx_error *err);
/* How many calls may be at the door at once, and whether R is one of them. */
size_t mcp_queue_limit(const struct mcp_queue *q);
int mcp_queue_counts(const struct mcp_request *r);
/* Its deadline has come. */
int mcp_queue_overdue(struct mcp_queue *q, struct mcp_request *r, int64_t now, struct sbx_error *err);
void mcp_queue_too_many(struct sbx_error *why);

/* --- mcp_queue_ask.c --- */

void mcp_asking_clear(struct mcp_asking *asking);

/* What R, a queued call, may do now: go to the door, wait (for the list of questions, or for the client), or nothing
 * more, since it was answered. */
enum mcp_may { MAY_START, MUST_WAIT, WAS_ANSWERED };
int mcp_queue_ask(struct mcp_queue *q, struct mcp_request *r, enum mcp_may *may, int64_t now, struct sbx_error *err);

/* The door has listed its tools. */
void mcp_queue_learn(struct mcp_queue *q, const struct mcp_reply *reply, int64_t now);

/* R waits no longer for its question: the client is told. */
int mcp_queue_withdraw(struct mcp_queue *q, struct mcp_request *r, struct sbx_error *err);

#endif
