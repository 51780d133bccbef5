/* Members and defaults. */
#include "vault_settings.h"

#include <string.h>

#include "ascii.h"
#include "audiences.h"

enum { NAME_MAX_LEN = 128, TEXT_MAX_LEN = 512 };

static int wrong(struct sbx_error *err, const char *where, const char *member, const char *wanted)
{
	if (strcmp(where, "scope") == 0)
		sbx_fail(err, SBX_CONFIG, "vault_scope", "%s of the scope is missing or wrong", member);
	else
		sbx_fail(err, SBX_CONFIG, "vault_settings", "%s.%s in the settings is missing or wrong", where, member);
	return sbx_hint(err, "%s: %s", member, wanted);
}

static int has_unknown(jv object, const char *const *known, const char *where, struct sbx_error *err)
{
	auto_free char *unknown = json_unknown_key(object, known);

	if (unknown == NULL)
		return 0;
	if (strcmp(where, "scope") == 0)
		sbx_fail(err, SBX_CONFIG, "vault_scope", "the scope has a member that sbx-cred-vault does not know");
	else
		sbx_fail(err, SBX_CONFIG, "vault_settings", "%s in the settings has a member that it does not know",
			 where);
	return sbx_hint(err, "sbx-cred-vault(8) lists them; it is none of them: %.60s", unknown);
}

/* Visible ASCII: what goes into a header or a body cannot end it. */
static int is_text(const char *text)
{
	return text != NULL && strlen(text) <= TEXT_MAX_LEN && ascii_is_visible(text, strlen(text));
}

/* A name of Vault, or a path of such: no part of it may be read as something else than a name. */
static int is_name(const char *text)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._/";

	return text != NULL && text[0] != '\0' && strlen(text) <= NAME_MAX_LEN &&
	       strspn(text, allowed) == strlen(text) && text[0] != '/' && text[strlen(text) - 1] != '/' &&
	       strstr(text, "//") == NULL && strstr(text, "..") == NULL;
}

struct member {
	const char *name;
	const char **out;
	const char *otherwise; /* NULL: it is required */
	const char *wanted;
};

static int take_names(jv object, const char *where, const struct member *members, size_t count, struct sbx_error *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct member *m = &members[i];
		*m->out = json_has(object, m->name) ? json_str(object, m->name) : m->otherwise;
		if (!is_name(*m->out))
			return wrong(err, where, m->name, m->wanted);
	}
	return 0;
}

static int take_file(jv object, const char *where, const char *member, const char **out, struct sbx_error *err)
{
	*out = json_str(object, member);
	return *out != NULL && (*out)[0] == '/' ? 0 : wrong(err, where, member, "the whole path of a file");
}

/* --- the login --- */

static const char login_at[] = "providers.vault.login";

static int take_approle(jv login, struct vault_settings *out, struct sbx_error *err)
{
	static const char *const known[] = {"method", "mount", "role_id", "secret_id_file", "wrapped_secret_id_of",
					    NULL};
	const struct member mount = {"mount", &out->mount, "approle", "where the auth method is"};

	if (has_unknown(login, known, login_at, err) < 0 || take_names(login, login_at, &mount, 1, err) < 0)
		return -1;
	out->role = json_str(login, "role_id");
	if (!is_text(out->role))
		return wrong(err, login_at, "role_id", "the role id, which is no secret");
	out->wrapped_role = json_str(login, "wrapped_secret_id_of");
	if (json_has(login, "wrapped_secret_id_of") && !is_name(out->wrapped_role))
		return wrong(err, login_at, "wrapped_secret_id_of", "the name of the role whose secret id is wrapped");
	return take_file(login, login_at, "secret_id_file", &out->file, err);
}

static int take_kubernetes(jv login, struct vault_settings *out, struct sbx_error *err)
{
	static const char *const known[] = {"method", "mount", "role", "file", NULL};
	const struct member names[] = {{"mount", &out->mount, "kubernetes", "where the auth method is"},
				       {"role", &out->role, NULL, "a role of the auth method"}};

	/* The kubelet's link: the file itself is replaced under it. */
	out->file = "/var/run/secrets/kubernetes.io/serviceaccount/..data/token";
	if (has_unknown(login, known, login_at, err) < 0 ||
	    take_names(login, login_at, names, ARRAY_LEN(names), err) < 0)
		return -1;
	return json_has(login, "file") ? take_file(login, login_at, "file", &out->file, err) : 0;
}

