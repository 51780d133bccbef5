/* What Pods, events and policies of a cluster say; shapes as a real 1.36 server sends them. */
#include "kube_api.h"
#include "kube_end.h"
#include "kube_job.h"
#include "kube_pod.h"
#include "kube_policy.h"

#include "unit.h"

static jv parse(const char *text)
{
	struct sbx_error err = SBX_ERROR_INIT;
	jv value = jv_invalid();

	CHECK(json_parse_foreign(text, strlen(text), strlen(text), &value, &err) == 0);
	return value;
}

static struct kube_pod read_pod(const char *text)
{
	struct kube_pod pod = {.name = ""};
	auto_jv object = parse(text);

	kube_pod_read(&pod, object);
	return pod;
}

static const char *code_of(const struct kube_pod *pod)
{
	static struct sbx_error why;

	why = (struct sbx_error)SBX_ERROR_INIT;
	kube_why_error(pod, &why);
	return why.code;
}

static void check_pods(void)
{
	static const struct {
		const char *pod, *code;
		int ended;
	} rows[] = {
		/* gVisor's and runc's way to run out of memory */
		{"{\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[{\"state\":{\"terminated\":{\"exitCode\":"
		 "128,"
		 "\"reason\":\"OOMKilled\"}}}]}}",
		 "out_of_memory", 1},
		{"{\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{\"state\":{\"terminated\":{\"exitCode\":"
		 "137,"
		 "\"reason\":\"OOMKilled\"}}}]}}",
		 "out_of_memory", 1},
		{"{\"status\":{\"containerStatuses\":[{\"state\":{\"terminated\":{\"exitCode\":3,\"reason\":\"Error\"}}"
		 "}]}}",
		 "sandbox_died", 1},
		{"{\"status\":{\"containerStatuses\":[{\"state\":{\"terminated\":{\"exitCode\":128,\"reason\":"
		 "\"StartError\"}}}]}}",
		 "sandbox_start", 1},
		{"{\"status\":{\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"The node was low on resource: "
		 "memory.\"}}",
		 "sandbox_evicted", 1},
		{"{\"status\":{\"phase\":\"Failed\",\"reason\":\"DeadlineExceeded\"}}", "cluster_deadline", 1},
		{"{\"status\":{\"phase\":\"Running\",\"reason\":\"NodeLost\"}}", "node_lost", 0},
		{"{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":"
		 "\"True\","
		 "\"reason\":\"DeletionByTaintManager\"}]}}",
		 "node_lost", 0},
		{"{\"status\":{\"phase\":\"Pending\",\"containerStatuses\":[{\"state\":{\"waiting\":{\"reason\":"
		 "\"ErrImageNeverPull\"}}}]}}",
		 "image_missing", 0},
		{"{\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
		 "\"reason\":\"Unschedulable\",\"message\":\"0/1 nodes are available\"}]}}",
		 "unschedulable", 0},
		/* nothing wrong so far */
		{"{\"status\":{\"phase\":\"Pending\",\"containerStatuses\":[{\"state\":{\"waiting\":{\"reason\":"
		 "\"ContainerCreating\"}}}]}}",
		 "sandbox_died", 0},
		{"{\"status\":{\"phase\":\"Pending\",\"containerStatuses\":[{\"state\":{\"waiting\":{\"reason\":"
		 "\"ErrImagePull\"}}}]}}",
		 "sandbox_died", 0},
		{"{}", "sandbox_died", 0},
		{"{\"status\":[],\"spec\":7,\"metadata\":null}", "sandbox_died", 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct kube_pod pod = read_pod(rows[i].pod);
		CHECK_STR(code_of(&pod), rows[i].code);
		CHECK(pod.ended == rows[i].ended);
	}
	struct kube_pod placed = read_pod("{\"metadata\":{\"name\":\"x-1\"},\"spec\":{\"nodeName\":\"n\"}}");
	CHECK_STR(placed.name, "x-1");
	CHECK(placed.placed && !placed.ended && placed.why == KUBE_WHY_NONE);
}

static void check_watch(void)
{
	static const char text[] =
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"0\"},\"spec\":{}}}\n"
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"1\",\"ownerReferences\":[{\"uid\":\"u\"}]}}}\n"
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"2\",\"ownerReferences\":[{\"uid\":\"v\","
		"\"controller\":true}]}}}\n"
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"ownerReferences\":[{\"uid\":\"v\"},{\"uid\":"
		"\"u\",\"controller\":true}]},\"spec\":{}}}\n"
		"{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"a\"},\"spec\":{\"nodeName\":\"n\"}}}\n"
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\"},\"status\":{\"phase\":\"Failed\"}}}\n"
		"{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"b\"}}}\n";
	static const char gone[] = "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n";
	static const char expired[] = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n";

	for (size_t step = 1; step < 40; step += 13) {
		struct kube_watch watch = KUBE_WATCH_INIT;
		struct sbx_error err = SBX_ERROR_INIT;
		int result = 0;
		snprintf(watch.owner, sizeof watch.owner, "u");
		for (size_t at = 0; at < sizeof text - 1; at += step) {
			size_t left = sizeof text - 1 - at;
			result |= kube_watch_feed(&watch, text + at, left < step ? left : step, &err);
		}
		CHECK(result == 0);
		/* Those of nobody, with another kind of owner or of another Job, are none of ours; nor is a second one, whose end
		 * is not this one's. */
		CHECK_STR(watch.pod.name, "a");
		CHECK(watch.pod.placed && !watch.pod.ended && !watch.pod.gone);
		CHECK(kube_watch_feed(&watch, expired, sizeof expired - 1, &err) == 0 && watch.again);
		kube_watch_reset(&watch);
		CHECK(!watch.again && watch.pod.placed);
		CHECK(kube_watch_feed(&watch, gone, sizeof gone - 1, &err) == 0);
		CHECK(watch.pod.gone && watch.pod.ended && watch.pod.why == KUBE_WHY_DELETED);
		kube_watch_clear(&watch);
	}
	struct kube_watch watch = KUBE_WATCH_INIT;
	struct sbx_error err = SBX_ERROR_INIT;
	CHECK(kube_watch_feed(&watch, "[]\n", 3, &err) < 0);
	CHECK_STR(err.code, "cluster_answer");
	kube_watch_clear(&watch);
}

static int closed(const char *items)
{
	char text[512];
	struct sbx_error err = SBX_ERROR_INIT;

	snprintf(text, sizeof text, "{\"items\":[%s]}", items);
	auto_jv list = parse(text);
	int result = kube_policy_closed(list, &err);
	CHECK(result == 0 || strcmp(err.code, "policy_missing") == 0);
	return result == 0;
}

static void check_policies(void)
{
	CHECK(closed("{\"spec\":{\"podSelector\":{},\"policyTypes\":[\"Ingress\",\"Egress\"]}}"));
	CHECK(closed("{\"spec\":{\"podSelector\":{\"matchLabels\":{\"a\":\"b\"}},\"policyTypes\":[\"Egress\"]}},"
		     "{\"spec\":{\"podSelector\":{},\"policyTypes\":[\"Ingress\",\"Egress\"],\"egress\":[]}}"));
	CHECK(!closed(""));
	CHECK(!closed("{\"spec\":{\"podSelector\":{},\"policyTypes\":[\"Ingress\"]}}"));
	CHECK(!closed("{\"spec\":{\"podSelector\":{},\"policyTypes\":[\"Egress\"]}}"));
	CHECK(!closed("{\"spec\":{\"podSelector\":{},\"policyTypes\":[\"Ingress\",\"Egress\"],\"egress\":[{}]}}"));
	CHECK(!closed("{\"spec\":{\"podSelector\":{\"matchLabels\":{\"a\":\"b\"}},\"policyTypes\":[\"Ingress\","
		      "\"Egress\"]}}"));
	CHECK(!closed("{\"spec\":{\"policyTypes\":[\"Ingress\",\"Egress\"]}}"));
	CHECK(!closed("7,null,{\"spec\":[]}"));
}

static void check_texts(void)
{
	struct kube_job job = {.call = "00112233445566778899aabbccddeeff",
			       .run = "01234567",
			       .tool = "a\"b",
			       .image = "i",
			       .pull_policy = "Never",
			       .runtime_class = "gvisor",
			       .service_account = "default",
			       .memory = 1,
			       .work = 2,
			       .cpu = 1,
			       .deadline_s = 3,
			       .grace_s = 4,
			       .pieces = 2,
			       .credentials = 1,
			       .egress = {"kubernetes-api"},
			       .egress_count = 1};
	auto_buf text = BUF_INIT(65536);
	auto_secret secret = SECRET_INIT;
	struct sbx_error err = SBX_ERROR_INIT;
	char said[16];

	CHECK(kube_job_text(&job, &text, &err) == 0);
	auto_jv object = parse(buf_str(&text)), metadata = json_object(object, "metadata"),
		labels = json_object(metadata, "labels");
	CHECK_STR(json_str(labels, "sbx/tool"), "a\"b");
	CHECK_STR(json_str(labels, "sbx/egress-kubernetes-api"), "allowed");
	CHECK(kube_secret_text(&job, "uid\"x", "n", "f", "\0\xff", 2, &secret, &err) == 0 &&
	      secret_append(&secret, "", 1, &err) == 0);
	auto_jv made = parse((const char *)secret.data), data = json_object(made, "data");
	CHECK_STR(json_str(data, "f"), "AP8=");
	kube_printable("a\"b\\c\x1b\xc3\xa4z0123456789", said, sizeof said);
	CHECK_STR(said, "a'b'c???z012345");
}

int main(void)
{
	char said[64];

	check_pods();
	check_watch();
	check_policies();
	check_texts();
	auto_jv events = parse("{\"items\":[{\"reason\":\"Other\",\"message\":\"x\"},{\"reason\":\"FailedCreate\","
			       "\"message\":\"x is forbidden: exceeded quota\"}]}");
	kube_failed_create(events, said, sizeof said);
	CHECK_STR(said, "x is forbidden: exceeded quota");
	auto_jv passing = parse("{\"items\":[{\"reason\":\"FailedCreate\",\"message\":\"Operation cannot be fulfilled "
				"on resourcequotas\"}]}");
	kube_failed_create(passing, said, sizeof said);
	CHECK_STR(said, "");
	return unit_done();
}
