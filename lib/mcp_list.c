/* From the door's list to a client's, value by value. */
#include "mcp_list.h"

#include <string.h>

#include "json.h"
#include "json_lex.h"
#include "json_out.h"
#include "mcp_result.h"

static const struct json_lex_limits list_limits = {
	.bytes = LIMIT_CALL, .depth = LIMIT_CALL_DEPTH, .string = LIMIT_CALL, .integers = JSON_INTEGERS_ONLY};

static const struct {
	const char *name;
	enum mcp_version since;
} members[] = {
	{"name", MCP_2024_11_05},	 {"description", MCP_2024_11_05}, {"inputSchema", MCP_2024_11_05},
	{"annotations", MCP_2025_03_26}, {"title", MCP_2025_06_18},	  {"outputSchema", MCP_2025_06_18},
	{"_meta", MCP_2025_06_18},	 {"icons", MCP_2025_11_25},
};

/* What structuredContent has in every case; the rest depends on what the call came to. */
static const char output_schema[] =
	",\"outputSchema\":{\"type\":\"object\",\"properties\":{\"state\":{\"type\":\"string\",\"enum\":[\"completed\",\"failed\","
	"\"timeout\",\"cancelled\",\"refused\",\"unknown\",\"approval_required\",\"denied\",\"not_run\",\"running\"]},"
	"\"summary\":{\"type\":\"string\"}},\"required\":[\"state\",\"summary\"]}";

static const char own_tool[] =
	"{\"name\":\"" MCP_RESULT_TOOL "\",\"title\":\"Fetch a kept result\",\"description\":\"The result of a call that was "
	"still running, or whose answer was missed, or what its approval waits for. Kept for 24 hours.\","
	"\"inputSchema\":{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\",\"pattern\":\"^[0-9a-f]{32}$\","
	"\"description\":\"The id of the call or of its approval\"}},\"required\":[\"id\"],\"additionalProperties\":false},"
	"\"annotations\":{\"readOnlyHint\":true,\"destructiveHint\":false,\"idempotentHint\":true,\"openWorldHint\":false}}";

/* A text that is being read. */
struct list {
	enum mcp_version version;
	const char *text;
	struct json_lex *lex;
};

/* 1 when a value can go on as it is: what json_write would escape, and white space between lines, is not in it. */
static int is_plain(const char *text, size_t len)
{
	unsigned char odd = 0;

	for (size_t i = 0; i < len; i++)
		odd |= (unsigned char)(text[i] - 0x20) > 0x5e;
	return !odd;
}

/* The value that the lexer passed over, written in FROM to its offset. */
static int add_value(const struct list *l, uint64_t from, struct buf *out, struct sbx_error *err)
{
	const char *text = l->text + from;
	size_t len = (size_t)(json_lex_offset(l->lex) - from);
	auto_buf copy = BUF_INIT(LIMIT_CALL);
	auto_jv value = jv_invalid();

	if (is_plain(text, len))
		return buf_add(out, text, len, err);
	if (buf_add(&copy, text, len, err) < 0 || json_parse(copy.data, copy.len, LIMIT_CALL, &value, err) < 0)
		return -1;
	return json_write(value, out, err);
}

static int is_known(const struct list *l, const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (strcmp(members[i].name, key) == 0)
			return l->version >= members[i].since;
	return 0;
}

/* What a tool must have to be called, and what a client is told about its results. */
struct has {
	int name, input, output;
};

/* The value behind KEY, which begins at FROM. */
static int read_value(const struct list *l, const char *key, uint64_t from, struct has *has, struct sbx_error *err)
{
	const char first = l->text[from + strspn(l->text + from, " \t\r\n")];
	const unsigned depth = json_lex_depth(l->lex);
	enum json_token token;
	const char *text;
	size_t len;

	has->output |= strcmp(key, "outputSchema") == 0;
	has->input |= strcmp(key, "inputSchema") == 0 && first == '{';
	if (strcmp(key, "name") != 0)
		return json_lex_skip_value(l->lex, err);
	if (json_lex_next(l->lex, &token, &text, &len, err) < 0)
		return -1;
	has->name = token == JSON_STRING && strlen(text) == len;
	return json_lex_skip_to(l->lex, depth, err);
}

