/* What is told of two objects of a cluster that are not the same: each value, masked, bounded. */
#include <stdlib.h>
#include <string.h>

#include "kplan_differ.h"
#include "secret_mask.h"
#include "unit.h"

static struct sbx_error err;

/* Lines about WAS and IS ("": there is none), the first MAX of *TOTAL; to be freed. */
static char *told(const char *type, const char *was, const char *is, unsigned max, uint64_t *total)
{
	const char *const texts[PLAN_SIDES] = {was, is};
	struct plan_tree trees[PLAN_SIDES], masks[PLAN_SIDES];
	struct plan_differences differences;
	struct plan_secrets secrets;
	auto_buf kind = BUF_INIT(64), lines = BUF_INIT(1 << 20);
	struct kplan_sides sides = {.trees = {&trees[PLAN_WAS], &trees[PLAN_IS]},
				    .masks = {&masks[PLAN_WAS], &masks[PLAN_IS]},
				    .secrets = &secrets};

	buf_add_str(&kind, type, &err);
	plan_secrets_init(&secrets);
	plan_differences_init(&differences, max);
	for (int side = 0; side < PLAN_SIDES; side++) {
		plan_tree_init(&trees[side]);
		plan_tree_init(&masks[side]);
		CHECK((texts[side][0] == '\0' ||
		       plan_tree_parse(&trees[side], texts[side], strlen(texts[side]), &err) == 0) &&
		      secret_mask(&masks[side], &trees[side], &kind, &err) == 0 &&
		      secret_mask_keep(&secrets, &trees[side], &masks[side], &kind, &err) == 0);
	}
	CHECK(kplan_differ(&differences, &sides, &err) == 0);
	for (unsigned i = 0; i < differences.kept; i++)
		CHECK(plan_difference_say(&differences.list[i], &secrets, &lines, &err) == 0 &&
		      buf_add_str(&lines, "\n", &err) == 0);
	*total = differences.total;
	for (int side = 0; side < PLAN_SIDES; side++) {
		plan_tree_clear(&trees[side]);
		plan_tree_clear(&masks[side]);
	}
	plan_differences_clear(&differences);
	plan_secrets_clear(&secrets);
	return strdup(buf_str(&lines));
}

static void tells(const char *type, const char *was, const char *is, const char *lines)
{
	uint64_t total;
	auto_free char *said = told(type, was, is, 100, &total);

	CHECK_STR(said, lines);
}

#define POD(inside) "{\"spec\":{\"containers\":[{\"name\":\"app\"," inside "}]}}"
#define ENV(inside) POD("\"env\":[" inside "]")

