/* sbx.yaml: every key checked, paths made absolute. */
#include "config.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "config_path.h"
#include "digest.h"
#include "duration.h"
#include "start.h"
#include "yaml_jv.h"

static const char *const known_keys[] = {
	"policy",     "state",	"allowed_signers", "approvers", "same_account", "approval_pause",
	"workspaces", "driver", "drivers",	   "provider",	"providers",	"targets",
	"desk",	      "notify", "commands",	   "demo",	NULL,
};

struct loading {
	const char *file;
	char *dir; /* of the file, absolute */
	jv root;
	struct sbx_error *err;
};

static int bad(struct loading *l, const char *key, const char *what)
{
	sbx_fail(l->err, SBX_CONFIG, "bad_config", "%s: %s %s", l->file, key, what);
	return sbx_hint(l->err, "sbx(7) lists the settings");
}

/* A string setting; FALLBACK when it is absent. Borrowed from the root, or FALLBACK. */
static const char *text_setting(struct loading *l, const char *key, const char *fallback)
{
	if (!json_has(l->root, key))
		return fallback;
	const char *text = json_str(l->root, key);
	if (text == NULL || text[0] == '\0') {
		bad(l, key, "must be a text");
		return NULL;
	}
	return text;
}

static char *path_setting(struct loading *l, const char *key, const char *fallback)
{
	const char *text = text_setting(l, key, fallback);

	return text ? config_join(l->dir, text, l->err) : NULL;
}

/* A name that becomes the end of a program's name: sbx-run-NAME, sbx-cred-NAME. */
static char *name_setting(struct loading *l, const char *key, const char *fallback)
{
	const char *text = text_setting(l, key, fallback);

	if (text == NULL)
		return NULL;
	if (strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(text) || text[0] == '-') {
		bad(l, key, "must be a name of small letters, digits and dashes");
		return NULL;
	}
	return strdup(text);
}

static int same_account_setting(struct loading *l, enum same_account *out)
{
	static const char *const words[] = {"touch", "refuse", "file"};
	const char *text = text_setting(l, "same_account", "touch");

	for (size_t i = 0; text != NULL && i < ARRAY_LEN(words); i++)
		if (strcmp(text, words[i]) == 0) {
			*out = (enum same_account)i;
			return 0;
		}
	return bad(l, "same_account", "must be touch, refuse or file");
}

/* At most as long as an approval: what is refused for longer belongs into the policy. */
static int pause_setting(struct loading *l, int64_t *out)
{
	static const char key[] = "approval_pause";
	const char *text = text_setting(l, key, "5m");
	uint64_t ms;

	if (text == NULL || duration_parse_ms(text, (uint64_t)LIMIT_APPROVAL_S * 1000, &ms) < 0)
		return bad(l, key, "must be a time (0s, 90s, 5m), at most 30m");
	*out = (int64_t)ms;
	return 0;
}

static jv workspaces_setting(struct loading *l)
{
	auto_jv value = json_get(l->root, "workspaces");
	jv out = jv_object();

	if (!jv_is_valid(value) || json_text(value) != NULL) {
		auto_free char *path = config_join(l->dir, jv_is_valid(value) ? json_text(value) : ".", l->err);
		return path ? json_set_str(out, "", path) : out;
	}
	if (jv_get_kind(value) != JV_KIND_OBJECT || json_length(value) == 0) {
		bad(l, "workspaces", "must be a directory, or names with a directory each");
		return out;
	}
	for (int i = jv_object_iter(value); jv_object_iter_valid(value, i); i = jv_object_iter_next(value, i)) {
		auto_jv key = jv_object_iter_key(value, i);
		const char *name = json_text(key), *text = name ? json_str(value, name) : NULL;
		auto_free char *path = text ? config_join(l->dir, text, l->err) : NULL;
		if (path == NULL || name[0] == '\0' || strpbrk(name, ":/") != NULL)
			bad(l, "workspaces", "must give each name a directory (no colon or slash in a name)");
		else
			out = json_set_str(out, name, path);
	}
	return out;
}

/* Objects by name, each an object; with PATH_KEYS made absolute. */
static jv named_objects(struct loading *l, const char *setting, const char *const *path_keys)
{
	auto_jv value = json_get(l->root, setting);
	jv out = jv_object();

	if (!jv_is_valid(value))
		return out;
	if (jv_get_kind(value) != JV_KIND_OBJECT)
		bad(l, setting, "must be a mapping of names");
	for (int i = jv_object_iter(value); jv_get_kind(value) == JV_KIND_OBJECT && jv_object_iter_valid(value, i);
	     i = jv_object_iter_next(value, i)) {
		auto_jv key = jv_object_iter_key(value, i);
		jv entry = jv_object_iter_value(value, i);
		if (json_text(key) == NULL || jv_get_kind(entry) != JV_KIND_OBJECT) {
			bad(l, setting, "must give each name a mapping");
			jv_free(entry);
			continue;
		}
		for (size_t k = 0; path_keys[k] != NULL; k++) {
			const char *text = json_str(entry, path_keys[k]);
			auto_free char *path = text ? config_join(l->dir, text, l->err) : NULL;
			if (path != NULL)
				entry = json_set_str(entry, path_keys[k], path);
		}
		out = json_set(out, json_text(key), entry);
	}
	return out;
}

