/* One provider process for each verb. */
#include "credential_provider.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "ascii.h"
#include "call.h"
#include "clock.h"
#include "credential_process.h"
#include "credential_render.h"
#include "start.h"

enum {
	VERB_MS = 10 * 1000, /* a provider talks to one server, once; who needs longer is down */
	ANSWER_MAX = 64 * 1024,
	PROVIDER_NAME_MAX = 32,
	METADATA_MAX = 200, /* a jti, a proof: they stand in the call and in the record */
	PROGRAM_SIZE = sizeof "sbx-cred-" + PROVIDER_NAME_MAX,
};

/* Descriptors of a provider. */
#define SECRET_NUMBER 3
#define LOCK_NUMBER 4

static int program_name(const char *provider, char out[PROGRAM_SIZE], struct sbx_error *err)
{
	if (provider == NULL || provider[0] == '\0' || provider[0] == '-' || strlen(provider) > PROVIDER_NAME_MAX ||
	    strspn(provider, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(provider))
		return sbx_fail(err, SBX_CONFIG, "bad_credentials",
				"a scope names no provider (small letters, digits and dashes)");
	snprintf(out, PROGRAM_SIZE, "sbx-cred-%s", provider);
	return 0;
}

int credential_provider_exists(const char *name, struct sbx_error *err)
{
	char program[PROGRAM_SIZE];

	if (program_name(name, program, err) < 0)
		return -1;
	auto_free char *path = process_helper(program, err);
	return path == NULL ? -1 : 0;
}

/* What both verbs are told: the record of the lease without what is ours alone, and the provider's settings, so that a
 * provider needs no YAML. */
static jv request_for(const struct credential_broker *broker, const struct lease *lease)
{
	jv request = jv_copy(lease->record);

	request = json_delete(json_delete(json_delete(request, "state"), "index"), "as");
	if (!json_has(request, "jti"))
		request = json_set(request, "jti", jv_null());
	return json_set(request, "config",
			config_settings(broker->config->providers, json_str(lease->record, "provider")));
}

static int protocol_error(struct sbx_error *err, const char *program, const char *what)
{
	sbx_fail(err, SBX_PROTOCOL, "provider_protocol", "%s %s", program, what);
	return sbx_hint(err, "sbx-helper(7) has the contract of providers");
}

/* A provider that fails may say why, as {"error":{class,code,message,hint}}. Its words are used only when nothing
 * secret can be among them. */
static int provider_failed(const char *program, int status, const struct buf *answer, const struct secret *fields,
			   struct sbx_error *err)
{
	struct sbx_error said = SBX_ERROR_INIT, ignored = SBX_ERROR_INIT;
	auto_jv reply = jv_invalid();

	if (WIFSIGNALED(status))
		return sbx_fail(err, SBX_UNAVAILABLE, "provider_failed", "%s was killed by signal %d", program,
				WTERMSIG(status));
	if ((fields == NULL || fields->len == 0) &&
	    json_parse(buf_str(answer), answer->len, ANSWER_MAX, &reply, &ignored) == 0 &&
	    call_get_error(reply, &said) == 1 && ascii_is_printable(said.message, sizeof said.message) &&
	    ascii_is_printable(said.code, sizeof said.code) &&
	    strspn(said.code, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(said.code)) {
		if (said.hint[0] != '\0' && !ascii_is_printable(said.hint, sizeof said.hint))
			said.hint[0] = '\0';
		*err = said;
		return sbx_wrap(err, "%s", program);
	}
	return sbx_fail(err, SBX_UNAVAILABLE, "provider_failed", "%s failed with status %d", program,
			spawn_exit_code(status));
}

struct request {
	const char *verb;
	jv object;	       /* borrowed */
	struct secret *fields; /* NULL: the verb gives none */
	int lock_fd;
};

#define NUMBER_TEXT(n) #n
#define NUMBER(n) NUMBER_TEXT(n)

/* ARGV holds 9. */
static void build_argv(const char **argv, const char *program, const char *config, const struct request *request)
{
	*argv++ = program;
	*argv++ = request->verb;
	*argv++ = "--config";
	*argv++ = config;
	if (request->fields != NULL) {
		*argv++ = "--secret-fd";
		*argv++ = NUMBER(SECRET_NUMBER);
	}
	if (request->lock_fd >= 0) {
		*argv++ = "--lock-fd";
		*argv++ = NUMBER(LOCK_NUMBER);
	}
	*argv = NULL;
}

/* Start the provider, hand over the request, take its one object. */
static int ask(const struct credential_broker *broker, const char *provider, const struct request *request,
	       struct buf *answer, jv *reply, struct sbx_error *err)
{
	auto_credential_process p = CREDENTIAL_PROCESS_INIT;
	const struct spawn_fd lock = {LOCK_NUMBER, request->lock_fd};
	struct sbx_error failed = SBX_ERROR_INIT;
	auto_buf input = BUF_INIT(LIMIT_CALL);
	char program[PROGRAM_SIZE];
	const char *argv[9];
	int status = 0;

	if (program_name(provider, program, err) < 0 || json_write(request->object, &input, err) < 0)
		return -1;
	auto_free char *path = process_helper(program, err);
	if (path == NULL)
		return -1;
	build_argv(argv, program, broker->config->file, request);
	p.path = path;
	p.argv = argv;
	p.fds = &lock;
	p.fd_count = request->lock_fd >= 0;
	p.input = input.data;
	p.input_len = input.len;
	p.answer = answer;
	p.secret = request->fields;
	p.secret_number = SECRET_NUMBER;
	if (credential_process_start(&p, err) < 0)
		return -1;
	if (credential_process_wait(&p, clock_mono_ms() + VERB_MS, &status, &failed) < 0) {
		if (strcmp(failed.code, "timeout") == 0) {
			sbx_fail(err, SBX_UNAVAILABLE, "provider_timeout", "%s did not answer in %d seconds", program,
				 VERB_MS / 1000);
			return sbx_hint(err, "its server may be down or slow; what it may have made is given back");
		}
		return protocol_error(err, program, "answered with more than it may");
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return provider_failed(program, status, answer, request->fields, err);
	if (json_parse(buf_str(answer), answer->len, ANSWER_MAX, reply, &failed) < 0 ||
	    jv_get_kind(*reply) != JV_KIND_OBJECT)
		return protocol_error(err, program, "answered with something else than one JSON object");
	return 0;
}

static int is_same(jv reply, jv record, const char *key)
{
	const char *a = json_str(reply, key), *b = json_str(record, key);

	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static int check_minted(const char *program, const struct lease *lease, const struct buf *answer, jv reply,
			struct sbx_error *err)
{
	auto_jv names = json_get(reply, "fields");
	auto_jv jti = json_get(reply, "jti");
	const char *expires = json_str(reply, "expires_at");
	jv_kind kind = jv_get_kind(jti);
	int64_t at;

	if (!credential_fields_are(&lease->fields, names))
		return protocol_error(err, program, "gave other secret fields than it names");
	/* The metadata goes into the call, which agents see: a secret that a provider put there must not get out. */
	if (credential_is_in(&lease->fields, buf_str(answer), answer->len))
		return protocol_error(err, program, "put the secret among the metadata");
	if (!is_same(reply, lease->record, "provider") || !is_same(reply, lease->record, "lease"))
		return protocol_error(err, program, "answered for another lease");
	if (kind != JV_KIND_INVALID && kind != JV_KIND_NULL && !ascii_is_printable(json_text(jti), METADATA_MAX))
		return protocol_error(err, program, "gave a jti that is no short text");
	if (expires == NULL || strlen(expires) >= CLOCK_RFC3339_SIZE || clock_parse(expires, &at) < 0 ||
	    at <= clock_seconds())
		return protocol_error(err, program, "gave no time in the future at which the credential expires");
	return 0;
}

int credential_provider_mint(const struct credential_broker *broker, struct lease *lease, struct sbx_error *err)
{
	const char *provider = json_str(lease->record, "provider");
	auto_jv object = request_for(broker, lease);
	const struct request request = {
		.verb = "mint", .object = object, .fields = &lease->fields, .lock_fd = broker->lock_fd};
	auto_buf answer = BUF_INIT(ANSWER_MAX);
	auto_jv reply = jv_invalid();
	char program[PROGRAM_SIZE];

	if (program_name(provider, program, err) < 0 || ask(broker, provider, &request, &answer, &reply, err) < 0 ||
	    check_minted(program, lease, &answer, reply, err) < 0)
		return -1;
	lease->record = json_set_str(take_jv(&lease->record), "jti", json_str(reply, "jti"));
	lease->record = json_set_str(take_jv(&lease->record), "expires_at", json_str(reply, "expires_at"));
	return 0;
}

jv credential_provider_revoke(const struct credential_broker *broker, const struct lease *lease, struct sbx_error *err)
{
	static const char *const states[] = {"revoked", "expires", "deferred"};
	const char *provider = json_str(lease->record, "provider");
	auto_jv object = request_for(broker, lease);
	const struct request request = {.verb = "revoke", .object = object, .lock_fd = -1};
	auto_buf answer = BUF_INIT(ANSWER_MAX);
	auto_jv reply = jv_invalid();

	if (ask(broker, provider, &request, &answer, &reply, err) < 0)
		return jv_invalid();
	const char *state = json_str(reply, "state"), *proof = json_str(reply, "proof");
	for (size_t i = 0; state != NULL && ascii_is_printable(proof, METADATA_MAX) && i < ARRAY_LEN(states); i++)
		if (strcmp(state, states[i]) == 0)
			return json_set_str(json_set_str(jv_object(), "state", state), "proof", proof);
	protocol_error(err, provider, "gave no state and proof of the revocation");
	return jv_invalid();
}
