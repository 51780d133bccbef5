/* Members and defaults. */
#include "kube_cred_settings.h"

#include <stdio.h>
#include <string.h>

#include "ascii.h"
#include "kube_api.h"

enum { AUDIENCES_MAX = 8, AUDIENCE_MAX_LEN = 256 };

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

static int take_name(jv scope, const char *member, const char **out, const char *wanted, struct sbx_error *err)
{
	*out = json_str(scope, member);
	return kube_is_name(*out) ? 0 : wrong(err, member, wanted);
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

static int take_audiences(struct kube_cred_scope *out, struct sbx_error *err)
{
	int count = json_length(out->audiences);

	if (!json_has(out->all, "audiences"))
		return 0;
	int good = count > 0 && count <= AUDIENCES_MAX;
	for (int i = 0; good && i < count; i++) {
		auto_jv one = json_at(out->audiences, i);
		const char *text = json_text(one);
		good = text != NULL && text[0] != '\0' && strlen(text) <= AUDIENCE_MAX_LEN &&
		       ascii_is_visible(text, strlen(text));
	}
	return good ? 0 : wrong(err, "audiences", "a list of one to eight texts: who may accept the token");
}

int kube_cred_scope_read(jv settings, struct kube_cred_scope *out, struct sbx_error *err)
{
	static const char *const known[] = {"namespace", "account", "role", "cluster_role", "audiences", "bound", NULL};
	auto_free char *unknown = json_unknown_key(settings, known);

	*out = (struct kube_cred_scope){.all = jv_copy(settings), .audiences = json_array(settings, "audiences")};
	if (unknown != NULL) {
		sbx_fail(err, SBX_CONFIG, "cluster_scope",
			 "the scope has a member that sbx-cred-kubernetes does not know");
		return sbx_hint(err, "sbx-cred-kubernetes(8) lists them; it is none of them: %.60s", unknown);
	}
	if (json_has(out->all, "bound") && json_bool(out->all, "bound") < 0)
		return wrong(err, "bound", "true, or false where the account's tokens cannot be ended");
	out->anchor = json_bool(out->all, "bound") == 0 ? KUBE_CRED_FREE : KUBE_CRED_BOUND;
	if (take_name(out->all, "namespace", &out->namespace, "a namespace of the cluster", err) < 0 ||
	    take_name(out->all, "account", &out->account, "a service account of that namespace", err) < 0 ||
	    take_role(out, err) < 0)
		return -1;
	return take_audiences(out, err);
}

void kube_cred_scope_clear(struct kube_cred_scope *scope)
{
	jv_free(take_jv(&scope->audiences));
	jv_free(take_jv(&scope->all));
}
