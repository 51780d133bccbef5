/* The backend block in each syntax, found without understanding the rest of the configuration. */
#include "backend_read.h"

#include <string.h>

#include "hcl_lex.h"
#include "json.h"
#include "setting.h"
#include "tf_file.h"

enum { NESTED_MAX = 64 };

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
	"sse_customer_key",
	"token",
	"web_identity_token",
};

/* The name as it stands above; NULL: it holds none. */
static const char *secret_name(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(secret_names); i++)
		if (hcl_is(name, len, secret_names[i]))
			return secret_names[i];
	return NULL;
}

/* What is told of a setting whose name has to be worked out: it may be any of them. */
static const char computed_name[] = "a name that is not written out";

static int is_template(const char *text, size_t len)
{
	return memmem(text, len, "${", 2) != NULL || memmem(text, len, "%{", 2) != NULL;
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
static void take_text(struct backend_found *found, const char *name, const char *text, size_t len)
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
static struct backend_found *begin_block(struct backend_found *found, const char *type, size_t len)
{
	if (len == 0 || len > BACKEND_LABEL_MAX) {
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
static int take_block(struct hcl_lex *lex, struct backend_found *found)
{
	struct sbx_error too_large = SBX_ERROR_INIT;
	enum hcl_token token;
	const char *text;
	size_t len;
	unsigned open = 1;
	const char *secret = NULL;
	int at_name = 1, was_open = 0, is_computed = 0; /* the word before, if a name, is none that stands there */

	for (;;) {
		if (hcl_next(lex, &token, &text, &len) < 0 || token == HCL_END || open > NESTED_MAX)
			return -1;
		open += token == HCL_OPEN;
		open -= token == HCL_CLOSE;
		if (open == 0)
			return 0;
		int is_name = at_name && (token == HCL_NAME || token == HCL_STRING);
		if (found != NULL && token == HCL_OTHER &&
		    ((at_name && hcl_is(text, len, "(")) || (is_computed && (hcl_is(text, len, "=") || hcl_is(text, len, ":")))))
			found->secret = computed_name;
		if (found != NULL && was_open && token == HCL_NAME && hcl_is(text, len, "for"))
			found->secret = computed_name;
		was_open = token == HCL_OPEN;
		is_computed = is_name && token == HCL_STRING && (memchr(text, '\\', len) != NULL || is_template(text, len));
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
static int take_terraform(struct hcl_lex *lex, struct backend_found *found)
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
			struct backend_found *to = is_cloud	? begin_block(found, "cloud", strlen("cloud"))
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

static int take_native(struct backend_found *found, const char *text, size_t len)
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
static void take_json_value(struct backend_found *found, const char *name, jv value)
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
			if (text == NULL || is_template(text, strlen(text)))
				found->secret = computed_name;
			take_json_value(found, text != NULL ? secret_name(text, strlen(text)) : NULL, member);
		}
	}
}

/* Is called with each object that VALUE is, or holds in lists however deep: to Terraform a list of blocks in JSON is the
 * blocks one after the other, wherever it stands. */
typedef int block_fn(struct backend_found *found, jv block, const char *type);

static int each_block(struct backend_found *found, jv value, block_fn *take, const char *type)
{
	if (jv_get_kind(value) == JV_KIND_OBJECT)
		return take(found, value, type);
	if (jv_get_kind(value) != JV_KIND_ARRAY)
		return -1;
	for (int i = 0, n = json_length(value); i < n; i++) {
		auto_jv element = json_at(value, i);
		if (each_block(found, element, take, type) < 0)
			return -1;
	}
	return 0;
}

static int take_json_settings(struct backend_found *found, jv settings, const char *type)
{
	struct sbx_error unwritable = SBX_ERROR_INIT;
	auto_jv public = jv_object();

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

/* {TYPE: {…}} */
static int take_json_backend(struct backend_found *found, jv backend, const char *none)
{
	(void)none;
	for (int i = jv_object_iter(backend); jv_object_iter_valid(backend, i); i = jv_object_iter_next(backend, i)) {
		auto_jv key = jv_object_iter_key(backend, i), settings = jv_object_iter_value(backend, i);
		if (json_text(key) == NULL || each_block(found, settings, take_json_settings, json_text(key)) < 0)
			return -1;
	}
	return 0;
}

/* {"backend": {TYPE: {…}}}, or {"cloud": {…}}. */
static int take_json_terraform(struct backend_found *found, jv block, const char *none)
{
	auto_jv backend = json_get(block, "backend"), cloud = json_get(block, "cloud");

	(void)none;
	if (jv_is_valid(cloud) && each_block(found, cloud, take_json_settings, "cloud") < 0)
		return -1;
	return jv_is_valid(backend) ? each_block(found, backend, take_json_backend, NULL) : 0;
}

static int take_json_file(struct backend_found *found, jv file, const char *none)
{
	auto_jv terraform = json_get(file, "terraform");

	(void)none;
	return jv_is_valid(terraform) ? each_block(found, terraform, take_json_terraform, NULL) : 0;
}

static int take_json(struct backend_found *found, const char *text, size_t len)
{
	struct sbx_error unread = SBX_ERROR_INIT;
	auto_jv file = jv_invalid();

	if (json_parse_foreign(text, len, TF_FILE_MAX, &file, &unread) < 0)
		return -1;
	return each_block(found, file, take_json_file, NULL);
}

void backend_read(struct backend_found *found, const char *name, const char *bytes, size_t len)
{
	found->files++;
	found->in_override = is_override(name);
	if (bytes == NULL || (tf_file_is_json(name) ? take_json(found, bytes, len) : take_native(found, bytes, len)) < 0)
		found->unreadable = 1;
}
