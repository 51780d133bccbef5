/* Changes to a cluster: what of an object is the same, what becomes of it, and which version a request names. */
#include <string.h>

#include "kchange_moved.h"
#include "unit.h"

static struct sbx_error err;

/* A Deployment and what was applied to it; the tests put other texts in their places. */
#define HEAD "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"api\",\"namespace\":\"web\","
#define DEPLOYMENT HEAD "\"uid\":\"u1\",\"resourceVersion\":\"7\",\"generation\":2},\"spec\":{\"replicas\":3}"

static void fill(struct kchange_object *object, const char *type, const char *text)
{
	struct sbx_error why = SBX_ERROR_INIT;
	const struct kchange_name name = {
		.kind = kchange_kind_find(type), .space = strcmp(type, "Node") == 0 ? "" : "web", .name = "api"};

	kchange_object_init(object);
	CHECK(plan_tree_parse(&object->tree, text, strlen(text), &why) == 0 &&
	      kchange_object_read(object, &name, &why) == 0);
}

/* Did it move from WAS to IS? WORDS is in what is told. */
static void moves(int expected, const char *type, const char *was, const char *is, const char *words)
{
	struct kchange_step step;
	struct kchange_object now;
	struct buf lines = BUF_INIT(1 << 16);

	kchange_step_init(&step);
	step.is_live = 1;
	fill(&step.live, type, was);
	fill(&now, type, is);
	int moved = kchange_moved(&step, &now, &lines, &err);
	if (moved != expected || strstr(buf_str(&lines), words) == NULL || (moved == 0 && lines.len > 0))
		printf("# %s: %s\n", is, buf_str(&lines));
	CHECK(moved == expected && strstr(buf_str(&lines), words) != NULL && (moved != 0 || lines.len == 0));
	buf_clear(&lines);
	kchange_object_clear(&now);
	kchange_step_clear(&step);
}

/* A Deployment of version 8 with METADATA and the rest REST. */
#define NOW(metadata, rest) HEAD "\"uid\":\"u1\",\"resourceVersion\":\"8\"," metadata "}," rest "}"
#define SPEC "\"spec\":{\"replicas\":3}"

static void test_what_moves(void)
{
	static const char was[] = DEPLOYMENT "}";
	static const struct {
		const char *is, *words;
	} other[] = {
		{NOW("\"generation\":3", "\"spec\":{\"replicas\":4}"), "\"spec.replicas\" (3 -> 4)"},
		{NOW("\"generation\":2", "\"spec\":{\"replicas\":4}"), "\"spec.replicas\" (3 -> 4)"},
		{NOW("\"generation\":2,\"labels\":{\"a\":\"b\"}", SPEC), "metadata.labels"},
		{NOW("\"generation\":2,\"annotations\":{\"a\":\"b\"}", SPEC), "metadata.annotations"},
		{NOW("\"generation\":2,\"finalizers\":[\"a/b\"]", SPEC), "metadata.finalizers"},
		{NOW("\"generation\":2,\"ownerReferences\":[{\"uid\":\"u2\"}]", SPEC), "metadata.ownerReferences"},
		{NOW("\"generation\":2,\"deletionTimestamp\":\"2026-11-30T00:00:00Z\"", SPEC), "deletionTimestamp"},
		{NOW("\"generation\":4", SPEC), "there and back"},
		{NOW("\"labels\":{}", SPEC), "metadata.labels"},
		{NOW("\"selfLink\":\"/x\"", SPEC), "there and back"},
		{NOW("\"generation\":2", SPEC ",\"immutable\":true"), "immutable"},
	};

	for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
		moves(1, "Deployment", was, other[i].is, other[i].words);
	moves(0, "Deployment", was, was, "");
	moves(0, "Deployment", was, NOW("\"generation\":2", SPEC ",\"status\":{\"replicas\":1}"), "");
	moves(0, "Deployment", was, NOW("\"managedFields\":[{\"manager\":\"m\"}],\"generation\":2", SPEC), "");
	moves(1, "Deployment", was, HEAD "\"uid\":\"u2\",\"resourceVersion\":\"7\",\"generation\":2}," SPEC "}",
	      "another one has its name");
}

/* Kinds whose objects have no generation. */
static void test_no_generation(void)
{
#define NODE(version, rest)                                                                                            \
	"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"api\",\"uid\":\"u1\",\"resourceVersion\":"  \
	"\"" version "\"}," rest "}"
#define MAP(version, data)                                                                                             \
	"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"api\",\"namespace\":\"web\","          \
	"\"uid\":\"u1\",\"resourceVersion\":\"" version "\"},\"data\":{\"a\":\"" data "\"}}"
	moves(0, "Node", NODE("7", "\"spec\":{},\"status\":{\"a\":1}"), NODE("8", "\"spec\":{},\"status\":{\"a\":2}"),
	      "");
	moves(1, "Node", NODE("7", "\"spec\":{},\"status\":{}"),
	      NODE("8", "\"spec\":{\"taints\":[{\"key\":\"a\"}]},\"status\":{}"), "spec.taints");
	/* Nothing is ever reported about it: whoever wrote, changed it. */
	moves(0, "ConfigMap", MAP("7", "b"), MAP("7", "b"), "");
	moves(1, "ConfigMap", MAP("7", "b"), MAP("8", "b"), "there and back");
	moves(1, "ConfigMap", MAP("7", "b"), MAP("8", "c"), "\"data.a\" (\"b\" -> \"c\")");
}

