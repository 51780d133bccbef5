/* libcurl's multi interface behind exchanges that the caller owns. */
#include "http.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "io.h"

static const long connect_ms = 10000; /* of every exchange, inside the deadline that it may have */
/* A peer that is gone without a word is noticed also on an answer that never ends: after these and the kernel's own
 * count of probes, on Linux 10 + 9 * 5 s. */
static const long keep_idle_s = 10, keep_interval_s = 5;
/* What an answer of another status than 200 may say for itself where the body has a sink. */
static const size_t complaint_max = (size_t)64 << 10;
/* A connection that was idle for longer may have been closed without our knowing, and then a request that may not be
 * sent again is lost with it. */
static const int64_t fresh_ms = 1000;
enum { WARNING_MAX = 1024, MORE_MAX = 8 };

struct http {
	CURLM *multi;
	const struct http_identity *identity;
	int moved;	  /* bytes came in this turn */
	int64_t answered; /* clock_mono_ms of the last whole answer */
};

struct http_exchange {
	struct http *client;
	CURL *easy;
	struct curl_slist *headers;
	struct curl_slist secret_header; /* before them; its text is the caller's */
	struct secret *answer;
	http_sink *sink;
	void *context;
	const char *unsent; /* of the body of a request that must not be sent again */
	size_t unsent_len;
	int is_sent; /* some of it was */
	struct buf body;
	char warning[WARNING_MAX];
	int64_t retry_ms;
	int paused;
	enum http_state state;
	char words[CURL_ERROR_SIZE]; /* of libcurl, for what its code does not tell apart */
	struct sbx_error trouble;
};

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

/* --- what libcurl calls --- */

static size_t on_body(char *bytes, size_t one, size_t len, void *context)
{
	struct http_exchange *x = context;
	long status = 0;

	(void)one;
	x->client->moved = 1;
	curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
	int taken = x->sink != NULL && status == 200 ? x->sink(x->context, bytes, len, &x->trouble)
		    : x->answer != NULL		     ? secret_append(x->answer, bytes, len, &x->trouble)
						     : buf_add(&x->body, bytes, len, &x->trouble);
	x->paused = taken == HTTP_FULL;
	if (taken >= 0)
		return x->paused ? CURL_WRITEFUNC_PAUSE : len;
	if (strcmp(x->trouble.code, "too_large") == 0) {
		sbx_error_clear(&x->trouble);
		sbx_fail(&x->trouble, SBX_PROTOCOL, "too_large", "the server's answer is larger than it may be");
	}
	return 0;
}

/* The text of `299 - "TEXT"` (RFC 9111, 5.5). */
static void keep_warning(struct http_exchange *x, const char *value, size_t len)
{
	const char *begin = memchr(value, '"', len), *end = value + len;

	while (end > value && end[-1] != '"')
		end--;
	if (begin == NULL || end <= begin + 1 || x->warning[0] != '\0')
		return;
	snprintf(x->warning, sizeof x->warning, "%.*s", (int)(end - begin - 2), begin + 1);
}

static size_t on_header(char *line, size_t one, size_t len, void *context)
{
	static const char warning[] = "warning:", retry[] = "retry-after:";
	struct http_exchange *x = context;
	char number[16];
	uint64_t seconds;

	(void)one;
	if (len > sizeof warning && strncasecmp(line, warning, sizeof warning - 1) == 0)
		keep_warning(x, line + sizeof warning - 1, len - (sizeof warning - 1));
	if (len > sizeof retry && strncasecmp(line, retry, sizeof retry - 1) == 0) {
		snprintf(number, sizeof number, "%.*s", (int)(len - (sizeof retry - 1)), line + sizeof retry - 1);
		const char *digits = number + strspn(number, " ");
		number[strcspn(number, "\r\n")] = '\0';
		if (io_parse_u64(digits, 0, 3600, &seconds) == 0)
			x->retry_ms = (int64_t)seconds * 1000;
	}
	return len;
}

/* --- an exchange --- */

static int add_header(struct http_exchange *x, const char *name, const char *value)
{
	char line[256];

	if (snprintf(line, sizeof line, "%s: %s", name, value) >= (int)sizeof line)
		return -1;
	struct curl_slist *longer = curl_slist_append(x->headers, line);
	if (longer == NULL)
		return -1;
	x->headers = longer;
	return 0;
}

