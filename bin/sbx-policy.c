/* sbx-policy: decide about one tool call and resolve it; the first stage of the pipe. Also: list, test, explain. */
#include <fcntl.h>
#include <getopt.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "audit.h"
#include "clock.h"
#include "filter.h"
#include "io.h"
#include "limit.h"
#include "log.h"
#include "pass_fd.h"
#include "policy.h"
#include "policy_survey.h"
#include "request.h"
#include "signal_compile.h"
#include "tool_list.h"
#include "slot.h"
#include "taint.h"
#include "workspace.h"

static const char program[] = "sbx-policy";
static const size_t event_params_max = (size_t)16 << 10;
static const size_t page_max = (size_t)4 << 20;

enum mode { MODE_DECIDE, MODE_EXPLAIN, MODE_LIST, MODE_LIST_JSON, MODE_SURVEY, MODE_TEST, MODE_SIGNALS };

struct options {
	const char *config;
	const char *principal;
	int peer;
	int place_fd; /* a socket to the door; -1: none */
	enum mode mode;
	char **words; /* TOOL key=value…; none: the request is on stdin */
	int word_count;
};

static int usage(FILE *to)
{
	fputs("usage: sbx-policy [--config FILE] [--principal NAME | --peer] [--explain | --place-fd N] [TOOL [KEY=VALUE]...]\n"
	      "       sbx-policy [--config FILE] list [--json]\n"
	      "       sbx-policy [--config FILE] [--principal NAME | --peer] list --check\n"
	      "       sbx-policy [--config FILE] test\n"
	      "       sbx-policy signals DIRECTORY OUTPUT\n"
	      "Decides about one tool call. Without TOOL the request is a JSON object on standard input:\n"
	      "{\"tool\":...,\"params\":{...}}. The decided call goes to standard output, for sbx-approve.\n",
	      to);
	return SBX_USAGE;
}

/* What is asked, and who asks. */
static int get_request(const struct filter *f, const struct options *o, struct request *r, struct sbx_error *err)
{
	enum principal_from from = o->peer ? PRINCIPAL_FROM_PEER : PRINCIPAL_FROM_UID;

	if ((o->word_count > 0 ? request_words(r, o->words, o->word_count, err) : request_read(r, STDIN_FILENO, err)) <
	    0)
		return -1;
	return principal_find(o->principal, from, f->started.in_account, &r->asker, err);
}

/* --- the world --- */

static int has_path(void *context, const char *workspace, const char *tree, const char *path, enum policy_path kind,
		    struct sbx_error *err)
{
	const struct filter *f = context;
	auto_fd root = workspace_open(&f->config, workspace, tree, err);

	if (root < 0)
		return -1;
	auto_fd fd = io_open_beneath(root, path, kind == POLICY_DIRECTORY ? O_RDONLY | O_DIRECTORY : O_PATH,
				     RESOLVE_NO_SYMLINKS);
	struct stat st;
	return fd >= 0 && (kind == POLICY_DIRECTORY || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)));
}

static int find_plan(void *context, const char *id, jv *seal, char seal_sha256[65], struct sbx_error *err)
{
	const struct filter *f = context;

	return plan_find(&f->state, &f->key, id, seal, seal_sha256, err);
}

static int find_taint(void *context, const char *principal, jv *last, struct sbx_error *err)
{
	const struct filter *f = context;

	return taint_find(&f->state, principal, last, err);
}

static struct policy_world real_world(struct filter *f)
{
	return (struct policy_world){
		.context = f,
		.path = has_path,
		.plan = find_plan,
		.taint = find_taint,
		.workspaces = f->config.workspaces,
		.targets = f->config.targets,
		.driver = f->config.driver,
		.provider = f->config.provider,
		.installation = f->state.installation,
	};
}

/* Load the policy; a tool whose own tests fail is not served. */
static int open_policy(struct filter *f, const char *tool, struct policy *policy, jv *failed, struct sbx_error *err)
{
	if (policy_load(f->config.policy, policy, err) < 0 || policy_tested(policy, &f->state, failed, err) < 0)
		return -1;
	if (tool == NULL || !json_has(*failed, tool))
		return 0;
	sbx_fail(err, SBX_CONFIG, "tool_not_served", "the tool fails its own tests");
	return sbx_hint(err, "sbx-policy test says which");
}