/* An array of strings; the first must be an absolute path when there is one. */
static jv argv_setting(struct loading *l, const char *key, int all_absolute)
{
	auto_jv value = json_get(l->root, key);

	if (!jv_is_valid(value))
		return jv_array();
	if (jv_get_kind(value) != JV_KIND_ARRAY) {
		bad(l, key, "must be a list of texts");
		return jv_array();
	}
	for (int i = 0; i < json_length(value); i++) {
		auto_jv element = json_at(value, i);
		const char *text = json_text(element);
		if (text == NULL || ((i == 0 || all_absolute) && text[0] != '/')) {
			bad(l, key, "must be a list of texts that begins with an absolute path");
			return jv_array();
		}
	}
	return take_jv(&value);
}

static int check_demo(struct loading *l, const struct config *c)
{
	if (!c->demo)
		return 0;
	if (strcmp(c->driver, "local") != 0 || strcmp(c->provider, "jwt") != 0 || strcmp(l->file, SBX_CONFIG_DEFAULT) == 0) {
		sbx_fail(l->err, SBX_CONFIG, "demo_only", "%s: demo: true stands only in the demo's own file", l->file);
		return sbx_hint(l->err, "remove `demo` from the settings");
	}
	return 0;
}

static int fill(struct loading *l, struct config *c)
{
	static const char *const target_paths[] = {"kubeconfig", "ca_file", NULL};
	static const char *const no_paths[] = {NULL};
	auto_free char *unknown = json_unknown_key(l->root, known_keys);

	if (unknown != NULL)
		return bad(l, unknown, "is no setting");
	c->policy = path_setting(l, "policy", CONFIG_POLICY_DEFAULT);
	c->state = path_setting(l, "state", CONFIG_STATE_DEFAULT);
	c->allowed_signers = path_setting(l, "allowed_signers", "policy/allowed_signers");
	c->approvers = path_setting(l, "approvers", "policy/approvers.yaml");
	c->approvers_named = json_has(l->root, "approvers");
	if (same_account_setting(l, &c->same_account) < 0 ||
	    pause_setting(l, &c->approval_pause_ms) < 0)
		return -1;
	c->driver = name_setting(l, "driver", "local");
	c->provider = name_setting(l, "provider", "jwt");
	c->workspaces = workspaces_setting(l);
	c->drivers = named_objects(l, "drivers", no_paths);
	c->providers = named_objects(l, "providers", no_paths);
	c->targets = named_objects(l, "targets", target_paths);
	c->desk = argv_setting(l, "desk", 0);
	c->notify = argv_setting(l, "notify", 0);
	c->commands = argv_setting(l, "commands", 1);
	int demo = json_has(l->root, "demo") ? json_bool(l->root, "demo") : 0;
	if (demo < 0)
		return bad(l, "demo", "must be true or false");
	c->demo = demo;
	if (l->err->class != SBX_OK)
		return -1;
	return check_demo(l, c);
}

int config_load(const char *file, struct config *config, struct sbx_error *err)
{
	struct sbx_error inner = SBX_ERROR_INIT;
	struct loading l = {.file = file, .root = jv_invalid(), .err = err};

	*config = (struct config){.workspaces = jv_invalid(),
				  .drivers = jv_invalid(),
				  .providers = jv_invalid(),
				  .targets = jv_invalid(),
				  .desk = jv_invalid(),
				  .notify = jv_invalid(),
				  .commands = jv_invalid()};
	auto_free char *text = NULL;
	size_t len = 0;
	if (yaml_jv_file(AT_FDCWD, file, &l.root, &text, &len, &inner) < 0) {
		if (strcmp(inner.code, "missing_file") == 0) {
			sbx_fail(err, SBX_CONFIG, "missing_config", "there is no settings file %s", file);
			return sbx_hint(err, "name one with --config FILE or SBX_CONFIG, or write %s", SBX_CONFIG_DEFAULT);
		}
		inner.class = SBX_CONFIG;
		*err = inner;
		return -1;
	}
	int result = -1;
	digest_sha256_hex(text, len, config->sha256);
	if (jv_get_kind(l.root) != JV_KIND_OBJECT)
		bad(&l, "the file", "must be a mapping");
	else if ((l.dir = config_directory(file, err)) != NULL && (config->file = strdup(file)) != NULL)
		result = fill(&l, config);
	free(l.dir);
	jv_free(l.root);
	if (result < 0)
		config_clear(config);
	return result;
}

void config_clear(struct config *c)
{
	free(c->file);
	free(c->policy);
	free(c->state);
	free(c->allowed_signers);
	free(c->approvers);
	free(c->driver);
	free(c->provider);
	jv_free(c->workspaces);
	jv_free(c->drivers);
	jv_free(c->providers);
	jv_free(c->targets);
	jv_free(c->desk);
	jv_free(c->notify);
	jv_free(c->commands);
	*c = (struct config){.workspaces = jv_invalid(),
			     .drivers = jv_invalid(),
			     .providers = jv_invalid(),
			     .targets = jv_invalid(),
			     .desk = jv_invalid(),
			     .notify = jv_invalid(),
			     .commands = jv_invalid()};
}

jv config_settings(jv all, const char *name)
{
	jv settings = json_object(all, name);

	return jv_is_valid(settings) ? settings : jv_object();
}
