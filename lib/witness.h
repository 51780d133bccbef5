/* Whether a Kubernetes API server takes a token: one request that reads as little as can be, again and again. What its
 * status says is in kube_status.h. */
#ifndef SBX_WITNESS_H
#define SBX_WITNESS_H

#include "http.h"
#include "json.h"

struct witness {
	struct buf ca;
	struct http_identity identity;
	struct http *http;
	struct buf path; /* of the request */
	const char *accept;
};
#define WITNESS_INIT                                                                                                   \
	{                                                                                                              \
		.ca = BUF_INIT(WITNESS_CA_MAX), .path = BUF_INIT(WITNESS_PATH_MAX)                                     \
	}
#define WITNESS_CA_MAX ((size_t)256 << 10)
#define WITNESS_PATH_MAX ((size_t)1024)

/* REQUEST is {"server", "ca_file", "namespace", "permissions"}; of the permissions (permission.h) the first one is used
 * that gets or lists. The group's version is asked of the server, before DEADLINE (clock_mono_ms). TOKEN is borrowed
 * until _clear, and WITNESS stays where it is. "bad_request" (65) when there is nothing to ask, those of http.h and
 * io.h, "witness_discovery" (69). */
int witness_open(struct witness *witness, jv request, const struct secret *token, int64_t deadline,
		 struct sbx_error *err);

/* The status of the answer; -1 when there was none before DEADLINE, with what http.h says. */
int witness_ask(const struct witness *witness, int64_t deadline, struct sbx_error *err);

void witness_clear(struct witness *witness);
#define auto_witness __attribute__((cleanup(witness_clear))) struct witness

#endif
