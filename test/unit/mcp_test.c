/* What each message asks for in each era, and what the door's words become. */
#include "mcp.h"

#include "mcp_ask.h"
#include "mcp_result.h"
#include "mcp_tools.h"
#include "mcp_write.h"
#include "unit.h"

#define META                                                                                                           \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"             \
	"clientCapabilities\":{}}"

static jv parse(const char *text)
{
	struct sbx_error err = SBX_ERROR_INIT;
	jv value;

	if (json_parse_foreign(text, strlen(text), RPC_MESSAGE_MAX, &value, &err) < 0)
		printf("# %s: %s\n", err.message, text);
	return value;
}

/* The verb for TEXT; the answer or request in OUT. */
static enum mcp_verb decide(struct mcp_session *session, const char *text, enum mcp_place place, struct mcp_step *step)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_jv message = parse(text);

	mcp_step_clear(step);
	CHECK(mcp_decide(session, message, place, step, &err) == 0);
	return step->verb;
}

/* The error code in an answer; 0 for a result, 1 for none. */
static int64_t code_of(const struct mcp_step *step)
{
	int64_t code = 0;

	if (step->verb != MCP_ANSWER)
		return 1;
	auto_jv answer = parse(buf_str(&step->text)), error = json_object(answer, "error");
	json_int(error, "code", &code);
	return code;
}

static jv result_of(const struct mcp_step *step)
{
	auto_jv answer = parse(buf_str(&step->text));

	return json_object(answer, "result");
}

static void open_session(struct mcp_session *session, const char *version)
{
	auto_mcp_step step = MCP_STEP_NONE;
	char text[512];

	*session = (struct mcp_session){.version = MCP_NONE};
	snprintf(text, sizeof text,
		 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\","
		 "\"capabilities\":{},"
		 "\"clientInfo\":{\"name\":\"unit\",\"version\":\"3\"}}}",
		 version);
	decide(session, text, MCP_ALONE, &step);
}

static void versions(void)
{
	static const struct {
		const char *asked, *got;
	} cases[] = {
		{"2024-11-05", "2024-11-05"}, {"2025-03-26", "2025-03-26"}, {"2025-06-18", "2025-06-18"},
		{"2025-11-25", "2025-11-25"}, {"2026-07-28", "2025-11-25"}, {"2024-10-07", "2025-11-25"},
		{"", "2025-11-25"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct mcp_session session = {.version = MCP_NONE};
		auto_mcp_step step = MCP_STEP_NONE;
		char text[256];
		snprintf(text, sizeof text,
			 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%"
			 "s\"}}",
			 cases[i].asked);
		CHECK(decide(&session, text, MCP_ALONE, &step) == MCP_ANSWER);
		auto_jv result = result_of(&step);
		CHECK_STR(json_str(result, "protocolVersion"), cases[i].got);
		CHECK(!json_has(result, "resultType") && !json_has(result, "_meta"));
		auto_jv capabilities = json_object(result, "capabilities");
		CHECK(json_length(capabilities) == 1 && json_has(capabilities, "tools"));
	}
}

static void before_any_session(void)
{
	static const struct {
		const char *text;
		enum mcp_verb verb;
		int64_t code;
	} cases[] = {
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", MCP_ANSWER, 0},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", MCP_ANSWER, -32602},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"what/ever\"}", MCP_ANSWER, -32602},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}", MCP_ANSWER, -32602},
		{"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", MCP_SILENT, 1},
		{"{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"x\"}}", MCP_SILENT, 1},
		{"{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}", MCP_REPLY, 1},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct mcp_session session = {.version = MCP_NONE};
		auto_mcp_step step = MCP_STEP_NONE;
		printf("# %s\n", cases[i].text);
		CHECK(decide(&session, cases[i].text, MCP_ALONE, &step) == cases[i].verb);
		CHECK(code_of(&step) == cases[i].code);
	}
}

