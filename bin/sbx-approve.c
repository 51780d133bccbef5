/* sbx-approve: as a filter, claims the approval that a call needs, or holds the call. As a command
 * of a person, lists, shows, signs, denies and checks requests; with --desk it is the desk. */
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "approval.h"
#include "clock.h"
#include "desk.h"
#include "duration.h"
#include "filter.h"
#include "hostcheck.h"
#include "io.h"
#include "log.h"
#include "notify.h"
#include "person.h"
#include "process.h"
#include "sandbox_signed.h"

static const int poll_ms = 200; /* a person signs; nobody notices a fifth of a second */
static const int progress_ms = 5000;

static const char usage[] =
	"usage: sbx-approve [--config FILE] [--wait TIME]\n"
	"       sbx-approve [--config FILE] list | show ID | sign ID [--key FILE] | deny ID "
	"[--reason TEXT]\n"
	"       sbx-approve [--config FILE] resolve ID | export ID DIR | verify PATH | enrol NAME "
	"[--key FILE]\n"
	"       sbx-approve [--config FILE] --desk NAME\n"
	"Claim the approval of the call on stdin, or ask for one. Or, for people: read and sign "
	"what is asked for.\n"
	"  --config FILE  settings (default: $SBX_CONFIG, else /etc/sbx/sbx.yaml)\n"
	"  --wait TIME    wait for a signature at most this long (20s, 2m; default 0s, most 30m)\n"
	"  --key FILE     the key to sign with, or to make (default: one in ~/.ssh)\n"
	"  --reason TEXT  why it is denied; the call is told\n"
	"  --desk NAME    answer one request of the person NAME on stdin\n"
	"  -h, --help     this text\n"
	"  -V, --version  the version\n";

struct options {
	const char *config, *desk;
	int64_t wait_ms; /* -1: not given */
	struct person_words said;
};

/* --- the filter --- */

struct stage {
	struct filter f;
	struct approvals approvals;
	struct review review;
	struct approval row;
	struct notify notify;
	int signal_fd; /* INT, TERM and HUP wait here */
};

/* Whoever is not told looks at the list: no reason to stop. */
static void log_untold(int result, struct sbx_error *err)
{
	if (result < 0)
		log_error(err);
	sbx_error_clear(err);
}

/* Wait MS for a signal; -1 with "cancelled" when there is one. */
static int rest(struct stage *s, int ms, struct sbx_error *err)
{
	struct pollfd signalled = {.fd = s->signal_fd, .events = POLLIN};
	struct sbx_error untold = SBX_ERROR_INIT;

	log_untold(notify_tend(&s->notify, &untold), &untold);
	if (poll(&signalled, 1, ms) <= 0)
		return 0;
	return sbx_fail(err, SBX_COMMAND_FAILED, "cancelled", "the call was cancelled before its approval was claimed");
}

/* Poll until somebody decides about the row, or TIME is over. */
static int wait_for_person(struct stage *s, int64_t wait_ms, struct sbx_error *err)
{
	int64_t deadline = clock_mono_ms() + wait_ms, next = clock_mono_ms();

	while (s->row.status == APPROVAL_WAITING && !approval_has_ended(&s->row) && clock_left_ms(deadline) > 0) {
		if (clock_mono_ms() >= next) {
			log_line("waiting for a person: sbx-approve sign %s (%d s left)", s->row.id,
				 clock_left_ms(deadline) / 1000);
			next += progress_ms;
		}
		int left = clock_left_ms(deadline);
		if (rest(s, left < poll_ms ? left : poll_ms, err) < 0 ||
		    approval_reload(&s->approvals, &s->row, err) < 0)
			return -1;
	}
	return 0;
}

static int hold(const struct stage *s, struct sbx_error *err)
{
	const char *config = s->f.started.config;

	sbx_fail(err, SBX_APPROVAL_REQUIRED, "approval_required", "this call waits for a person's approval");
	if (s->f.started.in_account || strcmp(config, SBX_CONFIG_DEFAULT) == 0)
		return sbx_hint(err, "a person signs with: sbx-approve sign %s; then make the same call again",
				s->row.id);
	return sbx_hint(err, "a person signs with: sbx-approve sign %s --config %s; then make the same call again",
			s->row.id, config);
}

/* What the call would run is as it was when it was decided. */
static int look_at_host(struct stage *s, struct sbx_error *err)
{
	auto_checked_plan plan = CHECKED_PLAN_NONE;

	return hostcheck(&s->f.config, &s->f.state, &s->f.key, s->f.call, NULL, &plan, err);
}