static int decide(struct filter *f, const struct request *r, struct policy_answer *answer, struct sbx_error *err)
{
	auto_policy policy = {.files = {.count = 0}};
	auto_jv failed = jv_invalid();
	const struct policy_world world = real_world(f);
	const struct policy_question question = {
		.tool = r->tool,
		.params = r->params,
		.typing = r->typing,
		.principal = r->asker.name,
	};

	if (open_policy(f, r->tool, &policy, &failed, err) < 0)
		return -1;
	return policy_decide(&policy, &world, &question, answer, err);
}

/* --- the call --- */

static jv new_call(const struct request *r, const char *id)
{
	char now[CLOCK_RFC3339_SIZE];

	clock_now(now);
	jv principal = json_set_str(jv_object(), "name", r->asker.name);
	principal = json_set_int(principal, "uid", (int64_t)r->asker.uid);
	principal = json_set_str(principal, "via", r->asker.via);
	jv call = json_set_str(jv_object(), "id", id);
	call = json_set_str(call, "tool", r->tool);
	call = json_set(call, "params", jv_copy(r->params));
	call = json_set(call, "principal", principal);
	call = json_set_str(call, "client", *r->client != '\0' ? r->client : NULL);
	call = json_set_str(call, "time", now);
	return json_set(json_set_int(jv_object(), "sbx", CALL_VERSION), "call", call);
}

/* Large parameters stand in the record by digest: an event has a limit of its own. */
static int record_request(const struct filter *f, const struct request *r, const char *id, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(LIMIT_CALL);
	auto_jv details = json_set_str(jv_object(), "tool", r->tool);
	char sha256[65];

	if (json_write(r->params, &text, err) < 0 || json_digest(r->params, sha256, err) < 0)
		return -1;
	if (text.len <= event_params_max)
		details = json_set(take_jv(&details), "params", jv_copy(r->params));
	else
		details = json_set_str(take_jv(&details), "params_sha256", sha256);
	details = json_set_str(take_jv(&details), "principal", r->asker.name);
	details = json_set_str(take_jv(&details), "via", r->asker.via);
	details = json_set_str(take_jv(&details), "client", *r->client != '\0' ? r->client : NULL);
	return audit_append(&f->state, AUDIT_INTENT, "tool.request", id, details, err);
}

/* REFUSED: why there is no decision at all; empty when there is one. */
static int record_decision(const struct filter *f, const struct policy_answer *answer, const struct sbx_error *refused,
			   const char *id, struct sbx_error *err)
{
	static const char *const members[] = {"effect", "tier", "rule", "decision_sha256", "policy_sha256"};
	auto_jv details = jv_object(), plan = json_object(answer->policy, "plan");
	const char *code = refused->class != SBX_OK	    ? refused->code
			   : answer->denial.class != SBX_OK ? answer->denial.code
							    : NULL;

	if (refused->class != SBX_OK)
		details = json_set_str(take_jv(&details), "effect", "error");
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		details = json_set_str(take_jv(&details), members[i], json_str(answer->policy, members[i]));
	details = json_set_str(take_jv(&details), "code", code);
	details = json_set_str(take_jv(&details), "plan", json_str(plan, "id"));
	return audit_append(&f->state, AUDIT_INTENT, "guardrail.decision", id, details, err);
}

/* From the call's id to its seal. Everything that fails in here has a call to stand in, and is recorded where the
 * record works. */
static int run_call(struct filter *f, const struct request *r, const char *id)
{
	auto_answer answer = {.params = jv_invalid(), .policy = jv_invalid()};
	struct sbx_error err = SBX_ERROR_INIT, unrecorded = SBX_ERROR_INIT;
	auto_jv object = new_call(r, id);

	if (record_request(f, r, id, &err) == 0) {
		decide(f, r, &answer, &err);
		if (record_decision(f, &answer, &err, id, &unrecorded) < 0)
			err = unrecorded;
	}
	if (jv_is_valid(answer.policy)) {
		jv call = json_object(object, "call");
		object = json_set(take_jv(&object), "call", json_set(call, "params", jv_copy(answer.params)));
		object = json_set(take_jv(&object), "policy", jv_copy(answer.policy));
	}
	return filter_finish(f, take_jv(&object), err.class != SBX_OK ? &err : &answer.denial);
}

