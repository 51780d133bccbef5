/* review_text: the same bytes each time, nothing hostile at the start of a line or outside quotes, causes before
 * consequences. */
#include "review_text.h"

#include <fcntl.h>

#include "call.h"
#include "digest.h"
#include "io.h"
#include "plan.h"
#include "review_quote.h"
#include "unit.h"

static char dir[] = "/tmp/sbx-review-XXXXXX";
static struct state state = STATE_NONE;
static struct secret key = SECRET_INIT;
static const struct review_terms terms = {
	.number = 12,
	.id = "00112233445566778899aabbccddeeff",
	.created = 1796000000,
	.expires = 1796001800,
	.nonce = "ffeeddccbbaa99887766554433221100",
	.head = "0000000000000000000000000000000000000000000000000000000000000000",
	.client = "Claude \"Code\"\n1",
};

static jv parse(const char *text)
{
	struct sbx_error err = SBX_ERROR_INIT;
	jv value;

	if (json_parse(text, strlen(text), LIMIT_CALL, &value, &err) < 0)
		printf("# %s: %s\n", err.code, err.message);
	return value;
}

/* A call with these params (JSON) and plan (JSON or NULL), its digests filled in. */
static jv make_call(const char *params, const char *plan)
{
	struct sbx_error err = SBX_ERROR_INIT;
	char decision_sha256[65], subject_sha256[65];
	jv policy = parse("{\"effect\":\"approve\",\"tier\":\"high\",\"rule\":\"tool:terraform_apply\",\"approval\":{"
			  "\"threshold\":1,\"ttl_s\":1800},"
			  "\"run\":{\"driver\":\"local\",\"target\":null,\"require\":\"local\",\"steps\":[{\"program\":"
			  "\"terraform\",\"argv\":["
			  "\"terraform\",\"apply\",{\"artifact\":\"plan\"}],\"credentials\":true}],\"egress\":[],"
			  "\"env\":{\"A\":\"b\"},"
			  "\"limits\":{\"deadline_ms\":1000},\"workspace\":{\"name\":\"\",\"tree\":\".\",\"cwd\":"
			  "\"envs/staging\","
			  "\"state\":{\"path\":\"envs/staging\",\"access\":\"write\"}}},\"credentials\":[]}");
	jv call = json_set(parse("{\"id\":\"0123456789abcdef0123456789abcdef\",\"tool\":\"terraform_apply\","
				 "\"principal\":{\"name\":\"agent\","
				 "\"uid\":1000,\"via\":\"uid\"},\"time\":\"2026-11-29T22:00:00Z\"}"),
			   "params", parse(params));
	auto_jv decision = json_set(jv_object(), "policy", jv_copy(policy));

	json_digest(decision, decision_sha256, &err);
	policy = json_set_str(policy, "decision_sha256", decision_sha256);
	auto_jv named = plan != NULL ? parse(plan) : jv_null();
	const char *seal = json_str(named, "seal_sha256");
	jv subject = json_set_str(jv_object(), "installation", state.installation);
	subject = json_set_str(json_set_str(subject, "principal", "agent"), "tool", "terraform_apply");
	subject = json_set(subject, "params", json_get(call, "params"));
	subject = json_set(subject, "plan", seal != NULL ? jv_string(seal) : jv_null());
	auto_jv whole = json_set_str(subject, "decision", decision_sha256);
	json_digest(whole, subject_sha256, &err);
	policy = json_set_str(policy, "subject_sha256", subject_sha256);
	if (plan != NULL)
		policy = json_set(policy, "plan", take_jv(&named));
	jv object = json_set(json_set_int(jv_object(), "sbx", CALL_VERSION), "call", call);
	return json_set(object, "policy", policy);
}