static int take_jwt(jv login, struct vault_settings *out, struct sbx_error *err)
{
	static const char *const known[] = {"method", "mount", "role", "audience", NULL};
	const struct member names[] = {{"mount", &out->mount, "jwt", "where the auth method is"},
				       {"role", &out->role, NULL, "a role of the auth method"}};

	if (has_unknown(login, known, login_at, err) < 0 ||
	    take_names(login, login_at, names, ARRAY_LEN(names), err) < 0)
		return -1;
	out->audience = json_str(login, "audience");
	return is_text(out->audience) ? 0 : wrong(err, login_at, "audience", "one of the role's bound_audiences");
}

static int take_token_file(jv login, struct vault_settings *out, struct sbx_error *err)
{
	static const char *const known[] = {"method", "file", NULL};

	if (has_unknown(login, known, login_at, err) < 0)
		return -1;
	return take_file(login, login_at, "file", &out->file, err);
}

static int take_agent(jv login, struct vault_settings *out, struct sbx_error *err)
{
	static const char *const known[] = {"method", NULL};

	if (out->socket == NULL)
		return wrong(err, "providers.vault", "socket", "the agent's Unix socket, for the login method agent");
	return has_unknown(login, known, login_at, err);
}

static int take_login(struct vault_settings *out, struct sbx_error *err)
{
	static const struct {
		const char *word;
		int (*take)(jv login, struct vault_settings *out, struct sbx_error *err);
	} methods[] = {
		[VAULT_TOKEN_FILE] = {"token_file", take_token_file},
		[VAULT_AGENT] = {"agent", take_agent},
		[VAULT_APPROLE] = {"approle", take_approle},
		[VAULT_KUBERNETES] = {"kubernetes", take_kubernetes},
		[VAULT_JWT] = {"jwt", take_jwt},
	};
	const char *method = json_str(out->login, "method");

	for (size_t i = 0; method != NULL && i < ARRAY_LEN(methods); i++)
		if (strcmp(method, methods[i].word) == 0) {
			out->method = (enum vault_method)i;
			return methods[i].take(out->login, out, err);
		}
	return wrong(err, login_at, "method", "token_file, agent, approle, kubernetes or jwt");
}

/* --- the whole --- */

static int take_server(struct vault_settings *out, struct sbx_error *err)
{
	out->address = json_str(out->all, "address");
	out->socket = json_str(out->all, "socket");
	if (out->socket == NULL && out->address == NULL)
		return wrong(err, "providers.vault", "address",
			     "https://HOST:8200, or socket: the path of a Unix socket");
	if (out->socket != NULL && (out->address != NULL || out->socket[0] != '/'))
		return wrong(err, "providers.vault", "socket", "the whole path of a Unix socket, and then no address");
	if (json_has(out->all, "ca_file"))
		return take_file(out->all, "providers.vault", "ca_file", &out->ca_file, err);
	return 0;
}

int vault_settings_read(jv settings, struct vault_settings *out, struct sbx_error *err)
{
	static const char *const known[] = {"address",	  "socket", "ca_file", "namespace",
					    "token_role", "mounts", "login",   NULL};
	static const char where[] = "providers.vault";

	*out = (struct vault_settings){.all = jv_copy(settings),
				       .login = json_object(settings, "login"),
				       .mounts = json_object(settings, "mounts")};
	const struct member role = {"token_role", &out->token_role, NULL, "the token role for child tokens"};
	if (has_unknown(out->all, known, where, err) < 0 || take_server(out, err) < 0 ||
	    take_names(out->all, where, &role, 1, err) < 0)
		return -1;
	if (json_has(out->all, "mounts") && !jv_is_valid(out->mounts))
		return wrong(err, where, "mounts", "{TARGET: MOUNT}: the Kubernetes engine of each target");
	out->namespace = json_str(out->all, "namespace");
	if (json_has(out->all, "namespace") && !is_name(out->namespace))
		return wrong(err, where, "namespace", "a namespace of the server");
	return take_login(out, err);
}

void vault_settings_clear(struct vault_settings *settings)
{
	jv_free(take_jv(&settings->all));
	jv_free(take_jv(&settings->login));
	jv_free(take_jv(&settings->mounts));
}

/* --- the scope --- */

static const char scope_at[] = "scope";

