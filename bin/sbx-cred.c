/* sbx-cred: brackets sbx-run with short-lived credentials. Mint, hand over in sealed memory, wait for the answer,
 * revoke however it ended, and only then write (sbx-cred(1)). */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#include "call.h"
#include "clock.h"
#include "credential.h"
#include "credential_admit.h"
#include "credential_explain.h"
#include "credential_later.h"
#include "credential_lease.h"
#include "credential_list.h"
#include "credential_run.h"
#include "filter.h"
#include "io.h"
#include "log.h"
#include "process.h"
#include "refused.h"

static const char name[] = "sbx-cred";

enum {
	HAND_OVER_MS =
		2000, /* after a signal, for a stage before that is just writing a claimed call; and to sbx-audit */
	HAND_OVER_LOOK_MS = 2,
	LIST_MAX = 16 * 1024 * 1024,
};

struct options {
	const char *config;
	const char *mend;		 /* a call's id */
	const char *witness;		 /* the same */
	int keep[1 + LIMIT_CREDENTIALS]; /* the lock, the witnesses */
	size_t keep_count;
	int explain;
	int lists;
	enum credential_list_form list;
	char **command; /* and its arguments; NULL at the end */
};

struct bracket {
	struct filter *f;
	const struct options *options;
	struct credential_broker broker;
	struct leases leases;
	char *path; /* of the command */
	int signal_fd;
	int slot_fd;
	struct credential_run run;
};

static int usage(FILE *out, int status)
{
	fprintf(out,
		"usage: %s [--config FILE] COMMAND [ARGUMENT]...   < call   (COMMAND: sbx-run)\n"
		"       %s [--config FILE] --explain   < call\n"
		"       %s [--config FILE] --mend CALL\n"
		"       %s [--config FILE] --witness CALL --lock-fd N --witness-fd N...   < request\n"
		"       %s [--config FILE] list [--json]\n",
		name, name, name, name, name);
	return status;
}

/* ---- before anything is minted ---- */

static int cancelled(struct sbx_error *err)
{
	return sbx_fail(err, SBX_COMMAND_FAILED, "cancelled", "the call was cancelled before its command was started");
}

/* Wait for the call. A signal ends the wait, but not before a stage in front of us that holds a claimed call could hand
 * it over: only we can give its approval back. The signal stays in its descriptor. */
static int await_input(const struct bracket *b, struct sbx_error *err)
{
	struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = b->signal_fd, .events = POLLIN}};
	int n;

	do
		n = poll(fds, 2, -1);
	while (n < 0 && errno == EINTR);
	if (fds[0].revents == 0 && fds[1].revents != 0 && poll(fds, 1, HAND_OVER_MS) == 0)
		return cancelled(err);
	return 0;
}