static const char *text_of(jv call, enum review_level level, struct buf *out)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_review review = REVIEW_INIT;

	buf_reset(out);
	if (review_load(&state, &key, call, level, &review, &err) < 0 || review_text(&review, &terms, out, &err) < 0)
		printf("# %s: %s\n", err.code, err.message);
	return buf_str(out);
}

/* Printable ASCII; each line begins with an upper-case heading of ours, or with two spaces and a word or step of ours;
 * quotes are balanced. */
static int is_well_formed(const char *text)
{
	int quotes = 0;

	for (const char *p = text; *p != '\0'; p++) {
		if (*p != '\n' && (*p < 0x20 || *p > 0x7e))
			return 0;
		int starts_line = p == text || p[-1] == '\n';
		const char *first = starts_line ? p + strspn(p, " ") : NULL;
		if (starts_line && *p != '\n' && !(*first >= 'A' && *first <= 'Z') &&
		    !(p[0] == ' ' && p[1] == ' ' && *first >= 'a' && *first <= 'z'))
			return 0;
		if (starts_line && quotes)
			return 0;
		if (*p == '\\' && quotes) {
			p++;
			continue;
		}
		quotes ^= *p == '"';
	}
	return !quotes;
}

static int has(const char *text, const char *part)
{
	int found = strstr(text, part) != NULL;

	if (!found)
		printf("# missing: %s\n", part);
	return found;
}

static void quoted(const char *bytes, size_t len, const char *expected)
{
	auto_buf out = BUF_INIT(4096);
	struct sbx_error err = SBX_ERROR_INIT;

	CHECK(review_quote(&out, bytes, len, &err) == 0);
	CHECK_STR(buf_str(&out), expected);
}

static void test_quote(void)
{
	char longest[121], digest[DIGEST_HEX_SIZE], expected[400];

	quoted("", 0, "\"\"");
	quoted("a\"b\\c", 5, "\"a\\\"b\\\\c\"");
	quoted("\0\n\033[2J\177", 7, "\"\\x00\\x0a\\x1b[2J\\x7f\"");
	quoted("\xe2\x80\xae", 3, "\"\\xe2\\x80\\xae\"");
	memset(longest, 'x', sizeof longest);
	snprintf(expected, sizeof expected, "\"%.120s\"", longest);
	quoted(longest, 120, expected);
	digest_sha256_hex(longest, 121, digest);
	snprintf(expected, sizeof expected, "\"%.120s\" (cut: 121 bytes, sha256 %s)", longest, digest);
	quoted(longest, 121, expected);
}

static void test_without_plan(void)
{
	auto_buf a = BUF_INIT(LIMIT_REVIEW_TEXT), b = BUF_INIT(LIMIT_REVIEW_TEXT);
	auto_jv call = make_call("{\"dir\":\"envs/staging\",\"n\":3,\"t\":true,\"l\":[\"a\"]}", NULL);
	auto_jv other = make_call("{\"dir\":\"envs/staging2\",\"n\":3,\"t\":true,\"l\":[\"a\"]}", NULL);
	const char *text = text_of(call, REVIEW_SEPARATE, &a);
	char line[128];

	snprintf(line, sizeof line, "Installation %s, target none, isolation \"local\" by driver \"local\"\n",
		 state.installation);
	CHECK(strncmp(text, line, strlen(line)) == 0);
	CHECK(is_well_formed(text));
	CHECK(has(text, "Request 12, id 00112233445566778899aabbccddeeff, nonce ffeeddccbbaa99887766554433221100\n"));
	CHECK(has(text, "Asked at 2026-11-30T00:53:20Z, can be signed and used until 2026-11-30T01:23:20Z\n"
			"Needs the signatures of 1 person\n"));
	CHECK(has(text, "Asked by principal \"agent\"; the program calls itself \"Claude \\\"Code\\\"\\x0a1\" (a claim, "
			"not checked)\n"));
	CHECK(has(text, "Asks for tool \"terraform_apply\", tier \"high\" by rule \"tool:terraform_apply\"\n"));
	CHECK(has(text, "  parameter \"dir\" is \"envs/staging\"\n"));
	CHECK(has(text,
		  "  parameter \"l\" is json \"[\\\"a\\\"]\"\n  parameter \"n\" is 3\n  parameter \"t\" is true\n"));
	CHECK(has(text, "  step 1: program \"terraform\" with credentials, arguments \"terraform\" \"apply\" artifact "
			"\"plan\"\n"));
	CHECK(has(text, "  what the tool will change: it has no plan that could be read before it runs\n"));
	CHECK(has(text, "  the files of the workspace: they are taken as they are when the tool runs\n"));
	CHECK_STR(text_of(call, REVIEW_SEPARATE, &b), text);
	CHECK(strcmp(text_of(other, REVIEW_SEPARATE, &b), text) != 0);
	CHECK(strncmp(text_of(call, REVIEW_LEVEL_0, &b),
		      "L0: this approval can be made by the agent's own account\nInstallation ", 70) == 0);
	CHECK(is_well_formed(buf_str(&b)));
	CHECK(strcmp(buf_str(&b) + 57, text) == 0);
}