/* The Kubernetes engine of the call's target. */
static int take_mount(const struct vault_settings *settings, int targets, struct vault_scope *out,
		      struct sbx_error *err)
{
	const struct member mount = {"mount", &out->mount, "kubernetes", "where the secrets engine is"};
	const char *name = json_str(out->target, "name");

	if (name == NULL || (!jv_is_valid(settings->mounts) && targets < 2))
		return take_names(out->all, scope_at, &mount, 1, err);
	if (!jv_is_valid(settings->mounts))
		return wrong(err, "providers.vault", "mounts",
			     "there are several targets: {TARGET: MOUNT} says which engine is whose");
	if (json_has(out->all, "mount"))
		return wrong(err, scope_at, "mount", "left out: mounts: of providers.vault says it for each target");
	out->mount = json_str(settings->mounts, name);
	return is_name(out->mount) ? 0
				   : wrong(err, "providers.vault", "mounts", "{TARGET: MOUNT} with the call's target");
}

/* That of the call, where the policy says one: the scope may name the same, and no other. */
static int take_namespace(jv request, struct vault_scope *out, struct sbx_error *err)
{
	const char *call = json_str(request, "namespace"), *own = json_str(out->all, "kubernetes_namespace");

	out->kubernetes_namespace = own != NULL ? own : call;
	if ((json_has(out->all, "kubernetes_namespace") && !is_name(own)) || (call != NULL && !is_name(call)) ||
	    (own != NULL && call != NULL && strcmp(own, call) != 0))
		return wrong(err, scope_at, "kubernetes_namespace", "a namespace of the cluster, that of the call");
	return 0;
}

static int take_kubernetes_scope(jv request, const struct vault_settings *settings, int targets,
				 struct vault_scope *out, struct sbx_error *err)
{
	static const char *const known[] = {"engine",	 "mount", "role", "policy", "kubernetes_namespace",
					    "audiences", NULL};

	if (has_unknown(out->all, known, scope_at, err) < 0 || take_mount(settings, targets, out, err) < 0 ||
	    take_namespace(request, out, err) < 0)
		return -1;
	return audiences_read(out->all, &out->audiences) < 0 ? wrong(err, scope_at, "audiences", AUDIENCES_WANTED) : 0;
}

static int take_aws_scope(struct vault_scope *out, struct sbx_error *err)
{
	static const char *const known[] = {"engine", "mount", "role", "policy", "role_arn", NULL};
	const struct member mount = {"mount", &out->mount, "aws", "where the secrets engine is"};

	if (has_unknown(out->all, known, scope_at, err) < 0 || take_names(out->all, scope_at, &mount, 1, err) < 0)
		return -1;
	out->role_arn = json_str(out->all, "role_arn");
	if (json_has(out->all, "role_arn") && !is_text(out->role_arn))
		return wrong(err, scope_at, "role_arn", "the ARN of a role that the engine's role may assume");
	return 0;
}

int vault_scope_read(jv request, const struct vault_settings *settings, int targets, struct vault_scope *out,
		     struct sbx_error *err)
{
	*out = (struct vault_scope){.all = json_object(request, "settings"),
				    .target = json_object(request, "target"),
				    .audiences = jv_invalid()};
	const char *engine = json_has(out->all, "engine") ? json_str(out->all, "engine") : "kubernetes";
	const struct member names[] = {
		{"role", &out->role, NULL, "a role of the secrets engine"},
		{"policy", &out->policy, NULL, "the policy of the child token: to use that role, and nothing else"},
	};
	if (engine == NULL || (strcmp(engine, "kubernetes") != 0 && strcmp(engine, "aws") != 0))
		return wrong(err, scope_at, "engine", "kubernetes or aws");
	out->engine = strcmp(engine, "aws") == 0 ? VAULT_ENGINE_AWS : VAULT_ENGINE_KUBERNETES;
	if ((out->engine == VAULT_ENGINE_AWS ? take_aws_scope(out, err)
					     : take_kubernetes_scope(request, settings, targets, out, err)) < 0)
		return -1;
	return take_names(out->all, scope_at, names, ARRAY_LEN(names), err);
}

void vault_scope_clear(struct vault_scope *scope)
{
	jv_free(take_jv(&scope->audiences));
	jv_free(take_jv(&scope->target));
	jv_free(take_jv(&scope->all));
}
