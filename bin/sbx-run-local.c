/* sbx-run-local: the driver that needs nothing installed. One sandbox of namespaces, one sbx-entry in it, its frames on
 * stdout. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "drive.h"
#include "driver_fds.h"
#include "egress_list.h"
#include "io.h"
#include "isolate.h"
#include "json_out.h"
#include "limit.h"
#include "log.h"
#include "process.h"
#include "relay.h"
#include "state.h"
#include "steps.h"

static const char usage[] =
	"usage: sbx-run-local --entry-fd N --inputs-fd N [--credentials-fd N] [--lock-fd N]... --control-fd N\n"
	"                     [--entry FILE] [--bind SRC:DST]... [--state SRC:DST] --work BYTES --memory BYTES --pids "
	"N\n"
	"                     --files N --cpu N --deadline-ms N --grace-ms N [--egress NAME=ADDRESS:PORT]...\n"
	"                     [--host NAME=ADDRESS]... [--connections N] [--traffic BYTES] [--call ID]\n"
	"       sbx-run-local --check [--entry FILE]\n";

enum { LIMITS_MAX = 1024, EGRESS_MAX = 4096, TABLE_MAX = 4096, ENTRY_ARGUMENTS = 9 /* that it always gets */ };
static const int64_t check_deadline_ms = 10000;
static const uint64_t max_bytes = (uint64_t)1 << 46, max_number = 1 << 20, max_ms = (uint64_t)7 * 24 * 60 * 60 * 1000;

/* Numbers of the descriptors inside; the options of sbx-entry. */
enum { INNER_ENTRY = 3, INNER_INPUTS, INNER_CREDENTIALS, INNER_CONTROL };

struct options {
	struct driver_fds fds;
	char *entry; /* file; NULL: beside us */
	struct isolate_bind binds[ISOLATE_MAX_BINDS];
	size_t bind_count;
	struct isolate_bind state;
	uint64_t work, memory, pids, files, cpu, deadline_ms, grace_ms, connections, traffic;
	struct egress_list egress;
	char host_name[sizeof "sbx-" + STATE_ID_SIZE];
	int check;
};

/* --- options --- */