/* The same in a session of 2025-11-25 and on a fresh process: a modern message uses nothing that was remembered. */
static void modern(void)
{
	static const struct {
		const char *method, *params;
		enum mcp_verb verb;
		int64_t code;
	} cases[] = {
		{"server/discover", META, MCP_ANSWER, 0},
		{"tools/list", META, MCP_LIST, 1},
		{"tools/list", META ",\"cursor\":\"x\"", MCP_ANSWER, -32602},
		{"tools/call", META ",\"name\":\"t\",\"arguments\":{}", MCP_CALL, 1},
		{"tools/call", META ",\"name\":\"t\",\"requestState\":\"x\"", MCP_CALL, 1},
		{"tools/call", META ",\"name\":\"t\",\"requestState\":7", MCP_ANSWER, -32602},
		{"tools/call", META ",\"name\":\"t\",\"inputResponses\":null", MCP_ANSWER, -32602},
		{"tools/call", META ",\"name\":\"sbx_result\",\"arguments\":{\"id\":\"0123456789abcdef0123456789abcdef\"}",
		 MCP_RESULT, 1},
		{"tools/call", META ",\"name\":7", MCP_ANSWER, -32602},
		{"tools/call", META ",\"name\":\"t\",\"arguments\":[]", MCP_ANSWER, -32602},
		{"initialize", META ",\"protocolVersion\":\"2025-11-25\"", MCP_ANSWER, -32601},
		{"ping", META, MCP_ANSWER, -32601},
		{"logging/setLevel", META ",\"level\":\"info\"", MCP_ANSWER, -32601},
		{"resources/list", META, MCP_ANSWER, -32601},
		{"subscriptions/listen", META, MCP_ANSWER, -32601},
		{"tools/list", "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}", MCP_ANSWER,
		 -32602},
		{"tools/list",
		 "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"
		 "clientCapabilities\":1}",
		 MCP_ANSWER, -32602},
		{"tools/list",
		 "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":7,\"io.modelcontextprotocol/"
		 "clientCapabilities\":{}}",
		 MCP_ANSWER, -32602},
		{"tools/list",
		 "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"1900-01-01\",\"io.modelcontextprotocol/"
		 "clientCapabilities\":{}}",
		 MCP_ANSWER, -32022},
		{"tools/list", "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2025-11-25\"}", MCP_ANSWER,
		 -32022},
		{"tools/list", "\"_meta\":7", MCP_ANSWER, -32602},
	};

	for (size_t round = 0; round < 2; round++)
		for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
			struct mcp_session session = {.version = MCP_NONE};
			auto_mcp_step step = MCP_STEP_NONE;
			char text[1024];
			if (round == 1)
				open_session(&session, "2025-11-25");
			snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s}}",
				 cases[i].method, cases[i].params);
			printf("# %s\n", text);
			CHECK(decide(&session, text, MCP_ALONE, &step) == cases[i].verb);
			CHECK(code_of(&step) == cases[i].code);
			CHECK(strstr(buf_str(&step.text), "unit") == NULL); /* the legacy client's name */
		}
}

static void modern_results(void)
{
	struct mcp_session session = {.version = MCP_NONE};
	auto_mcp_step step = MCP_STEP_NONE;

	decide(&session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META "}}",
	       MCP_ALONE, &step);
	auto_jv result = result_of(&step), versions = json_array(result, "supportedVersions"),
		first = json_at(versions, 0);
	auto_jv meta = json_object(result, "_meta"), info = json_object(meta, "io.modelcontextprotocol/serverInfo");
	int64_t ttl = -1;

	CHECK_STR(json_str(result, "resultType"), "complete");
	CHECK(json_length(versions) == 1);
	CHECK_STR(json_text(first), "2026-07-28");
	CHECK_STR(json_str(info, "name"), "sbx-mcp");
	CHECK(json_int(result, "ttlMs", &ttl) == 0 && ttl >= 0);
	CHECK_STR(json_str(result, "cacheScope"), "private");
	CHECK(strlen(json_str(result, "instructions")) < 2000);
	CHECK(session.version == MCP_NONE);
	decide(&session,
	       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/"
	       "protocolVersion\":\"1900-01-01\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
	       MCP_ALONE, &step);
	CHECK(strstr(buf_str(&step.text), "\"data\":{\"requested\":\"1900-01-01\",\"supported\":[\"2026-07-28\"]}") !=
	      NULL);
}

static void legacy(void)
{
	struct mcp_session session;
	auto_mcp_step step = MCP_STEP_NONE;

	open_session(&session, "2025-03-26");
	CHECK(decide(&session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", MCP_IN_BATCH, &step) ==
	      MCP_LIST);
	CHECK(step.version == MCP_2025_03_26);
	CHECK(decide(&session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}", MCP_IN_BATCH,
		     &step) == MCP_ANSWER);
	CHECK(code_of(&step) == -32600);
	decide(&session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}", MCP_ALONE, &step);
	CHECK(code_of(&step) == -32601);
	decide(&session, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}", MCP_ALONE, &step);
	CHECK(code_of(&step) == -32601);
	decide(&session,
	       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"info\"}}",
	       MCP_ALONE, &step);
	CHECK(code_of(&step) == -32601);
	CHECK(decide(&session,
		     "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"tools/"
		     "call\",\"params\":{\"name\":\"t\",\"arguments\":{\"b\":1.0,\"a\":"
		     "\"x\"},\"_meta\":{\"progressToken\":\"tok\"}}}",
		     MCP_ALONE, &step) == MCP_CALL);
	CHECK_STR(buf_str(&step.text), "{\"client\":\"unit 3\",\"params\":{\"a\":\"x\",\"b\":1},\"tool\":\"t\"}");
	CHECK_STR(step.token, "\"tok\"");
	CHECK_STR(step.tool, "t");
	decide(&session,
	       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
	       "call\",\"params\":{\"name\":\"t\",\"arguments\":{\"a\":0.5}}}",
	       MCP_ALONE, &step);
	CHECK(step.verb == MCP_ANSWER && code_of(&step) == 0 &&
	      strstr(buf_str(&step.text), "\"isError\":true") != NULL);
	CHECK(decide(&session,
		     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"i\"}}",
		     MCP_ALONE, &step) == MCP_CANCEL);
	CHECK_STR(step.id, "\"i\"");
	CHECK(decide(&session,
		     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":null}}",
		     MCP_ALONE, &step) == MCP_SILENT);
	CHECK(decide(&session, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}", MCP_ALONE, &step) ==
	      MCP_SILENT);
}

