/* sbx-call: the door. Stamps who asks, starts the four stages with pipes between them, and hands back the last one's object and status. It reads no
 * JSON: what it is asked for is the first word of a line. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "buf.h"
#include "clock.h"
#include "io.h"
#include "json_out.h"
#include "limit.h"
#include "log.h"
#include "pass_fd.h"
#include "process.h"
#include "spawn.h"
#include "start.h"
#include "state.h"
#include "tool_list.h"

extern char **environ; /* what start() made of it */

#define REQUEST_WORD_MAX 8 /* "result ", the longest word and its space */
#define STAGES 4
#define WORDS_MAX 65 /* a tool, and as many parameters as a tool may have */
#define ARGUMENTS_MAX (WORDS_MAX + 8)
/* A client sends its request at once; one that does not has gone astray. */
static const int request_wait_ms = 60 * 1000;

static const char usage[] =
	"usage: sbx-call [--config FILE] [--principal NAME | --peer] [--wait TIME] [TOOL key=value...]\n"
	"       sbx-call [--config FILE] --mend\n"
	"Run one tool call through policy, approval, credentials, sandbox and record; print the call with its result.\n"
	"Without TOOL, one line on stdin says what is wanted: tools | check | call {JSON} | result ID; then, while it runs: cancel.\n"
	"  --config FILE     settings (default: $SBX_CONFIG, else /etc/sbx/sbx.yaml)\n"
	"  --principal NAME  who asks; stands in the line that lets an agent through this door\n"
	"  --peer            who asks is the peer of the socket on stdin\n"
	"  --wait TIME       wait for a person's approval at most this long (20s, 2m; default 0s)\n"
	"  --mend            clean up after calls whose processes died\n"
	"  -h, --help        this text\n"
	"  -V, --version     the version\n";

struct options {
	const char *config, *principal, *wait;
	int peer, mend;
	char **words; /* TOOL key=value… */
	int word_count;
};

enum parsed { PARSED, PARSED_HELP, PARSED_WRONG };

static enum parsed parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {{"config", required_argument, NULL, 'c'}, {"principal", required_argument, NULL, 'p'},
					      {"peer", no_argument, NULL, 'P'},		{"wait", required_argument, NULL, 'w'},
					      {"mend", no_argument, NULL, 'm'},		{"help", no_argument, NULL, 'h'},
					      {"version", no_argument, NULL, 'V'},	{NULL, 0, NULL, 0}};
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
			o->peer = 1;
			break;
		case 'w':
			o->wait = optarg;
			break;
		case 'm':
			o->mend = 1;
			break;
		case 'h':
			fputs(usage, stdout);
			return PARSED_HELP;
		case 'V':
			puts("sbx-call " SBX_VERSION);
			return PARSED_HELP;
		default:
			return PARSED_WRONG;
		}
	o->words = argv + optind;
	o->word_count = argc - optind;
	/* Words beyond what an argument vector of ours holds must not be left out: it would be another call. */
	if (o->word_count > WORDS_MAX || (o->principal && o->peer) || (o->mend && o->word_count > 0))
		return PARSED_WRONG;
	return PARSED;
}

/* One argument vector, built up; the strings are borrowed. */
struct arguments {
	const char *v[ARGUMENTS_MAX];
	size_t n;
};

static void add(struct arguments *a, const char *text)
{
	assert(a->n < ARGUMENTS_MAX - 1);
	a->v[a->n++] = text;
	a->v[a->n] = NULL;
}

static void add_option(struct arguments *a, const char *name, const char *value)
{
	if (value != NULL) {
		add(a, name);
		add(a, value);
	}
}

/* The door has no call that it could seal: what goes wrong here is a bare error. */
static int refuse(int reply_fd, const struct sbx_error *err)
{
	auto_buf text = BUF_INIT(4096);
	struct sbx_error late = SBX_ERROR_INIT;

	log_error(err);
	if (buf_add_str(&text, "{\"error\":{", &late) < 0 || json_out_member_int(&text, "class", err->class, &late) < 0 ||
	    json_out_member(&text, "code", err->code, &late) < 0 ||
	    json_out_member(&text, "hint", err->hint[0] ? err->hint : NULL, &late) < 0 ||
	    json_out_member(&text, "message", err->message, &late) < 0 || json_out_member(&text, "stage", "call", &late) < 0 ||
	    buf_add_str(&text, "},\"sbx\":1}\n", &late) < 0 || io_write_all(reply_fd, buf_str(&text), text.len, &late) < 0) {
		log_error(&late);
		return (int)late.class;
	}
	return (int)err->class;
}

