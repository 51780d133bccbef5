/* The plan reader: what is refused, what each part of a plan is worth, whatever the order of its members, and that the
 * report stays small. */
#include "plan_read.h"

#include <fcntl.h>

#include "io.h"
#include "unit.h"

#define HEAD "\"format_version\":\"1.2\",\"terraform_version\":\"1.11.4\""
#define VALUES "\"planned_values\":{\"root_module\":{}}"
#define CONFIG "\"configuration\":{\"root_module\":{}}"
#define CHANGES(list) "\"resource_changes\":[" list "]"
#define PLAN(members) "{" HEAD "," VALUES "," members "," CONFIG "}"
#define ENTRY(address, more, inner)                                                                                    \
	"{\"address\":\"" address "\",\"mode\":\"managed\",\"type\":\"t\",\"name\":\"n\"" more ",\"change\":{" inner   \
	"}}"

static struct sbx_error err;
static struct buf report_text = BUF_INIT(1 << 20);

/* The report's text, or "!CODE MESSAGE". */
static const char *judge_bytes(const char *bytes, size_t len)
{
	struct plan_survey survey = {.errored = 0};
	struct plan_report report;
	const struct signal_table table = {.block = NULL};
	auto_fd fd = io_sealed_memfd("plan", bytes, len, &err);

	buf_reset(&report_text);
	plan_report_init(&report);
	int result = plan_read(fd, &table, &survey, &report, &err);
	const struct plan_head head = plan_read_head(&survey);
	if (result < 0 || plan_report_write(&report, &head, &report_text, &err) < 0) {
		struct sbx_error late = SBX_ERROR_INIT;
		buf_reset(&report_text);
		buf_addf(&report_text, &late, "!%s %s", err.code, err.message);
		sbx_error_clear(&err);
	}
	plan_report_clear(&report);
	plan_survey_clear(&survey);
	return buf_str(&report_text);
}

static const char *judge(const char *text)
{
	return judge_bytes(text, strlen(text));
}

/* The findings alone, as "VERDICT SIGNAL+SIGNAL ADDRESS" joined by ";"; for a refusal its code. */
static const char *findings_of(const char *text)
{
	static char out[8192];
	const char *p = judge(text), *end = strstr(p, "],\"safe\":[");
	size_t used = 0;

	out[0] = '\0';
	if (p[0] == '!') {
		snprintf(out, sizeof out, "%.*s", (int)strcspn(p, " "), p);
		return out;
	}
	while ((p = strstr(p, "{\"address\":\"")) != NULL && p < end) {
		const char *address = p + strlen("{\"address\":\""), *address_end = address;
		while (*address_end != '"')
			address_end += *address_end == '\\' ? 2 : 1;
		const char *verdict = strstr(address_end, "\"verdict\":\"") + strlen("\"verdict\":\""),
			   *signals = strstr(verdict, "\"signals\":[") + strlen("\"signals\":[");
		used += (size_t)snprintf(out + used, sizeof out - used, "%s%.*s ", used ? ";" : "",
					 (int)strcspn(verdict, "\""), verdict);
		for (; *signals != ']'; signals++)
			if (*signals != '"')
				out[used++] = *signals == ',' ? '+' : *signals;
		used += (size_t)snprintf(out + used, sizeof out - used, " %.*s", (int)(address_end - address),
					 address);
		p = address_end;
	}
	return out;
}

