/* The backend block, found without understanding the rest of the configuration. */
#include "backend.h"

#include <string.h>

#include "digest.h"
#include "hcl_lex.h"
#include "setting.h"
#include "tf_file.h"
#include "tree.h"

enum { LABEL_MAX = 64, NESTED_MAX = 64 };
static const size_t settings_max = (size_t)1 << 20;

/* Settings of Terraform's own backends that hold a secret or name a key's bytes. */
static const char *const secret_names[] = {
	"access_key",
	"access_token",
	"client_certificate_password",
	"client_key",
	"client_private_key_pem",
	"client_secret",
	"conn_str",
	"credentials",
	"customer_encryption_key",
	"encryption_key",
	"http_auth",
	"key_material",
	"oidc_request_token",
	"oidc_token",
	"password",
	"private_key",
	"private_key_password",
	"sas_token",
	"secret_id",
	"secret_key",
	"security_token",
	"token",
};

struct found {
	char type[LABEL_MAX + 1]; /* "" : none yet */
	struct buf settings;
	const char *secret; /* which of the names has a value there, or an address; NULL: none */
	unsigned blocks;
	int unreadable;
	/* Terraform lets a file of overrides replace the block of the others. */
	int in_override, from_override;
	/* Where symlinks are followed. */
	int tree_fd;
	uint64_t size;
	const char *dir;
};

/* The name as it stands above; NULL: it holds none. */
static const char *secret_name(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(secret_names); i++)
		if (hcl_is(name, len, secret_names[i]))
			return secret_names[i];
	return NULL;
}

/* An address with somebody's name in it: https://NAME:PASSWORD@HOST/… */
static int has_user(const char *text, size_t len)
{
	static const char front[] = "://";
	const char *place = memmem(text, len, front, sizeof front - 1);

	if (place == NULL)
		return 0;
	place += sizeof front - 1;
	size_t left = len - (size_t)(place - text);
	const char *path = memchr(place, '/', left);
	return memchr(place, '@', path != NULL ? (size_t)(path - place) : left) != NULL;
}

/* The text of a setting: of the secret NAME, or NULL for any other. The path of a file is none. */
static void take_text(struct found *found, const char *name, const char *text, size_t len)
{
	if (name == NULL)
		name = has_user(text, len) ? "address" : NULL;
	else if (len == 0 || setting_is_ours(text, len) ||
		 (strcmp(name, "credentials") == 0 && memchr(text, '{', len) == NULL))
		name = NULL;
	if (name != NULL)
		found->secret = name;
}

/* What stands for it without being a text: a reference, a heredoc; not null. */
static int is_other_value(enum hcl_token token, const char *text, size_t len)
{
	return token == HCL_NAME ? !hcl_is(text, len, "null") : token == HCL_OTHER && len >= 2 && text[0] == '<';
}

/* override.tf, NAME_override.tf, and the same in JSON. */
static int is_override(const char *name)
{
	static const char word[] = "override";
	size_t len = tf_file_base(name), word_len = sizeof word - 1;

	return len >= word_len && memcmp(name + len - word_len, word, word_len) == 0 &&
	       (len == word_len || name[len - word_len - 1] == '_');
}

/* A block of this type begins: where its settings go (FOUND), or NULL when an override has replaced it. */
static struct found *begin_block(struct found *found, const char *type, size_t len)
{
	if (len == 0 || len > LABEL_MAX) {
		found->unreadable = 1;
		return NULL;
	}
	if (found->from_override && !found->in_override)
		return NULL;
	/* Terraform refuses two in files of one kind. */
	if (found->blocks > 0 && found->from_override == found->in_override)
		found->unreadable = 1;
	found->from_override = found->in_override;
	found->blocks++;
	memcpy(found->type, type, len);
	found->type[len] = '\0';
	found->secret = NULL;
	buf_reset(&found->settings);
	return found;
}

/* The tokens of a block, behind its brace and to the one that closes it, a line each; the values of secrets are left
 * out. FOUND NULL: they go nowhere. -1: it cannot be read. */
static int take_block(struct hcl_lex *lex, struct found *found)
{
	struct sbx_error too_large = SBX_ERROR_INIT;
	enum hcl_token token;
	const char *text;
	size_t len;
	unsigned open = 1;
	const char *secret = NULL;
	int at_name = 1;

	for (;;) {
		if (hcl_next(lex, &token, &text, &len) < 0 || token == HCL_END || open > NESTED_MAX)
			return -1;
		open += token == HCL_OPEN;
		open -= token == HCL_CLOSE;
		if (open == 0)
			return 0;
		int is_name = at_name && (token == HCL_NAME || token == HCL_STRING);
		at_name = token == HCL_NEWLINE || token == HCL_OPEN || (token == HCL_OTHER && hcl_is(text, len, ","));
		if (is_name)
			secret = secret_name(text, len);
		else if (at_name)
			secret = NULL;
		if (found == NULL || token == HCL_NEWLINE)
			continue;
		if (token == HCL_STRING && !is_name)
			take_text(found, secret, text, len);
		else if (secret != NULL && !is_name && is_other_value(token, text, len))
			found->secret = secret;
		if (secret != NULL && !is_name)
			continue;
		if (buf_add(&found->settings, text, len, &too_large) < 0 ||
		    buf_add(&found->settings, "\n", 1, &too_large) < 0)
			return -1;
	}
}

