/* libcurl's multi interface behind exchanges that the caller owns. */
#include "http_exchange.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"

/* What an answer of another status than 200 may say for itself where the body has a sink. */
static const size_t complaint_max = (size_t)64 << 10;
enum { MORE_MAX = 8 };

static int no_memory(struct sbx_error *err)
{
	return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
}

static int is_server(const char *server, const char *scheme)
{
	size_t len = strlen(server), start = strlen(scheme);

	if (strncmp(server, scheme, start) != 0 || len == start || server[len - 1] == '/')
		return 0;
	for (const char *p = server; *p != '\0'; p++)
		/* '@' would put a name and a password into it; '?' and '#' would end the path that we append. */
		if (*p <= 0x20 || *p >= 0x7f || strchr("\"\\@?#<>", *p) != NULL)
			return 0;
	return 1;
}

void http_load(void)
{
	/* Once more it costs nothing, and says what is wrong. */
	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

struct http *http_new(const struct http_identity *identity, struct sbx_error *err)
{
	if (identity->server == NULL ||
	    !is_server(identity->server, identity->socket != NULL ? "http://" : "https://")) {
		sbx_fail(err, SBX_CONFIG, "bad_server", "the server's address is not https://HOST:PORT");
		return NULL;
	}
	struct http *client = calloc(1, sizeof *client);
	if (client == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
	    (client->multi = curl_multi_init()) == NULL) {
		free(client);
		no_memory(err);
		return NULL;
	}
	client->identity = identity;
	client->answered = INT64_MIN / 2;
	curl_multi_setopt(client->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
	return client;
}

void http_free(struct http *client)
{
	if (client == NULL)
		return;
	curl_multi_cleanup(client->multi);
	free(client);
}

/* --- an exchange --- */

struct http_exchange *http_start(struct http *client, const struct http_request *request, struct sbx_error *err)
{
	struct http_exchange *x = calloc(1, sizeof *x);

	if (x == NULL || (x->easy = curl_easy_init()) == NULL) {
		free(x);
		no_memory(err);
		return NULL;
	}
	x->client = client;
	x->sink = request->sink;
	x->context = request->context;
	x->answer = request->answer;
	if (x->answer != NULL && secret_alloc(x->answer, request->max, err) < 0) {
		http_end(x);
		return NULL;
	}
	x->body = (struct buf)BUF_INIT(request->sink != NULL ? complaint_max : request->max);
	if (http_options_set(x, request) < 0 || http_answer_listen(x) < 0 ||
	    curl_multi_add_handle(client->multi, x->easy) != CURLM_OK) {
		http_end(x);
		no_memory(err);
		return NULL;
	}
	return x;
}

void http_end(struct http_exchange *x)
{
	if (x == NULL)
		return;
	curl_multi_remove_handle(x->client->multi, x->easy);
	curl_easy_cleanup(x->easy);
	curl_slist_free_all(x->headers);
	buf_clear(&x->body);
	free(x);
}

void http_resume(struct http_exchange *x)
{
	if (!x->paused)
		return;
	x->paused = 0;
	curl_easy_pause(x->easy, CURLPAUSE_CONT);
}

enum http_state http_state(const struct http_exchange *x)
{
	return x->state;
}

int http_status(const struct http_exchange *x)
{
	long status = 0;

	curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
	return (int)status;
}

const struct buf *http_body(const struct http_exchange *x)
{
	return &x->body;
}

const char *http_warning(const struct http_exchange *x)
{
	return x->warning;
}

int64_t http_retry_ms(const struct http_exchange *x)
{
	return x->retry_ms;
}

const struct sbx_error *http_trouble(const struct http_exchange *x)
{
	return &x->trouble;
}

static int note_done(struct http *client)
{
	int left, done = 0;

	for (CURLMsg *message; (message = curl_multi_info_read(client->multi, &left)) != NULL;) {
		char *private = NULL;
		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
		struct http_exchange *x = (struct http_exchange *)(void *)private;
		if (message->data.result == CURLE_OK) {
			x->state = HTTP_ANSWERED;
			client->answered = clock_mono_ms();
		} else {
			http_answer_broken(x, message->data.result);
		}
		done++;
	}
	return done;
}

int http_turn(struct http *client, struct pollfd *more, size_t count, int timeout_ms, struct sbx_error *err)
{
	struct curl_waitfd fds[MORE_MAX];
	int running = 0;

	/* What was just added is sent before we wait; what that ended, or brought, the caller is to see first. */
	client->moved = 0;
	if (curl_multi_perform(client->multi, &running) != CURLM_OK)
		return sbx_fail(err, SBX_OS, "os_error", "cannot serve the connection");
	if (note_done(client) > 0 || client->moved)
		timeout_ms = 0;
	for (size_t i = 0; i < count && i < MORE_MAX; i++) {
		/* A descriptor that nobody waits for would wake us all the time when its peer has gone. */
		fds[i] = (struct curl_waitfd){.fd = more[i].fd,
					      .events = (short)((more[i].events & POLLIN ? CURL_WAIT_POLLIN : 0) |
								(more[i].events & POLLOUT ? CURL_WAIT_POLLOUT : 0))};
		more[i].revents = 0;
	}
	if (curl_multi_poll(client->multi, fds, (unsigned)count, timeout_ms, NULL) != CURLM_OK)
		return sbx_fail(err, SBX_OS, "os_error", "cannot wait");
	if (count > 0 && poll(more, (nfds_t)count, 0) < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot wait");
	if (curl_multi_perform(client->multi, &running) != CURLM_OK)
		return sbx_fail(err, SBX_OS, "os_error", "cannot serve the connection");
	note_done(client);
	return 0;
}

int http_finish(struct http *client, struct http_exchange *x, struct sbx_error *err)
{
	while (x->state == HTTP_RUNNING)
		if (http_turn(client, NULL, 0, 1000, err) < 0)
			return -1;
	return 0;
}

int http_add_escaped(struct buf *path, const char *text, struct sbx_error *err)
{
	static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

	for (const char *p = text; *p != '\0'; p++) {
		int plain = strchr(unreserved, *p) != NULL;
		if ((plain ? buf_add(path, p, 1, err) : buf_addf(path, err, "%%%02X", (unsigned char)*p)) < 0)
			return -1;
	}
	return 0;
}