/* The door holds the principal's place from here on: we end long before the call does. */
static int take_place(const struct filter *f, const struct options *o, const struct request *r, struct sbx_error *err)
{
	if (o->place_fd < 0)
		return 0;
	auto_fd place = slot_take(&f->state, r->asker.name, "door-", LIMIT_DOOR_CALLS, err);
	return place < 0 ? -1 : pass_fd_send(o->place_fd, place, err);
}

static int decide_mode(struct filter *f, const struct options *o, struct request *r, struct sbx_error *err)
{
	char id[STATE_ID_SIZE];

	if (get_request(f, o, r, err) < 0 || take_place(f, o, r, err) < 0)
		return filter_refuse(f, err);
	io_random_hex(id, (STATE_ID_SIZE - 1) / 2);
	f->run_fd = state_run_create(&f->state, id, err);
	if (f->run_fd >= 0)
		f->stage_fd = state_stage_begin(f->run_fd, filter_stage(f), err);
	if (f->stage_fd < 0)
		return filter_refuse(f, err);
	log_line("call %s", id); /* a dispatcher that gives up waiting tells its client where the result will be */
	return run_call(f, r, id);
}

/* --- for people --- */

static int fail(const struct sbx_error *err)
{
	log_error(err);
	return (int)err->class;
}

static int put_page(const struct filter *f, const struct buf *page, struct sbx_error *err)
{
	return io_write_all(f->started.reply_fd, buf_str(page), page->len, err);
}

/* 0, 75 or 77, as the decision is. */
static int explain_mode(struct filter *f, const struct options *o, struct request *r, struct sbx_error *err)
{
	auto_answer answer = {.params = jv_invalid(), .policy = jv_invalid()};
	auto_buf page = BUF_INIT(page_max);
	const struct policy_question question = {.tool = r->tool};

	if (get_request(f, o, r, err) < 0 || decide(f, r, &answer, err) < 0 ||
	    policy_explain(&question, &answer, &page, err) < 0 || put_page(f, &page, err) < 0)
		return fail(err);
	if (answer.denial.class != SBX_OK)
		return (int)answer.denial.class;
	return strcmp(json_str(answer.policy, "effect"), "approve") == 0 ? SBX_APPROVAL_REQUIRED : SBX_OK;
}

static void warn_not_served(jv failed)
{
	int count = json_length(failed);

	if (count > 0)
		log_line("%d tool%s not served, because %s tests fail: sbx-policy test says which", count,
			 count == 1 ? " is" : "s are", count == 1 ? "its" : "their");
}

static int add_list_line(struct buf *page, jv tool, struct sbx_error *err)
{
	const char *title = json_str(tool, "title"), *description = json_str(tool, "description");

	return buf_addf(page, err, "%-24s %-9s %s\n", json_str(tool, "name"), json_str(tool, "tier"),
			title ? title : description);
}

/* The list as JSON, and kept for the door. */
static int list_json(struct filter *f, struct buf *page, struct sbx_error *err)
{
	const struct policy_world world = real_world(f);
	auto_policy policy = {.files = {.count = 0}};
	auto_jv failed = jv_invalid();

	if (open_policy(f, NULL, &policy, &failed, err) < 0 || policy_load_tools(&policy, POLICY_FILES, err) < 0)
		return -1;
	warn_not_served(failed);
	auto_jv list = policy_list(&policy, &world, failed);
	if (json_write(list, page, err) < 0 || buf_add(page, "\n", 1, err) < 0)
		return -1;
	return tool_list_keep(&f->state, f->config.sha256, policy.files.tools_sha256, page->data, page->len, err);
}

static int list_words(struct filter *f, struct buf *page, struct sbx_error *err)
{
	const struct policy_world world = real_world(f);
	auto_policy policy = {.files = {.count = 0}};
	auto_jv failed = jv_invalid();

	if (open_policy(f, NULL, &policy, &failed, err) < 0 || policy_load_tools(&policy, POLICY_FILES, err) < 0)
		return -1;
	warn_not_served(failed);
	auto_jv list = policy_list(&policy, &world, failed), tools = json_array(list, "tools");
	for (int i = 0, n = json_length(tools); i < n; i++) {
		auto_jv tool = json_at(tools, i);
		if (add_list_line(page, tool, err) < 0)
			return -1;
	}
	return 0;
}

