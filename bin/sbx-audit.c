/* sbx-audit: the last stage of the pipe, which records how the call ended and passes it on; and the record's reader:
 * show, verify, head, result; and the mender of what dead processes left (sbx-audit(1)). */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "audit.h"
#include "audit_check.h"
#include "audit_show.h"
#include "clock.h"
#include "digest.h"
#include "filter.h"
#include "io.h"
#include "log.h"
#include "mend.h"
#include "principal.h"
#include "stored.h"
#include "taint.h"

static const char program[] = "sbx-audit";
/* What the last stage spends on the dead calls of others, while the stages before it work. */
static const int64_t mend_ms = 2000;
static const size_t page = (size_t)64 << 10;

enum mode { MODE_STAGE, MODE_MEND, MODE_SHOW, MODE_VERIFY, MODE_HEAD, MODE_RESULT };

struct options {
	const char *config, *principal;
	enum principal_from from;
	enum mode mode;
	const char *call; /* of --mend, show and result; may be NULL */
	const char *event, *since, *head;
	int json;
};

static const char usage_text[] =
	"usage: sbx-audit [--config FILE]                     < call: record how it ended, pass it on\n"
	"       sbx-audit [--config FILE] --mend [CALL]       clean up after calls whose processes died\n"
	"       sbx-audit [--config FILE] show [--request-id ID] [--event NAME] [--since TIME] [--json]\n"
	"       sbx-audit [--config FILE] verify [--head SHA256] [--json]\n"
	"       sbx-audit [--config FILE] head\n"
	"       sbx-audit [--config FILE] [--principal NAME | --peer] result ID\n"
	"ID may be the first digits of a call's id in show. TIME is 2026-11-29T21:50:04Z, or 90s, 15m, 2h, 1d ago.\n";

enum parsed { PARSED, PARSED_HELP, PARSED_WRONG };

static enum parsed parse_verb(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"request-id", required_argument, NULL, 'r'}, {"event", required_argument, NULL, 'e'},
		{"since", required_argument, NULL, 's'},      {"json", no_argument, NULL, 'j'},
		{"head", required_argument, NULL, 'H'},	      {NULL, 0, NULL, 0}};
	int c, wrong = 0;

	optind = 0;
	while ((c = getopt_long(argc, argv, "+", longs, NULL)) != -1)
		switch (c) {
		case 'r':
			o->call = optarg;
			wrong |= o->mode != MODE_SHOW;
			break;
		case 'e':
			o->event = optarg;
			wrong |= o->mode != MODE_SHOW;
			break;
		case 's':
			o->since = optarg;
			wrong |= o->mode != MODE_SHOW;
			break;
		case 'j':
			o->json = 1;
			wrong |= o->mode != MODE_SHOW && o->mode != MODE_VERIFY;
			break;
		case 'H':
			o->head = optarg;
			wrong |= o->mode != MODE_VERIFY;
			break;
		default:
			return PARSED_WRONG;
		}
	if (o->mode == MODE_RESULT && optind < argc)
		o->call = argv[optind++];
	else if (o->mode == MODE_RESULT)
		log_line("result wants an ID");
	return wrong || optind != argc || (o->mode == MODE_RESULT && o->call == NULL) ? PARSED_WRONG : PARSED;
}

static enum parsed find_verb(int argc, char **argv, struct options *o)
{
	static const char *const verbs[] = {"show", "verify", "head", "result"};
	char quoted[SBX_QUOTE_SIZE];

	if (o->mode == MODE_MEND) {
		if (argc > 0)
			o->call = argv[0];
		return argc > 1 ? PARSED_WRONG : PARSED;
	}
	if (argc == 0)
		return PARSED;
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (strcmp(argv[0], verbs[i]) == 0) {
			o->mode = (enum mode)(MODE_SHOW + i);
			return parse_verb(argc, argv, o);
		}
	log_line("there is no command %s", sbx_quote(quoted, argv[0], strlen(argv[0])));
	return PARSED_WRONG;
}

static enum parsed parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {{"config", required_argument, NULL, 'c'},
					      {"principal", required_argument, NULL, 'p'},
					      {"peer", no_argument, NULL, 'P'},
					      {"mend", no_argument, NULL, 'm'},
					      {"help", no_argument, NULL, 'h'},
					      {"version", no_argument, NULL, 'V'},
					      {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "+hV", longs, NULL)) != -1)
		switch (c) {
		case 'c':
			o->config = optarg;
			break;
		case 'p':
			o->principal = optarg;
			break;
		case 'P':
			o->from = PRINCIPAL_FROM_PEER;
			break;
		case 'm':
			o->mode = MODE_MEND;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return PARSED_HELP;
		case 'V':
			puts("sbx-audit " SBX_VERSION);
			return PARSED_HELP;
		default:
			return PARSED_WRONG;
		}
	enum parsed parsed = find_verb(argc - optind, argv + optind, o);
	if ((o->principal != NULL || o->from == PRINCIPAL_FROM_PEER) && o->mode != MODE_RESULT)
		return PARSED_WRONG;
	return o->principal != NULL && o->from == PRINCIPAL_FROM_PEER ? PARSED_WRONG : parsed;
}