static void test_values(void)
{
	static const struct {
		const char *was, *is, *lines;
	} cases[] = {
		{"{\"a\":1}", "{\"a\":1}", ""},
		{"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", ""},
		{"{\"a\":1}", "{\"a\":2}", "\"a\" (1 -> 2)\n"},
		{"{\"a\":\"1\"}", "{\"a\":1}", "\"a\" (\"1\" -> 1)\n"},
		{"{\"a\":1,\"c\":3,\"cc\":5}", "{\"b\":2,\"c\":4,\"cc\":5}",
		 "\"a\" (1 -> (nothing))\n\"c\" (3 -> 4)\n\"b\" ((nothing) -> 2)\n"},
		{"{\"c\":3,\"a\":1,\"b\":0}", "{\"b\":2,\"d\":4,\"a\":1}",
		 "\"c\" (3 -> (nothing))\n\"b\" (0 -> 2)\n\"d\" ((nothing) -> 4)\n"},
		{"{}", "{\"a\":{}}", "\"a\" ((nothing) -> {})\n"},
		{"{}", "{\"a\":null}", "\"a\" ((nothing) -> null)\n"},
		{"{\"a\":{\"b\":true}}", "{}", "\"a.b\" (true -> (nothing))\n"},
		{"{\"a\":{\"b\":1}}", "{\"a\":[1]}", "\"a.b\" (1 -> (nothing))\n\"a[0]\" ((nothing) -> 1)\n"},
		{"{\"metadata\":{\"labels\":{\"x.y/z\":\"1\"}},\"spec\":1}",
		 "{\"metadata\":{\"labels\":{\"x.y/z\":\"2\"}},\"spec\":2}",
		 "\"spec\" (1 -> 2)\n\"metadata.labels[\\\"x.y/z\\\"]\" (\"1\" -> \"2\")\n"},
		{"", "{\"a\":{\"b\":[1,\"x\"]}}", "\"a.b[0]\" ((nothing) -> 1)\n\"a.b[1]\" ((nothing) -> \"x\")\n"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		tells("ConfigMap", cases[i].was, cases[i].is, cases[i].lines);
}

static void test_lists(void)
{
	tells("Pod", POD("\"args\":[\"--a\",\"--b\",\"--z\"]"), POD("\"args\":[\"--a\",\"--c\",\"--d\",\"--z\"]"),
	      "\"spec.containers[app].args[1]\" (\"--b\" -> \"--c\")\n"
	      "\"spec.containers[app].args[2]\" ((nothing) -> \"--d\")\n");
	tells("Pod", ENV("{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"B\",\"value\":\"2\"}"),
	      ENV("{\"name\":\"N\",\"value\":\"0\"},{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"B\",\"value\":\"3\"}"),
	      "\"spec.containers[app].env[B].value\" (\"2\" -> \"3\")\n"
	      "\"spec.containers[app].env[N].name\" ((nothing) -> \"N\")\n"
	      "\"spec.containers[app].env[N].value\" ((nothing) -> \"0\")\n");
	/* Another order is told, and one name twice is no name. */
	tells("Pod", ENV("{\"name\":\"A\"},{\"name\":\"B\"}"), ENV("{\"name\":\"B\"},{\"name\":\"A\"}"),
	      "\"spec.containers[app].env[0].name\" (\"A\" -> \"B\")\n"
	      "\"spec.containers[app].env[1].name\" (\"B\" -> \"A\")\n");
	tells("Pod", ENV("{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"A\",\"value\":\"2\"}"),
	      ENV("{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"A\",\"value\":\"3\"}"),
	      "\"spec.containers[app].env[1].value\" (\"2\" -> \"3\")\n");
	tells("Pod", ENV("{\"name\":\"0\",\"value\":\"1\"}"), ENV("{\"name\":\"0\",\"value\":\"2\"}"),
	      "\"spec.containers[app].env[0].value\" (\"1\" -> \"2\")\n");
}

#define TEN "0123456789"
#define LONG TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static void test_texts(void)
{
	uint64_t total;

	tells("ConfigMap", "{\"data\":{\"c\":\"one\\ntwo\\nthree\\n\"}}",
	      "{\"data\":{\"c\":\"one\\n2\\n2b\\nthree\\n\"}}",
	      "\"data.c\", line 2 (\"two\" -> \"2\")\n\"data.c\", line 3 ((nothing) -> \"2b\")\n");
	tells("ConfigMap", "{\"data\":{\"c\":\"one\\ntwo\"}}", "{\"data\":{\"c\":\"one\\ntwo\\n\"}}",
	      "\"data.c\", line 2 (\"two\" -> \"two\\n\")\n");
	tells("ConfigMap", "{\"data\":{\"c\":\"one\"}}", "{\"data\":{\"c\":\"\"}}", "\"data.c\" (\"one\" -> \"\")\n");
	/* Two that begin in the same way are told apart, where they differ. */
	auto_free char *said = told("ConfigMap", "{\"data\":{\"c\":\"" LONG "a" LONG "\"}}",
				    "{\"data\":{\"c\":\"" LONG "b" LONG "\"}}", 100, &total);
	CHECK(total == 1 && strstr(said, "\"data.c\", from byte 120 (\"" TEN TEN TEN TEN "a") != NULL &&
	      strstr(said, " -> \"" TEN TEN TEN TEN "b") != NULL);
	CHECK(strstr(said, "\"... (sha256 ") != NULL && strstr(said, LONG) == NULL);
}

/* What is secret is not shown; that it becomes another is said. What is not is shown beside it. */
static void test_masks(void)
{
	uint64_t total;

	tells("Pod", ENV("{\"name\":\"DB_PASSWORD\",\"value\":\"hunter2\"},{\"name\":\"L\",\"value\":\"a\"}"),
	      ENV("{\"name\":\"DB_PASSWORD\",\"value\":\"hunter3\"},{\"name\":\"L\",\"value\":\"b\"}"),
	      "\"spec.containers[app].env[DB_PASSWORD].value\" ((sensitive) -> another (sensitive))\n"
	      "\"spec.containers[app].env[L].value\" (\"a\" -> \"b\")\n");
	tells("Pod", ENV("{\"name\":\"DB_PASSWORD\",\"value\":\"hunter2\"}"), POD("\"env\":[]"),
	      "\"spec.containers[app].env[DB_PASSWORD].name\" (\"DB_PASSWORD\" -> (nothing))\n"
	      "\"spec.containers[app].env[DB_PASSWORD].value\" ((sensitive) -> (nothing))\n");
	tells("Secret", "{\"data\":{\"a\":\"aHVudGVyMg==\"}}", "{\"data\":{\"a\":\"aHVudGVyMw==\",\"b\":\"eA==\"}}",
	      "\"data.a\" ((sensitive) -> another (sensitive))\n\"data.b\" ((nothing) -> (sensitive))\n");
	/* Elsewhere, and behind the beginning of a text that differs within it. */
	tells("Pod",
	      "{\"metadata\":{\"annotations\":{\"a\":\"x\"}},\"spec\":{\"env\":[{\"name\":\"TOKEN\",\"value\":"
	      "\"hunter2hunter2\"}]}}",
	      "{\"metadata\":{\"annotations\":{\"a\":\"is "
	      "hunter2hunter2\"}},\"spec\":{\"env\":[{\"name\":\"TOKEN\",\"value\":\"hunter2hunter2\"}]}}",
	      "\"metadata.annotations.a\" (\"x\" -> (sensitive))\n");
	auto_free char *said = told("Pod",
				    "{\"data\":{\"a\":\"x\\nS3cr" LONG
				    "1\\n\"},\"env\":[{\"name\":\"TOKEN\",\"value\":\"S3cr" LONG "1\"}]}",
				    "{\"data\":{\"a\":\"x\\nS3cr" LONG
				    "2\\n\"},\"env\":[{\"name\":\"TOKEN\",\"value\":\"S3cr" LONG "1\"}]}",
				    100, &total);
	CHECK(total == 1 && strcmp(said, "\"data.a\" ((sensitive) -> another (sensitive))\n") == 0);
	/* An element is not called by what is secret, or no name. */
	tells("Pod", ENV("{\"name\":\"ghp_0123456789abcdefghijABCDEFGHIJ012345\",\"value\":\"1\"}"),
	      ENV("{\"name\":\"ghp_0123456789abcdefghijABCDEFGHIJ012345\",\"value\":\"2\"}"),
	      "\"spec.containers[app].env[0].value\" (\"1\" -> \"2\")\n");
}

/* Whatever somebody calls a thing, there is one line for each. */
static void test_hostile(void)
{
	tells("ConfigMap", "{}",
	      "{\"metadata\":{\"annotations\":{\"a\\nFindings: 0\\u202e\\u0000\":\"x\\u001b[2J\\r\\\" (\"}}}",
	      "\"metadata.annotations[\\\"a\\\\nFindings: 0\\\\u202e\\\\u0000\\\"]\" ((nothing) -> "
	      "\"x\\u001b[2J\\u000d\\\" (\")\n");
	tells("Pod", ENV("{\"name\":\"A] (1 -> 2)\\n\",\"value\":\"1\"}"),
	      ENV("{\"name\":\"A] (1 -> 2)\\n\",\"value\":\"2\"}"),
	      "\"spec.containers[app].env[0].value\" (\"1\" -> \"2\")\n");
}

/* All are counted, and labels push nothing out. */
static void test_many(void)
{
	auto_buf is = BUF_INIT(1 << 20);
	uint64_t total;

	buf_add_str(&is, "{\"metadata\":{\"labels\":{", &err);
	for (int i = 0; i < 1000; i++)
		buf_addf(&is, &err, "%s\"l%d\":\"\"", i > 0 ? "," : "", i);
	buf_add_str(&is, "}},\"spec\":{\"hostNetwork\":true,\"a\":[", &err);
	for (int i = 0; i < 1000; i++)
		buf_addf(&is, &err, "%s{\"name\":\"n%d\"}", i > 0 ? "," : "", i);
	buf_add_str(&is, "]}}", &err);
	auto_free char *said = told("Pod", "{\"spec\":{}}", buf_str(&is), 3, &total);
	CHECK(total == 2001);
	CHECK_STR(said, "\"spec.hostNetwork\" ((nothing) -> true)\n\"spec.a[0].name\" ((nothing) -> \"n0\")\n"
			"\"spec.a[1].name\" ((nothing) -> \"n1\")\n");
}

/* Deeper than ways are held, a value is told as a whole. */
static void test_deep(void)
{
	struct buf texts[2] = {BUF_INIT(4096), BUF_INIT(4096)};
	uint64_t total;

	for (int side = 0; side < 2; side++) {
		for (int i = 0; i < 20; i++)
			buf_add_str(&texts[side], "{\"a\":", &err);
		buf_addf(&texts[side], &err, "%d", side);
		for (int i = 0; i < 20; i++)
			buf_add_str(&texts[side], "}", &err);
	}
	auto_free char *said = told("Pod", buf_str(&texts[0]), buf_str(&texts[1]), 3, &total);
	CHECK(total == 1 &&
	      strstr(said, "({\"a\":{\"a\":{\"a\":{\"a\":0}}}} -> {\"a\":{\"a\":{\"a\":{\"a\":1}}}})") != NULL);
	buf_clear(&texts[0]);
	buf_clear(&texts[1]);
}

int main(void)
{
	test_values();
	test_lists();
	test_texts();
	test_masks();
	test_hostile();
	test_many();
	test_deep();
	return unit_done();
}
