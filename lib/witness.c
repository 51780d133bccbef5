/* One question to an API server. */
#include "witness.h"

#include <fcntl.h>
#include <string.h>

#include "io.h"
#include "permission.h"

enum { ANSWER_MAX = 256 * 1024 };

/* Of what is there the names alone: what stands in the objects is none of our business. */
static const char names_alone[] = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
static const char nobody[] = "sbx-witness"; /* a name that no object has */

/* GET PATH: its status, its body into BODY unless that is NULL. */
static int get(const struct witness *witness, const char *path, const char *accept, int64_t deadline, struct buf *body,
	       struct sbx_error *err)
{
	const struct http_request request = {
		.method = "GET", .path = path, .accept = accept, .deadline = deadline, .max = ANSWER_MAX};
	struct http_exchange *x = http_start(witness->http, &request, err);
	int status = -1;

	if (x == NULL)
		return -1;
	if (http_finish(witness->http, x, err) == 0) {
		if (http_state(x) == HTTP_ANSWERED)
			status = http_status(x);
		else
			*err = *http_trouble(x);
	}
	if (status >= 0 && body != NULL) {
		const struct buf *got = http_body(x);
		if (buf_add(body, buf_str(got), got->len, err) < 0)
			status = -1;
	}
	http_end(x);
	return status;
}

/* "/api/v1" or "/apis/GROUP/VERSION", the version being the one that the server prefers. */
static int add_group(struct witness *witness, const struct permission *look, int64_t deadline, struct sbx_error *err)
{
	auto_buf path = BUF_INIT(WITNESS_PATH_MAX), body = BUF_INIT(ANSWER_MAX);
	struct sbx_error why = SBX_ERROR_INIT;
	auto_jv group = jv_invalid();

	if (look->group[0] == '\0')
		return buf_add_str(&witness->path, "/api/v1", err);
	if (buf_addf(&path, err, "/apis/%s", look->group) < 0)
		return -1;
	int status = get(witness, buf_str(&path), NULL, deadline, &body, err);
	if (status < 0)
		return -1;
	json_parse_foreign(buf_str(&body), body.len, body.max, &group, &why);
	auto_jv preferred = json_object(group, "preferredVersion");
	const char *version = json_str(preferred, "groupVersion");
	if (status != 200 || version == NULL)
		return sbx_fail(err, SBX_UNAVAILABLE, "witness_discovery",
				"the API server does not say which version of a group it has");
	if (strspn(version, "abcdefghijklmnopqrstuvwxyz0123456789.-/") != strlen(version))
		return sbx_fail(err, SBX_PROTOCOL, "witness_discovery", "the API server names no version");
	return buf_addf(&witness->path, err, "/apis/%s", version);
}

/* RESOURCE or RESOURCE/SUBRESOURCE of the namespace: one object that is not there, or the names of a list. */
static int add_resource(struct witness *witness, const struct permission *look, const char *namespace,
			struct sbx_error *err)
{
	const char *slash = strchr(look->resource, '/');
	int name = (int)strcspn(look->resource, "/");

	if (buf_add_str(&witness->path, "/namespaces/", err) < 0 ||
	    http_add_escaped(&witness->path, namespace, err) < 0 ||
	    buf_addf(&witness->path, err, "/%.*s", name, look->resource) < 0)
		return -1;
	if (strcmp(look->verb, "list") == 0 && slash == NULL) {
		witness->accept = names_alone;
		return buf_add_str(&witness->path, "?limit=1", err);
	}
	return buf_addf(&witness->path, err, "/%s%s", nobody, slash != NULL ? slash : "");
}

static int read_ca(struct witness *witness, jv request, struct sbx_error *err)
{
	const char *path = json_str(request, "ca_file");
	auto_free char *text = NULL;
	size_t len;

	if (path == NULL)
		return 0;
	if (io_read_file(AT_FDCWD, path, WITNESS_CA_MAX - 1, IO_TRUSTED, &text, &len, err) < 0)
		return -1;
	return buf_add(&witness->ca, text, len, err);
}

int witness_open(struct witness *witness, jv request, const struct secret *token, int64_t deadline,
		 struct sbx_error *err)
{
	const char *server = json_str(request, "server"), *namespace = json_str(request, "namespace");
	auto_jv words = json_array(request, "permissions");
	struct permission look;

	if (server == NULL || namespace == NULL || permission_find_look(words, &look) < 0)
		return sbx_fail(err, SBX_BAD_REQUEST, "bad_request",
				"the request has no server, no namespace, or no permission to get or list");
	if (read_ca(witness, request, err) < 0)
		return -1;
	witness->identity = (struct http_identity){.server = server, .ca = &witness->ca, .token = token};
	witness->http = http_new(&witness->identity, err);
	return witness->http == NULL || add_group(witness, &look, deadline, err) < 0
		       ? -1
		       : add_resource(witness, &look, namespace, err);
}

int witness_ask(const struct witness *witness, int64_t deadline, struct sbx_error *err)
{
	return get(witness, buf_str(&witness->path), witness->accept, deadline, NULL, err);
}

void witness_clear(struct witness *witness)
{
	http_free(witness->http);
	buf_clear(&witness->ca);
	buf_clear(&witness->path);
	witness->http = NULL;
}
