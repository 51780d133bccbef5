/* JSON-RPC 2.0 messages as lines, as MCP's stdio transport has them: reading with a bound, telling what a message is,
 * and writing whole lines to a reader that may be slow. Nothing here knows a method. */
#ifndef SBX_RPC_H
#define SBX_RPC_H

#include "buf.h"
#include "json.h"

/* Error codes of JSON-RPC 2.0 section 5.1. */
enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
};

/* The most that is parsed: a call and its envelope. libjq needs some 50 times as much memory, so a longer line is only
 * kept to find its id. */
#define RPC_MESSAGE_MAX (LIMIT_CALL + ((size_t)64 << 10))
/* An id or a progress token as JSON text; clients count, or use a UUID. */
#define RPC_ID_SIZE 320

/* Lines from FD. A line longer than LIMIT_RPC_LINE is dropped up to its end, in bounded memory. */
struct rpc_reader {
	int fd; /* borrowed */
	struct buf bytes;
	size_t used;	/* handed out already */
	size_t scanned; /* behind USED and without a newline */
	int draining;	/* inside a line that is too long */
};
#define RPC_READER_INIT(descriptor)                                                                                    \
	{                                                                                                              \
		.fd = (descriptor), .bytes = BUF_INIT(LIMIT_RPC_LINE + 2 * RPC_BLOCK)                                  \
	}
#define RPC_BLOCK ((size_t)32 << 10)

/* One read(2). 1: there may be lines now, 0: end of input (an unfinished line is nobody's message), -1: "io_error". */
int rpc_fill(struct rpc_reader *reader, struct sbx_error *err);

/* The next line without its newline, a NUL behind it, valid until the next call of either function. RPC_TOO_LONG stands
 * once for a line that was dropped. Empty lines are skipped. */
enum rpc_next { RPC_NONE, RPC_LINE, RPC_TOO_LONG };
enum rpc_next rpc_next(struct rpc_reader *reader, const char **line, size_t *len);
void rpc_reader_clear(struct rpc_reader *reader);

/* What a message is. A request with a fault is RPC_INVALID, with the code and the sentence for its answer; ID is ""
 * when the answer can name none. METHOD is borrowed from the message, PARAMS is owned: an object, empty when there is
 * none. */
enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE, RPC_INVALID };
struct rpc_message {
	enum rpc_kind kind;
	char id[RPC_ID_SIZE];
	const char *method;
	jv params;
	enum rpc_code code;
	const char *problem;
};
void rpc_classify(jv message, struct rpc_message *out);
void rpc_message_clear(struct rpc_message *message);
#define auto_rpc_message __attribute__((cleanup(rpc_message_clear))) struct rpc_message

/* The JSON text of an id or token: a string, or an integer within LIMIT_INTEGER (what every reader agrees on). -1 for
 * anything else. */
int rpc_id_text(jv id, char out[RPC_ID_SIZE]);

/* The id of a request that the strict reader refused (a lone surrogate, too deep, too long), so that its sender need
 * not wait for ever: the one "id" at the top of a text whose brackets balance. -1 when that is in doubt. */
int rpc_salvage_id(const char *text, size_t len, char out[RPC_ID_SIZE]);

/* A complete response. ID "" leaves it out (not null: MCP allows none). RESULT is JSON text of LEN bytes; DATA is
 * borrowed, and left out when it is invalid. */
int rpc_write_result(struct buf *out, const char *id, const char *result, size_t len, struct sbx_error *err);
int rpc_write_error(struct buf *out, const char *id, int code, const char *message, jv data, struct sbx_error *err);
/* A request of ours, or with a NULL ID a notification: ID and PARAMS are JSON texts. */
int rpc_write_request(struct buf *out, const char *id, const char *method, const char *params, struct sbx_error *err);

/* Lines to FD, kept until the reader takes them. */
struct rpc_writer {
	int fd; /* borrowed */
	struct buf pending;
	size_t sent;
};
/* Most that may wait; rpc_writer_full says long before it that no new work should be taken. */
#define RPC_PENDING_MAX ((size_t)64 << 20)
#define RPC_WRITER_INIT(descriptor)                                                                                    \
	{                                                                                                              \
		.fd = (descriptor), .pending = BUF_INIT(RPC_PENDING_MAX)                                               \
	}

int rpc_put_line(struct rpc_writer *writer, const struct buf *line, struct sbx_error *err);
/* One write(2), after poll has said POLLOUT; never more than such a descriptor takes at once, since it may be a
 * blocking one that others share. -1: the reader has gone ("io_error"). */
int rpc_flush(struct rpc_writer *writer, struct sbx_error *err);
size_t rpc_waiting(const struct rpc_writer *writer);
int rpc_writer_full(const struct rpc_writer *writer);
void rpc_writer_clear(struct rpc_writer *writer);

#endif
