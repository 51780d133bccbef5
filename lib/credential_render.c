/* Rendering credentials without letting them out of locked memory. */
#include "credential_render.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "ascii.h"
#include "io.h"
#include "json_out.h"

enum {
	FIELD_NAME_MAX = 64,
	LENGTH_DIGITS_MAX = 6, /* LIMIT_SECRET has five */
	FIELD_MIN = 8,	       /* what a scrubber can find (scrub.h) */
	CA_MAX = 32768,	       /* a bundle of a dozen authorities; with its base64 it fits LIMIT_SECRET */
	SERVER_MAX = 512,
};

static const char *const form_names[CREDENTIAL_FORMS] = {"token", "kubeconfig", "aws-credentials"};

enum credential_form credential_form(const char *as)
{
	for (int i = 0; as != NULL && i < CREDENTIAL_FORMS; i++)
		if (strcmp(as, form_names[i]) == 0)
			return (enum credential_form)i;
	return CREDENTIAL_FORMS;
}

/* The text up to the next NUL, at most MAX bytes; *AT moves behind the NUL. */
static const char *take_text(const struct secret *fields, size_t *at, size_t max)
{
	const unsigned char *from = fields->data + *at;
	size_t left = fields->len - *at;
	const unsigned char *nul = memchr(from, '\0', left < max + 1 ? left : max + 1);

	if (nul == NULL || nul == from)
		return NULL;
	*at += (size_t)(nul - from) + 1;
	return (const char *)from;
}

int credential_next_field(const struct secret *fields, size_t *at, struct credential_field *field)
{
	uint64_t len;

	if (*at == fields->len)
		return 0;
	const char *name = take_text(fields, at, FIELD_NAME_MAX);
	if (name == NULL || strspn(name, "abcdefghijklmnopqrstuvwxyz_") != strlen(name))
		return -1;
	const char *digits = take_text(fields, at, LENGTH_DIGITS_MAX);
	if (digits == NULL || io_parse_u64(digits, 1, fields->len - *at, &len) < 0)
		return -1;
	*field = (struct credential_field){name, fields->data + *at, (size_t)len};
	*at += (size_t)len;
	return 1;
}

int credential_fields_are(const struct secret *fields, jv names)
{
	struct credential_field field;
	size_t at = 0;
	int found, count = 0;

	while ((found = credential_next_field(fields, &at, &field)) == 1) {
		auto_jv name = json_at(names, count++);
		const char *text = json_text(name);
		if (text == NULL || strcmp(text, field.name) != 0 || field.len < FIELD_MIN)
			return 0;
	}
	return found == 0 && count > 0 && jv_get_kind(names) == JV_KIND_ARRAY && json_length(names) == count;
}

int credential_is_in(const struct secret *fields, const void *text, size_t len)
{
	struct credential_field field;

	for (size_t at = 0; credential_next_field(fields, &at, &field) == 1;)
		if (len >= field.len && memmem(text, len, field.bytes, field.len) != NULL)
			return 1;
	return 0;
}

/* The field NAME, of visible ASCII without quotes and backslashes: anything else could end the line or the string that
 * it is put into. */
static int find_field(const struct secret *fields, const char *name, struct credential_field *field,
		      struct sbx_error *err)
{
	int found = 0;

	for (size_t at = 0; found == 0 && credential_next_field(fields, &at, field) == 1;)
		found = strcmp(field->name, name) == 0;
	if (!found)
		return sbx_fail(err, SBX_PROTOCOL, "provider_protocol", "the provider gave no field %s", name);
	for (size_t i = 0; i < field->len; i++) {
		unsigned char c = field->bytes[i];
		if (c <= 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '\'')
			return sbx_fail(err, SBX_PROTOCOL, "provider_protocol",
					"the field %s holds what no such credential has", name);
	}
	return 0;
}

static int add_text(struct secret *file, const char *text, struct sbx_error *err)
{
	return secret_append(file, text, strlen(text), err);
}

static int add_field(struct secret *file, const struct secret *fields, const char *before, const char *name,
		     const char *after, struct sbx_error *err)
{
	struct credential_field field;

	if (find_field(fields, name, &field, err) < 0 || add_text(file, before, err) < 0 ||
	    secret_append(file, field.bytes, field.len, err) < 0)
		return -1;
	return add_text(file, after, err);
}

