/* Findings in words: what the plan chose is only ever in quotes, and no value passes for a mark of ours. */
#include "finding.h"

#include "unit.h"

static struct sbx_error err;

/* The simplest reader: <…> around each datum, cut without a word. */
static void say(void *to, const char *words)
{
	buf_add_str(to, words, &err);
}

static void quote(void *to, const char *bytes, size_t len, size_t max)
{
	buf_addf(to, &err, "<%.*s>", (int)(len < max ? len : max), bytes);
}

static jv parse(const char *text)
{
	jv value = jv_invalid();

	if (json_parse(text, strlen(text), LIMIT_CALL, &value, &err) < 0)
		printf("# %s: %s\n", err.code, text);
	return value;
}

static const struct {
	const char *finding, *says;
} findings[] = {
	{"{\"address\":\"a.b\",\"verdict\":\"destructive\",\"signals\":[\"replace\"],"
	 "\"actions\":[\"delete\",\"create\"],\"because\":[\"x\"],"
	 "\"values\":[{\"path\":\"x\",\"before\":\"\\\"1\\\"\",\"after\":\"\\\"2\\\"\"}]}",
	 "REPLACE <a.b> because <x> (<1> -> <2>) changes: the present object is destroyed and another one is made "
	 "[destructive]"},
	{"{\"address\":\"a.b\",\"verdict\":\"destructive\",\"actions\":[\"create\",\"delete\"],"
	 "\"signals\":[\"replace\",\"replace_because_tainted\"],\"reason\":\"replace_because_tainted\","
	 "\"holds_data\":true}",
	 "REPLACE <a.b> because it is marked as tainted: the present object is destroyed and another one is made; the "
	 "data in it is lost [destructive]"},
	{"{\"address\":\"a.b\",\"deposed\":\"d0\",\"verdict\":\"destructive\",\"signals\":[\"delete\"],"
	 "\"actions\":[\"delete\"],\"reason\":\"an odd one\"}",
	 "DESTROY <a.b> (deposed object <d0>) because reason <an odd one>: the object is destroyed [destructive]"},
	{"{\"address\":\"a.b\",\"verdict\":\"destructive\",\"signals\":[\"forget\"],\"actions\":[\"forget\"],"
	 "\"holds_data\":true}",
	 "FORGET <a.b>: the object stays and is no longer managed [destructive]"},
	{"{\"address\":\"a.b\",\"verdict\":\"destructive\",\"signals\":[\"forget\"],"
	 "\"actions\":[\"create\",\"forget\"]}",
	 "FORGET <a.b>: the present object stays and is no longer managed; another one is made [destructive]"},
	{"{\"address\":\"a.b\",\"verdict\":\"review\",\"signals\":[\"public_access\",\"our_own\"],"
	 "\"actions\":[\"update\"],\"because\":[\"acl\",\"y[0]\"],\"values\":[{\"path\":\"acl\",\"after\":\"true\"}]}",
	 "UPDATE <a.b> because <acl> (none -> true), <y[0]> change: the object is changed in place; it is opened to "
	 "everyone; signal <our_own> [review]"},
	{"{\"address\":\"a.b\",\"verdict\":\"review\",\"signals\":[\"provisioner\"],\"actions\":[\"create\"]}",
	 "CREATE <a.b>: a new object is made; programs of its configuration run [review]"},
	{"{\"address\":\"provider.k\",\"verdict\":\"review\",\"signals\":[\"provider_program\"],"
	 "\"because\":[\"exec.command\",\"exec.args\"],\"values\":[{\"path\":\"exec.command\",\"after\":\"\\\"./x\\\"\"},"
	 "{\"path\":\"exec.args\",\"after\":\"from [\\\"var.a\\\"]\"}]}",
	 "PROVIDER <provider.k> because <exec.command> (<./x>), <exec.args> (<from [\"var.a\"]>): a program that the "
	 "configuration names runs, with the credentials of the apply [review]"},
	{"{\"address\":\"a.c\",\"verdict\":\"review\",\"signals\":[\"move\"],\"actions\":[\"no-op\"],"
	 "\"previous_address\":\"a.b\"}",
	 "MOVE <a.c> (until now <a.b>): the object gets another address [review]"},
	{"{\"address\":\"a.c\",\"verdict\":\"review\",\"signals\":[\"import\"],\"actions\":[\"update\"]}",
	 "UPDATE <a.c>: the object is changed in place; an object that exists becomes managed [review]"},
	/* What happened outside is no change that an apply makes. */
	{"{\"address\":\"a.c\",\"verdict\":\"review\",\"signals\":[\"drift\"],\"actions\":[\"delete\"]}",
	 "DRIFT <a.c>: the object changed, or was deleted, outside Terraform [review]"},
	{"{\"address\":\"*\",\"verdict\":\"destructive\",\"signals\":[\"errored_plan\"]}",
	 "PLAN the whole plan: planning failed; the plan is not whole [destructive]"},
	{"{\"address\":\"a.b\",\"verdict\":\"review\",\"signals\":[\"odd\"],\"actions\":[\"frobnicate\"]}",
	 "UNUSUAL <a.b>: not understood; signal <odd>; actions <frobnicate> [review]"},
	/* Nothing of it is what it should be: the worst is said. */
	{"{\"address\":7,\"signals\":\"x\",\"actions\":{},\"because\":[1],\"values\":[[]],\"verdict\":\"safe\"}",
	 "UNUSUAL none because none changes: not understood [destructive]"},
	{"[]", "UNUSUAL none: not understood [destructive]"},
};

