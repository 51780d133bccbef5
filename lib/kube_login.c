/* One of two ways in. */
#include "kube_login.h"

#include <string.h>

int kube_login_wrong(const char *section, const char *member, const char *wanted, struct sbx_error *err)
{
	sbx_fail(err, SBX_CONFIG, "cluster_settings", "%s.%s in the settings is missing or wrong", section, member);
	return sbx_hint(err, "%s: %s", member, wanted);
}

int kube_login_read(jv settings, const char *section, struct kube_login *out, struct sbx_error *err)
{
	*out = (struct kube_login){.settings = settings,
				   .section = section,
				   .kubeconfig = json_str(settings, "kubeconfig"),
				   .context = json_str(settings, "context"),
				   .server = json_str(settings, "server")};
	if (json_bool(settings, "in_cluster") == 1)
		return out->kubeconfig == NULL && out->context == NULL
			       ? 0
			       : kube_login_wrong(section, "in_cluster",
						  "true, and then neither kubeconfig nor context", err);
	if (out->kubeconfig == NULL || out->kubeconfig[0] != '/')
		return kube_login_wrong(section, "kubeconfig",
					"the whole path of a kubeconfig file, or in_cluster: true", err);
	/* No current context: somebody's kubectl may change it at any time. */
	return out->context != NULL && out->context[0] != '\0'
		       ? 0
		       : kube_login_wrong(section, "context", "a context of the kubeconfig file", err);
}

static int run_program(const struct kube_login *login, int64_t deadline, struct kube_access *access,
		       struct sbx_error *err)
{
	auto_jv allowed = json_object(login->settings, "exec");
	const struct kube_exec_given given = {.token = &access->token, .key = &access->key, .cert = &access->cert};

	if (access->exec.command == NULL)
		return 0;
	const char *program = json_str(allowed, access->exec.command);
	if (program != NULL && program[0] == '/')
		return kube_exec_run(&access->exec, program, deadline, &given, err);
	sbx_fail(err, SBX_CONFIG, "kubeconfig",
		 "the kubeconfig file gets its credential from a program that is not allowed");
	return sbx_hint(err,
			"give sbx a user of its own with a certificate or a token, or allow the program by its name: "
			"exec: {%.60s: /PATH/OF/IT} in %s",
			access->exec.command, login->section);
}

int kube_login_access(const struct kube_login *login, int64_t deadline, struct kube_access *access,
		      struct sbx_error *err)
{
	if (login->kubeconfig == NULL)
		return kubeconfig_in_cluster(login->server, access, err);
	return kubeconfig_read(login->kubeconfig, login->context, access, err) < 0
		       ? -1
		       : run_program(login, deadline, access, err);
}
