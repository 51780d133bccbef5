/* providers.kubernetes of sbx.yaml, and what a scope of policy.yaml says for it, both checked. */
#ifndef SBX_KUBE_CRED_SETTINGS_H
#define SBX_KUBE_CRED_SETTINGS_H

#include "kube_login.h"

struct kube_cred_settings {
	jv all, targets, own; /* owned; the texts of the login are in one of them */
	struct kube_login login;
	char section[128];
	enum kube_cred_choice {
		KUBE_CRED_ONE,	 /* there is one cluster, for every target whose server it is */
		KUBE_CRED_NAMED, /* the settings name this target, and how to log in there */
	} choice;
};

/* How to log in where TARGET (the request's; null: none) is. "cluster_settings" (78) with the member that is wrong, or
 * when the target has no place in the settings that name some. SETTINGS is borrowed. _clear also what a failed read has
 * left. */
int kube_cred_settings_read(jv settings, jv target, struct kube_cred_settings *out, struct sbx_error *err);
void kube_cred_settings_clear(struct kube_cred_settings *settings);

/* "cluster_target" (78) when SERVER, where we log in, is not the cluster that TARGET says: a token must not go to
 * another cluster than it came from. */
int kube_cred_check_server(const struct kube_cred_settings *settings, const char *server, jv target,
			   struct sbx_error *err);

struct kube_cred_scope {
	jv all, audiences;    /* owned; audiences invalid: the API server's own */
	char *call_namespace; /* owned; NULL: the call says none */
	const char *namespace, *account;
	const char *role_kind, *role; /* "Role" or "ClusterRole", bound for this action alone; NULL: neither */
	enum kube_cred_anchor { KUBE_CRED_BOUND, KUBE_CRED_FREE } anchor;
};

/* The scope of REQUEST (sbx-helper(7)): "cluster_scope" (78). */
int kube_cred_scope_read(jv request, struct kube_cred_scope *out, struct sbx_error *err);
void kube_cred_scope_clear(struct kube_cred_scope *scope);

#endif
