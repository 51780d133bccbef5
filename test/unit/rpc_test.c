/* Lines, messages, salvage, the writer, batches. */
#include "rpc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "rpc_batch.h"
#include "unit.h"

static int pipe_of(const char *text, size_t len)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	if (write(fds[1], text, len) != (ssize_t)len)
		return -1;
	close(fds[1]);
	return fds[0];
}

static void lines(void)
{
	static const char text[] = "one\n\n \t\r\ntwo\r\nthree \0x\nhalf";
	auto_fd fd = pipe_of(text, sizeof text - 1);
	struct rpc_reader reader = RPC_READER_INIT(fd);
	struct sbx_error err = SBX_ERROR_INIT;
	const char *line;
	size_t len;

	CHECK(rpc_next(&reader, &line, &len) == RPC_NONE);
	CHECK(rpc_fill(&reader, &err) == 1);
	CHECK(rpc_next(&reader, &line, &len) == RPC_LINE && len == 3);
	CHECK_STR(line, "one");
	CHECK(rpc_next(&reader, &line, &len) == RPC_LINE);
	CHECK_STR(line, "two\r");
	CHECK(rpc_next(&reader, &line, &len) == RPC_LINE && len == 8); /* a NUL stays inside its line */
	CHECK(rpc_next(&reader, &line, &len) == RPC_NONE);
	CHECK(rpc_fill(&reader, &err) == 0); /* the end: half a line is nobody's */
	CHECK(rpc_next(&reader, &line, &len) == RPC_NONE);
	rpc_reader_clear(&reader);
}

/* Feed SIZE bytes of one line, then a short one, and see what the reader made of it. */
static enum rpc_next feed_long(size_t size, size_t *kept)
{
	int fds[2];
	struct sbx_error err = SBX_ERROR_INIT;
	struct rpc_reader reader;
	static char block[RPC_BLOCK];
	enum rpc_next got = RPC_NONE;
	const char *line;
	size_t len = 0;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return RPC_NONE;
	reader = (struct rpc_reader)RPC_READER_INIT(fds[0]);
	memset(block, 'x', sizeof block);
	for (size_t sent = 0; sent < size; sent += sizeof block) {
		size_t n = size - sent < sizeof block ? size - sent : sizeof block;
		if (write(fds[1], block, n) != (ssize_t)n || rpc_fill(&reader, &err) != 1)
			return RPC_NONE;
		if (rpc_next(&reader, &line, &len) != RPC_NONE)
			return RPC_NONE;
	}
	*kept = reader.bytes.len;
	if (write(fds[1], "\nnext\n", 6) != 6 || rpc_fill(&reader, &err) != 1)
		return RPC_NONE;
	got = rpc_next(&reader, &line, &len);
	CHECK(rpc_next(&reader, &line, &len) == RPC_LINE);
	CHECK_STR(line, "next");
	rpc_reader_clear(&reader);
	close(fds[0]);
	close(fds[1]);
	return got;
}

static void long_lines(void)
{
	size_t kept = 0;

	CHECK(feed_long(LIMIT_RPC_LINE, &kept) == RPC_LINE);
	CHECK(feed_long(LIMIT_RPC_LINE + 1, &kept) == RPC_TOO_LONG);
	CHECK(feed_long((size_t)16 << 20, &kept) == RPC_TOO_LONG);
	CHECK(kept <= LIMIT_RPC_LINE + RPC_BLOCK);
}

static enum rpc_kind kind_of(const char *text, char id[RPC_ID_SIZE], enum rpc_code *code)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_jv message = jv_invalid();
	auto_rpc_message m = {.params = jv_invalid()};

	if (json_parse_foreign(text, strlen(text), RPC_MESSAGE_MAX, &message, &err) < 0) {
		printf("# %s\n", err.message);
		return (enum rpc_kind) - 1;
	}
	rpc_classify(message, &m);
	memcpy(id, m.id, RPC_ID_SIZE);
	*code = m.code;
	return m.kind;
}