static void client_names(void)
{
	struct mcp_session session = {.version = MCP_NONE};
	auto_mcp_step step = MCP_STEP_NONE;
	char name[1200] = "", text[1600];

	for (size_t i = 0; i < 300; i++)
		memcpy(name + 3 * i, "\xe2\x82\xac", 4);
	snprintf(text, sizeof text,
		 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"clientInfo\":{\"name\":\"%s\","
		 "\"version\":\"1\"}}}",
		 name);
	decide(&session, text, MCP_ALONE, &step);
	CHECK(strlen(session.client) <= MCP_CLIENT_MAX);
	CHECK(strncmp(session.client, name, 180) == 0);
	CHECK_STR(session.client + 180, " 1");
}

static void progress(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf out = BUF_INIT(1024);

	CHECK(mcp_write_progress(MCP_2025_11_25, "\"t\"", 3, "a\x1b[31m\xff", &out, &err) == 0);
	CHECK_STR(buf_str(&out), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
				 "progress\",\"params\":{\"progressToken\":\"t\",\"progress\":3,"
				 "\"message\":\"a\\\\x1b[31m\\\\xff\"}}");
	buf_reset(&out);
	CHECK(mcp_write_progress(MCP_2024_11_05, "4", 1, "a", &out, &err) == 0);
	CHECK_STR(buf_str(&out), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
				 "progress\",\"params\":{\"progressToken\":4,\"progress\":1}}");
}

/* ---- the door's words */

static struct mcp_reply reply_of(const char *text, int status)
{
	return (struct mcp_reply){
		.tool = "t", .text = text, .len = strlen(text), .status = status, .last_line = "", .fence = "fence"};
}

static jv call_result(enum mcp_version version, const char *text, int status)
{
	struct sbx_error err = SBX_ERROR_INIT;
	const struct mcp_reply reply = reply_of(text, status);
	auto_buf out = BUF_INIT(LIMIT_RPC_LINE);

	CHECK(mcp_call_result(version, "1", &reply, &out, &err) == 0);
	return parse(buf_str(&out));
}

static const char *text_of(jv result)
{
	static char text[70000];
	auto_jv content = json_array(result, "content"), block = json_at(content, 0);

	snprintf(text, sizeof text, "%s", json_str(block, "text") ? json_str(block, "text") : "");
	return text;
}

static void expect_call(const char *object, int status, int is_error, const char *state, const char *words)
{
	auto_jv answer = call_result(MCP_2025_11_25, object, status), result = json_object(answer, "result");
	auto_jv data = json_object(result, "structuredContent");

	printf("# %s\n", object);
	CHECK((json_bool(result, "isError") == 1) == is_error);
	CHECK_STR(json_str(data, "state"), state);
	CHECK(strstr(text_of(result), words) != NULL);
	if (strstr(text_of(result), words) == NULL)
		printf("# got: %s\n# wanted: %s\n", text_of(result), words);
	/* A client shows either the text or the data: neither may miss the words. */
	CHECK(json_str(data, "summary") != NULL && strncmp(text_of(result), json_str(data, "summary"), 20) == 0);
}

static void reasons(void)
{
	auto_jv answer = call_result(MCP_2025_11_25, "{\"sbx\":1,\"result\":{\"state\":\"failed\",\"exit\":1,\"code\":\"not_fetched\",\"hint\":\"fetch\"}}", 1);
	auto_jv result = json_object(answer, "result"), data = json_object(result, "structuredContent");

	CHECK_STR(json_str(data, "code"), "not_fetched");
	CHECK_STR(json_str(data, "hint"), "fetch");
}