static void becomes(int expected, const char *planned, const char *again, const char *words)
{
	struct plan_tree trees[2];
	struct kchange_step step;
	struct buf lines = BUF_INIT(1 << 16);

	kchange_step_init(&step);
	fill(&step.live, "Deployment", DEPLOYMENT "}");
	plan_tree_init(&trees[0]);
	plan_tree_init(&trees[1]);
	CHECK(plan_tree_parse(&trees[0], planned, strlen(planned), &err) == 0 &&
	      plan_tree_parse(&trees[1], again, strlen(again), &err) == 0);
	CHECK(kchange_moved_planned(&step, &trees[0], &trees[1], &lines, &err) == expected);
	CHECK(strstr(buf_str(&lines), words) != NULL);
	plan_tree_clear(&trees[0]);
	plan_tree_clear(&trees[1]);
	buf_clear(&lines);
	kchange_step_clear(&step);
}

static void test_what_becomes(void)
{
	becomes(0, "{\"metadata\":{\"generation\":3},\"spec\":{\"a\":1}}",
		"{\"metadata\":{\"generation\":4},\"spec\":{\"a\":1},\"status\":{\"b\":2}}", "");
	becomes(1, "{\"spec\":{\"a\":1}}", "{\"spec\":{}}", "\"spec.a\" (1 -> (nothing))");
	becomes(1, "{\"spec\":{\"a\":1}}", "{\"spec\":{\"a\":1,\"b\":2}}", "\"spec.b\"");
	/* What it chose when it was asked, and chooses now. */
	becomes(0, "{\"a\":\"" KCHANGE_CHOSEN "\",\"b\":null}", "{\"a\":\"x\",\"b\":2}", "");
	becomes(1, "{\"a\":\"" KCHANGE_CHOSEN "\"}", "{\"a\":{\"x\":1}}", "would become something else");
	becomes(1, "{\"a\":\"" KCHANGE_CHOSEN "\"}", "{}", "would become something else");
}

static void renewed(enum kchange_form form, const char *body, const char *expected)
{
	struct kchange_request request;

	kchange_request_init(&request);
	request.form = form;
	CHECK(buf_add_str(&request.body, body, &err) == 0 && kchange_request_renew(&request, "8", &err) == 0);
	CHECK_STR(buf_str(&request.body), expected);
	kchange_request_clear(&request);
}

static void test_renewed(void)
{
	renewed(KCHANGE_MERGE,
		"{\"metadata\":{\"resourceVersion\":\"7\",\"uid\":\"u\"},\"spec\":{\"resourceVersion\":\"7\"}}",
		"{\"metadata\":{\"resourceVersion\":\"8\",\"uid\":\"u\"},\"spec\":{\"resourceVersion\":\"7\"}}");
	renewed(KCHANGE_DELETION, "{\"preconditions\":{\"resourceVersion\":\"7\",\"uid\":\"u\"}}",
		"{\"preconditions\":{\"resourceVersion\":\"8\",\"uid\":\"u\"}}");
	renewed(KCHANGE_EVICTION,
		"{\"deleteOptions\":{\"preconditions\":{\"uid\":\"u\"}},\"metadata\":{\"name\":\"a\"}}",
		"{\"deleteOptions\":{\"preconditions\":{\"uid\":\"u\"}},\"metadata\":{\"name\":\"a\"}}");
}

static void refused(int status, const char *body, const char *code, const char *hint)
{
	auto_kchange_answer answer = KCHANGE_ANSWER_INIT;
	struct sbx_error why = SBX_ERROR_INIT;

	answer.status = status;
	CHECK(buf_add_str(&answer.body, body, &err) == 0 && kchange_refused(&answer, "try", &why) == -1);
	CHECK_STR(why.code, code);
	CHECK_STR(why.hint, hint);
}

/* A server repeats an object that it finds invalid: whoever writes one part of it is not told the others. */
static void test_refused(void)
{
#define INVALID "Job.batch \\\"j\\\" is invalid: spec.template.spec: Invalid value: {\\\"Command\\\":[\\\""
#define POLICY "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no latest"
#define TOKEN "\\\"Env\\\":[{\\\"Name\\\":\\\"A\\\",\\\"Value\\\":\\\"hunter2\\\"}]"
	refused(422,
		"{\"message\":\"" INVALID "run\\\"]," TOKEN
		"}\",\"details\":{\"causes\":[{\"reason\":\"FieldValueInvalid\","
		"\"message\":\"hunter2\",\"field\":\"spec.template.spec\"}]}}",
		"change_invalid", "the API server says: FieldValueInvalid spec.template.spec");
	refused(422,
		"{\"message\":\"" INVALID POLICY "\\\"]," TOKEN
		"}\",\"details\":{\"causes\":[{\"reason\":\"FieldValueInvalid\","
		"\"message\":\"" POLICY " hunter2\",\"field\":\"spec.template.spec\"}]}}",
		"change_invalid", "the API server says: FieldValueInvalid spec.template.spec");
	refused(422,
		"{\"message\":\"jobs \\\"j\\\" is forbidden: " POLICY
		"\",\"details\":{\"causes\":[{\"message\":\"" POLICY "\"}]}}",
		"cluster_admission", "the API server says: jobs 'j' is forbidden: " POLICY);
}

int main(void)
{
	test_refused();
	test_what_moves();
	test_no_generation();
	test_what_becomes();
	test_renewed();
	CHECK(err.class == SBX_OK);
	return unit_done();
}