static int list_mode(struct filter *f, const struct options *o, struct sbx_error *err)
{
	auto_buf page = BUF_INIT(page_max);
	int made = o->mode == MODE_LIST_JSON ? list_json(f, &page, err) : list_words(f, &page, err);

	return made < 0 || put_page(f, &page, err) < 0 ? fail(err) : SBX_OK;
}

/* Whether calls can work here, as JSON; 78 when some cannot. */
static int survey_mode(struct filter *f, const struct options *o, struct sbx_error *err)
{
	enum principal_from from = o->peer ? PRINCIPAL_FROM_PEER : PRINCIPAL_FROM_UID;
	const struct policy_world world = real_world(f);
	auto_policy policy = {.files = {.count = 0}};
	auto_jv failed = jv_invalid(), list = jv_invalid(), survey = jv_invalid();
	auto_buf page = BUF_INIT(page_max);
	struct principal who;

	if (principal_find(o->principal, from, f->started.in_account, &who, err) < 0 ||
	    open_policy(f, NULL, &policy, &failed, err) < 0 || policy_load_tools(&policy, POLICY_FILES, err) < 0)
		return filter_refuse(f, err);
	list = policy_list(&policy, &world, failed);
	survey = policy_survey(&policy, &f->config, &f->state, who.name, failed, list);
	if (json_write(survey, &page, err) < 0 || buf_add(&page, "\n", 1, err) < 0 || put_page(f, &page, err) < 0)
		return fail(err);
	return json_bool(survey, "usable") == 1 ? SBX_OK : SBX_CONFIG;
}

struct tap {
	struct buf page;
	struct sbx_error *err;
	int count;
};

static void add_test_line(void *context, const char *tool, int number, const char *problem)
{
	struct tap *tap = context;

	tap->count++;
	buf_addf(&tap->page, tap->err, "%s %d - %s %d%s%s\n", problem == NULL ? "ok" : "not ok", tap->count, tool,
		 number, problem == NULL ? "" : ": ", problem == NULL ? "" : problem);
}

/* Which of some thousand lines there are to look for. */
static void say_failed(int bad_examples, jv failed, int count)
{
	auto_buf names = BUF_INIT(page_max);
	struct sbx_error ignored = SBX_ERROR_INIT;
	int64_t sum = bad_examples, failures = 0;

	if (bad_examples > 0)
		buf_addf(&names, &ignored, " signals %d", bad_examples);
	for (int i = jv_object_iter(failed); jv_object_iter_valid(failed, i); i = jv_object_iter_next(failed, i)) {
		auto_jv name = jv_object_iter_key(failed, i);
		json_int(failed, json_text(name), &failures);
		sum += failures;
		buf_addf(&names, &ignored, "%s %s %lld", names.len > 0 ? "," : "", json_text(name),
			 (long long)failures);
	}
	if (sum > 0)
		log_line("%lld of %d failed:%s", (long long)sum, count, buf_str(&names));
}

/* Needs settings and policy alone, so that a policy can be tested where nothing runs. */
static int test_mode(struct filter *f, struct sbx_error *err)
{
	auto_policy policy = {.files = {.count = 0}};
	auto_jv failed = jv_invalid();
	struct tap tap = {.page = BUF_INIT(page_max), .err = err};
	int result, bad_examples = 0;

	if (policy_load(f->config.policy, &policy, err) < 0 ||
	    signal_check(&policy.files, add_test_line, &tap, &bad_examples, err) < 0 ||
	    policy_run_tests(&policy, add_test_line, &tap, &failed, err) < 0 ||
	    buf_addf(&tap.page, err, "1..%d\n", tap.count) < 0 || put_page(f, &tap.page, err) < 0) {
		result = fail(err);
	} else {
		say_failed(bad_examples, failed, tap.count);
		result = json_length(failed) > 0 || bad_examples > 0 ? SBX_CONFIG : SBX_OK;
	}
	buf_clear(&tap.page);
	return result;
}

/* Needs no settings: a build makes the table before there are any. */
static int signals_mode(struct filter *f, const struct options *o, struct sbx_error *err)
{
	if (start(program, o->config, NULL, 0, START_REPLY, &f->started, err) < 0 ||
	    signal_compile_directory(o->words[1], o->words[2], err) < 0)
		return fail(err);
	return SBX_OK;
}

