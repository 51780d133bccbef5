/* sbx-run: run the resolved steps of a call in a throwaway sandbox; seal what they produce; capture, cap and scrub what
 * they print. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#include "audit.h"
#include "fetched_room.h"
#include "filter.h"
#include "io.h"
#include "log.h"
#include "process.h"
#include "sandbox_close.h"
#include "sandbox_driver.h"

static const char usage[] =
	"usage: sbx-run [--config FILE] [--credentials-fd N --secrets-fd N] [--lock-fd N]...\n"
	"       sbx-run [--config FILE] --mend CALL\n"
	"       sbx-run [--config FILE] --check\n"
	"       sbx-run [--config FILE] adopt-state [--workspace NAME] DIR FILE\n"
	"       sbx-run [--config FILE] fetched [--workspace NAME] DIR\n"
	"Run the steps of the call on stdin in a throwaway sandbox; print the call with its result.\n"
	"  --config FILE        settings (default: $SBX_CONFIG, else /etc/sbx/sbx.yaml)\n"
	"  --credentials-fd N   sealed memory with the credential files (from sbx-cred)\n"
	"  --secrets-fd N       sealed memory with the secrets that must not leave (from sbx-cred)\n"
	"  --lock-fd N          a lock to hold, and to hand to the driver\n"
	"  --mend CALL          clean up after a call whose processes died\n"
	"  --check              say whether this machine can make the sandbox\n"
	"  adopt-state          take FILE as the Terraform state of the directory DIR, once\n"
	"  fetched              print where the providers and modules of the directory DIR are kept\n"
	"  -h, --help           this text\n"
	"  -V, --version        the version\n";

#define FD_MAX 1023
#define KEEP_MAX (SANDBOX_LOCKS + 2)

enum mode { MODE_RUN, MODE_MEND, MODE_CHECK, MODE_ADOPT, MODE_FETCHED };

struct options {
	enum mode mode;
	const char *config, *call, *workspace, *dir, *file;
	int credentials_fd, secrets_fd;
	int locks[SANDBOX_LOCKS];
	size_t lock_count;
};

enum parsed { PARSED, PARSED_HELP, PARSED_WRONG };

/* A descriptor that is open, named once. */
static int parse_fd(const char *text, int *fd)
{
	uint64_t number;

	if (*fd >= 0 || io_parse_u64(text, 3, FD_MAX, &number) < 0 || fcntl((int)number, F_GETFD) < 0)
		return -1;
	*fd = (int)number;
	return 0;
}

static int parse_lock(const char *text, struct options *o)
{
	if (o->lock_count >= SANDBOX_LOCKS - 2) /* two are our own */
		return -1;
	o->locks[o->lock_count] = -1;
	return parse_fd(text, &o->locks[o->lock_count++]);
}

/* A command about a directory, which is argv[0]. */
static enum parsed parse_command(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {{"workspace", required_argument, NULL, 'w'}, {NULL, 0, NULL, 0}};
	int c, adopts = strcmp(argv[0], "adopt-state") == 0;

	if (!adopts && strcmp(argv[0], "fetched") != 0)
		return PARSED_WRONG;
	optind = 1;
	while ((c = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
		if (c != 'w')
			return PARSED_WRONG;
		o->workspace = optarg;
	}
	if (argc - optind != (adopts ? 2 : 1))
		return PARSED_WRONG;
	o->mode = adopts ? MODE_ADOPT : MODE_FETCHED;
	o->dir = argv[optind];
	o->file = adopts ? argv[optind + 1] : NULL;
	return PARSED;
}

static enum parsed parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {{"config", required_argument, NULL, 'c'},
					      {"credentials-fd", required_argument, NULL, 'k'},
					      {"secrets-fd", required_argument, NULL, 's'},
					      {"lock-fd", required_argument, NULL, 'l'},
					      {"mend", required_argument, NULL, 'm'},
					      {"check", no_argument, NULL, 'C'},
					      {"help", no_argument, NULL, 'h'},
					      {"version", no_argument, NULL, 'V'},
					      {NULL, 0, NULL, 0}};
	int c, wrong = 0;

	while ((c = getopt_long(argc, argv, "+hV", longs, NULL)) != -1)
		switch (c) {
		case 'c':
			o->config = optarg;
			break;
		case 'k':
			wrong |= parse_fd(optarg, &o->credentials_fd) < 0;
			break;
		case 's':
			wrong |= parse_fd(optarg, &o->secrets_fd) < 0;
			break;
		case 'l':
			wrong |= parse_lock(optarg, o) < 0;
			break;
		case 'm':
			wrong |= o->mode != MODE_RUN || !state_is_id(optarg);
			o->mode = MODE_MEND;
			o->call = optarg;
			break;
		case 'C':
			wrong |= o->mode != MODE_RUN;
			o->mode = MODE_CHECK;
			break;
		case 'h':
			fputs(usage, stdout);
			return PARSED_HELP;
		case 'V':
			puts("sbx-run " SBX_VERSION);
			return PARSED_HELP;
		default:
			return PARSED_WRONG;
		}
	if (wrong || (o->credentials_fd >= 0) != (o->secrets_fd >= 0))
		return PARSED_WRONG;
	if (optind == argc)
		return PARSED;
	return o->mode != MODE_RUN ? PARSED_WRONG : parse_command(argc - optind, argv + optind, o);
}

