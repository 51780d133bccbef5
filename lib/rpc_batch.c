/* Batches of responses. */
#include "rpc_batch.h"

struct rpc_batch *rpc_batch_new(struct sbx_error *err)
{
	struct rpc_batch *batch = calloc(1, sizeof *batch);

	if (batch == NULL) {
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
		return NULL;
	}
	*batch = (struct rpc_batch){.waiting = 1, .text = BUF_INIT(2 * LIMIT_RPC_LINE)};
	return batch;
}

void rpc_batch_join(struct rpc_batch *batch)
{
	if (batch != NULL)
		batch->waiting++;
}

static int send(struct rpc_writer *writer, struct rpc_batch *batch, struct sbx_error *err)
{
	if (batch->text.len == 0)
		return 0;
	if (buf_add(&batch->text, "]", 1, err) < 0 || rpc_put_line(writer, &batch->text, err) < 0)
		return -1;
	buf_clear(&batch->text);
	return 0;
}

int rpc_deliver(struct rpc_writer *writer, struct rpc_batch *batch, const struct buf *text, struct sbx_error *err)
{
	if (batch == NULL)
		return rpc_put_line(writer, text, err);
	if (batch->text.len + text->len > LIMIT_RPC_LINE && send(writer, batch, err) < 0)
		return -1;
	if (buf_add(&batch->text, batch->text.len == 0 ? "[" : ",", 1, err) < 0)
		return -1;
	return buf_add(&batch->text, buf_str(text), text->len, err);
}

int rpc_batch_leave(struct rpc_writer *writer, struct rpc_batch *batch, struct sbx_error *err)
{
	if (batch == NULL || --batch->waiting > 0)
		return 0;
	int result = writer != NULL ? send(writer, batch, err) : 0;
	buf_clear(&batch->text);
	free(batch);
	return result;
}