/* INT and TERM are the cancel; HUP only says that the reader has gone, and a call that spent an approval goes on. */
static int check_signals(const struct bracket *b, struct sbx_error *err)
{
	const char *approval = call_approval_state(b->f->call);
	struct signalfd_siginfo info;

	while (read(b->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
		if (info.ssi_signo != SIGHUP || approval == NULL || strcmp(approval, "claimed") != 0)
			return cancelled(err);
	return 0;
}

/* ---- the run ---- */

static int issue_all(struct bracket *b, struct sbx_error *err)
{
	for (size_t i = 0; i < b->leases.count; i++)
		if (check_signals(b, err) < 0 || credential_issue(&b->broker, &b->leases.lease[i], err) < 0)
			return -1;
	return check_signals(b, err);
}

/* Mint, seal, start. When it fails nothing runs. */
static int start_run(struct bracket *b, struct sbx_error *err)
{
	b->path = admit_command(&b->f->config, b->options->command[0], err);
	if (b->path == NULL || admit_approval(b->f->call, err) < 0)
		return -1;
	b->slot_fd = admit_slot(&b->f->state, call_principal(b->f->call), err);
	if (b->slot_fd < 0 || credential_plan(&b->broker, b->f->call, &b->leases, err) < 0)
		return -1;
	credential_start(&b->broker, &b->leases);
	if (issue_all(b, err) < 0)
		return -1;
	b->run.path = b->path;
	b->run.command = b->options->command;
	b->run.config = b->f->config.file;
	b->run.key = &b->f->key;
	b->run.installation = b->f->state.installation;
	b->run.lock_fd = b->f->stage_fd;
	b->run.signal_fd = b->signal_fd;
	b->run.reader_fd = b->f->started.reply_fd;
	if (credential_run_start(&b->run, b->f->call, &b->leases, err) < 0)
		return -1;
	credential_stand_by(&b->leases);
	return 0;
}

/* ---- the end, whatever it is ---- */

/* Give back what was asked for, and say so in the call; consumes it. What could not be is left to mending. */
static jv give_back(struct bracket *b, enum credential_how how, jv call)
{
	jv outcomes = credential_give_back(&b->broker, &b->leases, how);

	for (size_t i = 0; i < b->leases.count; i++) {
		const struct sbx_error *trouble = &b->leases.lease[i].trouble;
		if (trouble->class != SBX_OK) {
			log_error(trouble);
			b->f->is_unfinished = 1;
		}
	}
	b->f->is_unfinished |= credential_later_has(&b->leases);
	if (json_length(outcomes) > 0)
		return json_set(call, "revocation", outcomes);
	jv_free(outcomes);
	return call;
}

/* Nothing ran: an approval that the call had claimed can be given back. */
static void give_approval_back(const struct bracket *b)
{
	const char *state = call_approval_state(b->f->call);
	auto_jv approval = json_object(b->f->call, "approval");
	struct sbx_error err = SBX_ERROR_INIT;

	if (state != NULL && strcmp(state, "claimed") == 0 &&
	    refused_write(&b->f->state, &b->f->key, b->f->run_fd, call_id(b->f->call), json_str(approval, "id"), &err) <
		    0)
		log_error(&err);
}

static int finish_refused(struct bracket *b, struct sbx_error *err)
{
	auto_jv members = credential_member(&b->leases);
	jv call = jv_copy(b->f->call);

	if (json_length(members) > 0)
		call = json_set(call, "credential", take_jv(&members));
	call = give_back(b, CREDENTIAL_UNUSED, call);
	give_approval_back(b);
	return filter_finish(b->f, call, err);
}

static int finish_run(struct bracket *b)
{
	struct sbx_error why = SBX_ERROR_INIT, died = SBX_ERROR_INIT, none = SBX_ERROR_INIT;
	jv call = give_back(b, CREDENTIAL_AT_END, credential_run_await(&b->run, &why, &died));

	/* Nothing for people before the credentials are given back. */
	if (died.class != SBX_OK) {
		log_error(&why);
		log_error(&died);
	}
	b->f->stage = CALL_REVOKE;
	int status = filter_finish(b->f, call, &none);
	/* It keeps our lock. When it cannot be started, mending gives the lease back once more. */
	if (credential_later_has(&b->leases) &&
	    credential_later_start(&b->broker, call_id(b->f->call), &b->leases, &none) < 0)
		log_error(&none);
	return status;
}

/* A stage of this call that is not done looks dead as soon as nobody holds a lock, and a call with a dead stage is
 * closed by whoever mends: our lock is kept until sbx-audit, which has the call by now, has its own. */
static void hand_over(const struct filter *f)
{
	int64_t deadline = clock_mono_ms() + HAND_OVER_MS;
	int is_whole = !f->is_unfinished && state_stage_is_over(f->run_fd, "run");

	while (!is_whole && clock_left_ms(deadline) > 0 && !io_exists(f->run_fd, "audit"))
		poll(NULL, 0, HAND_OVER_LOOK_MS);
}

static int run_stage(struct filter *f, struct bracket *b)
{
	struct sbx_error err = SBX_ERROR_INIT;

	/* From here on a signal waits: a claimed call that comes is answered for, and what was minted is revoked. */
	process_set_stop(PROCESS_STOP_HELD);
	if (filter_open(f, b->options->config, NULL, 0, &err) < 0)
		return filter_refuse(f, &err);
	b->signal_fd = process_stop_fd(&err);
	if (b->signal_fd < 0 || await_input(b, &err) < 0)
		return filter_refuse(f, &err);
	int got = filter_read(f, &err);
	if (got != 0)
		return got < 0 ? filter_refuse(f, &err) : filter_pass(f);
	b->broker = (struct credential_broker){.config = &f->config, .state = &f->state, .lock_fd = f->stage_fd};
	if (start_run(b, &err) < 0)
		return finish_refused(b, &err);
	return finish_run(b);
}

static int run(const struct options *o)
{
	struct filter f = FILTER_INIT(name, CALL_CRED);
	struct bracket b = {.f = &f, .options = o, .signal_fd = -1, .slot_fd = -1, .run = CREDENTIAL_RUN_INIT};

	leases_init(&b.leases);
	int status = run_stage(&f, &b);
	if (f.run_fd >= 0)
		hand_over(&f);
	credential_run_clear(&b.run);
	leases_clear(&b.leases);
	free(b.path);
	base_close_fd(&b.signal_fd);
	base_close_fd(&b.slot_fd);
	filter_close(&f);
	return status;
}

/* ---- --explain, --mend, --witness, list ---- */

static int fail(const struct sbx_error *err)
{
	log_error(err);
	return (int)err->class;
}

static int explain(const struct options *o)
{
	auto_buf out = BUF_INIT(LIMIT_CALL);
	auto_config config = {0};
	auto_free char *text = NULL;
	auto_jv call = jv_invalid();
	struct sbx_error err = SBX_ERROR_INIT;
	struct started started;
	size_t len;

	if (start(name, o->config, NULL, 0, START_REPLY, &started, &err) < 0 ||
	    config_load(started.config, &config, &err) < 0 ||
	    io_read_all(STDIN_FILENO, LIMIT_CALL, &text, &len, &err) < 0 ||
	    call_parse(text, len, SBX_BAD_REQUEST, &call, &err) < 0)
		return fail(&err);
	const struct credential_broker broker = {.config = &config, .lock_fd = -1};
	if (credential_explain(&broker, call, &out, &err) < 0 ||
	    io_write_all(started.reply_fd, out.data, out.len, &err) < 0)
		return fail(&err);
	return SBX_OK;
}

static int mend(const struct options *o)
{
	auto_config config = {0};
	auto_state state = STATE_NONE;
	auto_leases leases;
	struct sbx_error err = SBX_ERROR_INIT;
	struct started started;
	int status = SBX_OK;

	leases_init(&leases);
	if (start(name, o->config, NULL, 0, START_REPLY, &started, &err) < 0 ||
	    config_load(started.config, &config, &err) < 0 || state_open(config.state, &state, &err) < 0 ||
	    (lease_is_running(&state, o->mend) &&
	     sbx_fail(&err, SBX_UNAVAILABLE, "call_running", "this call is still at work") < 0))
		return fail(&err);
	if (lease_left(&state, o->mend, &leases, &err) < 0)
		status = fail(&err);
	const struct credential_broker broker = {.config = &config, .state = &state, .lock_fd = -1};
	auto_jv outcomes = credential_give_back(&broker, &leases, CREDENTIAL_MENDED);
	for (size_t i = 0; i < leases.count; i++)
		if (leases.lease[i].trouble.class != SBX_OK)
			status = fail(&leases.lease[i].trouble);
	return status;
}

/* What another sbx-cred has left when it ended (credential_later.h). */
static int witness(const struct options *o)
{
	auto_config config = {0};
	auto_state state = STATE_NONE;
	struct sbx_error err = SBX_ERROR_INIT;
	struct started started;

	if (start(name, o->config, o->keep, o->keep_count, START_REPLY, &started, &err) < 0 ||
	    config_load(started.config, &config, &err) < 0 || state_open(config.state, &state, &err) < 0)
		return fail(&err);
	process_set_stop(PROCESS_STOP_HELD);
	const struct credential_broker broker = {.config = &config, .state = &state, .lock_fd = -1};
	int left = credential_later_run(&broker, o->witness, STDIN_FILENO, o->keep + 1, o->keep_count - 1, &err);
	if (left < 0 || (left == 0 && state_stage_done(o->keep[0], &err) < 0))
		return fail(&err);
	return SBX_OK;
}

static int list(const struct options *o)
{
	auto_buf out = BUF_INIT(LIST_MAX);
	auto_config config = {0};
	auto_state state = STATE_NONE;
	struct sbx_error err = SBX_ERROR_INIT, damaged = SBX_ERROR_INIT;
	struct started started;

	if (start(name, o->config, NULL, 0, START_REPLY, &started, &err) < 0 ||
	    config_load(started.config, &config, &err) < 0 || state_open(config.state, &state, &err) < 0)
		return fail(&err);
	int result = credential_list(&state, o->list, &out, &damaged);
	if (io_write_all(started.reply_fd, buf_str(&out), out.len, &err) < 0)
		return fail(&err);
	return result < 0 ? fail(&damaged) : SBX_OK;
}

/* The exit status when what was asked for is text on stdout. */
static int told(void)
{
	return fflush(stdout) == 0 ? SBX_OK : SBX_IO;
}

static int keep_descriptor(struct options *o, const char *text)
{
	uint64_t number;

	if (o->keep_count == ARRAY_LEN(o->keep) || io_parse_u64(text, 3, 1 << 20, &number) < 0)
		return -1;
	o->keep[o->keep_count++] = (int)number;
	return 0;
}

/* 0: go on; else the exit status + 1. */
static int read_options(int argc, char **argv, struct options *o)
{
	static const struct option known[] = {
		{"config", required_argument, NULL, 'c'},
		{"explain", no_argument, NULL, 'e'},
		{"mend", required_argument, NULL, 'm'},
		{"witness", required_argument, NULL, 'w'},
		{"lock-fd", required_argument, NULL, 'l'},
		{"witness-fd", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	int letter;

	while ((letter = getopt_long(argc, argv, "+hV", known, NULL)) != -1) {
		if (letter == 'h') {
			usage(stdout, SBX_OK);
			return told() + 1;
		}
		if (letter == 'V') {
			printf("%s %s\n", name, SBX_VERSION);
			return told() + 1;
		}
		if (letter == 'c')
			o->config = optarg;
		else if (letter == 'e')
			o->explain = 1;
		else if (letter == 'm' && state_is_id(optarg))
			o->mend = optarg;
		else if (letter == 'w' && state_is_id(optarg))
			o->witness = optarg;
		else if ((letter == 'l' && o->keep_count == 0) || (letter == 'd' && o->keep_count > 0)) {
			if (keep_descriptor(o, optarg) < 0)
				return usage(stderr, SBX_USAGE) + 1;
		} else
			return usage(stderr, SBX_USAGE) + 1;
	}
	int has_command = argc > optind, modes = has_command + o->explain + (o->mend != NULL) + (o->witness != NULL);
	if (modes != 1 || argc - optind > CREDENTIAL_ARGUMENTS_MAX || (o->witness != NULL) != (o->keep_count > 1))
		return usage(stderr, SBX_USAGE) + 1;
	o->command = argv + optind;
	/* No command that may be started has this name: it is sbx-run, or an absolute path. */
	o->lists = has_command && strcmp(o->command[0], "list") == 0;
	if (!o->lists)
		return 0;
	int is_json = argc - optind == 2 && strcmp(o->command[1], "--json") == 0;
	if (argc - optind != 1 && !is_json)
		return usage(stderr, SBX_USAGE) + 1;
	o->list = is_json ? CREDENTIAL_LIST_JSON : CREDENTIAL_LIST_TEXT;
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = {.config = NULL};
	int status = read_options(argc, argv, &o);

	if (status != 0)
		return status - 1;
	if (o.lists)
		return list(&o);
	if (o.witness != NULL)
		return witness(&o);
	return o.mend != NULL ? mend(&o) : o.explain ? explain(&o) : run(&o);
}
