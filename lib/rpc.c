/* JSON-RPC 2.0 as lines. */
#include "rpc.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "json_out.h"

/* Enough for a burst of answers; beyond it the client is not reading. */
static const size_t full_mark = (size_t)1 << 20;

static void drop_used(struct rpc_reader *reader)
{
	struct buf *b = &reader->bytes;

	if (reader->used == 0)
		return;
	memmove(b->data, b->data + reader->used, b->len - reader->used);
	b->len -= reader->used;
	b->data[b->len] = '\0';
	reader->used = 0;
	if (b->len == 0 && b->cap > 4 * RPC_BLOCK)
		buf_clear(b); /* one long line must not stay in memory */
}

int rpc_fill(struct rpc_reader *reader, struct sbx_error *err)
{
	char block[RPC_BLOCK];
	ssize_t n;

	drop_used(reader);
	do
		n = read(reader->fd, block, sizeof block);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return 1;
	if (n < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read from the client");
	if (n == 0)
		return 0;
	return buf_add(&reader->bytes, block, (size_t)n, err) < 0 ? -1 : 1;
}

static int is_blank(const char *text, size_t len)
{
	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t' || text[len - 1] == '\r'))
		len--;
	return len == 0;
}

/* No newline yet: go on waiting, or give the line up. */
static void bound_line(struct rpc_reader *reader)
{
	reader->scanned = reader->bytes.len - reader->used;
	if (!reader->draining && reader->scanned <= LIMIT_RPC_LINE)
		return;
	reader->draining = 1;
	reader->used = reader->bytes.len;
	reader->scanned = 0;
}

enum rpc_next rpc_next(struct rpc_reader *reader, const char **line, size_t *len)
{
	for (;;) {
		if (reader->bytes.len == reader->used)
			return RPC_NONE;
		char *start = reader->bytes.data + reader->used, *from = start + reader->scanned;
		char *end = memchr(from, '\n', reader->bytes.len - reader->used - reader->scanned);
		if (end == NULL) {
			bound_line(reader);
			return RPC_NONE;
		}
		*end = '\0';
		*line = start;
		*len = (size_t)(end - start);
		reader->used += *len + 1;
		reader->scanned = 0;
		if (reader->draining || *len > LIMIT_RPC_LINE) {
			reader->draining = 0;
			return RPC_TOO_LONG;
		}
		if (!is_blank(start, *len))
			return RPC_LINE;
	}
}

void rpc_reader_clear(struct rpc_reader *reader)
{
	buf_clear(&reader->bytes);
}

int rpc_id_text(jv id, char out[RPC_ID_SIZE])
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_buf text = BUF_INIT(RPC_ID_SIZE - 1);
	jv_kind kind = jv_get_kind(id);

	out[0] = '\0';
	if ((kind != JV_KIND_STRING && kind != JV_KIND_NUMBER) || json_write(id, &text, &ignored) < 0)
		return -1;
	memcpy(out, buf_str(&text), text.len + 1);
	return 0;
}

static void invalid(struct rpc_message *out, enum rpc_code code, const char *problem)
{
	out->kind = RPC_INVALID;
	out->code = code;
	out->problem = problem;
}

void rpc_classify(jv message, struct rpc_message *out)
{
	*out = (struct rpc_message){.kind = RPC_INVALID, .params = jv_invalid()};
	if (jv_get_kind(message) != JV_KIND_OBJECT) {
		invalid(out, RPC_INVALID_REQUEST, "Invalid Request: a message is one object");
		return;
	}
	auto_jv id = json_get(message, "id");
	int has_id = jv_is_valid(id);
	int bad_id = has_id && rpc_id_text(id, out->id) < 0;
	const char *version = json_str(message, "jsonrpc");

	out->method = json_str(message, "method");
	if (!json_has(message, "method") && (json_has(message, "result") || json_has(message, "error")))
		out->kind = RPC_RESPONSE;
	else if (bad_id)
		invalid(out, RPC_INVALID_REQUEST,
			"Invalid Request: id must be a short string or an integer within 2^53-1");
	else if (version == NULL || strcmp(version, "2.0") != 0)
		invalid(out, RPC_INVALID_REQUEST, "Invalid Request: jsonrpc must be \"2.0\"");
	else if (out->method == NULL)
		invalid(out, RPC_INVALID_REQUEST, "Invalid Request: method must be a string");
	else if (json_has(message, "params") && jv_is_valid(out->params = json_object(message, "params")) == 0)
		invalid(out, RPC_INVALID_PARAMS, "Invalid params: params must be an object");
	else
		out->kind = has_id ? RPC_REQUEST : RPC_NOTIFICATION;
	if (!jv_is_valid(out->params))
		out->params = jv_object();
}

void rpc_message_clear(struct rpc_message *message)
{
	jv_free(message->params);
	message->params = jv_invalid();
}

/* Behind the opening quote at TEXT[i]: the place behind the closing one, or LEN. */
static size_t skip_string(const char *text, size_t len, size_t i)
{
	for (i++; i < len && text[i] != '"'; i++)
		if (text[i] == '\\')
			i++;
	return i < len ? i + 1 : len;
}

