/* What comes back: the body and two headers, or what went wrong. */
#include "http_exchange.h"

#include <stdio.h>
#include <string.h>

#include "io.h"

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

int http_answer_listen(struct http_exchange *x)
{
	return curl_easy_setopt(x->easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
			       curl_easy_setopt(x->easy, CURLOPT_WRITEDATA, x) == CURLE_OK &&
			       curl_easy_setopt(x->easy, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
			       curl_easy_setopt(x->easy, CURLOPT_HEADERDATA, x) == CURLE_OK &&
			       curl_easy_setopt(x->easy, CURLOPT_ERRORBUFFER, x->words) == CURLE_OK
		       ? 0
		       : -1;
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

void http_answer_broken(struct http_exchange *x, CURLcode code)
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