static void outcomes(void)
{
	expect_call("{\"sbx\":1,\"result\":{\"state\":\"completed\",\"exit\":0}}", 0, 0, "completed",
		    "\"t\" completed, exit 0.");
	expect_call("{\"sbx\":1,\"result\":{\"state\":\"completed\",\"exit\":0}}", 74, 1, "completed",
		    "ended with status 74");
	expect_call("{\"sbx\":1,\"result\":{\"state\":\"failed\",\"exit\":2,\"stderr\":\"no\"}}", 1, 1, "failed",
		    "exit 2");
	expect_call("{\"sbx\":1,\"result\":{\"state\":\"failed\",\"exit\":1,\"code\":\"state_locked\",\"hint\":\"the state has the lock f\\nx\"}}", 1, 1,
		    "failed", "Reason: the state has the lock f\\x0ax (state_locked)\n");
	expect_call("{\"sbx\":1,\"result\":{\"state\":\"timeout\",\"signal\":9}}", 1, 1, "timeout", "signal 9");
	expect_call("{\"sbx\":1,\"result\":{\"state\":\"cancelled\"}}", 1, 1, "cancelled", "cancelled");
	expect_call("{\"sbx\":1,\"result\":{\"state\":\"refused\"}}", 1, 1, "refused", "nothing ran");
	expect_call("{\"sbx\":1,\"result\":{\"state\":\"unknown\"}}", 3, 1, "unknown", "look before you repeat");
	expect_call("{\"sbx\":1,\"result\":{\"state\":\"nonsense\"}}", 0, 1, "unknown", "look before you repeat");
	expect_call("{\"sbx\":1}", 0, 1, "unknown", "unknown outcome");
	expect_call("{\"sbx\":1,\"error\":{\"stage\":\"run\",\"class\":3,\"code\":\"run_died\",\"message\":\"m\"}}", 3,
		    1, "unknown", "run_died");
	expect_call("{\"sbx\":1,\"error\":{\"stage\":\"cred\",\"class\":69,\"code\":\"too_many_calls\",\"message\":"
		    "\"m\",\"hint\":\"wait\"}}",
		    69, 1, "not_run", "What to do: wait");
	expect_call("{\"sbx\":1,\"policy\":{\"effect\":\"deny\",\"tier\":\"high\",\"rule\":\"tool:t\",\"reasons\":["
		    "\"one\",\"give envs/*\",\"two\"]},\"error\":{"
		    "\"stage\":\"policy\",\"class\":77,\"code\":\"bad_parameter\",\"message\":\"dir is "
		    "outside\",\"hint\":\"give envs/*\"}}",
		    77, 1, "denied",
		    "\"t\" was not run: denied.\nReason: dir is outside (bad_parameter, stage policy)\nWhat to do: "
		    "give envs/*\n"
		    "Rule: tool:t; tier high\nWhy: one\n     two\n");
	expect_call("{\"sbx\":1,\"approval\":{\"id\":\"abc\",\"state\":\"waiting\"},\"error\":{\"stage\":\"approve\","
		    "\"class\":75,\"code\":"
		    "\"approval_required\",\"message\":\"m\"}}",
		    75, 1, "approval_required",
		    "Approval abc is waiting. A person types: sbx-approve sign abc\nTell the person. Do not retry "
		    "before it is approved");
	expect_call("{\"sbx\":1,\"approval\":{\"id\":\"abc\",\"state\":\"waiting\"},\"error\":{\"stage\":\"approve\","
		    "\"class\":75,\"code\":"
		    "\"approval_required\",\"message\":\"m\",\"hint\":\"a person types: sbx-approve --config /x sign "
		    "abc\"}}",
		    75, 1, "approval_required",
		    "What to do: a person types: sbx-approve --config /x sign abc\nApproval abc is waiting.\nTell");
	expect_call("{\"sbx\":1,\"approval\":{\"id\":\"abc\",\"needed\":2,\"signers\":[\"alice\"],\"state\":\"waiting\"},"
		    "\"error\":{\"stage\":\"approve\",\"class\":75,\"code\":\"approval_required\",\"message\":\"m\"}}",
		    75, 1, "approval_required",
		    "Approval abc is waiting: 1 of the 2 people who must sign have signed. A person types: sbx-approve");
}

static void door_faults(void)
{
	expect_call("", 1, 1, "unknown", "door_failed, status 1");
	expect_call("nonsense", 0, 1, "unknown", "door_failed");
	expect_call("[1]", 0, 1, "unknown", "no object");
	expect_call("{}", 0, 1, "unknown", "no call of version 1");
	expect_call("{\"sbx\":2,\"result\":{\"state\":\"completed\"}}", 0, 1, "unknown", "version 1");
	expect_call("{\"sbx\":1,\"result\":{\"state\":\"completed\"}} {}", 0, 1, "unknown", "no object");
	expect_call("{\"sbx\":1,\"error\":{\"class\":77,\"code\":\"denied\",\"message\":\"m\"}}", 0, 1, "unknown",
		    "success beside an error");
}

