/* providers.vault of sbx.yaml, and what a scope of policy.yaml says for it, both checked. */
#ifndef SBX_VAULT_SETTINGS_H
#define SBX_VAULT_SETTINGS_H

#include "json.h"

enum vault_method {
	VAULT_TOKEN_FILE,
	VAULT_AGENT, /* behind the socket, which adds its own token */
	VAULT_APPROLE,
	VAULT_KUBERNETES,
	VAULT_JWT, /* that sbx-cred-jwt signs */
};

struct vault_settings {
	jv all, login;		      /* owned; the texts below are in them */
	const char *address, *socket; /* exactly one of them */
	const char *ca_file;	      /* NULL: the machine's authorities */
	const char *namespace;	      /* NULL: none */
	jv mounts;		      /* owned; of the Kubernetes engine, by target; invalid: each scope says its own */
	const char *token_role;	      /* under which the child tokens are made */
	enum vault_method method;
	const char *file;	  /* token, secret id or service account's token; NULL where the method has none */
	const char *mount;	  /* of the auth method */
	const char *role;	  /* of the auth method; AppRole: the role id */
	const char *wrapped_role; /* AppRole whose secret id comes wrapped: its role's name; NULL: it comes plain */
	const char *audience;	  /* of our JWT; NULL: another method */
};

enum vault_engine_kind { VAULT_ENGINE_KUBERNETES, VAULT_ENGINE_AWS };

struct vault_scope {
	jv all, target, audiences; /* owned; audiences invalid: the role's own */
	enum vault_engine_kind engine;
	const char *mount, *role, *policy;
	const char *kubernetes_namespace; /* NULL: the role has just one */
	const char *role_arn;		  /* NULL: the role has just one */
};

/* "vault_settings" (78) with the member that is wrong. SETTINGS is borrowed. _clear also what a failed read has left.
 */
int vault_settings_read(jv settings, struct vault_settings *out, struct sbx_error *err);
void vault_settings_clear(struct vault_settings *settings);

/* The scope of REQUEST (sbx-helper(7)), where the installation names so many TARGETS. "vault_scope" (78); so is one
 * whose mount is not known to be that of the call's target, out of several: its tokens would be of another cluster. OUT
 * borrows of SETTINGS. */
int vault_scope_read(jv request, const struct vault_settings *settings, int targets, struct vault_scope *out,
		     struct sbx_error *err);
void vault_scope_clear(struct vault_scope *scope);

#endif