static size_t skip_blank(const char *text, size_t len, size_t i)
{
	while (i < len && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r'))
		i++;
	return i;
}

/* The string or number that starts at TEXT[i], as an id. */
static int read_id(const char *text, size_t len, size_t i, char out[RPC_ID_SIZE])
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	char copy[RPC_ID_SIZE];
	size_t end = i;

	if (i < len && text[i] == '"')
		end = skip_string(text, len, i);
	else
		while (end < len && (text[end] == '-' || isdigit((unsigned char)text[end])))
			end++;
	size_t after = skip_blank(text, len, end);
	if (end == i || end - i >= sizeof copy || after >= len || (text[after] != ',' && text[after] != '}'))
		return -1;
	memcpy(copy, text + i, end - i);
	copy[end - i] = '\0';
	auto_jv id = jv_invalid();
	if (json_parse(copy, end - i, sizeof copy, &id, &ignored) < 0)
		return -1;
	return rpc_id_text(id, out);
}

int rpc_salvage_id(const char *text, size_t len, char out[RPC_ID_SIZE])
{
	size_t i = skip_blank(text, len, 0);
	int depth = 0, found = 0;

	out[0] = '\0';
	if (i >= len || text[i] != '{')
		return -1;
	while (i < len) {
		char c = text[i];
		if (c == '"') {
			size_t end = skip_string(text, len, i), colon = skip_blank(text, len, end);
			int is_key = depth == 1 && colon < len && text[colon] == ':';
			/* Written with an escape it may be the id all the same. */
			if (is_key && memchr(text + i, '\\', end - i) != NULL)
				goto doubtful;
			int is_id = is_key && end - i == 4 && memcmp(text + i, "\"id\"", 4) == 0;
			if (is_id && (found++ || read_id(text, len, skip_blank(text, len, colon + 1), out) < 0))
				goto doubtful;
			i = end;
			continue;
		}
		depth += (c == '{' || c == '[') - (c == '}' || c == ']');
		i++;
		if (depth == 0)
			break;
	}
	if (depth == 0 && found && skip_blank(text, len, i) == len)
		return 0;
doubtful:
	out[0] = '\0';
	return -1;
}

static int open_response(struct buf *out, const char *id, struct sbx_error *err)
{
	if (id[0] == '\0')
		return buf_add_str(out, "{\"jsonrpc\":\"2.0\"", err);
	return buf_addf(out, err, "{\"jsonrpc\":\"2.0\",\"id\":%s", id);
}

int rpc_write_result(struct buf *out, const char *id, const char *result, size_t len, struct sbx_error *err)
{
	if (open_response(out, id, err) < 0 || buf_add_str(out, ",\"result\":", err) < 0 ||
	    buf_add(out, result, len, err) < 0)
		return -1;
	return buf_add_str(out, "}", err);
}

int rpc_write_error(struct buf *out, const char *id, int code, const char *message, jv data, struct sbx_error *err)
{
	if (open_response(out, id, err) < 0 || buf_addf(out, err, ",\"error\":{\"code\":%d", code) < 0 ||
	    json_out_member(out, "message", message, err) < 0)
		return -1;
	if (jv_is_valid(data) && (json_out_key(out, "data", err) < 0 || json_write(data, out, err) < 0))
		return -1;
	return buf_add_str(out, "}}", err);
}

int rpc_write_request(struct buf *out, const char *id, const char *method, const char *params, struct sbx_error *err)
{
	if (buf_add_str(out, "{\"jsonrpc\":\"2.0\"", err) < 0 ||
	    (id != NULL && buf_addf(out, err, ",\"id\":%s", id) < 0) || json_out_member(out, "method", method, err) < 0)
		return -1;
	return buf_addf(out, err, ",\"params\":%s}", params);
}

int rpc_put_line(struct rpc_writer *writer, const struct buf *line, struct sbx_error *err)
{
	if (buf_add(&writer->pending, buf_str(line), line->len, err) < 0)
		return -1;
	return buf_add(&writer->pending, "\n", 1, err);
}

int rpc_flush(struct rpc_writer *writer, struct sbx_error *err)
{
	size_t left = rpc_waiting(writer);

	if (left == 0)
		return 0;
	ssize_t n = write(writer->fd, writer->pending.data + writer->sent, left < PIPE_BUF ? left : PIPE_BUF);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR
			       ? 0
			       : sbx_fail_errno(err, SBX_IO, "io_error", "cannot write to the client");
	writer->sent += (size_t)n;
	left = rpc_waiting(writer);
	if (left == 0 && writer->pending.cap > full_mark / 16) {
		buf_clear(&writer->pending);
		writer->sent = 0;
	} else if (left == 0 || writer->sent > full_mark) {
		memmove(writer->pending.data, writer->pending.data + writer->sent, left);
		writer->pending.len = left;
		writer->sent = 0;
	}
	return 0;
}

size_t rpc_waiting(const struct rpc_writer *writer)
{
	return writer->pending.len - writer->sent;
}

int rpc_writer_full(const struct rpc_writer *writer)
{
	return rpc_waiting(writer) > full_mark;
}

void rpc_writer_clear(struct rpc_writer *writer)
{
	buf_clear(&writer->pending);
}