/* An image may want to see for itself what people signed. */
static int hand_over(struct stage *s, struct sbx_error *err)
{
	auto_jv policy = json_object(s->f.call, "policy"), run = json_object(policy, "run");

	return sandbox_has_image(json_str(run, "driver"))
		       ? approval_hand_over(&s->approvals, &s->row, call_id(s->f.call), err)
		       : 0;
}

/* The row is there: take it as far as it goes now. */
static int decide(struct stage *s, int64_t wait_ms, struct sbx_error *err)
{
	if (wait_for_person(s, wait_ms, err) < 0)
		return -1;
	switch (s->row.status) {
	case APPROVAL_WAITING:
		return approval_has_ended(&s->row) ? approval_claim(&s->approvals, &s->row, call_id(s->f.call), err)
						   : hold(s, err);
	case APPROVAL_DENIED:
	case APPROVAL_EXPIRED:
		return approval_claim(&s->approvals, &s->row, call_id(s->f.call), err); /* says why not */
	case APPROVAL_APPROVED:
	case APPROVAL_CLAIMED:
		break;
	}
	if (approval_check(&s->approvals, &s->row, &s->review, err) < 0 || rest(s, 0, err) < 0)
		return -1;
	if (look_at_host(s, err) < 0 || hand_over(s, err) < 0 || rest(s, 0, err) < 0)
		return -1;
	return approval_claim(&s->approvals, &s->row, call_id(s->f.call), err);
}

/* SIGNERS: the principals whose signatures count. */
static jv approval_member(const struct approval *row, const char *state)
{
	jv member = json_set_str(json_set_str(jv_object(), "state", state), "id", row->id);

	member = json_set(member, "signers", approval_signers(row));
	member = json_set_int(member, "needed", row->terms.threshold);
	return json_set_str(member, "text_sha256", row->text_sha256);
}

/* Fill the member "approval" (invalid when there is none to write) of a call that needs one. */
static int seek_approval(struct stage *s, int64_t wait_ms, jv *member, struct sbx_error *err)
{
	struct sbx_error untold = SBX_ERROR_INIT;
	char subject[65];

	/* From here on a signal is an answer: the object says that the call was cancelled. */
	s->signal_fd = process_stop_fd(err);
	if (s->signal_fd < 0 ||
	    approvals_open(&s->approvals, &s->f.state, &s->f.key, &s->f.config, s->f.started.in_account, err) < 0 ||
	    review_load(&s->f.state, &s->f.key, s->f.call, s->approvals.level, &s->review, err) < 0 ||
	    review_subject(&s->review, subject, err) < 0 ||
	    /* Nobody is asked for what could not run any more. */
	    look_at_host(s, err) < 0 || rest(s, 0, err) < 0 ||
	    approval_meet(&s->approvals, &s->review, subject, &s->row, err) < 0)
		return -1;
	log_untold(notify_start(&s->notify, &s->f.config, &s->f.state, &s->row, &untold), &untold);
	int done = decide(s, wait_ms, err);
	if (done == 0)
		*member = approval_member(&s->row, "claimed");
	else if (s->row.status == APPROVAL_WAITING && s->row.id[0] != '\0') {
		approval_count(&s->approvals, &s->row);
		*member = approval_member(&s->row, "waiting");
	}
	return done;
}

static int handle(struct stage *s, int64_t wait_ms)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_jv policy = json_object(s->f.call, "policy");
	const char *effect = json_str(policy, "effect");
	auto_jv member = jv_invalid();

	if (effect != NULL && strcmp(effect, "allow") == 0)
		member = json_set_str(jv_object(), "state", "none");
	else if (effect != NULL && strcmp(effect, "approve") == 0)
		seek_approval(s, wait_ms, &member, &err);
	else
		sbx_fail(&err, SBX_PROTOCOL, "bad_call",
			 "the call's policy neither allows it nor asks for an approval");
	jv call = jv_copy(s->f.call);
	if (jv_is_valid(member))
		call = json_set(call, "approval", take_jv(&member));
	return filter_finish(&s->f, call, &err);
}

static int run_filter(const struct options *o)
{
	struct stage s = {.f = FILTER_INIT("sbx-approve", CALL_APPROVE),
			  .review = REVIEW_INIT,
			  .notify = NOTIFY_NONE,
			  .signal_fd = -1};
	struct sbx_error err = SBX_ERROR_INIT, untold = SBX_ERROR_INIT;
	int status;

	s.f.call = jv_invalid();
	int ready = filter_open(&s.f, o->config, NULL, 0, &err);
	if (ready == 0)
		ready = filter_read(&s.f, &err);
	if (ready < 0)
		status = filter_refuse(&s.f, &err);
	else
		status = ready == 1 ? filter_pass(&s.f) : handle(&s, o->wait_ms > 0 ? o->wait_ms : 0);
	/* The answer ends here: whoever reads it need not wait for a message to be sent. */
	base_close_fd(&s.f.started.reply_fd);
	log_untold(notify_end(&s.notify, &untold), &untold);
	approval_clear(&s.row);
	review_clear(&s.review);
	approvals_close(&s.approvals);
	base_close_fd(&s.signal_fd);
	filter_close(&s.f);
	return status;
}

