/* sbx-witness: asks a Kubernetes API server whether it takes a token, before the token is revoked and until it is
 * refused. Started by sbx-cred, so that not the provider alone says that a credential is dead. See sbx-witness(8). */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "io.h"
#include "kube_status.h"
#include "log.h"
#include "start.h"
#include "witness.h"

static const char name[] = "sbx-witness";

enum {
	FIRST_MS = 2000, /* a call waits for this before its credential is revoked */
	SEEN_MS = 500,	 /* until every part of an API server knows of a binding, or an account, that was just made */
	WAIT_MAX_MS = 60 * 1000,
	ONCE_MS = 5000,
	PAUSE_FIRST_MS = 10,
	PAUSE_LAST_MS = 250,
	REQUEST_MAX = 64 * 1024,
};

struct program {
	struct started started;
	int token_fd;
	struct secret token;
	jv request;
	struct witness witness;
	int64_t wait_ms;
};

static int usage(FILE *out, int status)
{
	fprintf(out, "usage: %s --token-fd N   < request\n", name);
	return status;
}

/* The request is one line; the end of standard input, later, says that the token is revoked. */
static int read_request(struct program *p, struct sbx_error *err)
{
	auto_buf line = BUF_INIT(REQUEST_MAX);
	char byte;

	for (;;) {
		ssize_t n = read(STDIN_FILENO, &byte, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sbx_fail_errno(err, SBX_IO, "io_error", "cannot read the request");
		if (n == 0 || byte == '\n')
			break;
		if (buf_add(&line, &byte, 1, err) < 0)
			return -1;
	}
	if (json_parse(buf_str(&line), line.len, REQUEST_MAX, &p->request, err) < 0)
		return sbx_wrap(err, "the request");
	if (json_int(p->request, "wait_ms", &p->wait_ms) < 0 || p->wait_ms < 0 || p->wait_ms > WAIT_MAX_MS)
		return sbx_fail(err, SBX_BAD_REQUEST, "bad_request", "the request has no wait_ms of at most a minute");
	return secret_read_fd(&p->token, p->token_fd, LIMIT_SECRET, err);
}

/* One line: the status, 0 where there was no answer, and then why. */
static int say(const struct program *p, int status, const struct sbx_error *why, struct sbx_error *err)
{
	auto_buf line = BUF_INIT(REQUEST_MAX);
	auto_jv object = json_set_int(jv_object(), "status", status > 0 ? status : 0);

	if (status <= 0)
		object = json_set_str(take_jv(&object), "code", why->code);
	if (json_write(object, &line, err) < 0 || buf_add(&line, "\n", 1, err) < 0)
		return -1;
	return io_write_all(p->started.reply_fd, line.data, line.len, err);
}

/* 1: it is revoked; 0: whoever started us is gone. */
static int await_revocation(const struct program *p)
{
	struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = p->started.reply_fd}};

	while (poll(fds, 2, -1) < 0 || (fds[0].revents | fds[1].revents) == 0)
		;
	return (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) == 0;
}

static int is_heard(const struct program *p, int pause_ms)
{
	struct pollfd reply = {.fd = p->started.reply_fd};

	return poll(&reply, 1, pause_ms) == 0;
}

/* Ask until it is refused; the status of the last answer, -1 with WHY when there has been none for too long to say what
 * is so now. */
static int await_refusal(const struct program *p, struct sbx_error *why)
{
	int64_t deadline = clock_mono_ms() + p->wait_ms, answered = 0;
	int last = -1;

	for (int pause_ms = PAUSE_FIRST_MS;; pause_ms = pause_ms * 2 < PAUSE_LAST_MS ? pause_ms * 2 : PAUSE_LAST_MS) {
		struct sbx_error failed = SBX_ERROR_INIT;
		int64_t end = clock_mono_ms() + ONCE_MS;
		int status = witness_ask(&p->witness, end < deadline ? end : deadline, &failed);
		if (status >= 0) {
			last = status;
			answered = clock_mono_ms();
		} else {
			*why = failed;
			if (clock_mono_ms() - answered > ONCE_MS)
				last = -1;
		}
		if (kube_status_is_refusal(last) || clock_left_ms(deadline) == 0 || !is_heard(p, pause_ms))
			return last;
	}
}

/* Ask for the first time, again while what was made a moment ago is not known everywhere; the status. */
static int ask_first(struct program *p, struct sbx_error *why)
{
	int64_t deadline = clock_mono_ms() + FIRST_MS, known = clock_mono_ms() + SEEN_MS;
	int status = witness_open(&p->witness, p->request, &p->token, deadline, why);

	for (int pause_ms = PAUSE_FIRST_MS; status >= 0; pause_ms *= 2) {
		status = witness_ask(&p->witness, deadline, why);
		if (!kube_status_is_refusal(status) || clock_left_ms(known) == 0 || !is_heard(p, pause_ms))
			break;
	}
	return status;
}

static int run(struct program *p, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;

	if (read_request(p, err) < 0)
		return -1;
	int status = ask_first(p, &why);
	if (say(p, status, &why, err) < 0)
		return -1;
	if (!kube_status_is_taken(status) || !await_revocation(p))
		return 0;
	status = await_refusal(p, &why);
	return say(p, status, &why, err);
}

/* The exit status when what was asked for is text on stdout. */
static int told(void)
{
	return fflush(stdout) == 0 ? SBX_OK : SBX_IO;
}

int main(int argc, char **argv)
{
	static const struct option known[] = {{"token-fd", required_argument, NULL, 't'},
					      {"help", no_argument, NULL, 'h'},
					      {"version", no_argument, NULL, 'V'},
					      {NULL, 0, NULL, 0}};
	struct program p = {.token_fd = -1, .token = SECRET_INIT, .request = jv_invalid(), .witness = WITNESS_INIT};
	struct sbx_error err = SBX_ERROR_INIT;
	int letter;

	while ((letter = getopt_long(argc, argv, "hV", known, NULL)) != -1) {
		uint64_t number;
		if (letter == 'h') {
			usage(stdout, SBX_OK);
			return told();
		}
		if (letter == 'V') {
			printf("%s %s\n", name, SBX_VERSION);
			return told();
		}
		if (letter != 't' || io_parse_u64(optarg, 3, 1 << 20, &number) < 0)
			return usage(stderr, SBX_USAGE);
		p.token_fd = (int)number;
	}
	if (p.token_fd < 0 || optind != argc)
		return usage(stderr, SBX_USAGE);
	int result = start(name, NULL, &p.token_fd, 1, START_REPLY, &p.started, &err) < 0 ? -1 : run(&p, &err);
	witness_clear(&p.witness);
	jv_free(p.request);
	secret_clear(&p.token);
	if (result == 0)
		return SBX_OK;
	log_error(&err);
	return (int)err.class;
}
