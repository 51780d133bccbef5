/* Who and where a Kubernetes API server is, from a kubeconfig file or from what a cluster gives its own pods. A reader
 * of our own, over the strict YAML of yaml_lex.h: one named context, and nothing that would send a
 * password, use a proxy, or trust a server that shows no certificate. */
#ifndef SBX_KUBECONFIG_H
#define SBX_KUBECONFIG_H

#include "buf.h"
#include "http.h"
#include "kube_exec.h"

struct kube_access {
	char *server;
	struct buf ca, cert;
	struct secret key, token;
	struct kube_exec exec; /* what else would give them: the caller starts it, or does not */
};
#define KUBE_ACCESS_INIT                                                                                               \
	{                                                                                                              \
		.ca = BUF_INIT(KUBE_PEM_MAX), .cert = BUF_INIT(KUBE_PEM_MAX)                                           \
	}
/* A bundle of authorities, or a chain of certificates. */
#define KUBE_PEM_MAX ((size_t)256 << 10)

/* The context CONTEXT of FILE (NULL: the one that FILE says is its current one; for a file that was written for this
 * one use), which must be owned by root or us and readable by nobody else
 * ("unsafe_file", 78). "kubeconfig" (78) with what is wrong: a name that is not there, a member that is missing, or one
 * of those that are refused (auth-provider, proxy-url, insecure-skip-tls-verify, username, as, tls-server-name).
 */
int kubeconfig_read(const char *file, const char *context, struct kube_access *access, struct sbx_error *err);

/* The service account of the pod that we run in; SERVER as in the settings, NULL: the name that every cluster gives its
 * API server. */
int kubeconfig_in_cluster(const char *server, struct kube_access *access, struct sbx_error *err);

/* What http_new wants, borrowed from ACCESS. */
struct http_identity kube_identity(const struct kube_access *access);

void kube_access_clear(struct kube_access *access);
#define auto_kube_access __attribute__((cleanup(kube_access_clear))) struct kube_access

#endif