static int fail(const struct sbx_error *err)
{
	log_error(err);
	return (int)err->class;
}

/* The last write, checked: a full disk can show at the close alone. */
static int write_reply(struct filter *f, const struct buf *text, struct sbx_error *err)
{
	if (io_write_all(f->started.reply_fd, buf_str(text), text->len, err) < 0)
		return -1;
	if (close(take_fd(&f->started.reply_fd)) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot write the answer");
	return 0;
}

/* --- the last stage --- */

/* Others' dead calls. What fails here is in nobody's way: it is tried again. */
static void mend_others(const struct filter *f)
{
	const struct mend mend = {.state = &f->state,
				  .config = f->config.file,
				  .patience = MEND_SHORT,
				  .deadline = clock_mono_ms() + mend_ms};
	struct sbx_error err = SBX_ERROR_INIT;
	struct mend_count count;

	if (mend_all(&mend, &count, &err) < 0)
		log_error(&err);
}

static int record(const struct filter *f, jv call, struct sbx_error *err)
{
	auto_jv details = call_outcome(call);

	return audit_append(&f->state, AUDIT_OUTCOME, "tool.result", call_is_bare_error(call) ? NULL : call_id(call),
			    details, err);
}

/* The act is done, recorded or not: its result is not thrown away, but the call is no success any more. An error that
 * it already has, and an outcome that is not known, say more. */
static jv mark_unrecorded(jv call, struct sbx_error *err)
{
	enum sbx_class class = call_class(call);

	log_error(err);
	err->class = SBX_IO; /* whatever it is that is wrong with the record */
	log_line("the call's outcome is not in the record");
	return json_has(call, "error") || class == SBX_OUTCOME_UNKNOWN
		       ? call
		       : call_set_error(call, call_stage_name(CALL_AUDIT), err);
}

static enum mend_keep how_long(jv call)
{
	const char *approval = call_approval_state(call);

	return json_has(call, "error") && (approval == NULL || strcmp(approval, "claimed") != 0) ? MEND_KEEP_BRIEFLY
												 : MEND_KEEP;
}

/* Whether the record knows how the call ended. */
enum told { RECORDED, UNRECORDED };

/* Seal, keep, mark as done, write. Consumes CALL. What is not in the record yet is not done: mending writes it. */
static int finish(struct filter *f, jv call, enum told told)
{
	struct sbx_error late = SBX_ERROR_INIT, unkept = SBX_ERROR_INIT;
	auto_buf text = BUF_INIT(2 * LIMIT_CALL);
	auto_jv object = call;

	if (call_seal(&object, &f->key, f->state.installation, CALL_AUDIT, &late) < 0 ||
	    json_write(object, &text, &late) < 0 || buf_add(&text, "\n", 1, &late) < 0)
		return fail(&late);
	if (text.len > LIMIT_CALL) {
		sbx_fail(&late, SBX_BUG, "too_large", "the call grew past %zu bytes", LIMIT_CALL);
		return fail(&late);
	}
	if (stored_keep(f->run_fd, text.data, text.len, &unkept) < 0)
		log_error(&unkept);
	if (told == RECORDED && state_stage_done(f->stage_fd, &late) < 0)
		log_error(&late);
	sbx_error_clear(&late);
	if (write_reply(f, &text, &late) < 0)
		return fail(&late);
	if (unkept.class == SBX_OK)
		mend_end(f->run_fd, how_long(object));
	return (int)call_class(object);
}

/* A call that nobody can seal: the refusal is recorded without an id, since none can be believed. */
static int finish_bare(struct filter *f)
{
	struct sbx_error err = SBX_ERROR_INIT;

	if (record(f, f->call, &err) < 0)
		log_error(&err);
	return filter_pass(f);
}

static int refuse(struct filter *f, const struct sbx_error *why)
{
	auto_jv bare = call_bare_error(call_stage_name(CALL_AUDIT), why);
	struct sbx_error err = SBX_ERROR_INIT;

	if (record(f, bare, &err) < 0)
		log_error(&err);
	return filter_refuse(f, why);
}

/* Output that nobody vouches for is handed out, now or later, only when the calls after it will know. */
static int mark_untrusted(const struct filter *f, jv call, struct sbx_error *err)
{
	auto_jv policy = json_object(call, "policy"), run = json_object(policy, "run");

	if (json_bool(run, "untrusted") != 1 || !json_has(call, "result"))
		return 0;
	return taint_mark(&f->state, call_principal(call), call_tool(call), err);
}

static int stage(struct filter *f, const struct options *o)
{
	struct sbx_error err = SBX_ERROR_INIT;

	/* Whatever ends the others, the outcome is recorded and the object is kept; the end of the input ends us. */
	process_set_stop(PROCESS_STOP_IGNORED);
	if (filter_open(f, o->config, NULL, 0, &err) < 0)
		return filter_refuse(f, &err);
	mend_others(f);
	if (filter_read(f, &err) < 0)
		return refuse(f, &err);
	if (call_is_bare_error(f->call))
		return finish_bare(f);
	if (mark_untrusted(f, f->call, &err) < 0)
		return refuse(f, &err);
	jv call = take_jv(&f->call);
	enum told told = record(f, call, &err) == 0 ? RECORDED : UNRECORDED;
	return finish(f, told == RECORDED ? call : mark_unrecorded(call, &err), told);
}

/* --- --mend --- */

static int mend_one(const struct mend *mend, const char *call, struct sbx_error *err)
{
	static const char *const words[] = {"nothing to mend", "a process of this call still works",
					    "another process mends it", "mended", "removed: it was over"};
	enum mend_outcome outcome_of_it;

	if (mend_call(mend, call, &outcome_of_it, err) < 0)
		return fail(err);
	log_line("%s: %s", call, words[outcome_of_it]);
	return SBX_OK;
}

static int mend_mode(struct filter *f, const struct options *o)
{
	const struct mend mend = {.state = &f->state, .config = f->config.file, .patience = MEND_WHOLE};
	struct sbx_error err = SBX_ERROR_INIT;
	struct mend_count count;

	if (o->call != NULL)
		return mend_one(&mend, o->call, &err);
	if (mend_all(&mend, &count, &err) < 0)
		return fail(&err);
	log_line("%lld mended, %lld removed, %lld at work, %lld failed", (long long)count.mended,
		 (long long)count.removed, (long long)count.running, (long long)count.failed);
	return count.failed > 0 ? SBX_UNAVAILABLE : SBX_OK;
}

/* --- show --- */

struct show {
	const struct options *o;
	const struct filter *f;
	struct timeline timeline;
	struct buf out;
	int64_t since;
	int has_call; /* there was an event of the call that is asked for */
};

static int is_wanted(struct show *show, jv event)
{
	const char *id = json_str(event, "request_id"), *name = json_str(event, "event"),
		   *time = json_str(event, "time");
	int64_t at;

	if (show->o->call != NULL && (id == NULL || strncmp(id, show->o->call, strlen(show->o->call)) != 0))
		return 0;
	show->has_call = 1;
	if (show->o->event != NULL && (name == NULL || strcmp(name, show->o->event) != 0))
		return 0;
	return show->since == 0 || (time != NULL && clock_parse(time, &at) == 0 && at >= show->since);
}

static int flush_page(struct show *show, struct sbx_error *err)
{
	if (io_write_all(show->f->started.reply_fd, buf_str(&show->out), show->out.len, err) < 0)
		return -1;
	buf_reset(&show->out);
	return 0;
}

static int show_event(jv event, void *context, struct sbx_error *err)
{
	struct show *show = context;

	if (!is_wanted(show, event))
		return 0;
	if (show->o->json ? json_write(event, &show->out, err) < 0 || buf_add(&show->out, "\n", 1, err) < 0
			  : timeline_line(&show->timeline, event, &show->out, err) < 0)
		return -1;
	return show->out.len > page ? flush_page(show, err) : 0;
}

static int show_mode(struct filter *f, const struct options *o)
{
	struct show show = {.o = o, .f = f, .out = BUF_INIT(page + 8 * LIMIT_EVENT)};
	struct sbx_error err = SBX_ERROR_INIT;

	if (o->since != NULL && timeline_since(o->since, &show.since, &err) < 0)
		return fail(&err);
	timeline_init(&show.timeline);
	int result = audit_each(&f->state, NULL, show_event, &show, &err);
	if (result == 0 && o->call != NULL && !show.has_call)
		result = sbx_fail(&err, SBX_NO_INPUT, "call_unknown", "the record has no such call");
	if (result == 0)
		result = write_reply(f, &show.out, &err);
	timeline_clear(&show.timeline);
	buf_clear(&show.out);
	return result < 0 ? fail(&err) : SBX_OK;
}

/* --- verify --- */

struct find_head {
	const char *wanted;
	int found;
};

/* The head of a record stands in the next one as "prev". */
static int match_head(jv event, void *context, struct sbx_error *err)
{
	struct find_head *find = context;
	const char *prev = json_str(event, "prev");

	(void)err;
	find->found = prev != NULL && strcmp(prev, find->wanted) == 0;
	return find->found;
}

static int has_head(const struct filter *f, const struct audit_verdict *verdict, const char *head,
		    struct sbx_error *err)
{
	struct find_head find = {.wanted = head, .found = strcmp(verdict->head, head) == 0};

	if (!find.found && audit_each(&f->state, NULL, match_head, &find, err) < 0)
		return -1;
	if (!find.found) {
		sbx_fail(err, SBX_COMMAND_FAILED, "audit_head_missing",
			 "the record does not hold the head that was given: its tail was cut, or it was made anew");
		return -1;
	}
	return 0;
}

static int verify_mode(struct filter *f, const struct options *o)
{
	struct sbx_error broken = SBX_ERROR_INIT, err = SBX_ERROR_INIT;
	auto_buf out = BUF_INIT((size_t)64 << 20);
	struct audit_verdict verdict;
	struct audit_gaps gaps;

	if (audit_verify(&f->state, &verdict, &broken) < 0 && broken.class != SBX_COMMAND_FAILED)
		return fail(&broken);
	if (broken.class == SBX_OK && o->head != NULL && has_head(f, &verdict, o->head, &broken) < 0 &&
	    broken.class != SBX_COMMAND_FAILED)
		return fail(&broken);
	if (audit_find_gaps(&f->state, &gaps, &err) < 0)
		return fail(&err);
	int spent_twice = json_length(gaps.spent_twice) > 0;
	int result = (o->json ? audit_report_json : audit_report_text)(&verdict, &gaps, &broken, &out, &err);
	audit_gaps_clear(&gaps);
	if (result < 0 || write_reply(f, &out, &err) < 0)
		return fail(&err);
	return broken.class != SBX_OK || spent_twice ? SBX_COMMAND_FAILED : SBX_OK;
}

static int head_mode(struct filter *f)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_buf out = BUF_INIT(256);
	char head[DIGEST_HEX_SIZE];
	int64_t seq;

	if (audit_head(&f->state, head, &seq, &err) < 0 ||
	    buf_addf(&out, &err, "%lld %s\n", (long long)seq, head) < 0 || write_reply(f, &out, &err) < 0)
		return fail(&err);
	return SBX_OK;
}