/* This stage of one call. */
struct stage {
	struct filter filter;
	struct prepared prepared;
	struct sandbox_stage sandbox;
	int signal_fd;
};

/* Until the call begins to arrive there is nothing to clean up: a signal ends us as it would any filter. With a call it
 * is for is_cancelled: an approval that the call has claimed must go back. */
static void wait_for_input(const struct stage *s)
{
	struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = s->signal_fd, .events = POLLIN}};
	sigset_t none;

	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	/* Looked at again: sbx-cred hands the call over before it passes a signal on, but poll may have seen the signal
	 * alone. */
	if (fds[1].revents == 0 || poll(fds, 1, 0) > 0)
		return;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL); /* what is pending arrives now */
}

/* 1 when a signal asks for the end before there is a sandbox; a call that spent an approval does not mind HUP. */
static int is_cancelled(const struct stage *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
		if (info.ssi_signo != SIGHUP || !sandbox_is_claimed(s->filter.call))
			return 1;
	return 0;
}

/* The end without a driver: refused with ERR, or cancelled without one. */
static int finish_early(struct stage *s, struct sbx_error *err)
{
	jv result = json_set_str(jv_object(), "state", err->class != SBX_OK ? "refused" : "cancelled");
	jv call = jv_copy(s->filter.call);

	sandbox_give_back(&s->sandbox);
	return filter_finish(&s->filter, json_set(call, "result", json_set_int(result, "took_ms", 0)), err);
}

static int finish_run(struct stage *s)
{
	struct sandbox_outcome *o = &s->sandbox.outcome;
	struct sbx_error none = SBX_ERROR_INIT;
	jv call = json_set(jv_copy(s->filter.call), "result", sandbox_result(&s->sandbox));

	if (sandbox_began_nothing(&s->sandbox))
		sandbox_give_back(&s->sandbox);
	/* What never began is an error of this stage; what did has a result, whose code says why. */
	int began = o->started || o->state == SANDBOX_CANCELLED || o->state == SANDBOX_TIMEOUT ||
		    o->state == SANDBOX_UNKNOWN;
	if (began && o->trouble.class != SBX_OK)
		log_error(&o->trouble);
	return filter_finish(&s->filter, call, began ? &none : &o->trouble);
}

/* The locks of this call and of the state: whoever holds one keeps mending away. */
static void give_locks(struct stage *s, const struct options *o)
{
	struct sandbox_job *job = &s->prepared.job;

	for (size_t i = 0; i < o->lock_count; i++)
		job->locks[job->lock_count++] = o->locks[i];
	job->locks[job->lock_count++] = s->filter.stage_fd;
	if (s->prepared.ws.lock_fd >= 0)
		job->locks[job->lock_count++] = s->prepared.ws.lock_fd;
}