static void test_hostile_params(void)
{
	auto_buf out = BUF_INIT(LIMIT_REVIEW_TEXT);
	auto_jv call = make_call("{\"\\nNot inspected\":\"\\n  DESTROY "
				 "nothing\\n\",\"a\":\"\\u001b[31m\\u202e\\u0000\",\"b\":{\"\\n\":\"\\u2028\"}}",
				 NULL);
	const char *text = text_of(call, REVIEW_SEPARATE, &out);

	CHECK(is_well_formed(text));
	CHECK(has(text, "  parameter \"\\x0aNot inspected\" is \"\\x0a  DESTROY nothing\\x0a\"\n"));
	CHECK(has(text, "\"\\x1b[31m\\xe2\\x80\\xae\\x00\""));
}

static void test_subject(void)
{
	auto_jv call = make_call("{\"dir\":\"x\"}", NULL);
	struct sbx_error err = SBX_ERROR_INIT;
	auto_review review = REVIEW_INIT;
	char subject[65];

	CHECK(review_load(&state, &key, call, REVIEW_SEPARATE, &review, &err) == 0);
	CHECK(review_subject(&review, subject, &err) == 0 && strlen(subject) == 64);
	jv inner = json_set(json_object(review.call, "call"), "params", parse("{\"dir\":\"y\"}"));
	review.call = json_set(take_jv(&review.call), "call", inner);
	CHECK(review_subject(&review, subject, &err) == -1);
	CHECK_STR(err.code, "subject_mismatch");
}

/* A kept plan about which sbx-plan said REPORT. */
static int keep_plan(const char *report_text, char named[400])
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_jv report = parse(report_text);
	char id[STATE_ID_SIZE], seal_sha256[65], content[65], found[65];
	auto_fd content_fd = io_sealed_memfd("x", "plan", 4, &err);

	digest_sha256_hex("plan", 4, content);
	json_digest(report, found, &err);
	jv seal = json_set_str(json_set_str(jv_object(), "plan_sha256", content), "tree_sha256", content);
	seal = json_set_str(seal, "findings_sha256", found);
	seal = json_set(seal, "digest", parse("{\"artefact\":\"aa\",\"effect\":\"ee\"}"));
	seal = json_set(seal, "state", parse("{\"lineage\":\"l-1\",\"serial\":4}"));
	seal = json_set(seal, "backend", parse("{\"type\":\"http\\n\",\"config_sha256\":\"bb\",\"workspace\":\"default\"}"));
	seal = json_set(seal, "providers", parse("[{\"source\":\"registry.example/a/b\",\"version\":\"1.2.3\",\"package\":\"h1:x=\"}]"));
	auto_jv whole = json_set(
		seal, "terraform",
		parse("{\"program\":\"terraform\",\"version\":\"1.9.0\",\"sha256\":\"cc\"}"));
	if (plan_keep(&state, &key, whole, content_fd, content_fd, report, id, seal_sha256, &err) < 0) {
		printf("# %s: %s\n", err.code, err.message);
		return -1;
	}
	snprintf(named, 400, "{\"id\":\"%s\",\"seal_sha256\":\"%s\",\"verdict\":\"destructive\"}", id, seal_sha256);
	return 0;
}

