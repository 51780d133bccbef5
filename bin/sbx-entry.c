/* sbx-entry: the first process of every sandbox. Says what it found, checks what it was given, runs the steps one by
 * one, and frames what they print. It is static, for its root holds no library, and does without start(), whose look at
 * the accounts would load some. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include "entry_boot.h"
#include "entry_check.h"
#include "entry_evidence.h"
#include "entry_fence.h"
#include "entry_inputs.h"
#include "entry_seal.h"
#include "entry_signed.h"
#include "entry_step.h"
#include "frame.h"
#include "io.h"
#include "json_out.h"
#include "limit.h"
#include "log.h"
#include "steps.h"

static const size_t table_max = 8 << 20; /* far above what a policy's argv can hold together */
static const size_t json_max = FRAME_MAX;

static const char usage[] =
	"usage: sbx-entry --entry-fd N --inputs-fd N [--credentials-fd N] --control-fd N [--limits JSON]\n"
	"                 [--egress JSON]\n"
	"       sbx-entry --boot DIRECTORY\n";

struct options {
	int entry, inputs, credentials, control;
	const char *limits, *egress;
	const char *boot; /* where a cluster has mounted all of that; NULL */
};

static int parse_fd(const char *text, int *fd)
{
	uint64_t value;

	if (io_parse_u64(text, 3, INT32_MAX, &value) < 0 || fcntl((int)value, F_GETFD) < 0)
		return -1;
	*fd = (int)value;
	return fcntl(*fd, F_SETFD, FD_CLOEXEC);
}

static int parse(int argc, char **argv, struct options *o)
{
	static const struct option known[] = {
		{"entry-fd", required_argument, NULL, 'e'},	  {"inputs-fd", required_argument, NULL, 'i'},
		{"credentials-fd", required_argument, NULL, 'c'}, {"control-fd", required_argument, NULL, 'x'},
		{"limits", required_argument, NULL, 'l'},	  {"boot", required_argument, NULL, 'b'},
		{"egress", required_argument, NULL, 'g'},
		{NULL, 0, NULL, 0},
	};
	int failed = 0;

	for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
		switch (c) {
		case 'e':
			failed |= parse_fd(optarg, &o->entry);
			break;
		case 'i':
			failed |= parse_fd(optarg, &o->inputs);
			break;
		case 'c':
			failed |= parse_fd(optarg, &o->credentials);
			break;
		case 'x':
			failed |= parse_fd(optarg, &o->control);
			break;
		case 'l':
			o->limits = optarg;
			break;
		case 'g':
			o->egress = optarg;
			break;
		case 'b':
			o->boot = optarg;
			break;
		default:
			return -1;
		}
	}
	if (failed != 0 || optind != argc)
		return -1;
	if (o->boot != NULL)
		return o->entry < 0 && o->inputs < 0 && o->control < 0 && o->credentials < 0 ? 0 : -1;
	return o->entry >= 0 && o->inputs >= 0 && o->control >= 0 ? 0 : -1;
}

/* The table's environment, over what every step gets. An empty home: what a tool would read from the caller's, or from
 * the workspace, is not configuration here. */
