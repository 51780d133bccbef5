/* The conversation with sbx-witness: a line from it before, the end of its input, a line from it afterwards. */
#include "credential_witness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "credential.h"
#include "credential_render.h"
#include "duration.h"
#include "io.h"
#include "kube_status.h"
#include "permission.h"
#include "process.h"

enum {
	FIRST_MS = 3000,      /* sbx-witness gives up after two seconds */
	CACHE_MS = 12 * 1000, /* an API server believes a token that it has just seen for ten seconds */
	WAIT_MAX_MS = 60 * 1000,
	LAST_MS = 500, /* for the line after the wait is over */
	REQUEST_MAX = 64 * 1024,
};
#define TOKEN_NUMBER 3

int credential_witness_wait(jv target, int64_t *wait_ms, struct sbx_error *err)
{
	auto_jv value = json_get(target, "witness");
	uint64_t ms = CACHE_MS;

	*wait_ms = CACHE_MS;
	if (!jv_is_valid(value))
		return 0;
	if (json_text(value) == NULL || duration_parse_ms(json_text(value), WAIT_MAX_MS, &ms) < 0) {
		sbx_fail(err, SBX_CONFIG, "bad_target", "witness of the target is no duration of at most a minute");
		return sbx_hint(err, "such as witness: 12s, or 0s for none");
	}
	*wait_ms = (int64_t)ms;
	return 0;
}

static void cannot(struct credential_witness *w, const char *why)
{
	snprintf(w->unproven, sizeof w->unproven, "%s", why);
}

/* ---- who can be asked ---- */

static int find_token(const struct secret *fields, struct credential_field *field)
{
	for (size_t at = 0; credential_next_field(fields, &at, field) == 1;)
		if (strcmp(field->name, "token") == 0)
			return 1;
	return 0;
}

/* 1: about LEASE; TOKEN is what to ask with, and *WAIT_MS how long. */
static int can_ask(const struct lease *lease, struct credential_field *token, int64_t *wait_ms)
{
	auto_jv target = json_object(lease->record, "target"), words = json_array(lease->record, "permissions");
	struct sbx_error ignored = SBX_ERROR_INIT;
	struct permission look;

	return find_token(&lease->fields, token) && json_str(target, "server") != NULL &&
	       json_str(lease->record, "namespace") != NULL && permission_find_look(words, &look) == 0 &&
	       credential_witness_wait(target, wait_ms, &ignored) == 0 && *wait_ms > 0;
}

/* The line for sbx-witness. */
static int make_request(const struct credential_witness *w, const struct lease *lease, struct buf *out,
			struct sbx_error *err)
{
	auto_jv target = json_object(lease->record, "target");
	auto_jv request = json_set_str(jv_object(), "server", json_str(target, "server"));

	request = json_set_str(take_jv(&request), "ca_file", json_str(target, "ca_file"));
	request = json_set_str(take_jv(&request), "namespace", json_str(lease->record, "namespace"));
	request = json_set(take_jv(&request), "permissions", json_array(lease->record, "permissions"));
	request = json_set_int(take_jv(&request), "wait_ms", w->wait_ms);
	return json_write(request, out, err) < 0 || buf_add(out, "\n", 1, err) < 0 ? -1 : 0;
}

/* ---- its process ---- */

static int start_witness(struct credential_witness *w, const struct credential_field *token, struct sbx_error *err)
{
	static const char *const argv[] = {"sbx-witness", "--token-fd", SPAWN_NUMBER(TOKEN_NUMBER), NULL};
	int to[2] = {-1, -1}, from[2] = {-1, -1};
	auto_secret copy = SECRET_INIT;
	int result = -1;

	if (secret_alloc(&copy, token->len, err) < 0 || secret_append(&copy, token->bytes, token->len, err) < 0)
		return -1;
	auto_fd memory = secret_memfd(&copy, "sbx-witness", err);
	auto_free char *path = process_helper(argv[0], err);
	/* It may outlive us, and then nobody must wait for the end of our standard error. What it has to say stands in
	 * its lines. */
	auto_fd nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (nothing >= 0 && memory >= 0 && path != NULL && pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0) {
		const struct spawn_fd fds[] = {{STDIN_FILENO, to[0]},
					       {STDOUT_FILENO, from[1]},
					       {STDERR_FILENO, nothing},
					       {TOKEN_NUMBER, memory}};
		const struct spawn what = {.path = path,
					   .argv = argv,
					   .fds = fds,
					   .fd_count = ARRAY_LEN(fds),
					   .flags = SPAWN_GROUP | SPAWN_NO_TERMINAL};
		result = spawn_start(&what, &w->child, err);
	}
	if (result == 0) {
		w->in = take_fd(&to[1]);
		w->out = take_fd(&from[0]);
	}
	for (int i = 0; i < 2; i++) {
		base_close_fd(&to[i]);
		base_close_fd(&from[i]);
	}
	return result;
}

