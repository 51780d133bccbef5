/* What is said about a plan: values and how they are hidden, sentences, digests. */
#include "plan_read.h"

#include <fcntl.h>

#include "io.h"
#include "unit.h"

#define WHOLE(changes, more)                                                                                           \
	"{\"format_version\":\"1.2\",\"planned_values\":{\"root_module\":{}},\"configuration\":{\"root_module\":{}},"  \
	"\"resource_changes\":[" changes "]" more "}"
#define CHANGE(address, inner)                                                                                         \
	"{\"address\":\"" address "\",\"mode\":\"managed\",\"type\":\"t\",\"name\":\"n\",\"change\":{" inner "}}"
#define REPLACED "\"actions\":[\"delete\",\"create\"],\"replace_paths\":[[\"a\"]],"

static struct sbx_error err;
static struct buf text = BUF_INIT(1 << 20);
static char effect[DIGEST_HEX_SIZE], artefact[DIGEST_HEX_SIZE];

enum form { AS_JSON, AS_TEXT };

static const char *report(const char *plan, enum form form)
{
	struct plan_survey survey = {.errored = 0};
	struct plan_report made;
	const struct signal_table table = {.block = NULL};
	auto_fd fd = io_sealed_memfd("plan", plan, strlen(plan), &err);

	buf_reset(&text);
	plan_report_init(&made);
	CHECK(plan_read(fd, &table, &survey, &made, &err) == 0);
	const struct plan_head head = plan_read_head(&survey);
	CHECK((form == AS_JSON ? plan_report_write(&made, &head, &text, &err)
			       : plan_report_text(&made, &head, &text, &err)) == 0);
	memcpy(effect, made.effect, sizeof effect);
	memcpy(artefact, made.artefact, sizeof artefact);
	plan_report_clear(&made);
	plan_survey_clear(&survey);
	return buf_str(&text);
}

static int says(const char *plan, const char *words)
{
	int found = strstr(report(plan, AS_JSON), words) != NULL;

	if (!found)
		printf("# %s\n# has not: %s\n", buf_str(&text), words);
	return found;
}

static void test_values(void)
{
	static const struct {
		const char *before, *after, *shown;
	} cases[] = {
		{"\"x\"", "\"y\"", "\"path\":\"a\",\"before\":\"\\\"x\\\"\",\"after\":\"\\\"y\\\"\""},
		{"1", "1.50", "\"before\":\"1\",\"after\":\"1.50\""},
		{"null", "true", "\"path\":\"a\",\"after\":\"true\""},
		{"[1,{\"k\":\"v\"}]", "{}", "\"before\":\"[1,{\\\"k\\\":\\\"v\\\"}]\",\"after\":\"{}\""},
		/* What could hide or turn text is escaped twice: it is text of text. */
		{"\"\\u001b[2J\\n\\u202e\"", "\"\\ud83d\\ude00\"",
		 "\"before\":\"\\\"\\\\u001b[2J\\\\n\\\\u202e\\\"\",\"after\":\"\\\"\\\\ud83d\\\\ude00\\\"\""},
	};
	char plan[4096];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(plan, sizeof plan, WHOLE(CHANGE("t.n", REPLACED "\"before\":{\"a\":%s},\"after\":{\"a\":%s}"), ""),
			 cases[i].before, cases[i].after);
		CHECK(says(plan, cases[i].shown));
	}
	CHECK(says(WHOLE(CHANGE("t.n", REPLACED "\"before\":{\"a\":1},\"after\":{},\"after_unknown\":{\"a\":true}"), ""),
		   "\"before\":\"1\",\"after\":\"(known after apply)\""));
	/* A long one is cut. */
	char longer[400] = "";
	memset(longer, 'z', sizeof longer - 1);
	snprintf(plan, sizeof plan, WHOLE(CHANGE("t.n", REPLACED "\"before\":{\"a\":\"%s\"}"), ""), longer);
	longer[PLAN_VALUE_SHOWN] = '\0';
	char want[512];
	snprintf(want, sizeof want, "\"before\":\"\\\"%s\\\"...\"", longer);
	CHECK(says(plan, want));
}

/* SECRET never comes out; PLAIN stands there all the same. */
static void hides(const char *plan, const char *secret, const char *plain)
{
	CHECK(strstr(report(plan, AS_JSON), secret) == NULL);
	CHECK(strstr(buf_str(&text), "(sensitive)") != NULL);
	CHECK(strstr(buf_str(&text), plain) != NULL);
	CHECK(strstr(report(plan, AS_TEXT), secret) == NULL && strstr(buf_str(&text), "(sensitive)") != NULL);
}

