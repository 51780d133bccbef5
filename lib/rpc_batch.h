/* Responses to one JSON-RPC batch, sent together as one array when the last of them is there (JSON-RPC 2.0 section 6).
 */
#ifndef SBX_RPC_BATCH_H
#define SBX_RPC_BATCH_H

#include "rpc.h"

struct rpc_batch {
	unsigned waiting; /* messages whose outcome is still open, and one for whoever reads the batch */
	struct buf text;
};

/* A batch that its reader holds; NULL with "no_memory". It frees itself with the last rpc_batch_leave. */
struct rpc_batch *rpc_batch_new(struct sbx_error *err);
void rpc_batch_join(struct rpc_batch *batch);

/* Send TEXT to WRITER: as a line of its own when BATCH is NULL, else with the batch. One that would be too long a line
 * goes out in several. */
int rpc_deliver(struct rpc_writer *writer, struct rpc_batch *batch, const struct buf *text, struct sbx_error *err);

/* An outcome is settled, with or without a response. The last one sends what there is; with a NULL writer it is
 * dropped. BATCH may be NULL. */
int rpc_batch_leave(struct rpc_writer *writer, struct rpc_batch *batch, struct sbx_error *err);

#endif