static void kinds(void)
{
	static const struct {
		const char *text;
		enum rpc_kind kind;
		const char *id;
		int code;
	} cases[] = {
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}", RPC_REQUEST, "1", 0},
		{"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"m\",\"params\":{\"x\":1.5e3}}", RPC_REQUEST, "0", 0},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"a\\u2028\\\"\",\"method\":\"m\"}", RPC_REQUEST, "\"a\\u2028\\\"\"", 0},
		{"{\"jsonrpc\":\"2.0\",\"id\":-9007199254740991,\"method\":\"m\"}", RPC_REQUEST, "-9007199254740991",
		 0},
		{"{\"jsonrpc\":\"2.0\",\"method\":\"m\"}", RPC_NOTIFICATION, "", 0},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", RPC_RESPONSE, "1", 0},
		{"{\"jsonrpc\":\"2.0\",\"error\":{}}", RPC_RESPONSE, "", 0},
		{"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", RPC_INVALID, "", RPC_INVALID_REQUEST},
		{"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"m\"}", RPC_INVALID, "", RPC_INVALID_REQUEST},
		{"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}", RPC_INVALID, "", RPC_INVALID_REQUEST},
		{"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"m\"}", RPC_INVALID, "", RPC_INVALID_REQUEST},
		{"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"m\"}", RPC_INVALID, "", RPC_INVALID_REQUEST},
		{"{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,\"method\":\"m\"}", RPC_INVALID, "",
		 RPC_INVALID_REQUEST},
		{"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}", RPC_INVALID, "1", RPC_INVALID_REQUEST},
		{"{\"id\":1,\"method\":\"m\"}", RPC_INVALID, "1", RPC_INVALID_REQUEST},
		{"{\"jsonrpc\":\"2.0\",\"id\":1}", RPC_INVALID, "1", RPC_INVALID_REQUEST},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":2}", RPC_INVALID, "1", RPC_INVALID_REQUEST},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\u0000b\"}", RPC_INVALID, "1", RPC_INVALID_REQUEST},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[1]}", RPC_INVALID, "1",
		 RPC_INVALID_PARAMS},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":null}", RPC_INVALID, "1",
		 RPC_INVALID_PARAMS},
		{"[]", RPC_INVALID, "", RPC_INVALID_REQUEST},
		{"7", RPC_INVALID, "", RPC_INVALID_REQUEST},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char id[RPC_ID_SIZE];
		enum rpc_code code;
		printf("# %s\n", cases[i].text);
		CHECK(kind_of(cases[i].text, id, &code) == cases[i].kind);
		CHECK_STR(id, cases[i].id);
		CHECK((int)code == cases[i].code);
	}
}

static void long_id(void)
{
	char text[1024] = "", id[RPC_ID_SIZE];

	memset(text, 'x', sizeof text - 1);
	auto_jv fits = jv_string_sized(text, RPC_ID_SIZE - 3), too_long = jv_string_sized(text, RPC_ID_SIZE);
	CHECK(rpc_id_text(fits, id) == 0);
	CHECK(rpc_id_text(too_long, id) < 0);
	CHECK_STR(id, "");
}