static int build_environment(const struct steps *table, const char ***envp, struct sbx_error *err)
{
	static const char *const always[] = {"HOME=" SANDBOX_HOME, "TMPDIR=/tmp", "PATH=/usr/bin:/bin", "LC_ALL=C",
					     "TZ=UTC"};
	size_t count = 0, used = 0;

	while (table->env[count] != NULL)
		count++;
	const char **list = calloc(count + ARRAY_LEN(always) + 1, sizeof *list);
	if (list == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	for (size_t i = 0; i < ARRAY_LEN(always); i++) {
		size_t name_len = strcspn(always[i], "=") + 1;
		int given = 0;
		for (size_t j = 0; j < count; j++)
			given |= strncmp(table->env[j], always[i], name_len) == 0;
		if (!given)
			list[used++] = always[i];
	}
	for (size_t i = 0; i < count; i++)
		list[used++] = table->env[i];
	*envp = list;
	return 0;
}

static int say_refused(const char *nonce, const struct sbx_error *why, struct sbx_error *err)
{
	auto_buf json = BUF_INIT(json_max);

	if (buf_add_str(&json, "{", err) < 0 || json_out_member(&json, "code", why->code, err) < 0 ||
	    json_out_member(&json, "message", why->message, err) < 0 ||
	    (why->hint[0] != '\0' && json_out_member(&json, "hint", why->hint, err) < 0) ||
	    buf_add_str(&json, "}", err) < 0)
		return -1;
	return frame_write(STDOUT_FILENO, nonce, FRAME_REFUSED, 0, json.data, json.len, err);
}

static int say_end(const char *nonce, int state_changed, int stopped, struct sbx_error *err)
{
	auto_buf json = BUF_INIT(json_max);

	if (buf_addf(&json, err, "{\"state_changed\":%s,\"stopped\":%s}", state_changed ? "true" : "false",
		     stopped ? "true" : "false") < 0)
		return -1;
	return frame_write(STDOUT_FILENO, nonce, FRAME_END, 0, json.data, json.len, err);
}

static int read_table(int fd, struct steps *table, struct sbx_error *err)
{
	auto_free char *bytes = NULL;
	size_t len;

	if (lseek(fd, 0, SEEK_SET) < 0 || io_read_all(fd, table_max, &bytes, &len, err) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read the step table");
	return steps_decode(bytes, len, table, err);
}

/* Gather and say; then judge. PROBE is NULL where there should be no network; there is no image there either, and nothing
 * to say of SEEN. */
static int say_hello(const struct steps *table, const struct options *o, const struct probe *probe,
		     const struct entry_signed *seen, const char *nonce, struct sbx_error *why, struct sbx_error *err)
{
	struct evidence evidence;
	auto_buf json = BUF_INIT(json_max), approval = BUF_INIT(json_max);

	int result = evidence_gather(why->class == SBX_OK ? table : NULL, probe, &evidence, err);
	if (result == 0)
		result = entry_signed_json(seen, &approval, err);
	const struct evidence_told told = {
		.limits = o->limits,
		.egress = o->egress,
		.approval = probe != NULL || seen->state > SIGNED_NO_TRUST ? buf_str(&approval) : NULL};
	if (result == 0)
		result = evidence_json(&evidence, &told, &json, err);
	if (result == 0)
		result = frame_write(STDOUT_FILENO, nonce, FRAME_HELLO, 0, json.data, json.len, err);
	if (result == 0 && why->class == SBX_OK)
		evidence_check(&evidence, table->require, why);
	evidence_clear(&evidence);
	return result;
}

static int open_places(const struct steps *table, int *work_fd, int *cwd_fd, struct sbx_error *why)
{
	*cwd_fd = io_open_beneath(*work_fd, table->cwd, O_RDONLY | O_DIRECTORY, 0);
	if (*cwd_fd < 0 || fchdir(*cwd_fd) < 0)
		return sbx_fail_errno(why, SBX_BAD_REQUEST, "bad_directory", "cannot enter \"%s\" in the workspace",
				      table->cwd);
	if (mkdir(SANDBOX_HOME, 0700) < 0)
		return sbx_fail_errno(why, SBX_OS, "os_error", "cannot make a home");
	return 0;
}

/* Everything that can still refuse; nothing was started. */
static int get_ready(const struct options *o, struct entry_run *run, int *work_fd, struct secret *credentials,
		     struct sbx_error *why)
{
	*work_fd = open(SANDBOX_WORK, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*work_fd < 0)
		return sbx_fail_errno(why, SBX_OS, "os_error", "cannot open " SANDBOX_WORK);
	if (entry_check_programs(run->table, why) < 0 || entry_check_packages(run->table, why) < 0 ||
	    entry_take_inputs(run->table, o->inputs, *work_fd, &run->artifacts, why) < 0 ||
	    entry_check_lock(run->table, *work_fd, why) < 0 ||
	    open_places(run->table, work_fd, &run->cwd_fd, why) < 0 ||
	    build_environment(run->table, (const char ***)&run->envp, why) < 0)
		return -1;
	if (o->credentials >= 0) {
		if (lseek(o->credentials, 0, SEEK_SET) < 0 ||
		    secret_read_fd(credentials, o->credentials, LIMIT_CREDENTIAL_FILES, why) < 0)
			return sbx_fail_errno(why, SBX_IO, "io_error", "cannot read the credentials");
		run->credentials = credentials;
	}
	sigset_t ended;
	sigemptyset(&ended);
	sigaddset(&ended, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ended, NULL);
	run->signal_fd = signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK);
	return run->signal_fd >= 0 ? 0 : sbx_fail_errno(why, SBX_OS, "os_error", "cannot wait for signals");
}

static int run_steps(struct entry_run *run, uint32_t first, int work_fd, struct sbx_error *err)
{
	enum step_outcome outcome = STEP_DONE;

	for (uint32_t i = first; i < run->table->step_count && outcome == STEP_DONE && !entry_stop_wanted(run); i++)
		if (entry_step(run, i + 1, &run->table->steps[i], &outcome, err) < 0)
			return -1;
	return say_end(run->nonce, entry_state_changed(run->table, work_fd), run->stopped, err);
}

/* What a driver of this machine hands over as descriptors, from files; and the network is tried. */
static int boot(struct options *o, struct entry_boot *from, struct sbx_error *why)
{
	/* A log has both streams in it, and nothing but frames may stand in ours. */
	auto_fd null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, STDERR_FILENO) < 0)
		return sbx_fail_errno(why, SBX_OS, "os_error", "cannot open /dev/null");
	frame_write_lines();
	int result = entry_boot_read(o->boot, from, why);
	o->entry = from->entry_fd;
	o->inputs = from->inputs_fd;
	o->credentials = from->credentials_fd;
	o->control = from->control_fd;
	o->limits = from->boot.limits;
	if (result < 0 || entry_boot_limits(from, why) < 0)
		return -1;
	return entry_boot_probe(from, why);
}