enum { NOT_YET = -2, NO_MORE = -1, NO_ANSWER = 0 };

/* Its next line as the status in it, NO_ANSWER with the code in W->unproven; NO_MORE: it says nothing more. */
static int read_line(struct credential_witness *w, int64_t deadline)
{
	auto_jv object = jv_invalid();
	struct sbx_error ignored = SBX_ERROR_INIT;
	struct pollfd fd = {.fd = w->out, .events = POLLIN};
	int64_t status = 0;

	while (w->line_len == 0 || w->line[w->line_len - 1] != '\n') {
		if (w->line_len == sizeof w->line)
			return NO_MORE;
		if (poll(&fd, 1, clock_left_ms(deadline)) == 0)
			return NOT_YET;
		ssize_t n = read(w->out, w->line + w->line_len, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return NO_MORE;
		w->line_len++;
	}
	int parsed = json_parse(w->line, w->line_len, sizeof w->line, &object, &ignored);
	w->line_len = 0;
	if (parsed < 0 || json_int(object, "status", &status) < 0 || status < 0 || status > 999)
		return NO_MORE;
	if (status == NO_ANSWER)
		cannot(w, json_str(object, "code") != NULL ? json_str(object, "code") : "witness_failed");
	return (int)status;
}

void credential_witness_start(struct credential_witness *w, const struct lease *lease)
{
	auto_buf request = BUF_INIT(REQUEST_MAX);
	struct sbx_error err = SBX_ERROR_INIT;
	struct credential_field token;

	if (w->out >= 0 || w->unproven[0] != '\0' || !can_ask(lease, &token, &w->wait_ms))
		return;
	w->began = clock_mono_ms();
	if (make_request(w, lease, &request, &err) < 0 || start_witness(w, &token, &err) < 0)
		cannot(w, err.code);
	else if (io_write_all(w->in, request.data, request.len, &err) < 0)
		cannot(w, "witness_failed");
}

void credential_witness_hear(struct credential_witness *w)
{
	if (w->out >= 0 && w->unproven[0] == '\0') {
		int status = read_line(w, w->began + FIRST_MS);
		if (kube_status_is_refusal(status))
			cannot(w, "refused_before");
		else if (status == NOT_YET || status == NO_MORE)
			cannot(w, "witness_failed");
		else if (!kube_status_is_taken(status) && w->unproven[0] == '\0')
			cannot(w, "no_answer");
		w->is_taken = w->unproven[0] == '\0';
	}
	w->began = clock_mono_ms();
}

/* ---- afterwards ---- */

void credential_witness_revoked(struct credential_witness *w)
{
	base_close_fd(&w->in);
	w->ends = clock_mono_ms() + w->wait_ms + LAST_MS;
}

static jv judge(struct credential_witness *w, int status, jv outcome)
{
	if (kube_status_is_refusal(status)) {
		outcome = json_set_int(outcome, "refused", status);
		return json_set_int(outcome, "refused_ms", clock_mono_ms() - w->began);
	}
	if (kube_status_is_taken(status)) {
		cannot(w, "still_taken");
		if (w->wait_ms >= CACHE_MS)
			outcome = json_set_str(outcome, "state", "expires");
	} else if (w->unproven[0] == '\0') {
		cannot(w, status < 0 ? "witness_failed" : "no_answer");
	}
	return outcome;
}

int credential_witness_conclude(struct credential_witness *w, int64_t deadline, jv *outcome)
{
	/* Where nothing was revoked nobody was told to look. */
	if (w->is_taken && w->in < 0) {
		int status = read_line(w, deadline);
		if (status == NOT_YET && clock_left_ms(w->ends) > 0)
			return 0;
		*outcome = judge(w, status, take_jv(outcome));
	}
	if (w->unproven[0] != '\0')
		*outcome = json_set_str(take_jv(outcome), "unproven", w->unproven);
	return 1;
}

void credential_witness_leave(struct credential_witness *w)
{
	base_close_fd(&w->child.pidfd);
	w->child = (struct child)CHILD_NONE;
}

void credential_witness_clear(struct credential_witness *w)
{
	spawn_kill(&w->child);
	base_close_fd(&w->in);
	base_close_fd(&w->out);
	*w = (struct credential_witness)CREDENTIAL_WITNESS_INIT;
}