static void salvage(void)
{
	static const struct {
		const char *text, *id; /* NULL: none */
	} cases[] = {
		{"{\"jsonrpc\":\"2.0\",\"params\":{\"x\":\"\\ud800\",\"id\":3},\"id\":7}", "7"},
		{"{\"id\" : \"a\\\"b\" ,\"params\":{\"id\":1}}", "\"a\\\"b\""},
		{"{\"id\":1,\"id\":2}", NULL},
		{"{\"id\":1", NULL},
		{"{\"id\":1}}", NULL},
		{"{\"id\":1} {\"id\":2}", NULL},
		{"[{\"id\":1}]", NULL},
		{"{\"params\":{\"id\":1}}", NULL},
		{"{\"id\":null}", NULL},
		{"{\"id\":1.5}", NULL},
		{"{\"x\":\"id\",\"id\":4}", "4"},
		{"{\"x\":\"\\\\\",\"id\":4}", "4"},
		{"{\"id\":\"", NULL},
		{"{\"id\":\"\\", NULL},
		{"{", NULL},
		{"", NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char id[RPC_ID_SIZE];
		printf("# %s\n", cases[i].text);
		int found = rpc_salvage_id(cases[i].text, strlen(cases[i].text), id) == 0;
		CHECK(found == (cases[i].id != NULL));
		CHECK_STR(id, cases[i].id ? cases[i].id : "");
	}
}

static void responses(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf out = BUF_INIT(1024);
	auto_jv data = json_set_int(jv_object(), "b", 2);

	data = json_set_str(take_jv(&data), "a", "\xe2\x80\xa8");
	static const char result[] = "{\"a\":\"\\u2028\",\"b\":2}";
	CHECK(rpc_write_result(&out, "5", result, strlen(result), &err) == 0);
	CHECK_STR(buf_str(&out), "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"a\":\"\\u2028\",\"b\":2}}");
	buf_reset(&out);
	CHECK(rpc_write_error(&out, "", RPC_PARSE_ERROR, "no \"json\"\n", jv_invalid(), &err) == 0);
	CHECK_STR(buf_str(&out),
		  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"no \\\"json\\\"\\n\"}}");
	buf_reset(&out);
	CHECK(rpc_write_error(&out, "\"x\"", -32022, "m", data, &err) == 0);
	CHECK_STR(buf_str(&out), "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-32022,\"message\":\"m\","
				 "\"data\":{\"a\":\"\\u2028\",\"b\":2}}}");
}

static int add_line(struct rpc_writer *writer, size_t size)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf line = BUF_INIT(size + 1);

	for (size_t i = 0; i < size; i++)
		buf_add(&line, "y", 1, &err);
	return rpc_put_line(writer, &line, &err);
}

static void slow_reader(void)
{
	static char got[1 << 16];
	struct sbx_error err = SBX_ERROR_INIT;
	size_t total = 0;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return;
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	struct rpc_writer writer = RPC_WRITER_INIT(fds[1]);
	CHECK(rpc_flush(&writer, &err) == 0);
	CHECK(add_line(&writer, (size_t)3 << 20) == 0);
	CHECK(rpc_writer_full(&writer));
	for (int i = 0; i < 100; i++)
		CHECK(rpc_flush(&writer, &err) == 0); /* the pipe is full: no error, nothing lost */
	while (rpc_waiting(&writer) > 0) {
		ssize_t n = read(fds[0], got, sizeof got);
		total += n > 0 ? (size_t)n : 0;
		for (int i = 0; i < 32; i++)
			rpc_flush(&writer, &err);
	}
	CHECK(!rpc_writer_full(&writer));
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	for (ssize_t n; (n = read(fds[0], got, sizeof got)) > 0;)
		total += (size_t)n;
	CHECK(total == ((size_t)3 << 20) + 1);
	close(fds[0]);
	CHECK(add_line(&writer, 10) == 0);
	CHECK(rpc_flush(&writer, &err) < 0);
	CHECK_STR(err.code, "io_error");
	rpc_writer_clear(&writer);
	close(fds[1]);
}

static void batches(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct rpc_writer writer = RPC_WRITER_INIT(-1);
	auto_buf text = BUF_INIT(64);
	struct rpc_batch *batch = rpc_batch_new(&err);

	buf_add_str(&text, "{}", &err);
	rpc_batch_join(batch);
	rpc_batch_join(batch);
	CHECK(rpc_deliver(&writer, batch, &text, &err) == 0);
	CHECK(rpc_batch_leave(&writer, batch, &err) == 0);
	CHECK(rpc_deliver(&writer, NULL, &text, &err) == 0);
	CHECK_STR(buf_str(&writer.pending), "{}\n");
	CHECK(rpc_batch_leave(&writer, batch, &err) == 0);
	CHECK(rpc_deliver(&writer, batch, &text, &err) == 0);
	CHECK(rpc_batch_leave(&writer, batch, &err) == 0);
	CHECK_STR(buf_str(&writer.pending), "{}\n[{},{}]\n");
	batch = rpc_batch_new(&err); /* notifications alone: no line at all */
	CHECK(rpc_batch_leave(&writer, batch, &err) == 0);
	CHECK_STR(buf_str(&writer.pending), "{}\n[{},{}]\n");
	rpc_writer_clear(&writer);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	lines();
	long_lines();
	kinds();
	long_id();
	salvage();
	responses();
	slow_reader();
	batches();
	return unit_done();
}