/* The stages of this call and what stands between them. */
struct line {
	struct child stages[STAGES];
	size_t count;
	int answer_fd; /* the last one's stdout */
	int request_fd; /* the first one's stdin; -1: /dev/null */
	/* The principal's place among its calls at work: a lock that sbx-policy takes and hands to us, who are there as long
	 * as the call is. */
	int place_from_fd, place_fd;
};

/* Of the first stage. */
#define PLACE_NUMBER 3
#define PLACE_OPTION "--place-fd"
#define PLACE_TEXT "3"

static void close_pair(int pair[2])
{
	base_close_fd(&pair[0]);
	base_close_fd(&pair[1]);
}

static int start_stages(struct line *line, struct arguments arguments[STAGES], int with_request, struct sbx_error *err)
{
	int from[2] = {-1, -1}, to[2] = {-1, -1}, place[2];

	if (with_request && pipe2(from, O_CLOEXEC) < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot make a pipe");
	line->request_fd = take_fd(&from[1]);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, place) < 0) {
		close_pair(from);
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot make a socket");
	}
	line->place_from_fd = place[0];
	auto_fd theirs = place[1];
	for (size_t i = 0; i < STAGES; i++) {
		auto_free char *path = process_helper(arguments[i].v[0], err);
		if (path == NULL || pipe2(to, O_CLOEXEC) < 0) {
			close_pair(from);
			return sbx_fail_errno(err, SBX_OS, "os_error", "cannot make a pipe");
		}
		struct spawn_fd fds[3] = {{STDOUT_FILENO, to[1]}};
		size_t n = 1;
		if (i == 0)
			fds[n++] = (struct spawn_fd){PLACE_NUMBER, theirs};
		if (from[0] >= 0)
			fds[n++] = (struct spawn_fd){STDIN_FILENO, from[0]};
		struct spawn what = {.path = path,
				     .argv = arguments[i].v,
				     .fds = fds,
				     .fd_count = n,
				     .flags = SPAWN_GROUP | SPAWN_NO_TERMINAL};
		int started = spawn_start(&what, &line->stages[i], err);
		close_pair(from);
		from[0] = take_fd(&to[0]);
		base_close_fd(&to[1]);
		if (started < 0) {
			close_pair(from);
			return -1;
		}
		line->count++;
	}
	line->answer_fd = take_fd(&from[0]);
	return 0;
}

static void signal_stages(const struct line *line, int sig)
{
	for (size_t i = 0; i < line->count; i++)
		spawn_signal(&line->stages[i], sig);
}

/* Whole lines from stdin; what is behind the first one waits here for the next. */
struct input {
	struct buf pending;
	int ended;
};

/* 1: *LINE_LEN is the length of the first line of PENDING, without its line feed; 0: not yet. */
static int has_line(const struct input *in, size_t *line_len)
{
	const char *end = in->pending.len ? memchr(in->pending.data, '\n', in->pending.len) : NULL;

	if (end == NULL)
		return 0;
	*line_len = (size_t)(end - in->pending.data);
	return 1;
}

static void drop_line(struct input *in, size_t line_len)
{
	size_t rest = in->pending.len - line_len - 1;

	memmove(in->pending.data, in->pending.data + line_len + 1, rest);
	in->pending.len = rest;
}

static int read_more(struct input *in, struct sbx_error *err)
{
	char block[4096];
	ssize_t n = read(STDIN_FILENO, block, sizeof block);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0) {
		in->ended = 1;
		return 0;
	}
	return buf_add(&in->pending, block, (size_t)n, err);
}

static int first_line(struct input *in, size_t *line_len, struct sbx_error *err)
{
	int64_t deadline = clock_mono_ms() + request_wait_ms;

	while (!has_line(in, line_len)) {
		struct pollfd wait = {.fd = STDIN_FILENO, .events = POLLIN};
		if (poll(&wait, 1, clock_left_ms(deadline)) == 0)
			return sbx_fail(err, SBX_NO_INPUT, "no_input", "no request came on stdin in time");
		if (in->ended && in->pending.len == 0)
			return sbx_fail(err, SBX_NO_INPUT, "no_input", "there is no request on stdin");
		if (in->ended)
			return sbx_fail(err, SBX_BAD_REQUEST, "bad_request", "the request line is cut off");
		if (read_more(in, err) < 0)
			return -1;
	}
	if (memchr(in->pending.data, '\0', *line_len) != NULL)
		return sbx_fail(err, SBX_BAD_REQUEST, "bad_request", "the request line holds a NUL");
	return 0;
}

/* Give the request to sbx-policy. It fits no pipe at once, but sbx-policy reads it whole before it does anything else; when it ended early, its error
 * object says why. */