static const char plan_report[] =
	"{\"counts\":{\"create\":30,\"update\":2,\"replace\":1,\"delete\":1,\"forget\":0,\"read\":0,\"noop\":5},"
	"\"data_destroyed\":2,\"findings_total\":6,\"safe_total\":31,"
	"\"safe\":[{\"address\":\"c\\nDESTROY\",\"actions\":[\"create\"]},"
	"{\"address\":\"u\",\"actions\":[\"update\"]}],"
	"\"findings\":[{\"address\":\"terraform_data.web\",\"verdict\":\"destructive\",\"signals\":[\"replace\"],"
	"\"actions\":[\"delete\",\"create\"],\"because\":[\"triggers_replace\",\"x\"],"
	"\"values\":[{\"path\":\"triggers_replace\",\"before\":\"[\\\"web:1.0\\\"]\",\"after\":\"(sensitive)\"},"
	"{\"path\":\"x\",\"after\":\"\\\"a\\\\n  DESTROY b\\\"\"}]},"
	"{\"address\":\"a[\\\"\\nk\\\"]\",\"verdict\":\"destructive\","
	"\"signals\":[\"delete\",\"delete_because_no_module\"],"
	"\"actions\":[\"delete\"],\"holds_data\":true,"
	"\"reason\":\"delete_because_no_module\",\"deposed\":\"ab12\"},"
	"{\"address\":\"m\",\"verdict\":\"review\",\"signals\":[\"odd_one\"],\"actions\":[\"forget\","
	"\"create\"],\"text\":\"The change does\\nsomething.\"},"
	"{\"address\":\"terraform.tfstate\",\"verdict\":\"review\",\"signals\":[\"state_changed\"]}]}";