static int serve(struct options *o, const char *nonce, struct sbx_error *err)
{
	struct steps table = {.cwd = NULL};
	struct sbx_error why = SBX_ERROR_INIT;
	struct entry_boot from = ENTRY_BOOT_INIT; /* the steps' descriptors are in it: it lives as long as we do */
	auto_secret credentials = SECRET_INIT;
	struct entry_run run = {.table = &table,
				.nonce = nonce,
				.frames_fd = STDOUT_FILENO,
				.control_fd = -1,
				.signal_fd = -1,
				.cwd_fd = -1,
				.relayed = o->egress != NULL};
	struct entry_signed seen = {.state = SIGNED_NOT_LOOKED};
	int work_fd = -1;

	if (o->boot != NULL && boot(o, &from, &why) == 0) {
		run.way_back = from.boot.artifact_max;
		run.covered = o->boot;
	}
	run.control_fd = o->control;
	if (why.class == SBX_OK && read_table(o->entry, &table, &why) == 0 && run.way_back > 0 &&
	    run.way_back < table.artifact_max)
		table.artifact_max = run.way_back;
	if (why.class == SBX_OK)
		entry_signed_check(&table, o->inputs, &seen, &why);
	if (say_hello(&table, o, o->boot != NULL ? &from.probe : NULL, &seen, nonce, &why, err) < 0)
		return -1;
	if (why.class != SBX_OK || get_ready(o, &run, &work_fd, &credentials, &why) < 0)
		return say_refused(nonce, &why, err);
	uint32_t first;
	int checked = entry_check(&run, &first, &why, err);
	if (checked <= 0)
		return checked < 0 ? -1 : say_refused(nonce, &why, err);
	return run_steps(&run, first, work_fd, err);
}

int main(int argc, char **argv)
{
	struct options o = {.entry = -1, .inputs = -1, .credentials = -1, .control = -1};
	struct sbx_error err = SBX_ERROR_INIT;
	char nonce[FRAME_NONCE_SIZE];

	log_set_name("sbx-entry");
	if (argc > 1 && strcmp(argv[1], ENTRY_FENCE) == 0)
		return entry_fence(argc, argv);
	/* Steps have our user: they must neither trace us nor look into our descriptors and memory. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return SBX_OS;
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	if (parse(argc, argv, &o) < 0) {
		fputs(usage, stderr);
		return SBX_USAGE;
	}
	io_random_hex(nonce, (FRAME_NONCE_SIZE - 1) / 2);
	if (serve(&o, nonce, &err) < 0) {
		log_error(&err);
		return (int)err.class;
	}
	return 0;
}