static int set_headers(struct http_exchange *x, const struct http_request *request)
{
	if (add_header(x, "Accept", request->accept != NULL ? request->accept : "application/json") < 0)
		return -1;
	if (request->content_type != NULL && add_header(x, "Content-Type", request->content_type) < 0)
		return -1;
	/* A body of some kilobytes would otherwise wait for the server's leave. */
	struct curl_slist *longer = curl_slist_append(x->headers, "Expect:");
	if (longer == NULL)
		return -1;
	x->headers = longer;
	struct curl_slist *first = x->headers;
	for (size_t i = 0; request->headers != NULL && request->headers[i] != NULL; i++) {
		longer = curl_slist_append(x->headers, request->headers[i]);
		if (longer == NULL)
			return -1;
	}
	if (request->secret_header != NULL) {
		x->secret_header =
			(struct curl_slist){.data = (char *)request->secret_header->data, .next = x->headers};
		first = &x->secret_header;
	}
	return curl_easy_setopt(x->easy, CURLOPT_HTTPHEADER, first) == CURLE_OK ? 0 : -1;
}

static CURLcode set_blob(CURL *easy, CURLoption option, const void *data, size_t len)
{
	struct curl_blob blob = {.data = (void *)data, .len = len, .flags = CURL_BLOB_NOCOPY};

	return len > 0 ? curl_easy_setopt(easy, option, &blob) : CURLE_OK;
}

static int set_identity(CURL *easy, const struct http_identity *id)
{
	static const struct buf none = BUF_INIT(0);
	const struct buf *ca = id->ca != NULL ? id->ca : &none, *cert = id->cert != NULL ? id->cert : &none;

	if (curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) != CURLE_OK ||
	    set_blob(easy, CURLOPT_CAINFO_BLOB, ca->data, ca->len) != CURLE_OK)
		return -1;
	/* A named authority is the only one: none of the machine's besides it. */
	if (ca->len > 0 && curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) != CURLE_OK)
		return -1;
	if (cert->len > 0 &&
	    (id->key == NULL || set_blob(easy, CURLOPT_SSLCERT_BLOB, cert->data, cert->len) != CURLE_OK ||
	     set_blob(easy, CURLOPT_SSLKEY_BLOB, id->key->data, id->key->len) != CURLE_OK))
		return -1;
	if (id->token == NULL || id->token->len == 0)
		return 0;
	/* libcurl wants a string and keeps a copy, which is wiped by nobody; the process is short-lived and not
	 * dumpable. */
	auto_secret text = SECRET_INIT;
	struct sbx_error ignored = SBX_ERROR_INIT;
	if (secret_alloc(&text, id->token->len + 1, &ignored) < 0 ||
	    secret_append(&text, id->token->data, id->token->len, &ignored) < 0 ||
	    secret_append(&text, "", 1, &ignored) < 0)
		return -1;
	return curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER) == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, (const char *)text.data) == CURLE_OK
		       ? 0
		       : -1;
}

static int set_url(struct http_exchange *x, const char *path)
{
	auto_free char *url = NULL;

	if (asprintf(&url, "%s%s", x->client->identity->server, path) < 0) {
		url = NULL;
		return -1;
	}
	return curl_easy_setopt(x->easy, CURLOPT_URL, url) == CURLE_OK ? 0 : -1;
}

static size_t on_send(char *out, size_t one, size_t size, void *context)
{
	struct http_exchange *x = context;
	size_t len = one * size < x->unsent_len ? one * size : x->unsent_len;

	memcpy(out, x->unsent, len);
	x->is_sent = 1;
	x->unsent += len;
	x->unsent_len -= len;
	return len;
}

/* A body that is read once cannot be sent again: on a connection that was used before, libcurl then gives up
 * (CURLE_SEND_FAIL_REWIND) where it would try another one. A server does nothing before it has the whole body. */
static int set_body_once(struct http_exchange *x, const struct http_request *request)
{
	x->unsent = request->body;
	x->unsent_len = request->body_len;
	return curl_easy_setopt(x->easy, CURLOPT_POST, 1L) == CURLE_OK &&
			       curl_easy_setopt(x->easy, CURLOPT_READFUNCTION, on_send) == CURLE_OK &&
			       curl_easy_setopt(x->easy, CURLOPT_READDATA, x) == CURLE_OK
		       ? 0
		       : -1;
}