static void findings(void)
{
	expect_call("{\"sbx\":1,\"result\":{\"state\":\"completed\",\"exit\":0,\"verdict\":\"destructive\",\"findings_"
		    "total\":7,\"findings\":[{"
		    "\"address\":\"terraform_data.web[\\\"a\\u202e\\n\\\"]\",\"verdict\":\"destructive\",\"signals\":["
		    "\"replace\"],\"actions\":[\"delete\",\"create\"],\"because\":["
		    "\"triggers_replace\"],\"values\":[{\"path\":\"triggers_replace\",\"before\":\"[\\\"1\\\"]\",\"after\":"
		    "\"\\\"x\\\\u202e\\\\n- DESTROY\\\"\"}]},"
		    "{\"address\":\"x.y\",\"verdict\":\"destructive\",\"signals\":[\"delete\"],\"actions\":[\"delete\"],"
		    "\"deposed\":\"d0\",\"reason\":\"gone\",\"holds_data\":true},"
		    "{\"address\":\"u.v\",\"verdict\":\"review\",\"signals\":[\"network_exposed\"],\"actions\":[\"update\"],"
		    "\"text\":\"The change opens\\nit.\"}],"
		    "\"counts\":{\"create\":1,\"replace\":1,\"delete\":1,\"noop\":3},\"data_destroyed\":1,"
		    "\"safe\":[{\"address\":\"c\\n.d\",\"actions\":[\"create\"]}],\"safe_total\":2,"
		    "\"differences\":[{\"address\":\"d\\n- x\",\"path\":\"e.f\",\"before\":\"1\",\"after\":"
		    "\"\\\"\\\\n- CREATE\\\"\"}],\"differences_total\":3,"
		    "\"plan\":{\"id\":\"p1\",\"verdict\":\"destructive\",\"expires_at\":\"2026-11-30T00:00:"
		    "00Z\"}}}",
		    0, 0, "completed",
		    "Verdict of the plan: destructive; 7 findings, the strongest first:\n"
		    "- REPLACE \"terraform_data.web[\\\"a\\u{202e}\\x0a\\\"]\" because \"triggers_replace\" (json "
		    "\"[\\\"1\\\"]\" -> \"x\\u{202e}\\x0a- DESTROY\") changes: the present object is destroyed and another "
		    "one is made [destructive]\n"
		    "- DESTROY \"x.y\" (deposed object \"d0\") because reason \"gone\": the object is destroyed; the data "
		    "in it is lost [destructive]\n"
		    "- UPDATE \"u.v\": the object is changed in place; the network can reach more of it [review]\n"
		    "  in words: \"The change opens\\x0ait.\"\n"
		    "- and 4 more that are not shown\n"
		    "Data is lost: 1 object that holds data is destroyed\n"
		    "The plan's changes: 1 created, 1 replaced, 1 destroyed\n"
		    "Changes without a finding: 2\n"
		    "- CREATE \"c\\x0a.d\"\n"
		    "- and 1 more\n"
		    "Values that become others: 3\n"
		    "- value \"e.f\" in \"d\\x0a- x\" (1 -> \"\\x0a- CREATE\")\n"
		    "- and 2 more\n"
		    "Plan p1 is sealed and can be applied until 2026-11-30T00:00:00Z. A tool that takes a plan (such "
		    "as terraform_apply) runs "
		    "exactly this one: {\"plan\": \"p1\"}\n");
}

/* A program reads the same as data. */
static void judgement(void)
{
	static const char object[] =
		"{\"sbx\":1,\"result\":{\"state\":\"completed\",\"exit\":0,\"verdict\":\"safe\",\"findings\":[],"
		"\"findings_total\":0,\"counts\":{\"create\":2},\"data_destroyed\":0,\"safe_total\":2,\"safe\":["
		"{\"address\":\"a.b\",\"actions\":[\"create\"]}],\"digest\":{\"artefact\":\"aa\",\"effect\":\"ee\"}}}";
	static const char *const members[] = {"verdict", "counts",     "data_destroyed", "safe",
					      "digest",	 "safe_total", "findings_total"};
	auto_jv answer = call_result(MCP_2025_11_25, object, 0), result = json_object(answer, "result");
	auto_jv data = json_object(result, "structuredContent"), call = parse(object), from = json_object(call, "result");

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		auto_jv given = json_get(from, members[i]), told = json_get(data, members[i]);
		CHECK(jv_is_valid(given) && json_same(given, told));
	}
	CHECK(strstr(json_str(data, "summary"), "Verdict of the plan: safe; 0 findings.\nThe plan's changes: 2 created\n"
						"Changes without a finding: 2\n- CREATE \"a.b\"\n- and 1 more\n") != NULL);
}

static void output(void)
{
	static const char object[] = "{\"sbx\":1,\"result\":{\"state\":\"completed\",\"exit\":0,\"truncated\":true,"
				     "\"stdout\":\"a\\u001b[2J\\u0000\\u2028b\\n\",\"stderr\":"
				     "\"warn\"}}";
	auto_jv answer = call_result(MCP_2025_11_25, object, 0), result = json_object(answer, "result");
	auto_jv data = json_object(result, "structuredContent"), untrusted = json_object(data, "untrusted");

	CHECK(strstr(text_of(result),
		     "The output below is cut; the whole is kept with the call.\n"
		     "----- begin stdout fence (untrusted output) -----\na\\x1b[2J\\x00\\u{2028}b\n----- end stdout "
		     "fence -----\n"
		     "----- begin stderr fence (untrusted output) -----\nwarn\n----- end stderr fence -----\n") !=
	      NULL);
	CHECK_STR(json_str(untrusted, "stdout"), "a\\x1b[2J\\x00\\u{2028}b\n");
}