/* The intent is on disk: start it. */
static int run_sandbox(struct stage *s, const struct options *o)
{
	struct sandbox_job *job = &s->prepared.job;
	auto_jv settings = config_settings(s->filter.config.drivers, json_str(s->prepared.run, "driver"));
	struct sbx_error err = SBX_ERROR_INIT;

	give_locks(s, o);
	auto_jv member = json_object(s->filter.call, "call");
	job->settings = settings;
	job->call = call_id(s->filter.call);
	job->tool = json_str(member, "tool");
	job->signal_fd = s->signal_fd;
	job->reader_fd = s->filter.started.reply_fd;
	job->reader = sandbox_is_claimed(s->filter.call) ? READER_MAY_GO : READER_STOPS;
	s->sandbox.driver_ran = sandbox_run(job, &s->sandbox.outcome, &err) == 0;
	if (!s->sandbox.driver_ran)
		s->sandbox.outcome.trouble = err;
	s->filter.is_unfinished = s->sandbox.outcome.left;
	sandbox_take_state_back(&s->sandbox);
	sandbox_close(&s->sandbox);
	return s->sandbox.driver_ran ? finish_run(s) : finish_early(s, &err);
}

static int run_call(struct stage *s, const struct options *o)
{
	struct filter *f = &s->filter;
	struct sbx_error err = SBX_ERROR_INIT;

	s->sandbox.state = &f->state;
	s->sandbox.key = &f->key;
	s->sandbox.call = f->call;
	s->sandbox.run_fd = f->run_fd;
	s->sandbox.prepared = &s->prepared;
	if (sandbox_prepare(&s->prepared, &f->config, &f->state, &f->key, f->call, f->run_fd, o->credentials_fd,
			    o->secrets_fd, &err) == 0 &&
	    !is_cancelled(s) && sandbox_begin(&s->sandbox, &err) == 0)
		return run_sandbox(s, o);
	sandbox_take_state_back(&s->sandbox);
	return finish_early(s, &err);
}

static int main_run(const struct options *o)
{
	struct stage s = {.filter = FILTER_INIT("sbx-run", CALL_RUN), .signal_fd = -1};
	struct sbx_error err = SBX_ERROR_INIT;
	int keep[KEEP_MAX], status;
	size_t count = 0;

	for (size_t i = 0; i < o->lock_count; i++)
		keep[count++] = o->locks[i];
	if (o->credentials_fd >= 0) {
		keep[count++] = o->credentials_fd;
		keep[count++] = o->secrets_fd;
	}
	prepared_init(&s.prepared);
	sandbox_stage_init(&s.sandbox);
	/* As sbx-cred started us: a signal that comes while we start is read below. */
	process_set_stop(PROCESS_STOP_HELD);
	if (filter_open(&s.filter, o->config, keep, count, &err) < 0 || (s.signal_fd = process_stop_fd(&err)) < 0) {
		status = filter_refuse(&s.filter, &err);
	} else {
		wait_for_input(&s);
		int got = filter_read(&s.filter, &err);
		status = got < 0 ? filter_refuse(&s.filter, &err) : got > 0 ? filter_pass(&s.filter) : run_call(&s, o);
	}
	sandbox_stage_clear(&s.sandbox);
	prepared_clear(&s.prepared);
	base_close_fd(&s.signal_fd);
	filter_close(&s.filter);
	return status;
}

/* --- the other things it does --- */

