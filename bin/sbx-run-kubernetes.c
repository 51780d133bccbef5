/* sbx-run-kubernetes: the driver for a cluster. One Job for one call, sbx-entry as its first process, its frames on
 * stdout. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "boot.h"
#include "clock.h"
#include "driver_fds.h"
#include "frame.h"
#include "io.h"
#include "json_out.h"
#include "kube_mend.h"
#include "kube_run.h"
#include "kube_settings.h"
#include "limit.h"
#include "log.h"
#include "process.h"
#include "relay.h"
#include "state.h"
#include "steps.h"
#include "tf_run.h"

static const char usage[] =
	"usage: sbx-run-kubernetes --entry-fd N --inputs-fd N [--credentials-fd N] [--lock-fd N]... --control-fd N\n"
	"       sbx-run-kubernetes --mend CALL\n"
	"       sbx-run-kubernetes --check\n";

static const size_t request_max = (size_t)1 << 20;
static const int64_t mend_ms = 45000;  /* whoever mends has a minute */
static const int64_t login_ms = 20000; /* a program that gives us our login may ask a server for it */
static const int64_t check_ms = 30000; /* where the limits name no deadline_ms */
/* The cluster's own deadline comes after ours: it is for a driver that was killed. */
static const int64_t cluster_slack_s = 30;

enum mode { MODE_RUN, MODE_MEND, MODE_CHECK };

struct options {
	enum mode mode;
	const char *call; /* --mend */
	struct driver_fds fds;
};

/* --- options --- */

static int take_option(int letter, struct options *o)
{
	switch (letter) {
	case 'm':
		o->mode = MODE_MEND;
		o->call = optarg;
		return state_is_id(optarg) ? 0 : -1;
	case 'k':
		o->mode = MODE_CHECK;
		return 0;
	default:
		return driver_fds_take(&o->fds, letter, optarg);
	}
}

static int parse(int argc, char **argv, struct options *o)
{
	static const struct option known[] = {
		DRIVER_FDS_OPTIONS,
		{"mend", required_argument, NULL, 'm'},
		{"check", no_argument, NULL, 'k'},
		{NULL, 0, NULL, 0},
	};

	for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;)
		if (take_option(c, o) < 0)
			return -1;
	if (optind != argc)
		return -1;
	return o->mode != MODE_RUN || driver_fds_are_given(&o->fds) ? 0 : -1;
}

/* --- what it is given --- */

/* Everything of one start; freed at the end of main's. */
struct start {
	jv request; /* the object on stdin */
	jv egress;
	struct kube_settings settings;
	struct kube_access access;
	struct http_identity identity;
	struct http *http;
	struct kube kube;
	struct kube_job job;
	struct boot boot;
	struct buf limits, text;
	char *table, *inputs; /* what boot points to */
	char run[9];
	struct secret credentials;
};

static void start_clear(struct start *s)
{
	http_free(s->http);
	kube_access_clear(&s->access);
	kube_settings_clear(&s->settings);
	s->boot.limits = NULL; /* both are others' */
	s->boot.forbidden = (struct boot_addresses){.count = 0};
	boot_clear(&s->boot);
	buf_clear(&s->limits);
	buf_clear(&s->text);
	free(s->table);
	free(s->inputs);
	secret_clear(&s->credentials);
	jv_free(s->egress);
	jv_free(s->request);
}

static int read_request(struct start *s, struct sbx_error *err)
{
	auto_free char *text = NULL;
	size_t len;

	if (io_read_all(STDIN_FILENO, request_max, &text, &len, err) < 0 ||
	    json_parse(text, len, request_max, &s->request, err) < 0)
		return -1;
	auto_jv settings = json_object(s->request, "settings");
	if (!jv_is_valid(settings))
		return sbx_fail(err, SBX_PROTOCOL, "bad_request", "the object on standard input has no settings");
	return kube_settings_read(settings, &s->settings, err);
}