/* In a block `terraform`, behind its brace. */
static int take_terraform(struct hcl_lex *lex, struct found *found)
{
	enum hcl_token token;
	const char *text, *label = NULL;
	size_t len, label_len = 0;
	int at_start = 1, is_backend = 0, is_cloud = 0;

	for (;;) {
		if (hcl_next(lex, &token, &text, &len) < 0 || token == HCL_END)
			return -1;
		if (token == HCL_CLOSE)
			return 0;
		if (token == HCL_OPEN) {
			struct found *to = is_cloud	? begin_block(found, "cloud", strlen("cloud"))
					   : is_backend ? begin_block(found, label, label_len)
							: NULL;
			if (take_block(lex, to) < 0)
				return -1;
			is_backend = is_cloud = 0;
		} else if (at_start) {
			is_backend = token == HCL_NAME && hcl_is(text, len, "backend");
			is_cloud = token == HCL_NAME && hcl_is(text, len, "cloud");
			label_len = 0;
		} else if (is_backend && (token == HCL_STRING || token == HCL_NAME)) {
			label = text;
			label_len = len;
		}
		at_start = token == HCL_NEWLINE;
		if (at_start)
			is_backend = is_cloud = 0;
	}
}

static int take_native(struct found *found, const char *text, size_t len)
{
	struct hcl_lex lex;
	enum hcl_token token;
	const char *word;
	size_t word_len;
	int at_start = 1, is_terraform = 0;

	hcl_begin(&lex, text, len);
	for (;;) {
		if (hcl_next(&lex, &token, &word, &word_len) < 0)
			return -1;
		if (token == HCL_END)
			return 0;
		if (token == HCL_OPEN) {
			if ((is_terraform ? take_terraform(&lex, found) : take_block(&lex, NULL)) < 0)
				return -1;
			is_terraform = 0;
		} else if (at_start) {
			is_terraform = token == HCL_NAME && hcl_is(word, word_len, "terraform");
		}
		at_start = token == HCL_NEWLINE;
	}
}

/* The texts in the value of a setting; of the secret NAME, or NULL. */
static void take_json_value(struct found *found, const char *name, jv value)
{
	if (jv_get_kind(value) == JV_KIND_STRING) {
		take_text(found, name, json_text(value), strlen(json_text(value)));
	} else if (jv_get_kind(value) == JV_KIND_ARRAY) {
		for (int i = 0, n = json_length(value); i < n; i++) {
			auto_jv element = json_at(value, i);
			take_json_value(found, name, element);
		}
	} else if (jv_get_kind(value) == JV_KIND_OBJECT) {
		for (int i = jv_object_iter(value); jv_object_iter_valid(value, i); i = jv_object_iter_next(value, i)) {
			auto_jv key = jv_object_iter_key(value, i), member = jv_object_iter_value(value, i);
			const char *text = json_text(key);
			take_json_value(found, text != NULL ? secret_name(text, strlen(text)) : NULL, member);
		}
	}
}

/* The settings of a backend in JSON. */
static int take_json_settings(struct found *found, const char *type, jv settings)
{
	struct sbx_error unwritable = SBX_ERROR_INIT;
	auto_jv public = jv_object();

	if (type == NULL || jv_get_kind(settings) != JV_KIND_OBJECT)
		return -1;
	if (begin_block(found, type, strlen(type)) == NULL)
		return 0;
	take_json_value(found, NULL, settings);
	for (int i = jv_object_iter(settings); jv_object_iter_valid(settings, i);
	     i = jv_object_iter_next(settings, i)) {
		auto_jv key = jv_object_iter_key(settings, i);
		const char *name = json_text(key);
		if (name == NULL)
			return -1;
		if (secret_name(name, strlen(name)) == NULL)
		public = json_set(take_jv(&public), name, jv_object_iter_value(settings, i));
	}
	return json_write(public, &found->settings, &unwritable);
}

