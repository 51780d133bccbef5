/* Three walks over one text: the context's cluster and user, then the positions of these, then their members. The
 * secrets among them go straight from the lexer into locked memory. */
#include "kubeconfig.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base64_secret.h"
#include "io.h"
#include "limit.h"
#include "yaml_walk.h"

static const size_t file_max = (size_t)1 << 20;
#define IN_CLUSTER_DIR "/var/run/secrets/kubernetes.io/serviceaccount/..data/"
static const char in_cluster_ca[] = IN_CLUSTER_DIR "ca.crt", in_cluster_token[] = IN_CLUSTER_DIR "token";
static const char in_cluster_server[] = "https://kubernetes.default.svc";

static int bad(struct sbx_error *err, const char *format, ...) SBX_PRINTF(2, 3);
static int bad(struct sbx_error *err, const char *format, ...)
{
	char text[256];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	return sbx_fail(err, SBX_CONFIG, "kubeconfig", "the kubeconfig file %s", text);
}

static int set_text(char **to, const char *text, struct sbx_error *err)
{
	free(*to);
	*to = strdup(text);
	return *to != NULL ? 0 : sbx_fail(err, SBX_OS, "no_memory", "out of memory");
}

/* --- which context, which cluster, which user --- */

struct names {
	char *context, *cluster, *user;	     /* wanted */
	int at_context, at_cluster, at_user; /* positions in their lists; -1: not found */
};

static void names_clear(struct names *n)
{
	free(n->context);
	free(n->cluster);
	free(n->user);
}

static int is_text(const struct yaml_item *item, const char *text)
{
	return item->token == YAML_STRING && text != NULL && strcmp(item->text, text) == 0;
}

static int find_name(int *at, const struct yaml_place *place, const char *what, struct sbx_error *err)
{
	if (*at >= 0)
		return bad(err, "has two %s of the wanted name", what);
	*at = place->index;
	return 0;
}

static int visit_names(void *context, const struct yaml_place *place, const struct yaml_item *item,
		       struct sbx_error *err)
{
	struct names *n = context;

	if (strcmp(place->path, "contexts.name") == 0 && is_text(item, n->context))
		return find_name(&n->at_context, place, "contexts", err);
	if (strcmp(place->path, "clusters.name") == 0 && is_text(item, n->cluster))
		return find_name(&n->at_cluster, place, "clusters", err);
	if (strcmp(place->path, "users.name") == 0 && is_text(item, n->user))
		return find_name(&n->at_user, place, "users", err);
	return 0;
}

static int visit_current(void *context, const struct yaml_place *place, const struct yaml_item *item,
			 struct sbx_error *err)
{
	struct names *n = context;

	return strcmp(place->path, "current-context") == 0 && item->token == YAML_STRING
		       ? set_text(&n->context, item->text, err)
		       : 0;
}

struct context_members {
	struct names *names;
	struct kube_access *access;
};

static int visit_context(void *context, const struct yaml_place *place, const struct yaml_item *item,
			 struct sbx_error *err)
{
	struct context_members *m = context;

	if (place->index != m->names->at_context || item->token != YAML_STRING)
		return 0;
	if (strcmp(place->path, "contexts.context.cluster") == 0)
		return set_text(&m->names->cluster, item->text, err);
	if (strcmp(place->path, "contexts.context.user") == 0)
		return set_text(&m->names->user, item->text, err);
	return 0;
}

/* --- members --- */

static int read_pem(const char *text, struct buf *out, struct sbx_error *err)
{
	auto_secret bytes = SECRET_INIT;

	buf_reset(out);
	return base64_read_secret(text, strlen(text), &bytes, err) < 0 ? -1 : buf_add(out, bytes.data, bytes.len, err);
}

static int whole_path(const char *path, struct sbx_error *err)
{
	if (path[0] == '/')
		return 0;
	bad(err, "names a file without its whole path");
	return sbx_hint(err, "kubectl config view --raw --minify --flatten writes one that has what such files hold in it");
}