static void test_plan(void)
{
	auto_buf out = BUF_INIT(LIMIT_REVIEW_TEXT);
	char named[400];

	CHECK(keep_plan(plan_report, named) == 0);
	auto_jv call = make_call("{\"plan\":\"x\"}", named);
	const char *text = text_of(call, REVIEW_SEPARATE, &out);
	CHECK(is_well_formed(text));
	CHECK(has(text, "  against state lineage \"l-1\" serial 4\n"
			"  backend \"http\\x0a\", Terraform workspace \"default\"\n"
			"  provider \"registry.example/a/b\" version \"1.2.3\", package \"h1:x=\"\n"
			"Data is lost: 2 objects that hold data are destroyed\n"
			"The plan's changes: 30 created, 2 updated, 1 replaced, 1 destroyed\n"
			"Findings: 6\n"
			"  REPLACE \"terraform_data.web\" because \"triggers_replace\" (json \"[\\\"web:1.0\\\"]\" -> "
			"(sensitive)), \"x\" (none -> \"a\\x0a  DESTROY b\") change: the present object is destroyed and "
			"another one is made [destructive]\n"
			"  DESTROY \"a[\\\"\\x0ak\\\"]\" (deposed object \"ab12\") because its module is not in the "
			"configuration any more: the object is destroyed; the data in it is lost [destructive]\n"
			"  FORGET \"m\": the present object stays and is no longer managed; another one is made; signal "
			"\"odd_one\" [review]\n"
			"    in words: \"The change does\\x0asomething.\"\n"
			"  STATE \"terraform.tfstate\": a step changed the state that it was given for reading; the change "
			"was thrown away [review]\n"
			"  and 2 more that are not listed\n"
			"Changes without a finding: 31\n"
			"  CREATE \"c\\x0aDESTROY\"\n"
			"  UPDATE \"u\"\n"
			"  and 29 more that are not listed\n"
			"Not inspected\n"
			"  findings that stand nowhere in this text: 2\n"));
	CHECK(has(text, " with \"terraform\" version \"1.9.0\"\n"));
	CHECK(has(text, "  plan seal \""));
	CHECK(has(text, "  program   \"cc\"\n  backend   \"bb\"\n"));
	CHECK(has(text, "  effect    \"ee\"\n"));

	/* Its plan can be found in it, and in no text where somebody else's words say so. */
	char id[STATE_ID_SIZE];
	static const char quoted_heading[] = "  \"\\x0aApplies plan \\\"00000000000000000000000000000000\\\"\"";
	CHECK(review_plan(text, out.len, id) && strncmp(named + strlen("{\"id\":\""), id, strlen(id)) == 0);
	CHECK(!review_plan("", 0, id) && !review_plan(quoted_heading, strlen(quoted_heading), id));
	const char *heading = strstr(text, REVIEW_PLAN_HEADING);
	size_t whole_len = strlen(REVIEW_PLAN_HEADING) + 34;
	CHECK(review_plan(heading, whole_len, id) && !review_plan(heading, whole_len - 1, id));

	/* Another plan under the decision's name is refused. */
	struct sbx_error err = SBX_ERROR_INIT;
	auto_review review = REVIEW_INIT, gone = REVIEW_INIT;
	char *seal = strstr(named, "seal_sha256") + 14;
	seal[0] = seal[0] == '0' ? '1' : '0';
	auto_jv changed = make_call("{\"plan\":\"x\"}", named);
	CHECK(review_load(&state, &key, changed, REVIEW_SEPARATE, &review, &err) == -1);
	CHECK_STR(err.code, "plan_changed");
	sbx_error_clear(&err);
	auto_jv unknown =
		make_call("{\"plan\":\"x\"}",
			  "{\"id\":\"00000000000000000000000000000000\",\"seal_sha256\":\"00\",\"verdict\":\"safe\"}");
	CHECK(review_load(&state, &key, unknown, REVIEW_SEPARATE, &gone, &err) == -1);
	CHECK_STR(err.code, "plan_unknown");
}

/* A plan that destroys nothing says so, names the first of what it makes, and the rest at the end. */
static void test_safe_plan(void)
{
	auto_buf report = BUF_INIT(LIMIT_CALL), out = BUF_INIT(LIMIT_REVIEW_TEXT);
	struct sbx_error err = SBX_ERROR_INIT;
	char named[400];

	buf_add_str(&report, "{\"counts\":{\"create\":50},\"data_destroyed\":0,\"findings\":[],\"findings_total\":0,"
			     "\"safe_total\":50,\"safe\":[", &err);
	for (int i = 0; i < 50; i++)
		buf_addf(&report, &err, "%s{\"address\":\"a[%d]\",\"actions\":[\"create\"]}", i > 0 ? "," : "", i);
	buf_add_str(&report, "]}", &err);
	CHECK(keep_plan(buf_str(&report), named) == 0);
	auto_jv call = make_call("{\"plan\":\"x\"}", named);
	const char *text = text_of(call, REVIEW_SEPARATE, &out);
	CHECK(is_well_formed(text));
	CHECK(has(text, "\nThe plan's changes: 50 created\nFindings: 0\nChanges without a finding: 50\n  CREATE \"a[0]\"\n"));
	CHECK(has(text, "  CREATE \"a[4]\"\n  and 45 more, listed below\nNot inspected\n  values that no rule asks for"));
	CHECK(has(text, "\nMore changes without a finding\n  CREATE \"a[5]\"\n"));
	CHECK(has(text, "  CREATE \"a[49]\"\nA signature under this text lets exactly this call run, once.\n"));
	CHECK(strstr(text, "Data is lost") == NULL);
}