static int bad_target(struct sbx_error *err, const char *what)
{
	sbx_fail(err, SBX_CONFIG, "bad_target", "%s", what);
	return sbx_hint(err, "in sbx.yaml: targets: {NAME: {server: \"https://host:6443\", ca_file: FILE}}");
}

static const char *target_server(jv target)
{
	static const char scheme[] = "https://";
	const char *server = json_str(target, "server");

	if (server == NULL || strncmp(server, scheme, sizeof scheme - 1) != 0 || strlen(server) > SERVER_MAX ||
	    !ascii_is_visible(server, strlen(server)))
		return NULL;
	return server;
}

/* The CA as base64 text; "" when the target names none (its certificate is of a public authority). */
static int read_ca(jv target, char **base64, struct sbx_error *err)
{
	struct sbx_error inner = SBX_ERROR_INIT;
	auto_free char *text = NULL;
	size_t len = 0;

	if (json_has(target, "ca_file")) {
		const char *path = json_str(target, "ca_file");
		if (path == NULL)
			return bad_target(err, "ca_file of the target is no text");
		if (io_read_file(AT_FDCWD, path, CA_MAX, IO_TRUSTED, &text, &len, &inner) < 0) {
			bad_target(err, inner.message);
			return sbx_wrap(err, "the target's ca_file");
		}
		if (len == 0)
			return bad_target(err, "ca_file of the target is empty");
	}
	*base64 = calloc(1, (len + 2) / 3 * 4 + 1);
	if (*base64 == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (len > 0)
		EVP_EncodeBlock((unsigned char *)*base64, (const unsigned char *)text, (int)len);
	return 0;
}

int credential_check_target(jv target, struct sbx_error *err)
{
	auto_free char *ca = NULL;

	if (target_server(target) == NULL)
		return bad_target(err, "the target has no server with an https address");
	return read_ca(target, &ca, err);
}

static int render_kubeconfig(const struct secret *fields, jv target, struct secret *file, struct sbx_error *err)
{
	const char *server = target_server(target);
	auto_free char *ca = NULL;

	if (server == NULL)
		return bad_target(err, "the target has no server with an https address");
	if (read_ca(target, &ca, err) < 0)
		return -1;
	const char *const parts[] = {
		"apiVersion: v1\nkind: Config\nclusters:\n- name: sbx\n  cluster:\n    server: \"",
		server,
		"\"\n",
		ca[0] != '\0' ? "    certificate-authority-data: \"" : "",
		ca,
		ca[0] != '\0' ? "\"\n" : "",
		"contexts:\n- name: sbx\n  context:\n    cluster: sbx\n    user: sbx\ncurrent-context: sbx\nusers:\n- "
		"name: sbx\n  user:\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (add_text(file, parts[i], err) < 0)
			return -1;
	return add_field(file, fields, "    token: \"", "token", "\"\n", err);
}

static int render_aws(const struct secret *fields, struct secret *file, struct sbx_error *err)
{
	if (add_field(file, fields, "[default]\naws_access_key_id = ", "access_key_id", "\n", err) < 0 ||
	    add_field(file, fields, "aws_secret_access_key = ", "secret_access_key", "\n", err) < 0)
		return -1;
	return add_field(file, fields, "aws_session_token = ", "session_token", "\n", err);
}

int credential_render(enum credential_form form, const struct secret *fields, jv target, struct secret *file,
		      struct sbx_error *err)
{
	if (secret_alloc(file, 2 * LIMIT_SECRET, err) < 0)
		return -1;
	switch (form) {
	case CREDENTIAL_TOKEN:
		return add_field(file, fields, "", "token", "", err);
	case CREDENTIAL_KUBECONFIG:
		return render_kubeconfig(fields, target, file, err);
	case CREDENTIAL_AWS:
		return render_aws(fields, file, err);
	case CREDENTIAL_FORMS:
		break;
	}
	return sbx_fail(err, SBX_BUG, "bug", "a credential of an unknown form was to be rendered");
}