static void send_request(struct line *line, const char *text, size_t len)
{
	struct sbx_error ignored = SBX_ERROR_INIT;

	if (line->request_fd >= 0 && len > 0)
		(void)io_write_all(line->request_fd, text, len, &ignored);
	base_close_fd(&line->request_fd);
}

static void serve_stdin(struct input *in, const struct line *line)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	size_t len;

	if (read_more(in, &ignored) < 0)
		in->ended = 1; /* a flood while a call runs: nothing there is listened to any more */
	while (has_line(in, &len)) {
		if (len == strlen("cancel") && memcmp(in->pending.data, "cancel", len) == 0)
			signal_stages(line, SIGTERM);
		drop_line(in, len);
	}
}

/* 1: that was the end of the answer. */
static int read_answer(struct line *line, struct buf *answer, struct sbx_error *err)
{
	char block[16384];
	ssize_t n = read(line->answer_fd, block, sizeof block);

	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0)
		return 1;
	return buf_add(answer, block, (size_t)n, err) < 0 ? -1 : 0;
}

/* It comes once, or sbx-policy ends without it. */
static void take_place(struct line *line)
{
	line->place_fd = pass_fd_receive(line->place_from_fd);
	base_close_fd(&line->place_from_fd);
}

/* Wait for the last stage's object. There is no deadline here: every stage has its own, and giving up on a stage that revokes a credential would leave
 * the credential alive. */