/* --- result --- */

static int result_mode(struct filter *f, const struct options *o)
{
	struct sbx_error err = SBX_ERROR_INIT;
	auto_free char *text = NULL;
	auto_jv object = jv_invalid();
	struct principal who;
	size_t len;

	if (principal_find(o->principal, o->from, f->started.in_account, &who, &err) < 0 ||
	    stored_find(&f->state, &f->key, o->call, who.name, &text, &len, &object, &err) < 0 ||
	    mark_untrusted(f, object, &err) < 0)
		return filter_refuse(f, &err);
	if (io_write_all(f->started.reply_fd, text, len, &err) < 0 || close(take_fd(&f->started.reply_fd)) < 0) {
		sbx_fail_errno(&err, SBX_IO, "io_error", "cannot write the object");
		return fail(&err);
	}
	return (int)call_class(object);
}

static int run(struct filter *f, const struct options *o)
{
	struct sbx_error err = SBX_ERROR_INIT;

	if (o->mode == MODE_STAGE)
		return stage(f, o);
	f->is_alone = 1;
	if (filter_open(f, o->config, NULL, 0, &err) < 0)
		return o->mode == MODE_RESULT ? filter_refuse(f, &err) : fail(&err);
	switch (o->mode) {
	case MODE_MEND:
		return mend_mode(f, o);
	case MODE_SHOW:
		return show_mode(f, o);
	case MODE_VERIFY:
		return verify_mode(f, o);
	case MODE_HEAD:
		return head_mode(f);
	case MODE_RESULT:
		return result_mode(f, o);
	case MODE_STAGE:
		break;
	}
	return SBX_BUG;
}

int main(int argc, char **argv)
{
	struct options o = {.mode = MODE_STAGE};
	struct filter f = FILTER_INIT(program, CALL_AUDIT);

	log_set_name(program);
	switch (parse(argc, argv, &o)) {
	case PARSED_HELP:
		return fflush(stdout) == 0 ? SBX_OK : SBX_IO;
	case PARSED_WRONG:
		fputs(usage_text, stderr);
		return SBX_USAGE;
	case PARSED:
		break;
	}
	int status = run(&f, &o);
	filter_close(&f);
	return status;
}
