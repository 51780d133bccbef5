/* The options, descriptors and (for other drivers than local) the JSON object that a driver gets. */
#include "sandbox_driver.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "io.h"
#include "limit.h"
#include "sandbox_egress.h"
#include "sandbox_places.h"
#include "sandbox_table.h"
#include "start.h"

/* When policy.run does not say: small enough that nobody's machine suffers. */
static const int64_t default_deadline_ms = 60000;
static const int64_t default_grace_ms = 10000;
static const int64_t default_memory = (int64_t)1 << 30;
static const int64_t default_pids = 128;
static const int64_t default_files = 1024;
static const int64_t default_cpu = 1;
static const int64_t default_work = (int64_t)512 << 20;
static const int64_t check_ms = 45000; /* a cluster may have to fetch the image first */
static const int64_t mend_ms = 50000;  /* whoever mends waits a minute for all of it */
static const size_t table_max = (size_t)8 << 20;

enum { FD_ENTRY = 3, FD_INPUTS, FD_CONTROL, FD_CREDENTIALS, FD_FIRST_LOCK };
#define ARGS_MAX 256 /* 30 options and their values, 64 mounts and 16 destinations with theirs */
#define DRIVER_NAME_MAX 32

struct arguments {
	char *list[ARGS_MAX]; /* owned */
	size_t count;
};

static void arguments_clear(struct arguments *args)
{
	for (size_t i = 0; i < args->count; i++)
		free(args->list[i]);
}

static int add(struct arguments *args, struct sbx_error *err, const char *format, ...) SBX_PRINTF(3, 4);
static int add(struct arguments *args, struct sbx_error *err, const char *format, ...)
{
	va_list list;

	if (args->count >= ARGS_MAX - 1)
		return sbx_fail(err, SBX_PROTOCOL, "bad_call", "the run has too many mounts");
	va_start(list, format);
	int n = vasprintf(&args->list[args->count], format, list);
	va_end(list);
	if (n < 0) {
		args->list[args->count] = NULL;
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	}
	args->count++;
	return 0;
}

static int add_number(struct arguments *args, const char *option, int64_t value, struct sbx_error *err)
{
	return add(args, err, "--%s", option) < 0 ? -1 : add(args, err, "%lld", (long long)value);
}

static int64_t limit(jv run, const char *name, int64_t otherwise)
{
	auto_jv limits = json_object(run, "limits");
	int64_t value;

	return json_int(limits, name, &value) == 0 && value > 0 ? value : otherwise;
}

int64_t driver_deadline_ms(jv run)
{
	return limit(run, "deadline_ms", default_deadline_ms);
}

int64_t driver_grace_ms(jv run)
{
	return limit(run, "grace_ms", default_grace_ms);
}

struct named_limit {
	const char *option, *member;
	int64_t otherwise;
};
static const struct named_limit limits_given[] = {
	{"work", "workdir", default_work},
	{"memory", "memory", default_memory},
	{"pids", "pids", default_pids},
	{"files", "files", default_files},
	{"cpu", "cpu", default_cpu},
	{"deadline-ms", "deadline_ms", default_deadline_ms},
	{"grace-ms", "grace_ms", default_grace_ms},
};

static int add_descriptors(struct arguments *args, const struct sandbox_job *job, struct sbx_error *err)
{
	if (add_number(args, "entry-fd", FD_ENTRY, err) < 0 || add_number(args, "inputs-fd", FD_INPUTS, err) < 0 ||
	    add_number(args, "control-fd", FD_CONTROL, err) < 0)
		return -1;
	if (job->credentials_fd >= 0 && add_number(args, "credentials-fd", FD_CREDENTIALS, err) < 0)
		return -1;
	for (size_t i = 0; i < job->lock_count; i++)
		if (add_number(args, "lock-fd", (int64_t)(FD_FIRST_LOCK + i), err) < 0)
			return -1;
	return 0;
}

/* Where the working copy of the state stands inside. */
static char *state_target(jv run)
{
	auto_free char *path = sandbox_state_path(run);
	char *target = NULL;

	if (path == NULL || asprintf(&target, SANDBOX_WORK "/%s", path) < 0)
		return NULL;
	return target;
}

