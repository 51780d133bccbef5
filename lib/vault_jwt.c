/* One process of another provider. */
#include "vault_jwt.h"

#include <string.h>

#include "credential_process.h"
#include "credential_render.h"
#include "io.h"
#include "process.h"
#include "state.h"

enum { ANSWER_MAX = 65536, SECRET_NUMBER = 3 };

static int make_request(const char *audience, struct buf *text, struct sbx_error *err)
{
	char id[STATE_ID_SIZE];

	io_random_hex(id, (STATE_ID_SIZE - 1) / 2);
	jv settings = json_set_str(jv_object(), "audience", audience);
	settings = json_set(settings, "permissions", json_append(jv_array(), jv_string("login")));
	jv object = json_set_str(json_set_str(jv_object(), "lease", id), "principal", "sbx-cred-vault");
	object = json_set_int(json_set_str(object, "scope", "vault-login"), "lifetime_s", 0);
	auto_jv request = json_set(object, "settings", settings);
	return json_write(request, text, err);
}

/* Its fields are one, the token. */
static int take_token(const struct secret *fields, struct secret *token, struct sbx_error *err)
{
	struct credential_field field;
	size_t at = 0;

	if (credential_next_field(fields, &at, &field) != 1 || strcmp(field.name, "token") != 0)
		return -1;
	if (secret_alloc(token, field.len, err) < 0)
		return -1;
	return secret_append(token, field.bytes, field.len, err);
}

int vault_own_jwt(const char *config, const char *audience, int64_t deadline, struct secret *token,
		  struct sbx_error *err)
{
	static const char program[] = "sbx-cred-jwt";
	const char *const argv[] = {program, "mint", "--config", config, "--secret-fd", "3", NULL};
	auto_buf request = BUF_INIT(ANSWER_MAX), answer = BUF_INIT(ANSWER_MAX);
	auto_secret fields = SECRET_INIT;
	auto_credential_process p = CREDENTIAL_PROCESS_INIT;
	auto_free char *path = process_helper(program, err);
	int status = 0;

	if (path == NULL || make_request(audience, &request, err) < 0)
		return -1;
	p.path = path;
	p.argv = argv;
	p.input = request.data;
	p.input_len = request.len;
	p.answer = &answer;
	p.secret = &fields;
	p.secret_number = SECRET_NUMBER;
	if (credential_process_start(&p, err) < 0 || credential_process_wait(&p, deadline, &status, err) < 0)
		return sbx_wrap(err, "%s", program);
	if (status == 0 && take_token(&fields, token, err) == 0)
		return 0;
	return sbx_fail(err, SBX_CONFIG, "vault_jwt", "sbx-cred-jwt gives no token for the login");
}