static void test_sensitive(void)
{
	/* By the change's own masks, above, at and below the path. */
	hides(WHOLE(CHANGE("t.n", REPLACED "\"before\":{\"a\":\"hunter2\"},\"after\":{\"a\":\"plain\"},\"before_sensitive\":"
						   "{\"a\":true}"), ""), "hunter2", "plain");
	hides(WHOLE(CHANGE("t.n", REPLACED "\"before\":{\"a\":\"plain\"},\"after\":{\"a\":\"hunter2\"},\"after_sensitive\":"
						   "true"), ""), "hunter2", "plain");
	hides(WHOLE(CHANGE("t.n", REPLACED "\"before\":{\"a\":[1,\"hunter2\"]},\"after\":{\"a\":\"plain\"},"
						   "\"before_sensitive\":{\"a\":[false,true]}"), ""), "hunter2", "plain");
	/* Where it turns up again: alone, inside of a text, in another object that comes before it. */
	hides(WHOLE(CHANGE("t.m", REPLACED "\"before\":{\"a\":\"url://u:hunter2@h\"},\"after\":{\"a\":\"plain\"}") ","
		    CHANGE("t.n", "\"actions\":[\"no-op\"],\"before\":{\"p\":\"hunter2\"},\"before_sensitive\":{\"p\":true}"),
		    ""), "hunter2", "plain");
	hides(WHOLE(CHANGE("t.m", REPLACED "\"before\":{\"a\":\"hunter2\"},\"after\":{\"a\":\"plain\"}"),
		    ",\"output_changes\":{\"o\":{\"actions\":[\"update\"],\"before\":\"hunter2\",\"before_sensitive\":true}}"),
	      "hunter2", "plain");
	/* A long one by its beginning, one with quotes inside of a document. */
	hides(WHOLE(CHANGE("t.m", REPLACED "\"before\":{\"a\":\"x=0123456789abcdef0123456789abcdef01234567\"},\"after\":{"
						   "\"a\":\"plain\"}") ","
		    CHANGE("t.n", "\"actions\":[\"no-op\"],\"before\":{\"p\":\"0123456789abcdef0123456789abcdef01234567\"},"
				  "\"before_sensitive\":{\"p\":true}"), ""), "0123456789abcdef", "plain");
	hides(WHOLE(CHANGE("t.m", REPLACED "\"before\":{\"a\":\"{\\\"k\\\":\\\"pa\\\\\\\"zzz\\\"}\"},\"after\":{\"a\":\"plain\"}") ","
		    CHANGE("t.n", "\"actions\":[\"no-op\"],\"before\":{\"p\":\"pa\\\"zzz\"},\"before_sensitive\":{\"p\":true}"),
		    ""), "zzz", "plain");
	/* As jsonencode writes it; a document within a document; in a map, with a line feed. */
	hides(WHOLE(CHANGE("t.m", REPLACED "\"before\":{\"a\":\"{\\\"k\\\":\\\"p\\\\u0026ss\\\\u003czzz\\\"}\"},\"after\":{\"a\":\"plain\"}") ","
		    CHANGE("t.n", "\"actions\":[\"no-op\"],\"before\":{\"p\":\"p&ss<zzz\"},\"before_sensitive\":{\"p\":true}"),
		    ""), "zzz", "plain");
	hides(WHOLE(CHANGE("t.m", REPLACED "\"before\":{\"a\":\"{\\\"k\\\":\\\"{\\\\\\\"i\\\\\\\":\\\\\\\"q\\\\\\\\\\\\\\\"zzz\\\\\\\"}\\\"}\"},\"after\":{\"a\":\"plain\"}") ","
		    CHANGE("t.n", "\"actions\":[\"no-op\"],\"before\":{\"p\":\"q\\\"zzz\"},\"before_sensitive\":{\"p\":true}"),
		    ""), "zzz", "plain");
	hides(WHOLE(CHANGE("t.m", REPLACED "\"before\":{\"a\":{\"k\":\"{\\n \\\"type\\\": zzz\"}},\"after\":{\"a\":\"plain\"}") ","
		    CHANGE("t.n", "\"actions\":[\"no-op\"],\"before\":{\"p\":\"{\\n \\\"type\\\": zzz\"},\"before_sensitive\":{\"p\":true}"),
		    ""), "zzz", "plain");
	/* By a variable that is declared sensitive; one that is not is shown. */
#define VARIABLE(declared)                                                                                             \
	"{\"format_version\":\"1.2\",\"variables\":{\"v\":{\"value\":{\"x\":[\"hunter2\"]}}},\"planned_values\":{"    \
	"\"root_module\":{}},\"resource_changes\":[" CHANGE("t.m", REPLACED "\"before\":{\"a\":\"hunter2\"},"           \
									     "\"after\":{\"a\":\"plain\"}")             \
	"],\"configuration\":{\"root_module\":{\"variables\":{\"v\":{" declared "}}}}}"
	hides(VARIABLE("\"sensitive\":true"), "hunter2", "plain");
	CHECK(says(VARIABLE(""), "hunter2"));
	/* What is too short to be one is no reason to hide a longer text, but hides itself. */
	CHECK(says(WHOLE(CHANGE("t.m", REPLACED "\"before\":{\"a\":\"abc\"},\"after\":{\"a\":\"b\"}") ","
			 CHANGE("t.n", "\"actions\":[\"no-op\"],\"before\":{\"p\":\"b\"},\"before_sensitive\":{\"p\":true}"), ""),
		   "\"before\":\"\\\"abc\\\"\",\"after\":\"(sensitive)\""));
}