static int add_places(struct arguments *args, const struct sandbox_job *job, const struct sandbox_mounts *mounts,
		      struct sbx_error *err)
{
	for (size_t i = 0; i < mounts->count; i++)
		if (add(args, err, "--bind") < 0 ||
		    add(args, err, "%s:%s", mounts->list[i].source, mounts->list[i].target) < 0)
			return -1;
	if (job->state_file == NULL)
		return 0;
	auto_free char *target = state_target(job->run);
	if (target == NULL || strchr(job->state_file, ':') != NULL)
		return sbx_fail(err, SBX_PROTOCOL, "bad_call", "the run writes a state and does not say which");
	return add(args, err, "--state") < 0 ? -1 : add(args, err, "%s:%s", job->state_file, target);
}

/* Names that share a front have one address: what connects there goes the same way. */
static int is_given(const struct egress_pins *pins, size_t until, const struct egress_pin *pin)
{
	for (size_t i = 0; i < until; i++)
		if (pins->list[i].address.s_addr == pin->address.s_addr && pins->list[i].port == pin->port)
			return 1;
	return 0;
}

/* What the relay joins: each destination by its one address, its name for the steps, and how much there may be. */
static int add_egress(struct arguments *args, const struct sandbox_job *job, struct sbx_error *err)
{
	const struct egress_pins *pins = job->pins;
	char address[INET_ADDRSTRLEN];

	for (size_t i = 0; pins != NULL && i < pins->count; i++) {
		const struct egress_pin *pin = &pins->list[i];
		inet_ntop(AF_INET, &pin->address, address, sizeof address);
		if (!is_given(pins, i, pin) && (add(args, err, "--egress") < 0 ||
						add(args, err, "%s=%s:%u", pin->name, address, (unsigned)pin->port) < 0))
			return -1;
		if (pin->host != NULL && (add(args, err, "--host") < 0 || add(args, err, "%s=%s", pin->host, address) < 0))
			return -1;
	}
	if (pins == NULL || pins->count == 0)
		return 0;
	return add_number(args, "connections", limit(job->run, "connections", LIMIT_EGRESS_CONNECTIONS), err) < 0
		       ? -1
		       : add_number(args, "traffic", limit(job->run, "traffic", LIMIT_EGRESS_BYTES), err);
}

static int local_arguments(struct arguments *args, const struct sandbox_job *job, const struct sandbox_mounts *mounts,
			   struct sbx_error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(limits_given); i++)
		if (add_number(args, limits_given[i].option,
			       limit(job->run, limits_given[i].member, limits_given[i].otherwise), err) < 0)
			return -1;
	if (add(args, err, "--call") < 0 || add(args, err, "%s", job->call) < 0)
		return -1;
	return add_places(args, job, mounts, err) < 0 ? -1 : add_egress(args, job, err);
}

/* The object that any other driver reads on stdin. */
static int describe(const struct sandbox_job *job, const struct sandbox_mounts *mounts, struct sbx_error *err)
{
	auto_jv object = jv_object(), limits = jv_object(), list = jv_array();
	auto_jv egress = json_array(job->run, "egress"), image = json_get(job->run, "image");
	auto_jv programs = json_object(job->run, "programs");
	auto_buf text = BUF_INIT(table_max);

	for (size_t i = 0; i < ARRAY_LEN(limits_given); i++)
		limits = json_set_int(take_jv(&limits), limits_given[i].member,
				      limit(job->run, limits_given[i].member, limits_given[i].otherwise));
	for (size_t i = 0; i < mounts->count; i++) {
		jv mount = json_set_str(jv_object(), "source", mounts->list[i].source);
		list = json_append(take_jv(&list), json_set_str(mount, "target", mounts->list[i].target));
	}
	object = json_set_str(json_set_str(take_jv(&object), "call", job->call), "tool", job->tool);
	object = json_set(take_jv(&object), "limits", take_jv(&limits));
	object = json_set(take_jv(&object), "mounts", take_jv(&list));
	object = json_set(take_jv(&object), "egress", jv_is_valid(egress) ? jv_copy(egress) : jv_array());
	object = json_set(take_jv(&object), "image", jv_is_valid(image) ? jv_copy(image) : jv_null());
	object = json_set(take_jv(&object), "settings",
			  jv_is_valid(job->settings) ? jv_copy(job->settings) : jv_object());
	if (job->backend != NULL)
		object = json_set_str(take_jv(&object), "backend", job->backend);
	if (job->state_file != NULL) {
		auto_free char *target = state_target(job->run);
		jv state = json_set_str(jv_object(), "source", job->state_file);
		object = json_set(take_jv(&object), "state", json_set_str(state, "target", target));
	}
	if (json_write(object, &text, err) < 0)
		return -1;
	return io_sealed_memfd("sbx-driver", text.data, text.len, err);
}

