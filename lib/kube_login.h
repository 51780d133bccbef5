/* Who we are to an API server, as the settings of a driver or a provider say it: a context of a kubeconfig file, or the
 * service account of the pod that we run in. */
#ifndef SBX_KUBE_LOGIN_H
#define SBX_KUBE_LOGIN_H

#include "json.h"
#include "kubeconfig.h"

struct kube_login {
	jv settings;			  /* borrowed; the texts below are in it */
	const char *section;		  /* borrowed: where they stand in sbx.yaml, "drivers.kubernetes" */
	const char *kubeconfig, *context; /* kubeconfig NULL: we run in the cluster */
	const char *server;		  /* in the cluster; NULL */
};

/* The members that kube_login_read knows. */
#define KUBE_LOGIN_MEMBERS "kubeconfig", "context", "in_cluster", "server", "exec"

/* "cluster_settings" (78) with the member that is wrong. */
int kube_login_read(jv settings, const char *section, struct kube_login *out, struct sbx_error *err);
/* That error for a member of SECTION; returns -1. */
int kube_login_wrong(const char *section, const char *member, const char *wanted, struct sbx_error *err);

/* What the file says; the program that it names for a credential is started where exec: of the settings allows it, and
 * ended at DEADLINE (clock_mono_ms). */
int kube_login_access(const struct kube_login *login, int64_t deadline, struct kube_access *access,
		      struct sbx_error *err);

#endif