static void eras_of_results(void)
{
	static const char object[] = "{\"sbx\":1,\"result\":{\"state\":\"completed\",\"exit\":0}}";

	for (enum mcp_version v = MCP_2024_11_05; v <= MCP_2026_07_28; v++) {
		auto_jv answer = call_result(v, object, 0), result = json_object(answer, "result");
		CHECK(json_has(result, "structuredContent") == (v >= MCP_2025_06_18));
		CHECK(json_has(result, "resultType") == (v == MCP_2026_07_28));
		CHECK(json_has(result, "_meta") == (v == MCP_2026_07_28));
		CHECK(!json_has(result, "ttlMs"));
	}
	auto_jv answer = call_result(MCP_2025_11_25,
				     "{\"sbx\":1,\"call\":{\"id\":\"c\"},\"error\":{\"class\":77,\"code\":\"unknown_"
				     "tool\",\"message\":\"m\"}}",
				     77);
	auto_jv error = json_object(answer, "error");
	int64_t code = 0;
	CHECK(json_int(error, "code", &code) == 0 && code == -32602);
	CHECK_STR(json_str(error, "message"), "Unknown tool: m");
}

/* What a tool printed as JSON goes out as it stands, but for white space and what nobody sees. */
static void compact(void)
{
	static const struct {
		const char *text, *compact;
	} cases[] = {
		{" {\"a\" : [ 1.50 , -0 , 1E+3 ] }\n", "{\"a\":[1.50,-0,1E+3]}"},
		{"123456789012345678901234567890", "123456789012345678901234567890"},
		{"\"a\\u202eb\\n\\\"\\\\ \xe2\x80\xa8\"", "\"a\\\\u{202e}b\\n\\\"\\\\ \\\\u{2028}\""},
		/* Fillers, selectors and joiners that only a model sees; accents and signs of other scripts stay. */
		{"\"a\\ufe01\\ufe0f|\\u034f|\\u3164|\\u115f\\u1160|\\u2800|\\uffa0|\\u180b\\u180f|\\u17b4|\\udb40\\udc41\"",
		 "\"a\\\\u{fe01}\\\\u{fe0f}|\\\\u{34f}|\\\\u{3164}|\\\\u{115f}\\\\u{1160}|\\\\u{2800}|\\\\u{ffa0}|\\\\u{180b}\\\\u{180f}|"
		 "\\\\u{17b4}|\\\\u{e0041}\""},
		{"\"\\u00e9\\u0301\\u1100\\u1161\\u2801\\u1780\\ufe10\\uff76\"",
		 "\"\xc3\xa9\xcc\x81\xe1\x84\x80\xe1\x85\xa1\xe2\xa0\x81\xe1\x9e\x80\xef\xb8\x90\xef\xbd\xb6\""},
		{"[ \"\" ,\t{ } ]", "[\"\",{}]"},
		{"{\"\\u0007k\":null}", "{\"\\\\x07k\":null}"},
		{"{", NULL},
		{"1 2", NULL},
		{"{\"a\":1,\"a\":2}", NULL},
		{"\"\\ud800\"", NULL},
		{"", NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sbx_error err = SBX_ERROR_INIT;
		auto_buf out = BUF_INIT(1024);
		int made = mcp_compact(cases[i].text, strlen(cases[i].text), &out, &err) == 0;
		printf("# %s\n", cases[i].text);
		CHECK(made == (cases[i].compact != NULL));
		if (cases[i].compact != NULL)
			CHECK_STR(buf_str(&out), cases[i].compact);
	}
}

/* What the door lists as questions is taken only whole, and each field on one line. */
static void asks(void)
{
	static const char list[] =
		"{\"tools\":[{\"name\":\"a\",\"ask\":[{\"name\":\"q\",\"message\":\"m\",\"fields\":{\"x\":\"{\\n \\\"type\\\": "
		"\\\"number\\\",\\n\\\"default\\\": 0.5 }\"},\"required\":[\"x\"]}]},"
		"{\"name\":\"b\",\"ask\":[{\"name\":\"q\",\"message\":\"m\",\"fields\":{\"x\":\"nonsense\"},\"required\":[]},"
		"{\"name\":\"r\",\"message\":\"m\",\"fields\":{\"x\":\"[1]\"},\"required\":[]},"
		"{\"name\":\"s\",\"message\":\"m\",\"fields\":{}},{\"message\":\"m\",\"fields\":{},\"required\":[]},"
		"{\"name\":\"t\",\"fields\":{},\"required\":[]},{\"name\":\"u\",\"roots\":\"p\",\"fields\":{},\"required\":7},7]},"
		"{\"name\":\"c\",\"ask\":7},{\"ask\":[]},7]}";
	const struct mcp_reply reply = reply_of(list, 0), none = reply_of("", 1);
	struct mcp_answers answers = {.params = jv_object(), .done = jv_object()};
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf out = BUF_INIT(4096);
	auto_jv found = mcp_list_asks(&reply), nothing = mcp_list_asks(&none), of_a = json_array(found, "a");

	CHECK(json_length(found) == 1 && json_length(nothing) == 0);
	auto_jv question = mcp_ask_next(of_a, &answers, MCP_CAN_FORM), other = mcp_ask_next(of_a, &answers, MCP_CAN_ROOTS);
	CHECK(jv_is_valid(question) && !jv_is_valid(other));
	CHECK(mcp_ask_params(MCP_2025_06_18, question, &out, &err) == 0);
	CHECK_STR(buf_str(&out), "{\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"number\","
				 "\"default\":0.5}},\"required\":[\"x\"]}}");
	mcp_answers_clear(&answers);
}

/* Data beside files as large as they get, and more of it than a line may have: the schema is kept all the same. */
static void large_results(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf object = BUF_INIT(LIMIT_CALL), out = BUF_INIT(LIMIT_RPC_LINE);

	buf_add_str(&object,
		    "{\"sbx\":1,\"call\":{\"id\":\"c\"},\"result\":{\"state\":\"completed\",\"exit\":0,\"shown\":[{\"name\":\"p\","
		    "\"media\":\"image/png\",\"encoding\":\"base64\",\"data\":\"",
		    &err);
	for (size_t i = 0; i < LIMIT_RESULT_SHOWN - 4; i += 4)
		buf_add_str(&object, "AAAA", &err);
	buf_add_str(&object, "\"},{\"name\":\"q\",\"media\":\"image/png\",\"omitted\":true}],\"findings\":[", &err);
	while (object.len < LIMIT_CALL - 4096)
		buf_add_str(&object, "\"\xc2\x80\xc2\x80\xc2\x80\xc2\x80\xc2\x80\xc2\x80\xc2\x80\xc2\x80\",", &err);
	CHECK(buf_add_str(&object, "1]}}", &err) == 0);
	const struct mcp_reply reply = {
		.tool = "t", .text = buf_str(&object), .len = object.len, .last_line = "", .fence = "f"};
	CHECK(mcp_call_result(MCP_2025_11_25, "1", &reply, &out, &err) == 0);
	CHECK(out.len <= LIMIT_RPC_LINE);
	CHECK(strstr(buf_str(&out), "\"structuredContent\":{") != NULL);
	CHECK(strstr(buf_str(&out), "\"state\":\"completed\"") != NULL);
	CHECK(strstr(buf_str(&out), "\"type\":\"image\"") != NULL);
}

static void lists(void)
{
	static const char tools[] = "{\"tools\":[{\"name\":\"b\",\"title\":\"B\",\"description\":\"d\",\"tier\":"
				    "\"low\",\"inputSchema\":{\"type\":\"object\"},"
				    "\"annotations\":{\"readOnlyHint\":true},\"icons\":[]},{\"name\":\"no "
				    "schema\"},{\"inputSchema\":{}},7]}";
	const struct mcp_reply reply = reply_of(tools, 0), empty = reply_of("", 1);
	const struct mcp_reply refusal = reply_of(
		"{\"sbx\":1,\"error\":{\"class\":78,\"code\":\"bad_policy\",\"message\":\"m\",\"hint\":\"h\"}}", 78);

	for (enum mcp_version v = MCP_2024_11_05; v <= MCP_2026_07_28; v++) {
		struct sbx_error err = SBX_ERROR_INIT;
		auto_buf out = BUF_INIT(LIMIT_RPC_LINE);
		CHECK(mcp_list_result(v, "1", &reply, &out, &err) == 0);
		auto_jv answer = parse(buf_str(&out)), result = json_object(answer, "result"),
			list = json_array(result, "tools");
		auto_jv tool = json_at(list, 0);
		auto_jv own = json_at(list, 1);
		CHECK(json_length(list) == 2);
		CHECK_STR(json_str(tool, "name"), "b");
		CHECK_STR(json_str(own, "name"), "sbx_result");
		CHECK(json_has(own, "annotations") == (v >= MCP_2025_03_26));
		CHECK(json_has(tool, "outputSchema") == (v >= MCP_2025_06_18));
		CHECK(json_has(tool, "annotations") == (v >= MCP_2025_03_26));
		CHECK(json_has(tool, "title") == (v >= MCP_2025_06_18));
		CHECK(json_has(tool, "icons") == (v >= MCP_2025_11_25));
		CHECK(!json_has(tool, "tier"));
		CHECK(json_has(result, "ttlMs") == (v == MCP_2026_07_28));
	}
	const struct mcp_reply *const faults[] = {&empty, &refusal};
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		struct sbx_error err = SBX_ERROR_INIT;
		auto_buf out = BUF_INIT(LIMIT_RPC_LINE);
		CHECK(mcp_list_result(MCP_2025_11_25, "1", faults[i], &out, &err) == 0);
		CHECK(strstr(buf_str(&out), "\"code\":-32603") != NULL);
		CHECK(strstr(buf_str(&out),
			     i == 0 ? "door_failed"
				    : "\"data\":{\"code\":\"bad_policy\",\"hint\":\"h\",\"status\":78}") != NULL);
	}
}