static int read_pem_file(const char *path, struct buf *out, struct sbx_error *err)
{
	auto_free char *text = NULL;
	size_t len;

	if (whole_path(path, err) < 0)
		return -1;
	if (io_read_file(AT_FDCWD, path, KUBE_PEM_MAX, IO_TRUSTED, &text, &len, err) < 0)
		return -1;
	buf_reset(out);
	return buf_add(out, text, len, err);
}

/* A line feed at its end does not belong to a token. */
enum form { WHOLE, ONE_LINE };
static int read_secret_file(const char *path, enum form form, struct secret *out, struct sbx_error *err)
{
	if (whole_path(path, err) < 0)
		return -1;
	auto_fd fd = io_open_file(AT_FDCWD, path, IO_TRUSTED, err);
	secret_clear(out);
	if (fd < 0 || secret_read_fd(out, fd, LIMIT_SECRET, err) < 0)
		return -1;
	while (form == ONE_LINE && out->len > 0 && (out->data[out->len - 1] == '\n' || out->data[out->len - 1] == '\r'))
		out->len--;
	return 0;
}

static int set_secret(struct secret *out, const char *text, struct sbx_error *err)
{
	size_t len = strlen(text);

	secret_clear(out);
	return len == 0 ? 0 : secret_alloc(out, len, err) < 0 ? -1 : secret_append(out, text, len, err);
}

static int read_cluster(const char *member, const struct yaml_item *item, struct kube_access *access,
			struct sbx_error *err)
{
	if (strcmp(member, "insecure-skip-tls-verify") == 0)
		return item->token == YAML_BOOLEAN && item->number == 0
			       ? 0
			       : bad(err, "wants a server's certificate not to be looked at");
	if (item->token != YAML_STRING)
		return bad(err, "has a member of the cluster that is no text");
	if (strcmp(member, "server") == 0)
		return set_text(&access->server, item->text, err);
	if (strcmp(member, "certificate-authority-data") == 0)
		return read_pem(item->text, &access->ca, err);
	if (strcmp(member, "certificate-authority") == 0)
		return read_pem_file(item->text, &access->ca, err);
	return bad(err, "has \"%.60s\" in its cluster, which is not supported", member);
}

/* Members that only say how the program is shown to people have no effect. */
static int read_exec(const char *member, const struct yaml_item *item, struct kube_access *access,
		     struct sbx_error *err)
{
	static const char *const idle[] = {"installHint", "interactiveMode", "provideClusterInfo"};

	if (item->token == YAML_STRING && kube_exec_member(&access->exec, member, item->text, err) == 0)
		return 0;
	if (err->class != SBX_OK)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(idle); i++)
		if (strcmp(member, idle[i]) == 0)
			return 0;
	return bad(err, "has \"exec.%.60s\" in its user, which is not supported", member);
}

static int read_user(const char *member, const struct yaml_item *item, struct kube_access *access,
		     struct sbx_error *err)
{
	static const char exec[] = "exec.";

	if (strncmp(member, exec, sizeof exec - 1) == 0)
		return read_exec(member + sizeof exec - 1, item, access, err);
	if (strncmp(member, "auth-provider.", 14) == 0) {
		bad(err, "gets its credential from another program, which is refused");
		return sbx_hint(err, "give sbx a user of its own with a certificate or a token: cluster/ says which "
				     "rights it needs");
	}
	if (item->token != YAML_STRING)
		return bad(err, "has a member of the user that is no text");
	if (strcmp(member, "token") == 0)
		return set_secret(&access->token, item->text, err);
	if (strcmp(member, "tokenFile") == 0)
		return read_secret_file(item->text, ONE_LINE, &access->token, err);
	if (strcmp(member, "client-certificate-data") == 0)
		return read_pem(item->text, &access->cert, err);
	if (strcmp(member, "client-certificate") == 0)
		return read_pem_file(item->text, &access->cert, err);
	if (strcmp(member, "client-key-data") == 0) {
		secret_clear(&access->key);
		return base64_read_secret(item->text, strlen(item->text), &access->key, err);
	}
	if (strcmp(member, "client-key") == 0)
		return read_secret_file(item->text, WHOLE, &access->key, err);
	return bad(err, "has \"%.60s\" in its user, which is not supported", member);
}