/* What a change to a cluster makes of each value stands there as far as it is listed, and of the rest how many. */
static void test_differences(void)
{
	auto_buf report = BUF_INIT(LIMIT_CALL), out = BUF_INIT(LIMIT_REVIEW_TEXT);
	struct sbx_error err = SBX_ERROR_INIT;
	char named[400];

	buf_add_str(&report, "{\"counts\":{\"update\":1},\"data_destroyed\":0,\"findings\":[],\"findings_total\":0,"
			     "\"safe_total\":0,\"safe\":[],\"differences_total\":1000,\"differences\":[", &err);
	for (int i = 0; i < 400; i++)
		buf_addf(&report, &err, "%s{\"address\":\"a\",\"path\":\"b[%d]\",\"before\":\"1\",\"after\":\"%d\"}",
			 i > 0 ? "," : "", i, i);
	buf_add_str(&report, "]}", &err);
	CHECK(keep_plan(buf_str(&report), named) == 0);
	auto_jv call = make_call("{\"plan\":\"x\"}", named);
	const char *text = text_of(call, REVIEW_SEPARATE, &out);
	CHECK(is_well_formed(text));
	CHECK(has(text, "\nValues that become others: 1000\n  value \"b[0]\" in \"a\" (1 -> 0)\n"));
	CHECK(has(text, "  value \"b[7]\" in \"a\" (1 -> 7)\n  and 392 more, listed below\n  and 600 that are not listed\n"));
	CHECK(has(text, "\n  values that become others and stand nowhere in this text: 600\n"));
	CHECK(has(text, "\nMore values that become others\n  value \"b[8]\" in \"a\" (1 -> 8)\n"));
	CHECK(has(text, "  value \"b[399]\" in \"a\" (1 -> 399)\nA signature under this text"));
}

/* What cannot be shown whole cannot be approved. */
static void test_too_large(void)
{
	auto_buf list = BUF_INIT(LIMIT_CALL), out = BUF_INIT(LIMIT_REVIEW_TEXT);
	struct sbx_error err = SBX_ERROR_INIT;
	auto_review review = REVIEW_INIT;
	char named[400];

	buf_add_str(&list, "{\"findings\":[", &err);
	for (int i = 0; i < 3000; i++)
		buf_addf(&list, &err, "%s{\"address\":\"%0100d\",\"signals\":[\"delete\"],\"verdict\":\"destructive\"}",
			 i > 0 ? "," : "", i);
	buf_add_str(&list, "]}", &err);
	CHECK(keep_plan(buf_str(&list), named) == 0);
	auto_jv call = make_call("{\"plan\":\"x\"}", named);
	CHECK(review_load(&state, &key, call, REVIEW_SEPARATE, &review, &err) == 0);
	CHECK(review_text(&review, &terms, &out, &err) == -1 && out.len == 0);
	CHECK_STR(err.code, "review_too_large");
	CHECK(err.class == SBX_DENIED);
}

static void test_no_report(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_review review = REVIEW_INIT;
	char named[400];

	CHECK(keep_plan("[]", named) == 0);
	auto_jv call = make_call("{\"plan\":\"x\"}", named);
	CHECK(review_load(&state, &key, call, REVIEW_SEPARATE, &review, &err) == -1);
	CHECK_STR(err.code, "plan_seal_invalid");
}

int main(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	char path[64];

	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof path, "%s/var", dir);
	CHECK(state_open(path, &state, &err) == 0 && state_seal_key(&state, &key, &err) == 0);
	test_quote();
	test_without_plan();
	test_hostile_params();
	test_subject();
	test_plan();
	test_safe_plan();
	test_differences();
	test_too_large();
	test_no_report();
	secret_clear(&key);
	state_close(&state);
	io_remove_tree(AT_FDCWD, dir, &err);
	return unit_done();
}