/* Texts of a door, and what a client of 2025-06-18 gets of them: the names of the tools, NULL for an error. */
static const struct {
	const char *text, *names;
} door_lists[] = {
	{"{\"tools\":[]}", ""},
	{"{ \"tools\" : [ {\n\t\"name\" : \"a\" ,\r\n \"inputSchema\" : { \"x\" : [ 1 , \"y z\" ] } } ] }\n", "a "},
	{"{\"more\":{\"tools\":[7]},\"tools\":[{\"inputSchema\":{},\"name\":\"a\"},[{\"name\":\"no\"}],{\"name\":\"b\",\"inputSchema\":{}}],\"z\":[]}", "a b "},
	{"{\"tools\":[{\"name\":7,\"inputSchema\":{}},{\"name\":[\"a\"],\"inputSchema\":{}},{\"name\":\"a\\u0000\",\"inputSchema\":{}},{\"name\":\"a\",\"inputSchema\":[]}]}", ""},
	{"{\"tools\":[{\"name\":\"a\",\"name\\u0000\":\"b\",\"inputSchema\":{}}]}", "a "},
	{"{\"tools\":[{\"name\":\"a\",\"inputSchema\":{}}]} {}", NULL},
	{"{\"tools\":[{\"name\":\"a\",\"inputSchema\":{}}]", NULL},
	{"{\"tools\":[{\"name\":\"a\",\"name\":\"b\",\"inputSchema\":{}}]}", NULL},
	{"{\"tools\":[{\"name\":\"a\",\"inputSchema\":{\"x\":1.5}}]}", NULL},
	{"{\"tools\":{\"name\":\"a\",\"inputSchema\":{}}}", NULL},
	{"[{\"tools\":[]}]", NULL},
};

