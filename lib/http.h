/* HTTPS with one server, several exchanges side by side, by libcurl. No redirect is followed, no
 * proxy, no environment and no file of the caller's is looked at, and every answer has a maximum. An exchange is
 * started, the client is turned until it is done, and its owner looks at it; nothing blocks but http_turn. */
#ifndef SBX_HTTP_H
#define SBX_HTTP_H

#include <poll.h>
#include <stdint.h>

#include "buf.h"
#include "secret.h"

/* Who the server must be and who we are. All is borrowed and must outlive the client. */
struct http_identity {
	const char *server;	  /* "https://HOST[:PORT][/PREFIX]", without a slash at its end */
	const char *socket;	  /* path of a Unix socket that leads there, in the clear: SERVER is "http://…" then;
				   * NULL: none */
	const struct buf *ca;	  /* PEM; empty: the machine's own list of authorities */
	const struct buf *cert;	  /* PEM of our certificate; empty: none */
	const struct secret *key; /* PEM; empty: none */
	const struct secret *token; /* bearer token; empty: none */
};

/* Load what HTTPS needs, some milliseconds, before there is anything to ask; http_new does it otherwise. */
void http_load(void);

struct http;

/* "bad_server" (78) for another scheme than https (with a socket: http) or a character that no address has;
 * "no_memory". Nothing is sent. */
struct http *http_new(const struct http_identity *identity, struct sbx_error *err);
void http_free(struct http *client); /* NULL is fine; its exchanges must have been ended */

/* Takes the bytes of an answer of status 200 as they come. 0; HTTP_FULL: not now, and the same bytes come again after
 * http_resume; -1 ends the exchange with its error. */
#define HTTP_FULL 1
typedef int http_sink(void *context, const char *bytes, size_t len, struct sbx_error *err);

struct http_request {
	const char *method;	  /* "GET", "POST", "DELETE" */
	const char *path;	  /* behind the server: "/api/v1/…?…", percent-encoded where need be */
	const char *content_type; /* of the body; NULL: there is none */
	const char *accept;	  /* NULL: "application/json" */
	const void *body; /* borrowed until the exchange ends; may be a secret's bytes: it is not copied by us */
	size_t body_len;
	int64_t deadline;	    /* clock_mono_ms for the whole of it; -1: none, for an answer that never ends */
	size_t max;		    /* most bytes of the answer's body that are kept: more is "too_large" (76) */
	const char *const *headers; /* more lines "Name: value", the last one NULL; NULL: none */
	const struct secret *secret_header; /* one more, with its NUL; borrowed until the exchange ends; NULL: none */
	struct secret *answer; /* empty: gets the body, whatever its status, and http_body stays empty; NULL: no */
	/* HTTP_ONCE: the server gets this at most once. (On a connection that was used before, libcurl sends a request
	 * again when that ends without a byte of answer, though the server may have done it.) */
	enum http_repeat { HTTP_MAY_REPEAT, HTTP_ONCE } repeat;
	http_sink *sink; /* NULL: the body is kept */
	void *context;
};

struct http_exchange;
enum http_state {
	HTTP_RUNNING,
	HTTP_ANSWERED, /* a whole answer, of whatever status */
	HTTP_BROKEN,   /* none, or not all of it */
};

/* Begin. The exchange is the caller's: http_end gives it back, and cuts it off where it still runs. */
struct http_exchange *http_start(struct http *client, const struct http_request *request, struct sbx_error *err);
void http_end(struct http_exchange *exchange);	  /* NULL is fine */
void http_resume(struct http_exchange *exchange); /* after HTTP_FULL; else nothing */

enum http_state http_state(const struct http_exchange *exchange);
int http_status(const struct http_exchange *exchange); /* 0 while no answer has begun */
/* Body as kept (that of an error also where there is a sink); the text of the first Warning header, "" without one;
 * what Retry-After asks for, in milliseconds, 0 without one. */
const struct buf *http_body(const struct http_exchange *exchange);
const char *http_warning(const struct http_exchange *exchange);
int64_t http_retry_ms(const struct http_exchange *exchange);
/* Of one that is broken: "server_unreachable", "server_timeout", "server_cut" (69), "server_not_trusted" (78),
 * "too_large" (76), or the sink's. */
const struct sbx_error *http_trouble(const struct http_exchange *exchange);

/* Serve all exchanges of CLIENT until something happened on one of them or on the COUNT descriptors MORE (their revents
 * are filled), at most TIMEOUT_MS. */
int http_turn(struct http *client, struct pollfd *more, size_t count, int timeout_ms, struct sbx_error *err);

/* Turn until EXCHANGE is no longer running. */
int http_finish(struct http *client, struct http_exchange *exchange, struct sbx_error *err);

/* PATH-safe form of TEXT: everything but unreserved characters (RFC 3986, 2.3) percent-encoded, appended. */
int http_add_escaped(struct buf *path, const char *text, struct sbx_error *err);

#endif