/* An absolute path without . and .. and empty parts, and not the root itself. */
static int is_target(const char *path)
{
	if (path[0] != '/')
		return 0;
	for (const char *p = path + 1; p != NULL; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL) {
		size_t len = strcspn(p, "/");
		if (len == 0 || (len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.'))
			return 0;
	}
	return 1;
}

/* "SRC:DST"; the copy is freed by options_clear. argv stays whole, for process_clean may run it again. */
static int parse_bind(const char *text, struct isolate_bind *bind)
{
	char *copy = strdup(text);
	char *colon = copy != NULL ? strchr(copy, ':') : NULL;

	if (colon == NULL || copy[0] != '/' || !is_target(colon + 1)) {
		free(copy);
		return -1;
	}
	*colon = '\0';
	*bind = (struct isolate_bind){.source = copy, .target = colon + 1};
	return 0;
}

static int parse_number(const char *name, const char *text, struct options *o)
{
	const struct {
		const char *name;
		uint64_t max;
		uint64_t *value;
	} numbers[] = {
		{"work", max_bytes, &o->work},	     {"memory", max_bytes, &o->memory},
		{"pids", max_number, &o->pids},	     {"files", max_number, &o->files},
		{"cpu", max_number, &o->cpu},	     {"deadline-ms", max_ms, &o->deadline_ms},
		{"grace-ms", max_ms, &o->grace_ms},  {"connections", LIMIT_EGRESS_CONNECTIONS, &o->connections},
		{"traffic", max_bytes, &o->traffic},
	};

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (strcmp(numbers[i].name, name) == 0)
			return io_parse_u64(text, 1, numbers[i].max, numbers[i].value);
	return -1;
}

static int parse_mount(const char *text, struct options *o)
{
	if (o->bind_count == ISOLATE_MAX_BINDS || parse_bind(text, &o->binds[o->bind_count]) < 0)
		return -1;
	return steps_is_reserved(o->binds[o->bind_count++].target) ? -1 : 0;
}

static int parse_state(const char *text, struct options *o)
{
	static const char below[] = SANDBOX_WORK "/";

	if (o->state.source != NULL || parse_bind(text, &o->state) < 0)
		return -1;
	return strncmp(o->state.target, below, sizeof below - 1) == 0 ? 0 : -1;
}

/* The machine's name inside is the call's: it stands in the lock that a killed terraform leaves on a state (tf_lock.h). */
static int parse_call(const char *text, struct options *o)
{
	if (!state_is_id(text))
		return -1;
	snprintf(o->host_name, sizeof o->host_name, "sbx-%s", text);
	return 0;
}

static void options_clear(struct options *o)
{
	for (size_t i = 0; i < o->bind_count; i++)
		free((void *)o->binds[i].source);
	free((void *)o->state.source);
	egress_list_clear(&o->egress);
}

static int is_complete(const struct options *o)
{
	if (o->check)
		return 1;
	return driver_fds_are_given(&o->fds) && o->work > 0 && o->memory > 0 &&
	       o->pids > 0 && o->files > 0 && o->cpu > 0 && o->deadline_ms > 0 && o->grace_ms > 0;
}

static int take_option(int letter, const char *name, struct options *o)
{
	switch (letter) {
	case 'b':
		return parse_mount(optarg, o);
	case 's':
		return parse_state(optarg, o);
	case 'n':
		return parse_number(name, optarg, o);
	case 'g':
		return egress_list_add(&o->egress, optarg);
	case 'h':
		return egress_list_add_host(&o->egress, optarg);
	case 'a':
		return parse_call(optarg, o);
	case 'E':
		o->entry = optarg;
		return 0;
	case 'k':
		o->check = 1;
		return 0;
	default:
		return driver_fds_take(&o->fds, letter, optarg);
	}
}

static int parse(int argc, char **argv, struct options *o)
{
	static const struct option known[] = {
		DRIVER_FDS_OPTIONS,
		{"entry", required_argument, NULL, 'E'},
		{"bind", required_argument, NULL, 'b'},
		{"state", required_argument, NULL, 's'},
		{"check", no_argument, NULL, 'k'},
		{"work", required_argument, NULL, 'n'},
		{"memory", required_argument, NULL, 'n'},
		{"pids", required_argument, NULL, 'n'},
		{"files", required_argument, NULL, 'n'},
		{"cpu", required_argument, NULL, 'n'},
		{"deadline-ms", required_argument, NULL, 'n'},
		{"grace-ms", required_argument, NULL, 'n'},
		{"egress", required_argument, NULL, 'g'},
		{"host", required_argument, NULL, 'h'},
		{"connections", required_argument, NULL, 'n'},
		{"traffic", required_argument, NULL, 'n'},
		{"call", required_argument, NULL, 'a'},
		{NULL, 0, NULL, 0},
	};
	int index = 0;

	for (int c; (c = getopt_long(argc, argv, "", known, &index)) != -1;)
		if (take_option(c, known[index].name, o) < 0)
			return -1;
	return optind == argc && is_complete(o) ? 0 : -1;
}

/* --- the sandbox --- */

/* What is enforced, and by what; for the evidence. */
static int describe_limits(const struct options *o, struct buf *json, struct sbx_error *err)
{
	static const char *const limits[][2] = {
		{"deadline", "driver"},
		{"output", "sbx-entry"},
		{"memory", "rlimit_data per process"},
		{"total_memory", "not enforced"},
		{"cpu", "not enforced"},
		{"pids", "rlimit_nproc"},
		{"files", "rlimit_nofile per process"},
		{"work", "tmpfs size"},
	};
	static const char *const of_relay[][2] = {{"connections", "relay"}, {"traffic", "relay"}};

	if (buf_add_str(json, "{", err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if (json_out_member(json, limits[i][0], limits[i][1], err) < 0)
			return -1;
	for (size_t i = 0; o->egress.count > 0 && i < ARRAY_LEN(of_relay); i++)
		if (json_out_member(json, of_relay[i][0], of_relay[i][1], err) < 0)
			return -1;
	return buf_add_str(json, "}", err);
}

/* Where the relay leads; for the evidence. */
static int describe_egress(const struct options *o, struct buf *json, struct sbx_error *err)
{
	if (buf_add_str(json, "{\"relayed\":{", err) < 0)
		return -1;
	for (size_t i = 0; i < o->egress.count; i++) {
		char place[EGRESS_PLACE_SIZE];
		if (json_out_member(json, o->egress.list[i].name, egress_place(&o->egress.list[i], place), err) < 0)
			return -1;
	}
	return buf_add_str(json, "}}", err);
}

/* Our ends of the two pipes; the sandbox's are closed here as soon as it has them. */
struct pipes {
	int frames[2];
	int control[2];
};

static void close_pipes(struct pipes *p)
{
	for (int i = 0; i < 2; i++) {
		base_close_fd(&p->frames[i]);
		base_close_fd(&p->control[i]);
	}
}

static int start_sandbox(const struct options *o, const char *entry, struct pipes *p, struct isolated *isolated,
			 struct sbx_error *err)
{
	auto_buf limits = BUF_INIT(LIMITS_MAX), egress = BUF_INIT(EGRESS_MAX);
	struct spawn_fd fds[ISOLATE_MAX_FDS];
	struct sockaddr_in listen[ISOLATE_MAX_LISTEN];
	size_t count = 0;

	if (pipe2(p->frames, O_CLOEXEC) < 0 || pipe2(p->control, O_CLOEXEC) < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot make a pipe");
	if (describe_limits(o, &limits, err) < 0 || describe_egress(o, &egress, err) < 0)
		return -1;
	const char *arguments[] = {"sbx-entry",
					 "--entry-fd",
					 "3",
					 "--inputs-fd",
					 "4",
					 "--control-fd",
					 "6",
					 "--limits",
					 buf_str(&limits),
					 NULL,
					 NULL,
					 NULL,
					 NULL,
					 NULL};
	const char **more = &arguments[ENTRY_ARGUMENTS];
	if (o->fds.credentials >= 0) {
		*more++ = "--credentials-fd";
		*more++ = "5";
	}
	if (o->egress.count > 0) {
		*more++ = "--egress";
		*more++ = buf_str(&egress);
	}
	fds[count++] = (struct spawn_fd){STDOUT_FILENO, p->frames[1]};
	fds[count++] = (struct spawn_fd){INNER_CONTROL, p->control[0]};
	fds[count++] = (struct spawn_fd){INNER_ENTRY, o->fds.entry};
	fds[count++] = (struct spawn_fd){INNER_INPUTS, o->fds.inputs};
	if (o->fds.credentials >= 0)
		fds[count++] = (struct spawn_fd){INNER_CREDENTIALS, o->fds.credentials};
	for (size_t i = 0; i < o->egress.count; i++)
		listen[i] = o->egress.list[i].address;
	struct isolate what = {
		.entry = entry,
		.argv = arguments,
		.binds = o->binds,
		.bind_count = o->bind_count,
		.state = o->state,
		.fds = fds,
		.fd_count = count,
		.life_fd = p->control[0],
		.listen = listen,
		.listen_count = o->egress.count,
		.hosts = o->egress.count > 0 ? buf_str(&o->egress.hosts) : NULL,
		.host_name = o->host_name,
		.flags = o->fds.credentials >= 0 ? ISOLATE_CREDENTIALS : 0,
		.work_bytes = o->work,
		.memory = o->memory,
		.pids = o->pids,
		.files = o->files,
	};
	int result = isolate_start(&what, isolated, err);
	base_close_fd(&p->frames[1]);
	base_close_fd(&p->control[0]);
	return result;
}

static int cannot_isolate(struct sbx_error *err)
{
	struct sbx_error ignored = SBX_ERROR_INIT;

	relay_say(STDOUT_FILENO, "cannot_isolate", err, &ignored);
	log_error(err);
	return (int)err->class;
}

static int run(const struct options *o, const char *entry, int64_t started)
{
	struct pipes p = {{-1, -1}, {-1, -1}};
	auto_isolated isolated = ISOLATED_NONE;
	struct sbx_error err = SBX_ERROR_INIT;
	enum drive_end end;
	int status = 0;

	if (start_sandbox(o, entry, &p, &isolated, &err) < 0) {
		close_pipes(&p);
		return cannot_isolate(&err);
	}
	struct drive d = {
		.frames = p.frames[0],
		.out = STDOUT_FILENO,
		.control = o->fds.control,
		.stop = &p.control[1],
		.child = &isolated.child,
		.destinations = o->egress.list,
		.listeners = isolated.listeners,
		.destination_count = isolated.listener_count,
		.egress = {.at_once = LIMIT_EGRESS_AT_ONCE, .total = (unsigned)o->connections, .bytes = o->traffic},
		.deadline = started + (int64_t)o->deadline_ms,
		.grace_ms = (int64_t)o->grace_ms};
	int result = drive(&d, &end, &err);
	if (isolate_why(&isolated, &err) < 0 && result == 0) {
		status = cannot_isolate(&err);
	} else if (result < 0) {
		log_error(&err);
		status = (int)err.class;
	} else if (end == DRIVE_COMPLETE) {
		isolate_leave(&isolated);
	} else {
		status = SBX_COMMAND_FAILED;
	}
	close_pipes(&p);
	return status;
}

/* --- --check --- */

/* A table without a step, so that sbx-entry looks at everything and does nothing. */
static int empty_table(struct sbx_error *err)
{
	static const char *const names[STEPS_NAMESPACES] = {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"};
	struct steps table = {.require = "local", .cwd = (char *)".", .grace_ms = 1};
	auto_buf bytes = BUF_INIT(TABLE_MAX);
	char path[32];
	struct stat st;

	for (size_t i = 0; i < STEPS_NAMESPACES; i++) {
		snprintf(path, sizeof path, "/proc/self/ns/%s", names[i]);
		table.host_namespaces[i] = stat(path, &st) == 0 ? st.st_ino : 0;
	}
	if (steps_encode(&table, &bytes, err) < 0)
		return -1;
	return io_sealed_memfd("sbx-check", bytes.data, bytes.len, err);
}

/* *EVIDENCE of the hello (owned by the caller) once the stream is complete; a refusal fails with its text. */
static int read_answer(int frames, char **evidence, struct sbx_error *err)
{
	auto_frame_reader reader;
	struct frame frame = {.type = FRAME_HELLO};
	char block[FRAME_MAX];
	int64_t deadline = clock_mono_ms() + check_deadline_ms;
	int got;

	frame_reader_init(&reader);
	while ((got = frame_next(&reader, &frame, err)) >= 0) {
		if (got == 1 && frame.type == FRAME_HELLO)
			*evidence = strdup(frame.payload);
		else if (got == 1 && frame.type == FRAME_REFUSED)
			return sbx_fail(err, SBX_UNAVAILABLE, "cannot_isolate", "sbx-entry refuses: %s", frame.payload);
		else if (got == 1 && frame.type == FRAME_END)
			return *evidence != NULL ? 0 : -1;
		struct pollfd more = {.fd = frames, .events = POLLIN};
		ssize_t n = got == 1					  ? -1
			    : poll(&more, 1, clock_left_ms(deadline)) > 0 ? read(frames, block, sizeof block)
									  : 0;
		if (n == 0 || (n > 0 && frame_feed(&reader, block, (size_t)n, err) < 0))
			return -1;
	}
	return -1;
}

static int check(struct options *o, const char *entry)
{
	struct pipes p = {{-1, -1}, {-1, -1}};
	auto_isolated isolated = ISOLATED_NONE;
	struct sbx_error err = SBX_ERROR_INIT;
	auto_free char *evidence = NULL;
	auto_fd table = empty_table(&err), inputs = io_sealed_memfd("sbx-check", "", 0, &err);
	int status;

	o->fds.entry = table;
	o->fds.inputs = inputs;
	o->work = o->memory = (uint64_t)64 << 20;
	o->pids = o->files = 64;
	if (err.class == SBX_OK && start_sandbox(o, entry, &p, &isolated, &err) == 0 &&
	    read_answer(p.frames[0], &evidence, &err) < 0) {
		spawn_wait(&isolated.child, clock_mono_ms() + check_deadline_ms, &status);
		if (isolate_why(&isolated, &err) == 0)
			sbx_fail(&err, SBX_UNAVAILABLE, "cannot_isolate",
				 "sbx-entry did not say what it found in the sandbox");
	}
	close_pipes(&p);
	if (err.class == SBX_OK && (printf("OK %s\n", evidence) < 0 || fflush(stdout) != 0))
		sbx_fail_errno(&err, SBX_IO, "io_error", "cannot write");
	if (err.class != SBX_OK)
		log_error(&err);
	return (int)err.class;
}

int main(int argc, char **argv)
{
	int64_t began = clock_mono_ms();
	__attribute__((cleanup(options_clear))) struct options o = {
		.fds = DRIVER_FDS_NONE,
		.connections = LIMIT_EGRESS_CONNECTIONS,
		.traffic = LIMIT_EGRESS_BYTES,
		.host_name = "sbx"};
	struct sbx_error err = SBX_ERROR_INIT;

	egress_list_init(&o.egress);
	log_set_name("sbx-run-local");
	if (parse(argc, argv, &o) < 0) {
		fputs(usage, stderr);
		return SBX_USAGE;
	}
	if (driver_fds_clean(&o.fds, "sbx-run-local", &err) < 0) {
		log_error(&err);
		return (int)err.class;
	}
	auto_free char *entry = o.entry != NULL ? strdup(o.entry) : process_helper("sbx-entry", &err);
	if (entry == NULL) {
		log_error(&err);
		return (int)err.class;
	}
	return o.check ? check(&o, entry) : run(&o, entry, began);
}