static void lists_of_doors(void)
{
	for (size_t i = 0; i < ARRAY_LEN(door_lists); i++) {
		const struct mcp_reply reply = reply_of(door_lists[i].text, 0);
		struct sbx_error err = SBX_ERROR_INIT;
		auto_buf out = BUF_INIT(LIMIT_RPC_LINE), names = BUF_INIT(100);
		CHECK(mcp_list_result(MCP_2025_06_18, "1", &reply, &out, &err) == 0);
		/* One line, and nothing that a terminal would take for a command. */
		CHECK(strpbrk(buf_str(&out), "\r\n\t") == NULL);
		auto_jv answer = parse(buf_str(&out)), result = json_object(answer, "result"), list = json_array(result, "tools");
		CHECK(jv_is_valid(list) == (door_lists[i].names != NULL));
		for (int k = 0; k < json_length(list) - 1; k++) {
			auto_jv tool = json_at(list, k);
			buf_addf(&names, &err, "%s ", json_str(tool, "name"));
			CHECK(json_length(tool) == 3 && json_has(tool, "outputSchema"));
		}
		CHECK_STR(buf_str(&names), door_lists[i].names != NULL ? door_lists[i].names : "");
	}
	const struct mcp_reply odd = reply_of("{\"tools\":[{\"name\":\"a\",\"description\":\"\xe2\x80\xa8\xc2\x9b\x7f\\u001b\",\"inputSchema\":{},\"outputSchema\":{\"own\":1}}]}", 0);
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf out = BUF_INIT(LIMIT_RPC_LINE);
	CHECK(mcp_list_result(MCP_2025_06_18, "1", &odd, &out, &err) == 0);
	CHECK(strstr(buf_str(&out), "\"description\":\"\\u2028\\u009b\\u007f\\u001b\",\"inputSchema\":{},\"outputSchema\":{\"own\":1}}") != NULL);
}

/* The largest object that the door may give, of the bytes that grow most: the answer stays a legal line under the
 * limit. */
static void worst_case(void)
{
	static const char open[] =
		"{\"sbx\":1,\"result\":{\"state\":\"completed\",\"exit\":0,\"verdict\":\"safe\",\"findings\":[";
	static const char one[] =
		"{\"address\":\"\xc2\x80\xc2\x80\xc2\x80\xc2\x80\xc2\x80\xc2\x80\xc2\x80\xc2\x80\\u0001\"},";
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf object = BUF_INIT(LIMIT_CALL), out = BUF_INIT(LIMIT_RPC_LINE);

	buf_add_str(&object, open, &err);
	for (size_t i = 0; i < 20000; i++)
		buf_add_str(&object, one, &err);
	object.len--;
	buf_add_str(&object, "],\"stdout\":\"", &err);
	while (object.len < LIMIT_CALL - 16)
		buf_add(&object, "\x7f", 1, &err);
	CHECK(buf_add_str(&object, "\"}}", &err) == 0);
	const struct mcp_reply reply = {
		.tool = "t", .text = buf_str(&object), .len = object.len, .last_line = "", .fence = "f"};
	int wrote = mcp_call_result(MCP_2025_11_25, "1", &reply, &out, &err);
	CHECK(wrote == 0 || strcmp(err.code, "too_large") == 0);
	auto_jv answer = parse(wrote == 0 ? buf_str(&out) : "{}");
	CHECK(jv_get_kind(answer) == JV_KIND_OBJECT || out.len > RPC_MESSAGE_MAX);
}

int main(void)
{
	versions();
	before_any_session();
	modern();
	modern_results();
	legacy();
	client_names();
	progress();
	outcomes();
	reasons();
	door_faults();
	findings();
	judgement();
	output();
	eras_of_results();
	compact();
	asks();
	large_results();
	lists();
	lists_of_doors();
	worst_case();
	return unit_done();
}