/* --- the desk --- */

static int serve(struct filter *f, const char *name, struct buf *reply, struct sbx_error *err)
{
	auto_approvals approvals = {0};
	auto_free char *request = NULL;
	size_t len;

	if (!desk_is_name(name))
		return sbx_fail(err, SBX_USAGE, "bad_name", "the name of the person is no login name");
	if (io_read_all(STDIN_FILENO, DESK_REQUEST_MAX, &request, &len, err) < 0 ||
	    approvals_open(&approvals, &f->state, &f->key, &f->config, f->started.in_account, err) < 0)
		return -1;
	return desk_answer(&approvals, name, request, len, reply, err);
}

static int run_desk(const struct options *o)
{
	struct filter f = FILTER_INIT("sbx-approve", CALL_APPROVE);
	struct sbx_error err = SBX_ERROR_INIT, late = SBX_ERROR_INIT;
	auto_buf reply = BUF_INIT(DESK_REPLY_MAX);

	f.call = jv_invalid();
	if ((filter_open(&f, o->config, NULL, 0, &err) < 0 || serve(&f, o->desk, &reply, &err) < 0) && reply.len == 0)
		desk_write_error(&err, &reply, &late);
	if (io_write_all(f.started.reply_fd, buf_str(&reply), reply.len, &late) < 0 || late.class != SBX_OK) {
		log_error(&late);
		err = late;
	}
	filter_close(&f);
	return (int)err.class;
}

static int run_person(const struct options *o)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct started started;

	if (start("sbx-approve", o->config, NULL, 0, START_PERSON, &started, &err) < 0 ||
	    person_command(&started, &o->said, &err) < 0)
		log_error(&err);
	return (int)err.class;
}

/* --- options --- */

enum parsed { PARSED, PARSED_HELP, PARSED_WRONG };

static enum parsed parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"config", required_argument, NULL, 'c'}, {"wait", required_argument, NULL, 'w'},
		{"key", required_argument, NULL, 'k'},	  {"reason", required_argument, NULL, 'r'},
		{"desk", required_argument, NULL, 'd'},	  {"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},	  {NULL, 0, NULL, 0},
	};
	uint64_t wait_ms;
	int c;

	while ((c = getopt_long(argc, argv, "hV", longs, NULL)) != -1)
		switch (c) {
		case 'c':
			o->config = optarg;
			break;
		case 'w':
			if (duration_parse_ms(optarg, DURATION_WAIT_MAX_MS, &wait_ms) < 0)
				return PARSED_WRONG;
			o->wait_ms = (int64_t)wait_ms;
			break;
		case 'k':
			o->said.key = optarg;
			break;
		case 'r':
			o->said.reason = optarg;
			break;
		case 'd':
			o->desk = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return PARSED_HELP;
		case 'V':
			puts("sbx-approve " SBX_VERSION);
			return PARSED_HELP;
		default:
			return PARSED_WRONG;
		}
	o->said.words = argv + optind;
	o->said.count = argc - optind;
	int is_person = o->said.count > 0;
	struct sbx_error wrong = SBX_ERROR_INIT;
	if (is_person && person_check(&o->said, &wrong) < 0) {
		log_line("%s", wrong.message);
		return PARSED_WRONG;
	}
	if ((!is_person && (o->said.key != NULL || o->said.reason != NULL)) || (is_person && o->desk != NULL) ||
	    (o->wait_ms >= 0 && (is_person || o->desk != NULL)))
		return PARSED_WRONG;
	return PARSED;
}

int main(int argc, char **argv)
{
	struct options o = {.wait_ms = -1};

	log_set_name("sbx-approve");
	switch (parse(argc, argv, &o)) {
	case PARSED_HELP:
		return fflush(stdout) == 0 ? SBX_OK : SBX_IO;
	case PARSED_WRONG:
		fputs(usage, stderr);
		return SBX_USAGE;
	case PARSED:
		break;
	}
	if (o.desk != NULL)
		return run_desk(&o);
	return o.said.count > 0 ? run_person(&o) : run_filter(&o);
}