/* A name, never a path: it is the tail of a program's name in our libexec directory. */
static char *find_driver(const char *name, struct sbx_error *err)
{
	char helper[sizeof "sbx-run-" + DRIVER_NAME_MAX];

	if (name == NULL || name[0] == '\0' || strlen(name) > DRIVER_NAME_MAX ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(name)) {
		sbx_fail(err, SBX_CONFIG, "missing_helper", "the sandbox driver's name is not one");
		return NULL;
	}
	snprintf(helper, sizeof helper, "sbx-run-%s", name);
	return process_helper(helper, err);
}

int driver_is_there(jv run, struct sbx_error *err)
{
	auto_free char *path = find_driver(json_str(run, "driver"), err);

	return path != NULL ? 0 : -1;
}

/* The three descriptors of the start, as the driver gets them. */
struct given {
	int table, inputs, object, control, frames;
};

static int launch(struct driver *driver, const struct sandbox_job *job, const char *path, struct arguments *args,
		  const struct given *given, struct sbx_error *err)
{
	struct spawn_fd fds[7 + SANDBOX_LOCKS];
	size_t n = 0;

	fds[n++] = (struct spawn_fd){STDOUT_FILENO, given->frames};
	if (given->object >= 0)
		fds[n++] = (struct spawn_fd){STDIN_FILENO, given->object};
	fds[n++] = (struct spawn_fd){FD_ENTRY, given->table};
	fds[n++] = (struct spawn_fd){FD_INPUTS, given->inputs};
	fds[n++] = (struct spawn_fd){FD_CONTROL, given->control};
	if (job->credentials_fd >= 0)
		fds[n++] = (struct spawn_fd){FD_CREDENTIALS, job->credentials_fd};
	for (size_t i = 0; i < job->lock_count; i++)
		fds[n++] = (struct spawn_fd){FD_FIRST_LOCK + (int)i, job->locks[i]};
	struct spawn what = {
		.path = path, .argv = (const char *const *)args->list, .fds = fds, .fd_count = n,
		.flags = SPAWN_GROUP | SPAWN_NO_TERMINAL};
	return spawn_start(&what, &driver->child, err);
}

/* Pipes for the frames and the control, then the start. */
static int connect_and_launch(struct driver *driver, const struct sandbox_job *job, const char *path,
			      struct arguments *args, struct given *given, struct sbx_error *err)
{
	int frames[2] = {-1, -1}, control[2] = {-1, -1};
	int result = -1;

	if (pipe2(frames, O_CLOEXEC) < 0 || pipe2(control, O_CLOEXEC) < 0) {
		sbx_fail_errno(err, SBX_OS, "os_error", "cannot make a pipe");
	} else {
		given->frames = frames[1];
		given->control = control[0];
		result = launch(driver, job, path, args, given, err);
	}
	if (result == 0) {
		driver->frames = take_fd(&frames[0]);
		driver->control = take_fd(&control[1]);
		fcntl(driver->frames, F_SETFL, O_NONBLOCK);
	}
	for (int i = 0; i < 2; i++) {
		base_close_fd(&frames[i]);
		base_close_fd(&control[i]);
	}
	return result;
}