/* --- main --- */

static int take_mode(struct options *o)
{
	const char *first = o->word_count > 0 ? o->words[0] : "";
	const char *second = o->word_count > 1 ? o->words[1] : "";

	if (strcmp(first, "list") != 0 && strcmp(first, "test") != 0 && strcmp(first, "signals") != 0)
		return *first == '-' ? -1 : 0;
	if (strcmp(first, "list") == 0 && strcmp(second, "--check") == 0 && o->mode == MODE_DECIDE) {
		o->mode = MODE_SURVEY;
		return o->word_count == 2 ? 0 : -1;
	}
	if (o->mode == MODE_EXPLAIN || o->principal != NULL || o->peer)
		return -1;
	if (strcmp(first, "test") == 0) {
		o->mode = MODE_TEST;
		return o->word_count == 1 ? 0 : -1;
	}
	if (strcmp(first, "signals") == 0) {
		o->mode = MODE_SIGNALS;
		return o->word_count == 3 ? 0 : -1;
	}
	o->mode = strcmp(second, "--json") == 0 ? MODE_LIST_JSON : MODE_LIST;
	return o->word_count == (o->mode == MODE_LIST_JSON ? 2 : 1) ? 0 : -1;
}

/* -h is a success, when it could be printed; anything that getopt did not know is not. */
static int help(int option)
{
	if (option != 'h')
		return usage(stderr);
	usage(stdout);
	return fflush(stdout) == 0 ? SBX_OK : SBX_IO;
}

static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"config", required_argument, NULL, 'c'},
		{"principal", required_argument, NULL, 'p'},
		{"peer", no_argument, NULL, 'P'},
		{"place-fd", required_argument, NULL, 'f'},
		{"explain", no_argument, NULL, 'e'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	uint64_t number;
	int c;

	while ((c = getopt_long(argc, argv, "+hV", longs, NULL)) != -1) {
		if (c == 'c')
			o->config = optarg;
		else if (c == 'p')
			o->principal = optarg;
		else if (c == 'P')
			o->peer = 1;
		else if (c == 'e')
			o->mode = MODE_EXPLAIN;
		else if (c == 'f' && io_parse_u64(optarg, 3, INT32_MAX, &number) == 0 &&
			 fcntl((int)number, F_GETFD) >= 0)
			o->place_fd = (int)number;
		else if (c == 'V')
			return printf("sbx-policy %s\n", SBX_VERSION) < 0 || fflush(stdout) != 0 ? SBX_IO : SBX_OK;
		else
			return help(c);
	}
	o->words = argv + optind;
	o->word_count = argc - optind;
	if ((o->principal != NULL && (o->peer || !principal_is_name(o->principal))) || take_mode(o) < 0 ||
	    (o->place_fd >= 0 && o->mode != MODE_DECIDE))
		return usage(stderr);
	return -1;
}

static int run(struct filter *f, const struct options *o, struct request *r)
{
	struct sbx_error err = SBX_ERROR_INIT;

	if (o->mode == MODE_SIGNALS)
		return signals_mode(f, o, &err);
	if (o->mode == MODE_TEST) {
		if (start(program, o->config, NULL, 0, START_REPLY, &f->started, &err) < 0 ||
		    config_load(f->started.config, &f->config, &err) < 0)
			return fail(&err);
		return test_mode(f, &err);
	}
	if (filter_open(f, o->config, &o->place_fd, o->place_fd >= 0, &err) < 0)
		return o->mode == MODE_DECIDE || o->mode == MODE_SURVEY ? filter_refuse(f, &err) : fail(&err);
	if (o->mode == MODE_EXPLAIN)
		return explain_mode(f, o, r, &err);
	if (o->mode == MODE_DECIDE)
		return decide_mode(f, o, r, &err);
	return o->mode == MODE_SURVEY ? survey_mode(f, o, &err) : list_mode(f, o, &err);
}

int main(int argc, char **argv)
{
	struct filter f = FILTER_INIT(program, CALL_POLICY);
	struct options o = {.place_fd = -1, .mode = MODE_DECIDE};
	struct request r = REQUEST_NONE;

	log_set_name(program);
	int status = parse_options(argc, argv, &o);
	if (status >= 0)
		return status;
	status = run(&f, &o, &r);
	request_clear(&r);
	filter_close(&f);
	return status;
}