static int visit_members(void *context, const struct yaml_place *place, const struct yaml_item *item,
			 struct sbx_error *err)
{
	static const char cluster[] = "clusters.cluster.", user[] = "users.user.", extensions[] = "extensions.";
	struct context_members *m = context;

	if (place->index == m->names->at_cluster && strncmp(place->path, cluster, sizeof cluster - 1) == 0) {
		const char *member = place->path + sizeof cluster - 1;
		return strncmp(member, extensions, sizeof extensions - 1) == 0
			       ? 0
			       : read_cluster(member, item, m->access, err);
	}
	if (place->index == m->names->at_user && strncmp(place->path, user, sizeof user - 1) == 0) {
		const char *member = place->path + sizeof user - 1;
		return strncmp(member, extensions, sizeof extensions - 1) == 0
			       ? 0
			       : read_user(member, item, m->access, err);
	}
	return 0;
}

static int is_complete(const struct kube_access *access, struct sbx_error *err)
{
	if (access->server == NULL)
		return bad(err, "names no server for this context");
	if (access->exec.command != NULL)
		return access->cert.len == 0 && access->key.len == 0 && access->token.len == 0
			       ? 0
			       : bad(err, "has a program for its credential, and a credential beside it");
	if ((access->cert.len > 0) != (access->key.len > 0))
		return bad(err, "has a certificate without its key, or a key without its certificate");
	if (access->cert.len == 0 && access->token.len == 0)
		return bad(err, "has neither a certificate nor a token for this context");
	return 0;
}

static int read_text(const char *text, size_t len, const char *wanted, struct kube_access *access,
		     struct sbx_error *err)
{
	__attribute__((cleanup(names_clear))) struct names names = {.at_context = -1, .at_cluster = -1, .at_user = -1};
	struct context_members members = {.names = &names, .access = access};

	if ((wanted != NULL ? set_text(&names.context, wanted, err)
			    : yaml_walk_foreign(text, len, "the kubeconfig file", visit_current, &names, err)) < 0)
		return -1;
	if (names.context == NULL)
		return bad(err, "does not say which of its contexts is the current one");
	if (yaml_walk_foreign(text, len, "the kubeconfig file", visit_names, &names, err) < 0)
		return -1;
	if (names.at_context < 0)
		return bad(err, "has no context of the wanted name");
	if (yaml_walk_foreign(text, len, "the kubeconfig file", visit_context, &members, err) < 0)
		return -1;
	names.at_context = -1; /* the same walk again, now for the two others */
	if (yaml_walk_foreign(text, len, "the kubeconfig file", visit_names, &names, err) < 0)
		return -1;
	if (names.at_cluster < 0 || names.at_user < 0)
		return bad(err, "lacks the cluster or the user of the context");
	return yaml_walk_foreign(text, len, "the kubeconfig file", visit_members, &members, err) < 0 ? -1
											     : is_complete(access, err);
}

int kubeconfig_read(const char *file, const char *context, struct kube_access *access, struct sbx_error *err)
{
	auto_secret text = SECRET_INIT;
	auto_fd fd = io_open_file(AT_FDCWD, file, IO_PRIVATE, err);

	if (fd < 0 || secret_read_fd(&text, fd, file_max, err) < 0)
		return -1;
	return read_text((const char *)text.data, text.len, context, access, err);
}

/* The files beside ..data are links to those in it. */
int kubeconfig_in_cluster(const char *server, struct kube_access *access, struct sbx_error *err)
{
	if (read_pem_file(in_cluster_ca, &access->ca, err) < 0 ||
	    read_secret_file(in_cluster_token, ONE_LINE, &access->token, err) < 0)
		return -1;
	return set_text(&access->server, server != NULL ? server : in_cluster_server, err);
}

struct http_identity kube_identity(const struct kube_access *access)
{
	return (struct http_identity){.server = access->server,
				      .ca = &access->ca,
				      .cert = &access->cert,
				      .key = &access->key,
				      .token = &access->token};
}

void kube_access_clear(struct kube_access *access)
{
	free(access->server);
	buf_clear(&access->ca);
	buf_clear(&access->cert);
	secret_clear(&access->key);
	secret_clear(&access->token);
	kube_exec_clear(&access->exec);
	access->server = NULL;
}