static void test_refused(void)
{
	static const char *const cases[][2] = {
		{"[]", "!plan_kind"},
		{"{}", "!plan_version"},
		{"{\"Format_version\":\"1.2\"," VALUES "," CONFIG "}", "!plan_version"},
		{"{\"format_version\":1.2," VALUES "," CONFIG "}", "!plan_kind"},
		{"{\"format_version\":\"2.0\"," VALUES "," CONFIG "}", "!plan_version"},
		{"{\"format_version\":\"1.\"," VALUES "," CONFIG "}", "!plan_version"},
		{"{\"format_version\":\"1.2\\u0000\"," VALUES "," CONFIG "}", "!plan_version"},
		{"{\"format_version\":\"1.0\",\"values\":{\"root_module\":{}}}", "!plan_is_state"},
		{"{" HEAD "," VALUES "}", "!plan_member"},
		{"{" HEAD "," CONFIG "}", "!plan_member"},
		{"{" HEAD "," VALUES "," CONFIG "} {}", "!json_trailing"},
		{PLAN("\"resource_changes\":null"), "!plan_kind"},
		{PLAN("\"resource_changes\":{}"), "!plan_kind"},
		{PLAN("\"resource_changes\":[1]"), "!plan_kind"},
		{PLAN("\"errored\":\"true\""), "!plan_kind"},
		{PLAN("\"complete\":null"), "!plan_kind"},
		{PLAN("\"applyable\":1"), "!plan_kind"},
		{PLAN(CHANGES("{\"change\":{\"actions\":[\"no-op\"]}}")), "!plan_malformed"},
		{PLAN(CHANGES("{\"address\":\"a.b\"}")), "!plan_malformed"},
		{PLAN(CHANGES("{\"address\":7,\"change\":{\"actions\":[\"no-op\"]}}")), "!plan_kind"},
		{PLAN(CHANGES(ENTRY("a.b", "", ""))), "!plan_malformed"},
		{PLAN(CHANGES(ENTRY("a.b", "", "\"actions\":[]"))), "!plan_action"},
		{PLAN(CHANGES(ENTRY("a.b", "", "\"actions\":\"delete\""))), "!plan_kind"},
		{PLAN(CHANGES(ENTRY("a.b", "", "\"actions\":[\"Delete\"]"))), "!plan_action"},
		{PLAN(CHANGES(ENTRY("a.b", "", "\"actions\":[\"no-op\",\"open\"]"))), "!plan_action"},
		{PLAN(CHANGES(ENTRY("a.b", "", "\"actions\":[\"no-op\\u0000\"]"))), "!plan_action"},
		{PLAN(CHANGES(ENTRY("a.b", "", "\"actions\":[[\"delete\"]]"))), "!plan_action"},
		{PLAN(CHANGES(ENTRY("a.b", ",\"deposed\":1", "\"actions\":[\"delete\"]"))), "!plan_kind"},
		{PLAN(CHANGES(ENTRY("a.b", "", "\"actions\":[\"update\"],\"after_unknown\":\"x\""))), "!plan_kind"},
		{PLAN(CHANGES(ENTRY("a.b", "", "\"actions\":[\"update\"],\"before_sensitive\":{\"a\":1}"))),
		 "!plan_kind"},
		{PLAN(CHANGES(ENTRY("a.b", "", "\"actions\":[\"update\"],\"replace_paths\":[\"a\"]"))), "!plan_kind"},
		{PLAN(CHANGES(ENTRY("a.b", "", "\"actions\":[\"update\"],\"actions\":[\"update\"]"))),
		 "!json_duplicate_key"},
		{PLAN("\"output_changes\":{\"o\":{\"actions\":[\"Delete\"]}}"), "!plan_action"},
		{PLAN("\"output_changes\":{\"o\":{}}"), "!plan_malformed"},
		{PLAN("\"deferred_changes\":[{\"reason\":\"unknown\"}]"), "!plan_malformed"},
		{PLAN("\"checks\":[{\"status\":\"fail\"}]"), "!plan_malformed"},
		{PLAN("\"action_invocations\":[{\"type\":\"x\"}]"), "!plan_malformed"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_STR(findings_of(cases[i][0]), cases[i][1]);
	/* A place, and never a value. */
	CHECK_STR(judge("{\n \"format_version\": \"9.secret\"}"),
		  "!plan_version a plan format of an unknown version at 2:19");
	/* The same documents without the fault. */
	CHECK_STR(findings_of(PLAN(CHANGES(ENTRY("a.b", "", "\"actions\":[\"no-op\"]")))), "");
	CHECK_STR(findings_of("{\"format_version\":\"0.1\"," VALUES "," CONFIG "}"), "");
	CHECK_STR(findings_of("{\"format_version\":\"0.2\"," VALUES "," CONFIG "}"), "");
	CHECK_STR(findings_of("{\"format_version\":\"1.17\"," VALUES "," CONFIG ",\"new_member\":[{}]}"), "");
}

static void test_actions(void)
{
	static const char *const cases[][2] = {
		{"\"create\"", ""},
		{"\"update\"", ""},
		{"\"no-op\"", ""},
		{"\"read\"", "review read a.b"},
		{"\"delete\"", "destructive delete a.b"},
		{"\"forget\"", "destructive forget a.b"},
		{"\"delete\",\"create\"", "destructive replace a.b"},
		{"\"create\",\"delete\"", "destructive replace a.b"},
		{"\"create\",\"forget\"", "destructive forget a.b"},
		{"\"forget\",\"create\"", "destructive forget a.b"},
		{"\"\\u0064elete\"", "destructive delete a.b"},
		{"\"create\",\"update\",\"delete\"", "destructive replace a.b"},
		{"\"no-op\",\"delete\"", "destructive delete a.b"},
		{"\"create\",\"update\"", "review unusual_actions a.b"},
	};
	char text[1024];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(text, sizeof text, PLAN(CHANGES(ENTRY("a.b", "", "\"actions\":[%s]"))), cases[i][0]);
		CHECK_STR(findings_of(text), cases[i][1]);
	}
}

static void test_oddities(void)
{
	static const char *const cases[][2] = {
		{PLAN(CHANGES(ENTRY("t.b", ",\"previous_address\":\"t.a\"", "\"actions\":[\"no-op\"]"))),
		 "review move t.b"},
		{PLAN(CHANGES(ENTRY("t.b", ",\"previous_address\":\"module.m[\\\"x.y\\\"].t.a[0]\"",
				    "\"actions\":[\"no-op\"]"))),
		 "review move t.b"},
		{PLAN(CHANGES(ENTRY("t.b", ",\"previous_address\":\"u.a\"", "\"actions\":[\"update\"]"))),
		 "review move_across_types t.b"},
		{PLAN(CHANGES(ENTRY("t.b", "", "\"actions\":[\"no-op\"],\"importing\":{\"id\":\"i\"}"))),
		 "review import t.b"},
		{PLAN(CHANGES(ENTRY("t.b", ",\"deposed\":\"12ab\"",
				    "\"actions\":[\"delete\"]") "," ENTRY("t.b", "", "\"actions\":[\"no-op\"]"))),
		 "destructive delete t.b"},
		{PLAN("\"resource_drift\":[" ENTRY("t.b", "", "\"actions\":[\"delete\"]") "]"), "review drift t.b"},
		{PLAN("\"resource_drift\":[" ENTRY("t.b", "", "\"actions\":[\"update\"],\"before\":{\"a\":1},\"after\":{"
							      "\"a\":2}") "]"),
		 "review drift t.b"},
		/* The spelling of nothing is no drift. */
		{PLAN("\"resource_drift\":[" ENTRY("t.b", "", "\"actions\":[\"update\"],\"before\":{\"a\":null,\"b\":[{}]},"
							      "\"after\":{\"b\":[{\"c\":\"\"}],\"a\":{}}") "]"),
		 ""},
		/* No address, in the releases that wrote none. */
		{PLAN("\"resource_drift\":[{\"module_address\":\"module.m\",\"type\":\"t\",\"name\":\"b\",\"change\":{"
		      "\"actions\":[\"delete\"]}}]"),
		 "review drift module.m.t.b"},
		{PLAN("\"resource_drift\":[{\"type\":\"t\",\"change\":{\"actions\":[\"delete\"]}}]"), "!plan_malformed"},
		{PLAN("\"deferred_changes\":[{\"reason\":\"unknown\",\"resource_change\":" ENTRY(
			 "t.b", "", "\"actions\":[\"create\"]") "}]"),
		 "review deferred t.b"},
		{PLAN("\"action_invocations\":[{\"address\":\"action.x.y\",\"type\":\"x\"}]"),
		 "review action_invocation action.x.y"},
		{PLAN("\"deferred_action_invocations\":[{\"reason\":\"r\",\"action_invocation\":{\"address\":\"action."
		      "x.y\"}}]"),
		 "review action_invocation action.x.y"},
		{PLAN("\"checks\":[{\"address\":{\"to_display\":\"check.c\"},\"status\":\"error\"},{\"address\":{\"to_"
		      "display\":\"check.d\"},\"status\":\"unknown\"}]"),
		 "review check_failed check.c"},
		{PLAN("\"errored\":true,\"checks\":[{\"address\":{\"to_display\":\"t.c\"},\"status\":\"fail\"}]"),
		 "destructive errored_plan *"},
		{PLAN("\"complete\":false"), "review incomplete_plan *"},
		{PLAN("\"complete\":true,\"errored\":false,\"applyable\":false"), ""},
		{PLAN("\"output_changes\":{\"o\":{\"actions\":[\"delete\"],\"before\":1,\"after\":null}}"),
		 "review output_delete output.o"},
		{PLAN("\"output_changes\":{\"o\":{\"actions\":[\"update\"],\"before_sensitive\":true,\"after_"
		      "sensitive\":true}}"),
		 "review sensitivity_dropped output.o"},
		{PLAN("\"output_changes\":{\"o\":{\"actions\":[\"update\"],\"before_sensitive\":false,\"after_"
		      "sensitive\":false}}"),
		 ""},
		{"{" HEAD "," VALUES ",\"output_changes\":{\"o\":{\"actions\":[\"update\"],\"before_sensitive\":true,"
				     "\"after_sensitive\":true}},"
		 "\"configuration\":{\"root_module\":{\"outputs\":{\"o\":{\"sensitive\":true}}}}}",
		 ""},
		{PLAN("\"prior_state\":{\"values\":{\"root_module\":{\"child_modules\":[{\"resources\":[{\"address\":"
		      "\"t.x\",\"mode\":\"managed\"}]}]}}}"),
		 "review unlisted_objects *"},
		{PLAN("\"prior_state\":{\"values\":{\"root_module\":{\"resources\":[{\"address\":\"data.t.x\",\"mode\":"
		      "\"data\"}]}}}"),
		 ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_STR(findings_of(cases[i][0]), cases[i][1]);
}

/* What stays as it is and hides nothing is read once; everything that is not exactly so gets its verdict or its refusal,
 * wherever it stands among entries that are. */
static void test_quiet(void)
{
#define QUIET(address)                                                                                                 \
	ENTRY(address, "",                                                                                             \
	      "\"actions\":[\"no-op\"],\"before\":{\"a\":[1]},\"after\":{\"a\":[1]},\"after_unknown\":{},"            \
	      "\"before_sensitive\":{\"a\":[false]},\"after_sensitive\":{\"a\":[]}")
	static const struct {
		const char *more, *inner, *expected;
	} cases[] = {
		{"", "\"actions\":[\"no-op\"]", ""},
		{"", "\"actions\":[\"no-op\"],\"after_unknown\":{\"a\":true}", ""},
		{"", "\"actions\":[\"no-op\"],\"importing\":null", ""},
		{"", "\"actions\":[\"no-op\",\"no-op\"]", ""},
		{",\"previous_address\":\"\"", "\"actions\":[\"no-op\"]", ""},
		{",\"previous_address\":\"t.old\"", "\"actions\":[\"no-op\"]", "review move t.b"},
		{"", "\"actions\":[\"no-op\"],\"importing\":{\"id\":\"x\"}", "review import t.b"},
		{"", "\"actions\":[\"no-op\",\"delete\"]", "destructive delete t.b"},
		{"", "\"actions\":[\"delete\"]", "destructive delete t.b"},
		{"", "\"after\":{\"a\":1},\"before_sensitive\":{\"a\":true},\"actions\":[\"no-op\"]",
		 "review sensitivity_dropped t.b"},
		{"", "\"actions\":[\"no-op\"],\"before_sensitive\":{\"a\":[\"x\"]}", "!plan_kind"},
		{"", "\"actions\":[\"no-op\"],\"after_sensitive\":7", "!plan_kind"},
		{"", "\"actions\":[\"no-op\"],\"after_unknown\":\"true\"", "!plan_kind"},
		{"", "\"actions\":[\"no-op\"],\"replace_paths\":[1]", "!plan_kind"},
		{"", "\"actions\":\"no-op\"", "!plan_kind"},
		{"", "\"actions\":{}", "!plan_kind"},
		{"", "\"actions\":[]", "!plan_action"},
		{"", "\"actions\":[[\"no-op\"]]", "!plan_action"},
		{"", "\"actions\":[\"no-op\",7]", "!plan_action"},
		{"", "\"actions\":[\"No-op\"]", "!plan_action"},
		{"", "\"before\":{}", "!plan_malformed"},
		{",\"deposed\":7", "\"actions\":[\"no-op\"]", "!plan_kind"},
		{",\"module_address\":[\"a\"]", "\"actions\":[\"no-op\"]", "!plan_kind"},
		{",\"previous_address\":7", "\"actions\":[\"no-op\"]", "!plan_kind"},
		{"", "\"actions\":[\"no-op\"],\"before\":{\"a\":1,\"a\":1}", "!json_duplicate_key"},
	};
	char text[4096];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(text, sizeof text, PLAN(CHANGES(QUIET("t.q1") "," QUIET("t.q2") "," ENTRY("t.b", "%s", "%s") "," QUIET("t.q3"))),
			 cases[i].more, cases[i].inner);
		CHECK_STR(findings_of(text), cases[i].expected);
		CHECK(cases[i].expected[0] == '!' || strstr(judge(text), i < 7 ? "\"noop\":4}" : "\"noop\":") != NULL);
	}
	/* No change, one that is none, and an address that says nothing. */
	CHECK_STR(findings_of(PLAN(CHANGES(QUIET("t.q") ",{\"address\":\"t.b\",\"change\":[]}"))), "!plan_kind");
	CHECK_STR(findings_of(PLAN(CHANGES(QUIET("t.q") ",{\"address\":\"t.b\"}"))), "!plan_malformed");
	CHECK_STR(findings_of(PLAN(CHANGES(QUIET("t.q") "," QUIET("")))), "!plan_malformed");
	CHECK_STR(findings_of(PLAN(CHANGES(QUIET("t.q") ",7"))), "!plan_kind");
}

/* planned_values and resource_changes must tell the same story. */
static void test_listed(void)
{
#define RESOURCE(members) "\"planned_values\":{\"root_module\":{\"resources\":[{" members "}]}}"
#define PLANNED(mode)                                                                                                  \
	"\"planned_values\":{\"root_module\":{\"child_modules\":[{\"resources\":[{\"address\":\"m.t.x\",\"mode\":"     \
	"\"" mode "\"}]}]}}"
	static const char *const cases[][2] = {
		{"{" HEAD "," PLANNED("managed") "," CONFIG "}", "!plan_unlisted"},
		{"{" HEAD "," PLANNED("other") "," CONFIG "}", "!plan_unlisted"},
		/* Mode and address in any order, and what follows both is read as strictly. */
		{"{" HEAD "," RESOURCE("\"mode\":\"data\",\"values\":{},\"address\":\"m.t.x\",\"name\":\"x\"") "," CONFIG "}", ""},
		{"{" HEAD "," RESOURCE("\"values\":[],\"address\":\"m.t.x\",\"name\":\"x\",\"mode\":\"managed\"") "," CONFIG "}",
		 "!plan_unlisted"},
		{"{" HEAD "," RESOURCE("\"address\":\"m.t.x\",\"name\":\"x\"") "," CONFIG "}", "!plan_unlisted"},
		{"{" HEAD "," RESOURCE("\"mode\":\"managed\",\"name\":\"x\"") "," CONFIG "}", "!plan_malformed"},
		{"{" HEAD "," RESOURCE("\"mode\":\"data\",\"address\":\"a\",\"k\":{\"a\":1,\"a\":2}") "," CONFIG "}",
		 "!json_duplicate_key"},
		{"{" HEAD "," RESOURCE("\"mode\":\"data\",\"address\":\"a\",\"mode\":\"managed\"") "," CONFIG "}",
		 "!json_duplicate_key"},
		{"{" HEAD "," PLANNED("data") "," CONFIG "}", ""},
		{"{" HEAD "," PLANNED("managed") "," CONFIG
						 "," CHANGES(ENTRY("m.t.x", "", "\"actions\":[\"no-op\"]")) "}",
		 ""},
		{"{" CHANGES(ENTRY("m.t.x", "", "\"actions\":[\"no-op\"]")) "," HEAD "," PLANNED("managed") "," CONFIG
													    "}",
		 ""},
		{"{" HEAD "," PLANNED("managed") "," CONFIG
						 "," CHANGES(ENTRY("m.t.X", "", "\"actions\":[\"no-op\"]")) "}",
		 "!plan_unlisted"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_STR(findings_of(cases[i][0]), cases[i][1]);
}

/* Sensitive before, at these paths; after, this. */
static void test_sensitivity(void)
{
	static const struct {
		const char *before, *after, *value, *unknown, *expected;
	} cases[] = {
		{"{\"a\":true}", "{}", "{\"a\":\"x\"}", "{}", "review sensitivity_dropped t.b"},
		{"{\"a\":true}", "{\"a\":true}", "{\"a\":\"x\"}", "{}", ""},
		{"{\"a\":true}", "true", "{\"a\":\"x\"}", "{}", ""},
		{"{\"a\":true}", "{}", "{\"b\":\"x\"}", "{}", ""}, /* gone: nothing to see */
		{"{\"a\":true}", "{}", "{\"a\":null}", "{}", ""},
		{"{\"a\":true}", "{}", "{}", "{\"a\":true}",
		 "review sensitivity_dropped t.b"}, /* will be known, in the open */
		{"{\"a\":[{\"k\":true},{}]}", "{\"a\":[{\"k\":true},{}]}", "{\"a\":[{\"k\":1},{\"k\":1}]}", "{}",
		 ""},
		{"{\"a\":[{},{\"k\":true}]}", "{\"a\":[{\"k\":true},{}]}", "{\"a\":[{\"k\":1},{\"k\":1}]}", "{}",
		 "review sensitivity_dropped t.b"},
		{"true", "{\"a\":true}", "{\"a\":1}", "{}", ""},
		{"true", "{\"a\":true}", "{\"a\":1,\"b\":2}", "{}", "review sensitivity_dropped t.b"},
		{"false", "false", "{\"a\":1}", "{}", ""},
	};
	char text[1024];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(text, sizeof text,
			 PLAN(CHANGES(ENTRY("t.b", "",
					    "\"actions\":[\"update\"],\"after\":%s,\"after_unknown\":%s,\"before_"
					    "sensitive\":%s,\"after_sensitive\":%s"))),
			 cases[i].value, cases[i].unknown, cases[i].before, cases[i].after);
		CHECK_STR(findings_of(text), cases[i].expected);
		/* And with the members the other way round. */
		snprintf(text, sizeof text,
			 PLAN(CHANGES(ENTRY("t.b", "",
					    "\"after_sensitive\":%s,\"before_sensitive\":%s,\"after_unknown\":%s,"
					    "\"after\":%s,\"actions\":[\"update\"]"))),
			 cases[i].after, cases[i].before, cases[i].unknown, cases[i].value);
		CHECK_STR(findings_of(text), cases[i].expected);
	}
}

#define IN_MODULES(resource)                                                                                           \
	"\"configuration\":{\"root_module\":{\"module_calls\":{\"m\":{\"module\":{\"module_calls\":{\"k\":{"           \
	"\"module\":{\"resources\":[" resource "]}}}}}}}}"

/* An object deep in modules with instance keys, against its configuration. */
static void test_configuration(void)
{
	static const char address[] = "module.m[\\\"a]\\\\\\\".b\\\"].module.k[0].t.n[\\\"x\\\"]";
	static const char provisioned[] =
		IN_MODULES("{\"address\":\"t.n\",\"provisioners\":[{\"type\":\"local-exec\"}]}");
	static const char other[] =
		IN_MODULES("{\"address\":\"t.other\",\"provisioners\":[{\"type\":\"local-exec\"}]}");
	static const char none[] = IN_MODULES("{\"address\":\"t.n\",\"provisioners\":[]}");
	static const char arguments[] =
		IN_MODULES("{\"address\":\"t.n\",\"expressions\":{\"a\":{\"references\":[\"x\"]},\"fixed\":{\"constant_"
			   "value\":{\"references\":[\"x\"]}},"
			   "\"block\":[{\"inner\":{\"references\":[\"y\"]},\"name\":{\"constant_value\":1}}]}}");
	/* timestamp(), and a dynamic block, which the configuration does not show. */
	static const char function[] = IN_MODULES("{\"address\":\"t.n\",\"expressions\":{\"a\":{}}}");
	static const struct {
		const char *config, *inner, *expected;
	} cases[] = {
		{function, "\"actions\":[\"update\"],\"after_unknown\":{\"a\":true}", "review unknown_after_apply"},
		{function, "\"actions\":[\"update\"],\"after_unknown\":{\"b\":true}", ""},
		{function, "\"actions\":[\"update\"],\"after_unknown\":{\"rule\":[{\"cidr\":true}]}",
		 "review unknown_after_apply"},
		{provisioned, "\"actions\":[\"create\"]", "review provisioner"},
		{provisioned, "\"actions\":[\"delete\"]", "destructive delete+provisioner"},
		{provisioned, "\"actions\":[\"update\"]", ""},
		{provisioned, "\"actions\":[\"no-op\"]", ""},
		{other, "\"actions\":[\"create\"]", ""},
		{none, "\"actions\":[\"create\"]", ""},
		{arguments, "\"actions\":[\"update\"],\"after_unknown\":{\"a\":true}", "review unknown_after_apply"},
		{arguments, "\"actions\":[\"update\"],\"after_unknown\":{\"a\":[{\"k\":true}]}",
		 "review unknown_after_apply"},
		{arguments, "\"actions\":[\"update\"],\"after_unknown\":{\"block\":[{},{\"inner\":true}]}",
		 "review unknown_after_apply"},
		{arguments, "\"actions\":[\"update\"],\"after_unknown\":{\"block\":true}",
		 "review unknown_after_apply"},
		{arguments, "\"actions\":[\"update\"],\"after_unknown\":true", "review unknown_after_apply"},
		{arguments,
		 "\"actions\":[\"update\"],\"after_unknown\":{\"block\":[{\"computed\":true}],\"id\":true,\"fixed\":"
		 "true}",
		 ""},
		{arguments, "\"actions\":[\"update\"],\"after_unknown\":{\"a\":false}", ""},
		{arguments, "\"actions\":[\"create\"],\"after_unknown\":{\"a\":true}", ""},
	};
	char text[2048], expected[256];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (int order = 0; order < 2; order++) {
			char entry[512];
			snprintf(entry, sizeof entry, CHANGES("{\"address\":\"%s\",\"type\":\"t\",\"change\":{%s}}"),
				 address, cases[i].inner);
			snprintf(text, sizeof text, "{" HEAD "," VALUES ",%s,%s}", order ? entry : cases[i].config,
				 order ? cases[i].config : entry);
			size_t used = 0;
			expected[0] = '\0';
			for (const char *p = cases[i].expected; *p != '\0'; p += strcspn(p, ";"), p += *p == ';')
				used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%.*s %s",
							 used ? ";" : "", (int)strcspn(p, ";"), p, address);
			CHECK_STR(findings_of(text), expected);
		}
	}
}

static void test_because(void)
{
	const char *text = judge(PLAN(
		CHANGES(ENTRY("t.b", ",\"action_reason\":\"replace_because_cannot_update\",\"provider_name\":\"p\"",
			      "\"actions\":[\"delete\",\"create\"],\"replace_paths\":[[\"a\"],[\"block\",0,\"in_ner-"
			      "1\"],[\"tags\",\"x.y\\n\"],[]]"))));

	CHECK(strstr(text, "\"actions\":[\"delete\",\"create\"],\"because\":[\"a\",\"block[0].in_ner-1\",\"tags[\\\"x."
			   "y\\\\n\\\"]\"],\"values\":[") != NULL);
	CHECK(strstr(text, "],\"reason\":\"replace_because_cannot_update\",\"type\":\"t\",\"provider\":\"p\",\"text\":\"") !=
	      NULL);
	CHECK(strstr(text, "\"counts\":{\"create\":0,\"update\":0,\"replace\":1,\"delete\":0,\"forget\":0,\"read\":0,"
			   "\"noop\":0},") != NULL);
	CHECK(strstr(text, "\"verdict\":\"destructive\",\"errored\":false,") != NULL);
}

/* Documents that cost more than their size: each of them took minutes when a walk began anew for each child. */
static void test_cost(void)
{
	auto_buf plan = BUF_INIT(64 << 20);
	const unsigned many = 60000, deep = 150;

	/* Values and masks of many elements. */
	buf_add_str(&plan, "{" HEAD "," VALUES "," CONFIG ",\"resource_changes\":[{\"address\":\"t.b\",\"type\":\"t\",\"change\":{"
			   "\"actions\":[\"no-op\"]", &err);
	for (int part = 0; part < 4; part++) {
		static const char *const names[] = {"before", "after", "before_sensitive", "after_sensitive"};
		buf_addf(&plan, &err, ",\"%s\":{\"l\":[", names[part]);
		for (unsigned i = 0; i < many; i++)
			buf_addf(&plan, &err, "%s{\"k%u\":[%s]}", i ? "," : "", i, part < 2 ? "\"x\"" : "true");
		buf_add_str(&plan, "],\"o\":{", &err);
		for (unsigned i = 0; i < many; i++)
			buf_addf(&plan, &err, "%s\"k%u\":%s", i ? "," : "", i, part < 2 ? "\"x\"" : "true");
		buf_add_str(&plan, "}}", &err);
	}
	buf_add_str(&plan, "}}]}", &err);
	CHECK(judge_bytes(plan.data, plan.len)[0] == '{');
	/* Drift, deeply nested. */
	buf_reset(&plan);
	buf_add_str(&plan, "{" HEAD "," VALUES "," CONFIG ",\"resource_drift\":[{\"address\":\"t.b\",\"change\":{\"actions\":["
			   "\"update\"]", &err);
	for (int part = 0; part < 2; part++) {
		buf_addf(&plan, &err, ",\"%s\":", part ? "after" : "before");
		for (unsigned i = 0; i < deep; i++)
			buf_add_str(&plan, "{\"a\":", &err);
		buf_addf(&plan, &err, "%d", 1);
		for (unsigned i = 0; i < deep; i++)
			buf_add_str(&plan, "}", &err);
	}
	buf_add_str(&plan, "}}]}", &err);
	CHECK_STR(findings_of(buf_str(&plan)), "");
}

/* The strongest come first, at most 200 of them; the rest is counted. */
static void test_bounded(void)
{
	auto_buf plan = BUF_INIT(64 << 20);
	const unsigned many = 3000;
	unsigned shown = 0;

	buf_add_str(&plan, "{" HEAD "," VALUES "," CONFIG ",\"resource_changes\":[", &err);
	for (unsigned i = 0; i < many; i++)
		buf_addf(&plan, &err, "%s" ENTRY("t.b[%u]", "", "\"actions\":[\"%s\"]"), i ? "," : "", i,
			 i % 10 == 9 ? "delete" : "create");
	buf_add_str(&plan, "]}", &err);
	const char *text = judge_bytes(plan.data, plan.len);
	for (const char *p = text; (p = strstr(p, "\"verdict\":\"destructive\",\"signals\"")) != NULL; p++)
		shown++;
	CHECK(shown == LIMIT_FINDINGS && strstr(text, "\"total\":300,") != NULL &&
	      strstr(text, "\"counts\":{\"create\":2700,\"update\":0,\"replace\":0,\"delete\":300,") != NULL &&
	      strstr(text, "\"safe_total\":2700,") != NULL);
	CHECK(strstr(text, "\"findings\":[{\"address\":\"t.b[9]\",\"verdict\":\"destructive\"") != NULL);
	CHECK(strstr(text, "{\"address\":\"t.b[1999]\",\"verdict\":\"destructive\"") != NULL);
	/* Addresses of a megabyte of control characters: cut, told apart by their digests, and the whole still fits a
	 * call. */
	buf_reset(&plan);
	buf_add_str(&plan, "{" HEAD "," VALUES "," CONFIG ",\"resource_changes\":[", &err);
	for (unsigned i = 0; i < 300; i++) {
		buf_addf(&plan, &err, "%s{\"type\":\"t\",\"change\":{\"actions\":[\"delete\"]},\"address\":\"",
			 i ? "," : "");
		for (unsigned j = 0; j < 2000; j++)
			buf_add_str(&plan, "\\u0007\\u20ac", &err);
		buf_addf(&plan, &err, "%u\"}", i);
	}
	buf_add_str(&plan, "]}", &err);
	text = judge_bytes(plan.data, plan.len);
	CHECK(err.class == SBX_OK && text[0] == '{' && strlen(text) < LIMIT_CALL / 2);
	CHECK(strstr(text, "\"total\":300,") != NULL && strstr(text, "(cut, sha256:") != NULL);
}

int main(void)
{
	test_refused();
	test_actions();
	test_oddities();
	test_quiet();
	test_listed();
	test_sensitivity();
	test_configuration();
	test_because();
	test_cost();
	test_bounded();
	buf_clear(&report_text);
	return unit_done();
}