static int connect_cluster(struct start *s, struct sbx_error *err)
{
	if (kube_login_access(&s->settings.login, clock_mono_ms() + login_ms, &s->access, err) < 0)
		return -1;
	s->identity = kube_identity(&s->access);
	s->http = http_new(&s->identity, err);
	s->kube = (struct kube){.http = s->http, .namespace = s->settings.namespace};
	return s->http != NULL ? 0 : -1;
}

static int64_t limit(const struct start *s, const char *name, int64_t otherwise)
{
	auto_jv limits = json_object(s->request, "limits");
	int64_t value;

	return json_int(limits, name, &value) == 0 && value > 0 ? value : otherwise;
}

/* What is enforced, and by what; for the evidence. */
static int describe_limits(struct buf *json, struct sbx_error *err)
{
	static const char *const limits[][2] = {
		{"deadline", "driver, then the Job"},	{"output", "sbx-entry"},       {"memory", "cgroup of the Pod"},
		{"total_memory", "cgroup of the Pod"},	{"cpu", "cgroup of the Pod"},  {"pids", "rlimit_nproc"},
		{"files", "rlimit_nofile per process"}, {"work", "memory of the Pod"},
	};

	if (buf_add_str(json, "{", err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if (json_out_member(json, limits[i][0], limits[i][1], err) < 0)
			return -1;
	return buf_add_str(json, "}", err);
}

static int make_job(struct start *s, const char *call, struct sbx_error *err)
{
	const char *image = json_str(s->request, "image");

	if (call == NULL || !state_is_id(call))
		return sbx_fail(err, SBX_PROTOCOL, "bad_request", "the object on standard input names no call");
	io_random_hex(s->run, 4);
	s->job = (struct kube_job){
		.call = call,
		.run = s->run,
		.tool = json_str(s->request, "tool"),
		.image = image != NULL ? image : s->settings.image,
		.pull_policy = s->settings.image_pull_policy,
		.runtime_class = s->settings.runtime_class,
		.service_account = s->settings.service_account,
		.memory = limit(s, "memory", (int64_t)1 << 30),
		.work = limit(s, "workdir", (int64_t)512 << 20),
		.cpu = limit(s, "cpu", 1),
		.grace_s = limit(s, "grace_ms", 10000) / 1000 + 2,
		.credentials = s->credentials.len > 0,
	};
	s->job.deadline_s = limit(s, "deadline_ms", 60000) / 1000 + s->job.grace_s + cluster_slack_s;
	s->egress = json_array(s->request, "egress");
	return kube_settings_egress(&s->settings, s->egress, &s->boot.allowed, s->job.egress, KUBE_DESTINATIONS,
				    &s->job.egress_count, err);
}

/* The boot text, around TABLE and INPUTS. */
static int make_boot(struct start *s, size_t table_len, size_t inputs_len, struct sbx_error *err)
{
	if (describe_limits(&s->limits, err) < 0)
		return -1;
	s->boot.limits = s->limits.data;
	s->boot.artifact_max = LIMIT_CLUSTER_ARTIFACT;
	s->boot.pids = (uint64_t)limit(s, "pids", 128);
	s->boot.files = (uint64_t)limit(s, "files", 1024);
	s->boot.probe_ms = (uint64_t)s->settings.probe_ms;
	s->boot.credentials = s->job.credentials != 0;
	s->boot.forbidden = s->settings.forbidden;
	s->boot.table = (const unsigned char *)s->table;
	s->boot.table_len = table_len;
	s->boot.inputs = (const unsigned char *)s->inputs;
	s->boot.inputs_len = inputs_len;
	s->text = (struct buf)BUF_INIT(BOOT_MAX + 1);
	if (boot_encode(&s->boot, &s->text, err) < 0)
		return -1;
	s->job.pieces = (unsigned)((s->text.len + BOOT_PIECE - 1) / BOOT_PIECE);
	return 0;
}

/* A state file of this machine cannot be mounted there, and what Terraform writes beside its configuration goes with
 * the Pod: after an apply nothing would know what exists. */
static int refuse_state(const struct start *s, struct sbx_error *err)
{
	enum tf_state_place place = tf_run_state_place(json_str(s->request, "backend"));

	if (!json_has(s->request, "state") && place == TF_STATE_ELSEWHERE)
		return 0;
	if (place == TF_STATE_UNKNOWN)
		sbx_fail(err, SBX_CONFIG, "state_is_local",
			 "nobody can read where this configuration keeps its state, and a file would be gone with the "
			 "Pod");
	else
		sbx_fail(err, SBX_CONFIG, "state_is_local",
			 "this configuration keeps its state in a file, which would be gone with the Pod that writes "
			 "it");
	return sbx_hint(err, "keep the state where the cluster reaches it: write a backend block of the type "
			     "kubernetes, http or s3, and no "
			     "workspace.state in the tool");
}

static int read_fd(int fd, char **bytes, size_t *len, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read what was handed over");
	if (io_read_all(fd, BOOT_MAX, bytes, len, &why) == 0)
		return 0;
	if (strcmp(why.code, "too_large") == 0)
		return boot_too_large(err);
	*err = why;
	return -1;
}

static int read_credentials(struct start *s, int fd, struct sbx_error *err)
{
	if (fd < 0)
		return 0;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read the credentials");
	return secret_read_fd(&s->credentials, fd, LIMIT_CREDENTIAL_FILES, err);
}

/* --- the three things it does --- */

/* Nothing was begun: said as a frame, for the call, and on stderr. */
static int refuse(const struct sbx_error *err)
{
	struct sbx_error ignored = SBX_ERROR_INIT;

	relay_say(STDOUT_FILENO, "failed", err, &ignored);
	log_error(err);
	return (int)err->class;
}

static int run_task(struct start *s, int out, int control, int64_t deadline, struct sbx_error *err)
{
	struct kube_task task = {.kube = &s->kube,
				 .job = &s->job,
				 .boot = &s->text,
				 .credentials = &s->credentials,
				 .out = out,
				 .control = control,
				 .deadline = deadline,
				 .grace_ms = limit(s, "grace_ms", 10000)};

	return kube_run(&task, err);
}

static int run(const struct options *o, struct start *s, int64_t began)
{
	struct sbx_error err = SBX_ERROR_INIT;
	size_t table_len = 0, inputs_len = 0;

	if (read_request(s, &err) < 0 || refuse_state(s, &err) < 0 ||
	    read_fd(o->fds.entry, &s->table, &table_len, &err) < 0 ||
	    read_fd(o->fds.inputs, &s->inputs, &inputs_len, &err) < 0 ||
	    read_credentials(s, o->fds.credentials, &err) < 0 || make_job(s, json_str(s->request, "call"), &err) < 0 ||
	    make_boot(s, table_len, inputs_len, &err) < 0 || connect_cluster(s, &err) < 0)
		return refuse(&err);
	int status = run_task(s, STDOUT_FILENO, o->fds.control, began + limit(s, "deadline_ms", 60000), &err);
	return status < 0 ? refuse(&err) : status;
}

static int mend(const struct options *o, struct start *s)
{
	struct sbx_error err = SBX_ERROR_INIT;

	if (read_request(s, &err) == 0 && connect_cluster(s, &err) == 0 &&
	    kube_mend(&s->kube, o->call, clock_mono_ms() + mend_ms, &err) == 0)
		return 0;
	log_error(&err);
	return (int)err.class;
}

/* A table without a step, so that sbx-entry looks at everything and does nothing. */
static int empty_table(struct start *s, size_t *len, struct sbx_error *err)
{
	struct steps table = {.require = "cluster-gvisor", .cwd = (char *)".", .grace_ms = 1};
	auto_buf bytes = BUF_INIT(4096);

	if (steps_encode(&table, &bytes, err) < 0)
		return -1;
	*len = bytes.len;
	s->table = buf_take(&bytes);
	s->inputs = strdup("");
	return s->table != NULL && s->inputs != NULL ? 0 : sbx_fail(err, SBX_OS, "no_memory", "out of memory");
}

/* The hello of the frames in FD, when they end well. */
static int read_answer(int fd, char **evidence, struct sbx_error *err)
{
	auto_free char *bytes = NULL;
	auto_frame_reader reader;
	struct frame frame;
	size_t len;
	int got;

	frame_reader_init(&reader);
	if (lseek(fd, 0, SEEK_SET) < 0 || io_read_all(fd, request_max, &bytes, &len, err) < 0 ||
	    frame_feed(&reader, bytes, len, err) < 0)
		return -1;
	while ((got = frame_next(&reader, &frame, err)) > 0) {
		if (frame.type == FRAME_HELLO && *evidence == NULL)
			*evidence = strdup(frame.payload);
		else if (frame.type == FRAME_REFUSED)
			return sbx_fail(err, SBX_UNAVAILABLE, "cannot_isolate", "sbx-entry refuses: %s", frame.payload);
		else if (frame.type == FRAME_END && *evidence != NULL)
			return 0;
	}
	return got < 0 ? -1 : sbx_fail(err, SBX_UNAVAILABLE, "cannot_isolate", "the cluster did not run the sandbox");
}

static int check(struct start *s, int64_t began)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_free char *evidence = NULL;
	char call[STATE_ID_SIZE];
	size_t table_len;
	auto_fd frames = io_memfd("sbx-check", &err);

	io_random_hex(call, 16);
	if (frames < 0 || read_request(s, &err) < 0 || empty_table(s, &table_len, &err) < 0 ||
	    make_job(s, call, &err) < 0 || make_boot(s, table_len, 0, &err) < 0 || connect_cluster(s, &err) < 0) {
		log_error(&err);
		return (int)err.class;
	}
	int64_t until = began + limit(s, "deadline_ms", check_ms);
	int status = run_task(s, frames, -1, until, &err);
	if (status == 0 && read_answer(frames, &evidence, &err) == 0 && printf("OK %s\n", evidence) > 0 &&
	    fflush(stdout) == 0)
		return 0;
	/* What else went wrong was said by the run. */
	if (err.class == SBX_OK && status == SBX_COMMAND_FAILED && clock_left_ms(until) == 0)
		sbx_fail(&err, SBX_UNAVAILABLE, "timeout", "the cluster did not run the sandbox in time");
	if (err.class != SBX_OK)
		log_error(&err);
	return err.class != SBX_OK ? (int)err.class : status != 0 ? status : SBX_IO;
}

static int serve(const struct options *o, int64_t began)
{
	struct start s = {.request = jv_invalid(),
			  .egress = jv_invalid(),
			  .settings = {.all = jv_invalid()},
			  .access = KUBE_ACCESS_INIT,
			  .limits = BUF_INIT(4096),
			  .credentials = SECRET_INIT};
	int status = o->mode == MODE_RUN ? run(o, &s, began) : o->mode == MODE_MEND ? mend(o, &s) : check(&s, began);

	start_clear(&s);
	return status;
}

int main(int argc, char **argv)
{
	int64_t began = clock_mono_ms();
	struct options o = {.fds = DRIVER_FDS_NONE};
	struct sbx_error err = SBX_ERROR_INIT;

	log_set_name("sbx-run-kubernetes");
	if (parse(argc, argv, &o) < 0) {
		fputs(usage, stderr);
		return SBX_USAGE;
	}
	if (driver_fds_clean(&o.fds, "sbx-run-kubernetes", &err) < 0) {
		log_error(&err);
		return (int)err.class;
	}
	return serve(&o, began);
}
