/* What libcurl is told of a request: nothing is left to what it does by itself. */
#include "http_exchange.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"

static const long connect_ms = 10000; /* of every exchange, inside the deadline that it may have */
/* A peer that is gone without a word is noticed also on an answer that never ends: after these and the kernel's own
 * count of probes, on Linux 10 + 9 * 5 s. */
static const long keep_idle_s = 10, keep_interval_s = 5;
/* A connection that was idle for longer may have been closed without our knowing, and then a request that may not be
 * sent again is lost with it. */
static const int64_t fresh_ms = 1000;

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
			       curl_easy_setopt(easy, CURLOPT_PRIVATE, x) == CURLE_OK
		       ? 0
		       : -1;
}

int http_options_set(struct http_exchange *x, const struct http_request *request)
{
	return set_url(x, request->path) < 0 || set_behaviour(x) < 0 || set_identity(x->easy, x->client->identity) < 0 ||
			       set_times(x->easy, request) < 0 || set_body(x, request) < 0 || set_headers(x, request) < 0
		       ? -1
		       : 0;
}