static int encode_table(const struct sandbox_job *job, struct sbx_error *err)
{
	auto_buf bytes = BUF_INIT(table_max);
	struct steps steps = {.step_count = 0};
	int fd = -1;

	if (sandbox_table(job, &steps, err) == 0 && steps_encode(&steps, &bytes, err) == 0)
		fd = io_sealed_memfd("sbx-steps", bytes.data, bytes.len, err);
	steps_clear(&steps);
	return fd;
}

int driver_start(struct driver *driver, const struct sandbox_job *job, struct sbx_error *err)
{
	const char *name = json_str(job->run, "driver");
	struct sandbox_mounts mounts = {.list = NULL};
	struct arguments args = {.count = 0};
	int result = -1;

	*driver = (struct driver)DRIVER_NONE;
	auto_free char *path = find_driver(name, err);
	if (path == NULL)
		return -1;
	auto_fd table = encode_table(job, err), inputs = sandbox_inputs(job, err), object = -1;
	if (table < 0 || inputs < 0 || sandbox_mounts(job, &mounts, err) < 0 ||
	    add(&args, err, "sbx-run-%s", name) < 0 || add_descriptors(&args, job, err) < 0)
		goto out;
	if (strcmp(name, "local") == 0) {
		if (local_arguments(&args, job, &mounts, err) < 0)
			goto out;
	} else {
		object = describe(job, &mounts, err);
		if (object < 0)
			goto out;
	}
	struct given given = {.table = table, .inputs = inputs, .object = object, .control = -1, .frames = -1};
	result = connect_and_launch(driver, job, path, &args, &given, err);
out:
	arguments_clear(&args);
	sandbox_mounts_clear(&mounts);
	return result;
}

/* What a driver reads on stdin when there is no run; the local one reads nothing. */
static int settings_alone(jv settings, struct sbx_error *err)
{
	auto_jv object = json_set(jv_object(), "settings", jv_is_valid(settings) ? jv_copy(settings) : jv_object());
	auto_buf text = BUF_INIT(table_max);

	return json_write(object, &text, err) < 0 ? -1 : io_sealed_memfd("sbx-driver", text.data, text.len, err);
}

/* One process of driver NAME with ARGV: its exit status, or -1. */
static int ask_driver(const char *name, const char *const *argv, jv settings, int out, int64_t ms, struct sbx_error *err)
{
	auto_free char *path = find_driver(name, err);
	auto_fd object = settings_alone(settings, err);
	struct spawn_fd fds[] = {{STDIN_FILENO, object}, {STDOUT_FILENO, out}};
	struct spawn what = {
		.path = path, .argv = argv, .fds = fds, .fd_count = ARRAY_LEN(fds), .flags = SPAWN_NO_TERMINAL};
	auto_child child = CHILD_NONE;
	int status;

	if (path == NULL || object < 0 || spawn_start(&what, &child, err) < 0)
		return -1;
	if (spawn_wait(&child, clock_mono_ms() + ms, &status) != 1)
		return sbx_fail(err, SBX_UNAVAILABLE, "timeout", "the driver did not answer in time");
	return spawn_exit_code(status);
}

int driver_check(const char *name, jv settings, int out, struct sbx_error *err)
{
	const char *const argv[] = {"sbx-run", "--check", NULL};

	return ask_driver(name, argv, settings, out, check_ms, err);
}

int driver_mend(const char *name, jv settings, const char *call, struct sbx_error *err)
{
	const char *const argv[] = {"sbx-run", "--mend", call, NULL};

	if (strcmp(name, "local") == 0)
		return 0;
	int status = ask_driver(name, argv, settings, STDERR_FILENO, mend_ms, err);
	if (status <= 0)
		return status;
	return sbx_fail(err, SBX_UNAVAILABLE, "mend_failed", "the driver could not remove the sandbox of the call (%d)", status);
}

void driver_clear(struct driver *driver)
{
	base_close_fd(&driver->control);
	base_close_fd(&driver->frames);
	spawn_kill(&driver->child);
}