/* "terraform": {"backend": {TYPE: {…}}}, or {"cloud": {…}}. */
static int take_json_terraform(struct found *found, jv block)
{
	auto_jv backend = json_get(block, "backend"), cloud = json_get(block, "cloud");

	if (jv_is_valid(cloud))
		return take_json_settings(found, "cloud", cloud);
	if (!jv_is_valid(backend))
		return 0;
	if (jv_get_kind(backend) != JV_KIND_OBJECT || json_length(backend) != 1)
		return -1;
	auto_jv names = jv_keys(jv_copy(backend)), name = json_at(names, 0);
	auto_jv settings = json_text(name) != NULL ? json_get(backend, json_text(name)) : jv_invalid();
	return take_json_settings(found, json_text(name), settings);
}

static int take_json(struct found *found, const char *text, size_t len)
{
	struct sbx_error unread = SBX_ERROR_INIT;
	auto_jv file = jv_invalid();

	if (json_parse_foreign(text, len, TF_FILE_MAX, &file, &unread) < 0)
		return -1;
	auto_jv terraform = json_get(file, "terraform");
	if (jv_get_kind(terraform) != JV_KIND_ARRAY)
		return take_json_terraform(found, terraform);
	for (int i = 0, n = json_length(terraform); i < n; i++) {
		auto_jv block = json_at(terraform, i);
		if (take_json_terraform(found, block) < 0)
			return -1;
	}
	return 0;
}

/* Without bytes it is a symlink, or too large to be any. */
static int take_file(void *context, const char *name, const char *bytes, size_t len, struct sbx_error *err)
{
	struct found *found = context;
	auto_free char *followed = NULL;

	found->in_override = is_override(name);
	if (bytes == NULL && tf_file_follow(found->tree_fd, found->size, found->dir, name, &followed, &len, err) < 0)
		return -1;
	bytes = bytes != NULL ? bytes : followed;
	if (bytes == NULL ||
	    (tf_file_is_json(name) ? take_json(found, bytes, len) : take_native(found, bytes, len)) < 0)
		found->unreadable = 1;
	return 0;
}

static int refuse_arguments(jv run, struct sbx_error *err)
{
	static const char option[] = "-backend-config";
	auto_jv steps = json_array(run, "steps");

	for (int i = 0, n = json_length(steps); i < n; i++) {
		auto_jv step = json_at(steps, i), argv = json_array(step, "argv");
		for (int j = 0, m = json_length(argv); j < m; j++) {
			auto_jv word = json_at(argv, j);
			const char *text = json_text(word);
			if (text == NULL)
				continue;
			text += strncmp(text, "--", 2) == 0; /* terraform takes both */
			if (strncmp(text, option, strlen(option)) != 0)
				continue;
			sbx_fail(err, SBX_CONFIG, "backend_config",
				 "a tool that makes or runs plans gives -backend-config to a step");
			return sbx_hint(err, "write the settings into the backend block of the configuration, which "
					     "the plan's seal covers");
		}
	}
	return 0;
}

/* Terraform writes the backend's settings into the plan file, and an apply works with those alone: a secret there would
 * be kept with the plan, and it would be the plan's and not the apply's. */
static int refuse_secret(const char *name, struct sbx_error *err)
{
	sbx_fail(err, SBX_DENIED, "backend_secret",
		 "the configuration gives the backend a secret (%s), which would stand in the plan file", name);
	return sbx_hint(err, "take it out: for a kubernetes or s3 backend the tool has a credential as a file "
			     "(credentials: in its policy); "
			     "an http backend takes none");
}

int backend_of(jv run, int tree_fd, uint64_t size, jv *backend, struct sbx_error *err)
{
	auto_jv workspace = json_object(run, "workspace"), env = json_object(run, "env");
	const char *cwd = json_str(workspace, "cwd"), *named = json_str(env, "TF_WORKSPACE");
	struct found found = {.settings = BUF_INIT(settings_max), .tree_fd = tree_fd, .size = size, .dir = cwd != NULL ? cwd : "."};
	const struct tree_taker taker = {.wanted = tf_file_is, .take = take_file, .context = &found, .max = TF_FILE_MAX};
	char sha256[DIGEST_HEX_SIZE];

	int result = refuse_arguments(run, err);
	if (result == 0 && tree_fd >= 0)
		result = tree_each(tree_fd, size, found.dir, &taker, err);
	if (result == 0 && found.secret != NULL)
		result = refuse_secret(found.secret, err);
	if (result == 0) {
		const char *type = found.unreadable ? "unknown" : found.blocks > 0 ? found.type : "local";
		jv made = json_set_str(jv_object(), "type", type);
		digest_sha256_hex(buf_str(&found.settings), found.settings.len, sha256);
		if (found.blocks > 0)
			made = json_set_str(made, "config_sha256", sha256);
		*backend = json_set_str(made, "workspace", named != NULL && named[0] != '\0' ? named : "default");
	}
	buf_clear(&found.settings);
	return result;
}