static void test_findings(void)
{
	for (size_t i = 0; i < ARRAY_LEN(findings); i++) {
		auto_buf out = BUF_INIT(65536);
		const struct finding_sink sink = {.to = &out, .say = say, .quote = quote};
		auto_jv finding = parse(findings[i].finding);
		finding_say(&sink, finding);
		CHECK_STR(buf_str(&out), findings[i].says);
	}
}

/* What sbx-plan displays as a value, as JSON, and how it is told. */
static const struct {
	const char *shown, *says;
} values[] = {
	{"\"\\\"a\\\"\"", "<a>"},
	{"\"\\\"a b\\\\u202e\\\\n\\\"\"", "<a b\xe2\x80\xae\n>"},
	{"\"\\\"cut\\\"...\"", "<cut>..."},
	{"\"1\"", "1"},
	{"\"-1.5e3\"", "-1.5e3"},
	{"\"true\"", "true"},
	{"\"null\"", "null"},
	{"\"(sensitive)\"", "(sensitive)"},
	{"\"(known after apply)\"", "(known after apply)"},
	/* The same words as a string of the plan are no mark. */
	{"\"\\\"(sensitive)\\\"\"", "<(sensitive)>"},
	{"\"\\\"true\\\"\"", "<true>"},
	{"\"[\\\"a\\\"]\"", "json <[\"a\"]>"},
	{"\"[1,2...\"", "json <[1,2...>"},
	{"\"(known after apply) [review]\"", "json <(known after apply) [review]>"},
	{"\"\\\"a\\\" [review]\"", "json <\"a\" [review]>"},
	{"\"\"", "json <>"},
	{"5", "none"},
};

static void test_values(void)
{
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		auto_buf text = BUF_INIT(65536), out = BUF_INIT(65536), expected = BUF_INIT(65536);
		const struct finding_sink sink = {.to = &out, .say = say, .quote = quote};
		buf_addf(&text, &err,
			 "{\"address\":\"a\",\"actions\":[\"update\"],\"because\":[\"p\"],\"verdict\":\"review\","
			 "\"values\":[{\"path\":\"p\",\"before\":%s}]}",
			 values[i].shown);
		buf_addf(&expected, &err,
			 "UPDATE <a> because <p> (%s -> none) changes: the object is changed in place [review]",
			 values[i].says);
		auto_jv finding = parse(buf_str(&text));
		finding_say(&sink, finding);
		CHECK_STR(buf_str(&out), buf_str(&expected));
	}
}

static void test_rest(void)
{
	auto_buf out = BUF_INIT(65536);
	const struct finding_sink sink = {.to = &out, .say = say, .quote = quote};
	auto_jv counts = parse("{\"create\":2,\"replace\":1,\"delete\":0,\"noop\":9,\"odd\":3}"), none = parse("{}");
	auto_jv change = parse("{\"address\":\"a.b\",\"actions\":[\"create\"]}");
	auto_jv ours = parse("{\"signals\":[\"replace\",\"replace_by_request\"],\"text\":\"t\"}");
	auto_jv rule = parse("{\"signals\":[\"replace\",\"restart\"],\"text\":\"t\"}");

	auto_jv line = parse("{\"address\":\"a\",\"path\":\"b.c\",\"line\":3,\"from\":90,\"before\":\"\\\"x\\\"...\","
			     "\"before_sha256\":\"00ff\",\"after\":\"7\"}");
	auto_jv hidden = parse("{\"address\":\"a\",\"path\":\"b\",\"before\":\"(sensitive)\",\"after\":\"(sensitive)\"}");
	auto_jv text = parse("{\"address\":\"a\",\"path\":\"b\",\"before\":\"(sensitive)\",\"after\":\"\\\"(sensitive)\\\"\"}");

	finding_say_difference(&sink, line);
	CHECK_STR(buf_str(&out), "value <b.c> in <a>, line 3, from byte 90 (<x>... (sha256 <00ff>) -> 7)");
	buf_reset(&out);
	finding_say_difference(&sink, hidden);
	CHECK_STR(buf_str(&out), "value <b> in <a> ((sensitive) -> another (sensitive))");
	buf_reset(&out);
	finding_say_difference(&sink, text);
	CHECK_STR(buf_str(&out), "value <b> in <a> ((sensitive) -> <(sensitive)>)");
	buf_reset(&out);
	finding_say_difference(&sink, none);
	CHECK_STR(buf_str(&out), "value none in none (none -> none)");
	buf_reset(&out);
	finding_say_counts(&sink, counts);
	finding_say_counts(&sink, none);
	finding_say_data(&sink, 1);
	finding_say_data(&sink, 2);
	finding_say_safe(&sink, change);
	CHECK_STR(buf_str(&out), "2 created, 1 replacednone1 object that holds data is destroyed2 objects that hold "
				 "data are destroyedCREATE <a.b>");
	CHECK(finding_rule_text(ours) == NULL && finding_rule_text(none) == NULL);
	CHECK_STR(finding_rule_text(rule), "t");
}

int main(void)
{
	test_findings();
	test_values();
	test_rest();
	return unit_done();
}
