/* The program of a credential provider: options, one request in, one answer out, secrets by a pipe of their own
 * (sbx-helper(7)). */
#ifndef SBX_PROVIDER_H
#define SBX_PROVIDER_H

#include "json.h"
#include "secret.h"
#include "start.h"

enum { PROVIDER_REQUEST_MAX = 256 * 1024 };

struct provider {
	const char *name;
	struct started started;
	int secret_fd;	 /* -1 for a verb that gives none */
	const int *kept; /* it, and those of --lock-fd */
	size_t kept_count;
};

struct provider_verb {
	const char *word;
	int (*run)(const struct provider *provider, struct sbx_error *err); /* exit status, or -1 */
	enum provider_gives { PROVIDER_GIVES_NONE, PROVIDER_GIVES_SECRET } gives;
};

/* All of main: read the options (those of sbx-helper(7), --help with USAGE, --version), start, run the verb, say its
 * error on both outputs. Returns the exit status. A verb that ran ends the process at once, without what libraries have
 * for that: to free all that OpenSSL made takes as long as a request, and who called waits for the end. */
int provider_main(const char *name, const char *usage, const struct provider_verb *verbs, size_t count, int argc,
		  char **argv);

/* The one object on standard input, or in a text; the caller's. "bad_request" (65) when it has no lease. */
int provider_read_request(jv *request, struct sbx_error *err);
int provider_parse_request(const char *text, size_t len, jv *request, struct sbx_error *err);

/* One secret field, by the pipe; and the answer, by standard output, consumed. */
int provider_give(const struct provider *provider, const char *field, const struct secret *value,
		  struct sbx_error *err);
int provider_reply(const struct provider *provider, jv answer, struct sbx_error *err);

#endif