static int set_body(struct http_exchange *x, const struct http_request *request)
{
	CURL *easy = x->easy;
	int is_once = request->repeat == HTTP_ONCE;
	/* Without a body nothing but a connection of its own keeps libcurl from sending it again. */
	int is_read_once = is_once && request->body_len > 0 && clock_mono_ms() - x->client->answered < fresh_ms;

	if (curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, is_once && !is_read_once ? 1L : 0L) != CURLE_OK)
		return -1;
	if (request->body == NULL)
		return curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method) == CURLE_OK ? 0 : -1;
	if (is_read_once ? set_body_once(x, request) < 0
			 : curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body) != CURLE_OK)
		return -1;
	return curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len) == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method) == CURLE_OK
		       ? 0
		       : -1;
}

static int set_times(CURL *easy, const struct http_request *request)
{
	long all = request->deadline < 0 ? 0 : clock_left_ms(request->deadline);

	if (request->deadline >= 0 && all == 0)
		all = 1; /* 0 means no limit */
	return curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, all) == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms) == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L) == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, keep_idle_s) == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, keep_interval_s) == CURLE_OK
		       ? 0
		       : -1;
}

static int set_behaviour(struct http_exchange *x)
{
	CURL *easy = x->easy;

	const char *socket = x->client->identity->socket;

	return curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, socket != NULL ? "http" : "https") == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, socket) == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS) == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L) == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_USERAGENT, "sbx/" SBX_VERSION) == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_WRITEDATA, x) == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_HEADERDATA, x) == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, x->words) == CURLE_OK &&
			       curl_easy_setopt(easy, CURLOPT_PRIVATE, x) == CURLE_OK
		       ? 0
		       : -1;
}

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
	if (set_url(x, request->path) < 0 || set_behaviour(x) < 0 || set_identity(x->easy, client->identity) < 0 ||
	    set_times(x->easy, request) < 0 || set_body(x, request) < 0 || set_headers(x, request) < 0 ||
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

/* A connection that ends while its handshake goes on (a server, or what stands before it, that starts or ends) has the same
 * code as a peer that is not the one: the words alone tell. Others than these are those of a peer. */
static int is_cut_handshake(const struct http_exchange *x)
{
	static const char *const ends[] = {"SSL_ERROR_SYSCALL", "reset by peer", "unexpected eof", "Broken pipe"};

	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (strstr(x->words, ends[i]) != NULL)
			return 1;
	return 0;
}

static void note_broken(struct http_exchange *x, CURLcode code)
{
	struct sbx_error *err = &x->trouble;

	x->state = HTTP_BROKEN;
	/* libcurl goes to a server whose connection has ended once more, and then says what became of that, though the
	 * first one may have had the whole request. */
	if (x->is_sent && code != CURLE_OPERATION_TIMEDOUT) {
		sbx_fail(err, SBX_UNAVAILABLE, "server_cut", "the server's answer was cut off: %s",
			 curl_easy_strerror(code));
		return;
	}
	/* Nothing was asked yet. */
	if (code == CURLE_SSL_CONNECT_ERROR && is_cut_handshake(x)) {
		sbx_fail(err, SBX_UNAVAILABLE, "server_unreachable", "the server ended the connection before it could be asked");
		return;
	}
	switch ((int)code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
		sbx_fail(err, SBX_UNAVAILABLE, "server_unreachable", "the server cannot be reached");
		break;
	case CURLE_OPERATION_TIMEDOUT:
		sbx_fail(err, SBX_UNAVAILABLE, "server_timeout", "the server did not answer in time");
		break;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CIPHER:
		sbx_fail(err, SBX_CONFIG, "server_not_trusted", "no trusted connection with the server: %s",
			 curl_easy_strerror(code));
		break;
	default:
		sbx_fail(err, SBX_UNAVAILABLE, "server_cut", "the server's answer was cut off: %s",
			 curl_easy_strerror(code));
	}
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
			note_broken(x, message->data.result);
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
