/* From the checked parameters of one call the scope that it gets. Whatever is not written down gets none: another
 * namespace and a wider verb are refused here, before there is a call that anybody could mint for. */
#include <string.h>

#include "policy_impl.h"

static const int64_t ms_per_s = 1000;
/* A token must outlive the command that uses it: deadline, grace, and the time that start and stop take. */
static const int64_t lifetime_margin_ms = 60 * 1000;
static const int64_t lifetime_default_ms = 10 * 60 * 1000;

/* What of a scope is ours, and no setting of its provider. */
static const char *const own_members[] = {"provider",	"lifetime",   "reads_secrets",
					  "only_reads", "namespaces", "permissions"};

int scope_lists(jv list, const char *text)
{
	for (int i = 0, n = json_length(list); i < n; i++) {
		auto_jv element = json_at(list, i);
		if (json_text(element) != NULL && strcmp(json_text(element), text) == 0)
			return 1;
	}
	return 0;
}

static int denied(struct sbx_error *err, const char *scope, const char *what, jv allowed)
{
	auto_buf list = BUF_INIT(sizeof err->hint);
	struct sbx_error full = SBX_ERROR_INIT;
	char quoted[SBX_QUOTE_SIZE];

	sbx_fail(err, SBX_DENIED, "scope_denied", "the scope %s %s", sbx_quote(quoted, scope, strlen(scope)), what);
	for (int i = 0, n = json_length(allowed); i < n; i++) {
		auto_jv one = json_at(allowed, i);
		if (buf_addf(&list, &full, "%s%s", i > 0 ? ", " : "", json_text(one)) < 0)
			break;
	}
	return sbx_hint(err, "the scope has %s", buf_str(&list));
}

/* TEMPLATE filled with the parameters, as *OUT; "scope_denied" unless it is one of ALLOWED. */
static int choose(const char *scope, const char *template, jv params, jv declarations, jv allowed, const char *says,
		  jv *out, struct sbx_error *err)
{
	auto_free char *text = NULL;

	if (slot_render(template, params, declarations, &text, err) < 0)
		return -1;
	if (!scope_lists(allowed, text))
		return denied(err, scope, says, allowed);
	*out = jv_string(text);
	return 0;
}

static jv put_namespace(jv value, const char *namespace)
{
	if (jv_get_kind(value) == JV_KIND_STRING) {
		jv parts = jv_string_split(value, jv_string(SCOPE_NAMESPACE_SLOT));
		jv out = jv_string("");
		for (int i = 0, n = json_length(parts); i < n; i++) {
			if (i > 0)
				out = jv_string_append_str(out, namespace);
			out = jv_string_concat(out, json_at(parts, i));
		}
		jv_free(parts);
		return out;
	}
	for (int i = 0, n = jv_get_kind(value) == JV_KIND_ARRAY ? json_length(value) : 0; i < n; i++)
		value = jv_array_set(value, i, put_namespace(json_at(value, i), namespace));
	return value;
}

/* What the provider alone understands of SCOPE. */
static jv provider_settings(jv scope, const char *namespace)
{
	jv out = jv_copy(scope);

	for (size_t i = 0; i < ARRAY_LEN(own_members); i++)
		out = json_delete(out, own_members[i]);
	auto_jv names = jv_keys(jv_copy(out));
	for (int i = 0, n = namespace != NULL ? json_length(names) : 0; i < n; i++) {
		auto_jv name = json_at(names, i);
		out = json_set(out, json_text(name), put_namespace(json_get(out, json_text(name)), namespace));
	}
	return out;
}

static int64_t lifetime_s(jv scope, jv run_limits)
{
	auto_jv stated = json_get(scope, "lifetime");
	int64_t lifetime = lifetime_default_ms, deadline = 0, grace = 0;

	schema_duration(stated, &lifetime);
	json_int(run_limits, "deadline_ms", &deadline);
	json_int(run_limits, "grace_ms", &grace);
	if (lifetime < deadline + grace + lifetime_margin_ms)
		lifetime = deadline + grace + lifetime_margin_ms;
	return (lifetime + ms_per_s - 1) / ms_per_s;
}

/* The members "namespace" and "permissions", where policy says something of them. */
static int resolve_rights(jv tool, jv params, jv credential, jv scope, jv *out, struct sbx_error *err)
{
	auto_jv declarations = json_object(tool, "params"), namespaces = json_array(scope, "namespaces"),
		granted = json_array(scope, "permissions"), asked = json_array(credential, "permissions");
	const char *name = json_str(credential, "scope"), *template = json_str(credential, "namespace");
	auto_jv chosen = jv_invalid(), words = jv_array();

	if (template != NULL) {
		if (choose(name, template, params, declarations, namespaces, "is not given for this namespace", &chosen,
			   err) < 0)
			return -1;
		*out = json_set(take_jv(out), "namespace", take_jv(&chosen));
	}
	for (int i = 0, n = json_length(asked); i < n; i++) {
		auto_jv word = json_at(asked, i);
		jv one = jv_invalid();
		if (choose(name, json_text(word), params, declarations, granted, "does not grant what this call needs",
			   &one, err) < 0)
			return -1;
		words = json_append(take_jv(&words), one);
	}
	if (jv_is_valid(granted))
		*out = json_set(take_jv(out), "permissions", jv_is_valid(asked) ? take_jv(&words) : jv_copy(granted));
	return 0;
}

static int resolve_credential(const struct policy_world *world, jv root, const struct scope_call *call, jv credential,
			      jv *credentials, struct sbx_error *err)
{
	auto_jv scopes = json_object(root, "scopes"), scope = json_object(scopes, json_str(credential, "scope"));
	const char *provider = json_str(scope, "provider");
	auto_jv out = json_set_str(jv_object(), "scope", json_str(credential, "scope"));

	out = json_set_str(take_jv(&out), "as", json_str(credential, "as"));
	out = json_set_str(take_jv(&out), "env", json_str(credential, "env"));
	out = json_set_str(take_jv(&out), "provider", provider ? provider : world->provider);
	out = json_set(take_jv(&out), "target", jv_copy(call->target));
	out = json_set_int(take_jv(&out), "lifetime_s", lifetime_s(scope, call->run_limits));
	if (resolve_rights(call->tool, call->params, credential, scope, &out, err) < 0)
		return -1;
	jv settings = provider_settings(scope, json_str(out, "namespace"));
	*credentials = json_append(take_jv(credentials), json_set(take_jv(&out), "settings", settings));
	return 0;
}

int scope_resolve(const struct policy_world *world, jv root, const struct scope_call *call, jv *credentials, jv *env,
		  struct sbx_error *err)
{
	auto_jv declared = json_array(call->tool, "credentials"), resolved = jv_array(), named = jv_array();

	for (int i = 0, n = json_length(declared); i < n; i++) {
		auto_jv credential = json_at(declared, i);
		jv one = json_set_int(jv_object(), "index", i);
		named = json_append(take_jv(&named), json_set_str(one, "env", json_str(credential, "env")));
		if (resolve_credential(world, root, call, credential, &resolved, err) < 0)
			return -1;
	}
	*credentials = take_jv(&resolved);
	*env = take_jv(&named);
	return 0;
}