static void test_sentences(void)
{
	/* Indexes that stand next to others. */
	CHECK(says(WHOLE(CHANGE("t.n", "\"actions\":[\"delete\",\"create\"],\"replace_paths\":[[\"a\",1,2],[\"b\",0],[\"1b\"]],"
					"\"before\":{\"b\":[\"old\"]},\"after\":{\"b\":[\"new\"]}"), ""),
		   "\"because\":[\"a[1][2]\",\"b[0]\",\"[\\\"1b\\\"]\"],\"values\":[{\"path\":\"a[1][2]\"},{\"path\":\"b[0]\","
		   "\"before\":\"\\\"old\\\"\",\"after\":\"\\\"new\\\"\"}"));
	/* Characters that turn text are escaped in JSON too. */
	CHECK(says(WHOLE(CHANGE("t.\\u202eb", "\"actions\":[\"delete\"]"), ""), "{\"address\":\"t.\\u202eb\","));
	CHECK(says(WHOLE(CHANGE("t.\\ufe01\\u3164\\udb40\\udc41b", "\"actions\":[\"delete\"]"), ""),
		   "{\"address\":\"t.\\ufe01\\u3164\\udb40\\udc41b\","));
	CHECK(says(WHOLE(CHANGE("t.n", REPLACED "\"before\":{\"a\":\"x\"},\"after\":{\"a\":\"y\"}"), ""),
		   "\"text\":\"Because \\\"a\\\" (\\\"x\\\" -> \\\"y\\\") changes, the object is destroyed, then another one is "
		   "made.\""));
	CHECK(says(WHOLE(CHANGE("t.n", "\"actions\":[\"create\",\"delete\"]"), ""),
		   "\"text\":\"Another object is made, then the present one is destroyed.\""));
	CHECK(says(WHOLE("{\"address\":\"t.n\",\"action_reason\":\"delete_because_no_module\",\"change\":{\"actions\":[\"delete\"]}}",
			 ""),
		   "\"text\":\"Because its module is not in the configuration any more, the object is destroyed.\""));
	/* An unknown reason explains nothing, and changes nothing. */
	CHECK(says(WHOLE("{\"address\":\"t.n\",\"action_reason\":\"keep_safe\",\"change\":{\"actions\":[\"delete\"]}}", ""),
		   "\"signals\":[\"delete\",\"keep_safe\"],\"actions\":[\"delete\"],\"reason\":\"keep_safe\",\"text\":\"The object "
		   "is destroyed.\""));
	CHECK(says(WHOLE("{\"address\":\"t.n\",\"type\":\"t\",\"previous_address\":\"t.o\",\"change\":{\"actions\":[\"no-op\"]}}", ""),
		   "\"text\":\"The object gets another address. It was \\\"t.o\\\".\""));
	/* The page for people. */
	const char *page = report(WHOLE(CHANGE("t.n", "\"actions\":[\"delete\"]") "," CHANGE("t.\\u001b[1m\\u202e",
							"\"actions\":[\"forget\"]") "," CHANGE("t.c", "\"actions\":[\"create\"]"),
					""), AS_TEXT);
	CHECK(strstr(page, "verdict: destructive\n1 to create, 0 to update, 0 to replace, 1 to destroy, 1 to forget") == page);
	CHECK(strstr(page, "\nDESTROY \"t.n\"  [destructive]\n    The object is destroyed.\n") != NULL);
	CHECK(strstr(page, "\nFORGET \"t.\\u001b[1m\\u202e\"  [destructive]\n") != NULL);
	CHECK(strstr(page, "1 creation or update without a finding") != NULL);
	for (const char *p = page; *p != '\0'; p++)
		CHECK(*p == '\n' || (*p >= 0x20 && *p < 0x7f));
}