/* The tool that was just opened; 1 when it is one that can be called. */
static int add_tool(const struct list *l, struct buf *out, struct sbx_error *err)
{
	struct has has = {.output = l->version < MCP_2025_06_18};
	enum json_token token;
	const char *text;
	size_t len;

	if (buf_add_str(out, "{", err) < 0)
		return -1;
	while (json_lex_next(l->lex, &token, &text, &len, err) == 0 && token == JSON_KEY) {
		const uint64_t from = json_lex_offset(l->lex);
		char key[sizeof "outputSchema"] = ""; /* none that is longer is known */
		if (len < sizeof key && strlen(text) == len)
			memcpy(key, text, len);
		const int known = is_known(l, key);
		if (read_value(l, key, from, &has, err) < 0)
			return -1;
		if (known && (json_out_key(out, key, err) < 0 || add_value(l, from, out, err) < 0))
			return -1;
	}
	if (err->class != SBX_OK || (!has.output && buf_add_str(out, output_schema, err) < 0) || buf_add_str(out, "}", err) < 0)
		return -1;
	return has.name && has.input;
}

/* The elements of the array that was just opened, each behind a comma. */
static int add_tools(const struct list *l, struct buf *out, struct sbx_error *err)
{
	const unsigned depth = json_lex_depth(l->lex);
	auto_buf tool = BUF_INIT(out->max);
	enum json_token token;
	const char *text;
	size_t len;

	for (;;) {
		buf_reset(&tool);
		if (json_lex_next(l->lex, &token, &text, &len, err) < 0)
			return -1;
		if (token == JSON_ARRAY_CLOSE && json_lex_depth(l->lex) < depth)
			return 0;
		int good = token == JSON_OBJECT_OPEN ? add_tool(l, &tool, err) : 0;
		if (good < 0 || json_lex_skip_to(l->lex, depth, err) < 0 ||
		    (good && (buf_add(out, tool.data, tool.len, err) < 0 || buf_add_str(out, ",", err) < 0)))
			return -1;
	}
}

/* 1 when the whole text was read and one member was a list. */
static int read_list(const struct list *l, struct buf *out, struct sbx_error *err)
{
	enum json_token token;
	const char *text;
	size_t len;
	int found = 0;

	if (json_lex_next(l->lex, &token, &text, &len, err) < 0 || token != JSON_OBJECT_OPEN)
		return 0;
	while (json_lex_next(l->lex, &token, &text, &len, err) == 0 && token == JSON_KEY) {
		const uint64_t from = json_lex_offset(l->lex);
		const int is_tools = len == 5 && memcmp(text, "tools", 5) == 0 && l->text[from + strspn(l->text + from, " \t\r\n")] == '[';
		if (!is_tools) {
			if (json_lex_skip_value(l->lex, err) < 0)
				return 0;
			continue;
		}
		if (json_lex_next(l->lex, &token, &text, &len, err) < 0 || add_tools(l, out, err) < 0)
			return 0;
		found = 1;
	}
	return found && err->class == SBX_OK && json_lex_next(l->lex, &token, &text, &len, err) == 0 && token == JSON_END;
}

int mcp_list_write(enum mcp_version version, const char *text, size_t len, struct buf *out, struct sbx_error *err)
{
	auto_json_lex *doors = json_lex_memory(text, len, &list_limits, err);
	auto_json_lex *ours = json_lex_memory(own_tool, sizeof own_tool - 1, &list_limits, err);
	const struct list list = {.version = version, .text = text, .lex = doors};
	const struct list own = {.version = version, .text = own_tool, .lex = ours};
	enum json_token token;
	const char *opened;
	size_t ignored;

	if (doors == NULL || ours == NULL || buf_add_str(out, "{\"tools\":[", err) < 0 || !read_list(&list, out, err))
		return -1;
	if (json_lex_next(ours, &token, &opened, &ignored, err) < 0 || add_tool(&own, out, err) < 0)
		return -1;
	return buf_add_str(out, "]}", err);
}
