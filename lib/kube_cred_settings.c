/* Members and defaults. */
#include "kube_cred_settings.h"

#include <stdio.h>
#include <string.h>

#include "ascii.h"
#include "audiences.h"
#include "kube_api.h"

static const char section[] = "providers.kubernetes";

static int take_login(jv settings, const char *const *known, struct kube_cred_settings *out, struct sbx_error *err)
{
	auto_free char *unknown = json_unknown_key(settings, known);

	if (unknown != NULL) {
		sbx_fail(err, SBX_CONFIG, "cluster_settings", "%s in the settings has a member that it does not know",
			 out->section);
		return sbx_hint(err, "sbx-cred-kubernetes(8) lists them; it is none of them: %.60s", unknown);
	}
	return kube_login_read(settings, out->section, &out->login, err);
}

static int take_target(struct kube_cred_settings *out, jv target, struct sbx_error *err)
{
	static const char *const only[] = {"targets", NULL}, *const known[] = {KUBE_LOGIN_MEMBERS, NULL};
	auto_free char *beside = json_unknown_key(out->all, only);
	const char *name = json_str(target, "name");

	if (beside != NULL || !jv_is_valid(out->targets))
		return kube_login_wrong(section, "targets",
					"{NAME: {kubeconfig: FILE, context: NAME}}, and then nothing beside it", err);
	if (name == NULL || !json_has(out->targets, name)) {
		sbx_fail(err, SBX_CONFIG, "cluster_settings", "the call's target is none of %s.targets in the settings",
			 section);
		return sbx_hint(err, "add it there, or give the tool a parameter of type target");
	}
	out->choice = KUBE_CRED_NAMED;
	out->own = json_object(out->targets, name);
	snprintf(out->section, sizeof out->section, "%s.targets.%.64s", section, name);
	return take_login(out->own, known, out, err);
}

int kube_cred_settings_read(jv settings, jv target, struct kube_cred_settings *out, struct sbx_error *err)
{
	static const char *const known[] = {KUBE_LOGIN_MEMBERS, NULL};

	*out = (struct kube_cred_settings){.all = jv_copy(settings),
					   .targets = json_object(settings, "targets"),
					   .own = jv_invalid(),
					   .choice = KUBE_CRED_ONE};
	snprintf(out->section, sizeof out->section, "%s", section);
	return json_has(settings, "targets") ? take_target(out, target, err) : take_login(out->all, known, out, err);
}

void kube_cred_settings_clear(struct kube_cred_settings *settings)
{
	jv_free(take_jv(&settings->own));
	jv_free(take_jv(&settings->targets));
	jv_free(take_jv(&settings->all));
}

int kube_cred_check_server(const struct kube_cred_settings *settings, const char *server, jv target,
			   struct sbx_error *err)
{
	const char *wanted = json_str(target, "server");

	if (settings->choice == KUBE_CRED_NAMED || wanted == NULL || strcmp(wanted, server) == 0)
		return 0;
	sbx_fail(err, SBX_CONFIG, "cluster_target",
		 "the call's target is another server than the one that %s logs in to", section);
	return sbx_hint(err,
			"say which login is for which target: providers: {kubernetes: {targets: {%.60s: "
			"{kubeconfig: FILE, context: NAME}}}}",
			json_str(target, "name") != NULL ? json_str(target, "name") : "NAME");
}

/* --- the scope --- */

static int wrong(struct sbx_error *err, const char *member, const char *wanted)
{
	sbx_fail(err, SBX_CONFIG, "cluster_scope", "%s of the scope is missing or wrong", member);
	return sbx_hint(err, "%s: %s", member, wanted);
}

static int take_role(struct kube_cred_scope *out, struct sbx_error *err)
{
	int own = json_has(out->all, "role"), wide = json_has(out->all, "cluster_role");

	if (!own && !wide)
		return 0;
	out->role_kind = own ? "Role" : "ClusterRole";
	out->role = json_str(out->all, own ? "role" : "cluster_role");
	/* Names of roles may have a colon, and others may not end a path. */
	size_t len = out->role != NULL ? strlen(out->role) : 0;
	if ((own && wide) || len == 0 || len > 253 || !ascii_is_visible(out->role, len) || strpbrk(out->role, "/%\"\\"))
		return wrong(err, own ? "role" : "cluster_role",
			     "the name of one that is there, and is bound to the account for each action");
	return 0;
}

/* That of the call, where the policy says one: the scope may name the same, and no other. */
static int take_namespace(jv request, struct kube_cred_scope *out, struct sbx_error *err)
{
	const char *call = json_str(request, "namespace"), *own = json_str(out->all, "namespace");

	if (call != NULL && (out->call_namespace = strdup(call)) == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	out->namespace = json_has(out->all, "namespace") ? own : out->call_namespace;
	if (!kube_is_name(out->namespace) || (call != NULL && strcmp(out->namespace, call) != 0))
		return wrong(err, "namespace", "a namespace of the cluster, that of the call");
	return 0;
}

int kube_cred_scope_read(jv request, struct kube_cred_scope *out, struct sbx_error *err)
{
	static const char *const known[] = {"namespace", "account", "role", "cluster_role", "audiences", "bound", NULL};

	*out = (struct kube_cred_scope){.all = json_object(request, "settings"), .audiences = jv_invalid()};
	auto_free char *unknown = json_unknown_key(out->all, known);
	if (unknown != NULL) {
		sbx_fail(err, SBX_CONFIG, "cluster_scope",
			 "the scope has a member that sbx-cred-kubernetes does not know");
		return sbx_hint(err, "sbx-cred-kubernetes(8) lists them; it is none of them: %.60s", unknown);
	}
	if (json_has(out->all, "bound") && json_bool(out->all, "bound") < 0)
		return wrong(err, "bound", "true, or false where the account's tokens cannot be ended");
	out->anchor = json_bool(out->all, "bound") == 0 ? KUBE_CRED_FREE : KUBE_CRED_BOUND;
	out->account = json_str(out->all, "account");
	if (!kube_is_name(out->account))
		return wrong(err, "account", "a service account of the namespace");
	if (take_namespace(request, out, err) < 0 || take_role(out, err) < 0)
		return -1;
	return audiences_read(out->all, &out->audiences) < 0 ? wrong(err, "audiences", AUDIENCES_WANTED) : 0;
}

void kube_cred_scope_clear(struct kube_cred_scope *scope)
{
	free(scope->call_namespace);
	scope->call_namespace = NULL;
	jv_free(take_jv(&scope->audiences));
	jv_free(take_jv(&scope->all));
}