static int same_effect(const char *a, const char *b)
{
	char first[DIGEST_HEX_SIZE];

	report(a, AS_JSON);
	memcpy(first, effect, sizeof first);
	report(b, AS_JSON);
	return strcmp(first, effect) == 0;
}

static void test_digests(void)
{
	static const char one[] = WHOLE(CHANGE("t.n", "\"actions\":[\"update\"],\"before\":{\"a\":1},\"after\":{\"a\":2}"),
					",\"timestamp\":\"2026-01-01T00:00:00Z\"");

	/* The same change: at another time, in another layout, beside other things that stay as they are. */
	CHECK(same_effect(one, WHOLE(CHANGE("t.n", "\"actions\":[\"update\"],\"before\":{\"a\":1},\"after\":{\"a\":2}"),
				     ",\"timestamp\":\"2026-02-02T00:00:00Z\"")));
	CHECK(same_effect(one, WHOLE(CHANGE("t.n", "\"actions\": [\"update\"],\"before\":{\"\\u0061\":1},\"after\":{\"a\":\t2}"), "")));
	CHECK(same_effect(one, WHOLE(CHANGE("t.k", "\"actions\":[\"no-op\"],\"before\":{\"z\":9}") ","
				     CHANGE("t.n", "\"actions\":[\"update\"],\"before\":{\"a\":1},\"after\":{\"a\":2}"), "")));
	/* Another one: value, mask, action, address, output, configuration. */
	CHECK(!same_effect(one, WHOLE(CHANGE("t.n", "\"actions\":[\"update\"],\"before\":{\"a\":1},\"after\":{\"a\":3}"), "")));
	CHECK(!same_effect(one, WHOLE(CHANGE("t.n", "\"actions\":[\"update\"],\"before\":{\"a\":1},\"after\":{\"a\":\"2\"}"), "")));
	CHECK(!same_effect(one, WHOLE(CHANGE("t.n", "\"actions\":[\"update\"],\"before\":{\"a\":1},\"after\":{\"a\":2},"
						    "\"after_sensitive\":{\"a\":true}"), "")));
	CHECK(!same_effect(one, WHOLE(CHANGE("t.n", "\"actions\":[\"delete\",\"create\"],\"before\":{\"a\":1},\"after\":{\"a\":2}"), "")));
	CHECK(!same_effect(one, WHOLE(CHANGE("t.m", "\"actions\":[\"update\"],\"before\":{\"a\":1},\"after\":{\"a\":2}"), "")));
	CHECK(!same_effect(one, WHOLE(CHANGE("t.n", "\"actions\":[\"update\"],\"before\":{\"a\":1},\"after\":{\"a\":2}"),
				      ",\"output_changes\":{\"o\":{\"actions\":[\"create\"],\"after\":1}}")));
	CHECK(!same_effect(WHOLE("", ",\"variables\":{\"v\":{\"value\":1}}"), WHOLE("", ",\"variables\":{\"v\":{\"value\":2}}")));
	/* The artefact is the bytes. */
	unsigned char bytes[DIGEST_SIZE];
	char hex[DIGEST_HEX_SIZE];
	digest_sha256(one, strlen(one), bytes);
	digest_to_hex(bytes, sizeof bytes, hex);
	report(one, AS_JSON);
	CHECK_STR(artefact, hex);
	CHECK(strstr(buf_str(&text), hex) != NULL && strstr(buf_str(&text), effect) != NULL);
}

int main(void)
{
	test_values();
	test_sensitive();
	test_sentences();
	test_digests();
	buf_clear(&text);
	return unit_done();
}
