/* What the door said, and what every reader of it needs: one object of ours, foreign text made visible. Pure functions.
 */
#ifndef SBX_MCP_REPLY_H
#define SBX_MCP_REPLY_H

#include "json.h"

/* One run of the door. sudo and ssh end with statuses of their own, so STATUS counts only beside an object of ours. */
struct mcp_reply {
	const char *tool; /* as the client named it; NULL for a list */
	const char *text; /* its stdout, a NUL behind it; NULL when it was too long to keep */
	size_t len;
	int status;	       /* exit status; 128 + n for signal n */
	const char *last_line; /* of its stderr, "" if none */
	const char *fence;     /* fresh random word in the marks around foreign output, so that it cannot end them */
};

/* *OBJECT (the caller's) is the reply as one object, or invalid; a sentence that says what is wrong, or NULL. */
const char *mcp_reply_parse(const struct mcp_reply *reply, jv *object);

/* Copy member KEY of FROM (any kind) to TO under NAME; consumes TO. */
jv mcp_copy(jv to, const char *name, jv from, const char *key);

/* Consumes VALUE; the same with every string made visible as words_show does. */
jv mcp_visible(jv value);

/* Append the JSON text BYTES (LEN of them, a NUL behind) without white space, every string in it made visible, every
 * number as it stands. -1 with a "json_*" code when it is no JSON value that could be passed on. */
int mcp_compact(const char *bytes, size_t len, struct buf *out, struct sbx_error *err);

#endif
