/* What the modules of http share about a client and its exchanges: the only includer of curl.h. */
#ifndef SBX_HTTP_EXCHANGE_H
#define SBX_HTTP_EXCHANGE_H

#include "http.h"

#include <curl/curl.h>

enum { HTTP_WARNING_MAX = 1024 };

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
	char warning[HTTP_WARNING_MAX];
	int64_t retry_ms;
	int paused;
	enum http_state state;
	char words[CURL_ERROR_SIZE]; /* of libcurl, for what its code does not tell apart */
	struct sbx_error trouble;
};

/* Tell libcurl of X, which is new and has its client, all that REQUEST and the client's identity say (http_options.c). -1:
 * out of memory. */
int http_options_set(struct http_exchange *x, const struct http_request *request);

/* Have libcurl give X what the server answers (http_answer.c). */
int http_answer_listen(struct http_exchange *x);

/* X ended with CODE, which is not CURLE_OK: it is broken, and its trouble says by what. */
void http_answer_broken(struct http_exchange *x, CURLcode code);

#endif