/* What a killed run left half-written in the call's directory. */
static void remove_temporary(int run_fd)
{
	int listed = openat(run_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = listed >= 0 ? fdopendir(listed) : NULL;

	if (dir == NULL) {
		base_close_fd(&listed);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		if (strncmp(entry->d_name, ".tmp-", 5) == 0)
			unlinkat(run_fd, entry->d_name, 0);
	closedir(dir);
}

/* DRIVER is the caller's: the one that the record says the call was given to. */
static int hear_driver(jv event, void *driver, struct sbx_error *err)
{
	const char *name = json_str(event, "event");

	(void)err;
	if (name == NULL || strcmp(name, "sandbox.started") != 0)
		return 0;
	*(jv *)driver = json_set_str(take_jv(driver), "driver", json_str(event, "driver"));
	return 1;
}

/* By its own driver, whatever the settings say by now: another one would find nothing, and take that for its end. */
static int mend_sandbox(const struct filter *f, const char *call, struct sbx_error *err)
{
	auto_jv told = jv_object();

	if (audit_each(&f->state, call, hear_driver, &told, err) < 0)
		return -1;
	const char *recorded = json_str(told, "driver"), *driver = recorded != NULL ? recorded : f->config.driver;
	auto_jv settings = config_settings(f->config.drivers, driver);
	return driver_mend(driver, settings, call, err);
}

/* A sandbox of this machine died with its sbx-run (control descriptor, parent-death signal), and what is left is the state.
 * One elsewhere is the driver's to find: before the state, for as long as it runs it may change what the state says. */
static int mend(struct filter *f, const char *call, struct sbx_error *err)
{
	enum ws_taken taken = WS_UNCHANGED;
	int64_t modified;
	char line[80];
	auto_fd run = state_run_open(&f->state, call, err);

	if (run < 0)
		return -1;
	if (state_stage_look(run, "run", &modified) == STAGE_LOCKED)
		return sbx_fail(err, SBX_UNAVAILABLE, "call_running", "a process of this call still works");
	if (mend_sandbox(f, call, err) < 0 || ws_state_recover(&f->state, call, &taken, err) < 0)
		return -1;
	remove_temporary(run);
	if (fetched_forget(&f->state, call, err) < 0)
		return -1;
	int n = snprintf(line, sizeof line, "{\"mended\":true,\"state_file\":\"%s\"}\n", sandbox_taken_name(taken));
	return io_write_all(f->started.reply_fd, line, (size_t)n, err);
}

static int adopt(struct filter *f, const struct options *o, struct sbx_error *err)
{
	auto_fd tree = workspace_open(&f->config, o->workspace, o->dir, err);

	if (tree < 0 || ws_state_adopt(&f->state, o->workspace, o->dir, o->file, err) < 0)
		return -1;
	log_line("this is the state of the directory now; the file itself is used no more");
	return 0;
}

/* Where a person may put what the directory needs, as it is now. */
static int say_fetched(struct filter *f, const struct options *o, struct sbx_error *err)
{
	char sha256[DIGEST_HEX_SIZE];
	uint64_t size;
	auto_need need = FETCH_NEED_NONE;
	auto_fd dir = workspace_open(&f->config, o->workspace, o->dir, err);
	auto_fd tree = dir < 0 ? -1 : workspace_copy(&f->config, o->workspace, ".", sha256, &size, err);

	if (tree < 0 || fetch_need_of(tree, size, o->dir, &need, err) < 0)
		return -1;
	auto_free char *path = fetched_path(&f->state, need.key, err);
	if (path == NULL || io_write_all(f->started.reply_fd, path, strlen(path), err) < 0)
		return -1;
	return io_write_all(f->started.reply_fd, "\n", 1, err);
}

static int check(struct filter *f, struct sbx_error *err)
{
	auto_jv settings = config_settings(f->config.drivers, f->config.driver);

	return driver_check(f->config.driver, settings, f->started.reply_fd, err);
}

static int main_other(const struct options *o)
{
	struct filter f = FILTER_INIT("sbx-run", CALL_RUN);
	struct sbx_error err = SBX_ERROR_INIT;
	int status = filter_open(&f, o->config, NULL, 0, &err);

	if (status == 0 && o->mode == MODE_MEND)
		status = mend(&f, o->call, &err);
	else if (status == 0 && o->mode == MODE_ADOPT)
		status = adopt(&f, o, &err);
	else if (status == 0 && o->mode == MODE_FETCHED)
		status = say_fetched(&f, o, &err);
	else if (status == 0)
		status = check(&f, &err);
	if (status < 0) {
		log_error(&err);
		status = (int)err.class;
	}
	filter_close(&f);
	return status;
}

int main(int argc, char **argv)
{
	struct options options = {.credentials_fd = -1, .secrets_fd = -1, .workspace = ""};

	log_set_name("sbx-run");
	switch (parse(argc, argv, &options)) {
	case PARSED_HELP:
		return fflush(stdout) == 0 ? SBX_OK : SBX_IO;
	case PARSED_WRONG:
		fputs(usage, stderr);
		return SBX_USAGE;
	case PARSED:
		break;
	}
	return options.mode == MODE_RUN ? main_run(&options) : main_other(&options);
}