static int collect(struct line *line, struct input *in, int reply_fd, int signal_fd, struct buf *answer, struct sbx_error *err)
{
	int reader_gone = 0, done = 0;

	while (done == 0) {
		struct pollfd fds[5] = {{.fd = line->answer_fd, .events = POLLIN},
					{.fd = signal_fd, .events = POLLIN},
					{.fd = in == NULL || in->ended ? -1 : STDIN_FILENO, .events = POLLIN},
					{.fd = reader_gone ? -1 : reply_fd, .events = 0},
					{.fd = line->place_from_fd, .events = POLLIN}};
		struct signalfd_siginfo info;
		if (poll(fds, 5, -1) < 0)
			continue;
		if ((fds[1].revents & POLLIN) && read(signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
			signal_stages(line, info.ssi_signo == SIGHUP ? SIGHUP : SIGTERM);
		if (fds[3].revents & (POLLERR | POLLHUP)) {
			reader_gone = 1;
			signal_stages(line, SIGHUP);
		}
		if (fds[2].revents)
			serve_stdin(in, line);
		if (fds[4].revents)
			take_place(line);
		if (fds[0].revents)
			done = read_answer(line, answer, err);
	}
	return done < 0 ? -1 : 0;
}

static int last_status(struct line *line)
{
	int status = 0;

	for (size_t i = 0; i < line->count; i++)
		spawn_wait(&line->stages[i], -1, &status);
	return status;
}

/* Start the stages, wait, and hand back what the last one said. */
static int run(const struct started *started, struct arguments arguments[STAGES], struct input *in, const char *request, size_t request_len,
	       struct sbx_error *err)
{
	struct line line = {.answer_fd = -1, .request_fd = -1, .place_from_fd = -1, .place_fd = -1};
	auto_buf answer = BUF_INIT(2 * LIMIT_CALL);
	auto_fd signal_fd = process_stop_fd(err);
	int result = -1, status;

	if (signal_fd >= 0 && start_stages(&line, arguments, request != NULL, err) == 0) {
		send_request(&line, request, request_len);
		result = collect(&line, in, started->reply_fd, signal_fd, &answer, err);
	}
	base_close_fd(&line.request_fd);
	base_close_fd(&line.answer_fd);
	status = last_status(&line);
	base_close_fd(&line.place_from_fd);
	base_close_fd(&line.place_fd);
	if (result < 0)
		return refuse(started->reply_fd, err);
	if (spawn_exit_code(status) >= 128 || answer.len == 0) {
		sbx_fail(err, SBX_OUTCOME_UNKNOWN, "stage_died", "the last stage gave no answer");
		sbx_hint(err, "sbx-audit show tells what was recorded; sbx-call --mend cleans up");
		return refuse(started->reply_fd, err);
	}
	if (io_write_all(started->reply_fd, buf_str(&answer), answer.len, err) == 0 && close(started->reply_fd) < 0)
		sbx_fail_errno(err, SBX_IO, "io_error", "cannot write the object");
	if (err->class != SBX_OK) {
		log_error(err);
		return SBX_IO;
	}
	return spawn_exit_code(status);
}

static void add_who(struct arguments *a, const struct options *o)
{
	add_option(a, "--principal", o->principal);
	if (o->peer)
		add(a, "--peer");
}

static int run_call(const struct started *started, const struct options *o, struct input *in, const char *request, size_t len, struct sbx_error *err)
{
	struct arguments stages[STAGES] = {{.n = 0}};
	static const char *const names[STAGES] = {"sbx-policy", "sbx-approve", "sbx-cred", "sbx-audit"};

	for (size_t i = 0; i < STAGES; i++) {
		add(&stages[i], names[i]);
		add_option(&stages[i], "--config", started->config);
	}
	add_who(&stages[0], o);
	add_option(&stages[0], PLACE_OPTION, PLACE_TEXT);
	if (o->word_count > 0)
		add(&stages[0], "--");
	for (int i = 0; i < o->word_count; i++)
		add(&stages[0], o->words[i]);
	add_option(&stages[1], "--wait", o->wait);
	add(&stages[2], "sbx-run");
	return run(started, stages, in, request, len, err);
}

/* A request that is one program's alone: it takes this process over, whose stdout it writes to. Returns only when it cannot be started. */
static int become(const struct started *started, const struct options *o, const char *program, const char *verb, const char *id, int who,
		  struct sbx_error *err)
{
	auto_free char *path = process_helper(program, err);
	struct arguments a = {.n = 0};

	add(&a, program);
	add_option(&a, "--config", started->config);
	if (who)
		add_who(&a, o);
	add(&a, verb);
	if (id != NULL)
		add(&a, id);
	if (path != NULL && dup2(started->reply_fd, STDOUT_FILENO) < 0)
		sbx_fail_errno(err, SBX_OS, "os_error", "cannot give stdout back");
	if (err->class != SBX_OK)
		return refuse(started->reply_fd, err);
	execve(path, (char *const *)a.v, environ);
	sbx_fail_errno(err, SBX_OS, "cannot_start", "cannot start %s", program);
	return refuse(started->reply_fd, err);
}

static int put_list(const struct started *started, const struct buf *list, struct sbx_error *err)
{
	return io_write_all(started->reply_fd, list->data, list->len, err) < 0 ? refuse(started->reply_fd, err) : SBX_OK;
}

static int serve_request(const struct started *started, const struct options *o, struct sbx_error *err)
{
	auto_buf list = BUF_INIT(LIMIT_CALL);
	struct input in = {.pending = BUF_INIT(LIMIT_CALL + REQUEST_WORD_MAX)};
	size_t len = 0;
	int status;

	if (first_line(&in, &len, err) < 0) {
		buf_clear(&in.pending);
		return refuse(started->reply_fd, err);
	}
	auto_free char *request = strndup(in.pending.data, len);
	drop_line(&in, len);
	if (request == NULL)
		sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (request != NULL && strncmp(request, "call ", 5) == 0) {
		status = run_call(started, o, &in, request + 5, strlen(request + 5), err);
	} else if (request != NULL && strcmp(request, "tools") == 0) {
		status = tool_list_find(started->config, &list) ? put_list(started, &list, err) : become(started, o, "sbx-policy", "list", "--json", 0, err);
	} else if (request != NULL && strcmp(request, "check") == 0) {
		status = become(started, o, "sbx-policy", "list", "--check", 1, err);
	} else if (request != NULL && strncmp(request, "result ", 7) == 0 && state_is_id(request + 7)) {
		status = become(started, o, "sbx-audit", "result", request + 7, 1, err);
	} else {
		sbx_fail(err, SBX_BAD_REQUEST, "bad_request", "the request line is none that this door knows");
		sbx_hint(err, "tools, check, call {JSON} or result ID");
		status = refuse(started->reply_fd, err);
	}
	buf_clear(&in.pending);
	return status;
}

int main(int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct options o = {.wait = NULL};
	struct started started;

	log_set_name("sbx-call");
	switch (parse(argc, argv, &o)) {
	case PARSED_HELP:
		return fflush(stdout) == 0 ? SBX_OK : SBX_IO;
	case PARSED_WRONG:
		fputs(usage, stderr);
		return SBX_USAGE;
	case PARSED:
		break;
	}
	if (start("sbx-call", o.config, NULL, 0, START_REPLY, &started, &err) < 0)
		return refuse(STDOUT_FILENO, &err);
	if (started.in_account && !o.principal && !o.peer && !o.mend) {
		sbx_fail(&err, SBX_DENIED, "no_principal", "in the toolkit's account the line must say who asks");
		sbx_hint(&err, "add --principal NAME to the sudoers or ssh line of this door");
		return refuse(started.reply_fd, &err);
	}
	if (o.mend)
		return become(&started, &o, "sbx-audit", "--mend", NULL, 0, &err);
	if (o.word_count > 0)
		return run_call(&started, &o, NULL, NULL, 0, &err);
	return serve_request(&started, &o, &err);
}
