/* state and call: the state directory, stage files, seals. */
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "call.h"
#include "clock.h"
#include "io.h"
#include "state.h"

static char base[] = "/tmp/sbx-unit-XXXXXX";
static struct state state = STATE_NONE;
static struct secret key = SECRET_INIT;

static void test_state(void)
{
	struct sbx_error e = SBX_ERROR_INIT;
	char path[64], again[STATE_ID_SIZE];
	struct state second = STATE_NONE;
	struct secret second_key = SECRET_INIT;

	snprintf(path, sizeof path, "%s/var", base);
	CHECK(state_open(path, &state, &e) == 0 && state_is_id(state.installation));
	CHECK(state_seal_key(&state, &key, &e) == 0 && key.len == 32);
	memcpy(again, state.installation, sizeof again);
	CHECK(state_open(path, &second, &e) == 0 && strcmp(second.installation, again) == 0);
	CHECK(state_seal_key(&second, &second_key, &e) == 0 && secret_equal(&key, &second_key));
	secret_clear(&second_key);
	state_close(&second);
	CHECK(chmod(path, 0750) == 0 && state_open(path, &second, &e) == -1);
	CHECK_STR(e.code, "unsafe_state");
	CHECK(strstr(e.hint, "chmod 700") != NULL && e.class == SBX_CONFIG);
	CHECK(chmod(path, 0700) == 0);
	sbx_error_clear(&e);
	CHECK(fchmodat(state.fd, "seal.key", 0640, 0) == 0 && state_seal_key(&state, &second_key, &e) == -1);
	CHECK(fchmodat(state.fd, "seal.key", 0600, 0) == 0);
	CHECK(!state_is_id("0123") && !state_is_id("0123456789ABCDEF0123456789ABCDEF") && !state_is_id(NULL));
}

static void test_stages(void)
{
	struct sbx_error e = SBX_ERROR_INIT;
	const char *id = "00000000000000000000000000000001";
	int64_t when = 0;

	CHECK(state_run_open(&state, id, &e) == -1);
	CHECK_STR(e.code, "call_closed");
	sbx_error_clear(&e);
	auto_fd run = state_run_create(&state, id, &e);
	CHECK(run >= 0);
	CHECK(state_run_create(&state, id, &e) == -1);
	CHECK_STR(e.code, "call_reused");
	sbx_error_clear(&e);
	auto_fd stage = state_stage_begin(run, "policy", &e);
	CHECK(stage >= 0 && state_stage_look(run, "policy", &when) == STAGE_LOCKED);
	CHECK(state_stage_begin(run, "policy", &e) == -1);
	CHECK_STR(e.code, "call_reused");
	sbx_error_clear(&e);
	CHECK(state_stage_look(run, "approve", &when) == STAGE_ABSENT);
	base_close_fd(&stage);
	CHECK(state_stage_look(run, "policy", &when) == STAGE_DEAD && when > 0);
	auto_fd second = state_stage_begin(run, "approve", &e);
	CHECK(state_stage_done(second, &e) == 0);
	base_close_fd(&second);
	CHECK(state_stage_look(run, "approve", &when) == STAGE_DONE);
	auto_fd mend = state_mend_begin(run, &e);
	CHECK(mend >= 0 && state_mend_begin(run, &e) == -1 && e.class == SBX_OK);
	CHECK(state_stage_begin(run, "cred", &e) == -1);
	CHECK_STR(e.code, "call_closed");
}

static jv sealed_call(enum call_stage until)
{
	struct sbx_error e = SBX_ERROR_INIT;
	jv call = jv_invalid();
	static const char text[] = "{\"sbx\":1,\"call\":{\"id\":\"00000000000000000000000000000002\",\"tool\":\"t\"},\"policy\":{\"effect\":\"allow\"}}";

	json_parse(text, sizeof text - 1, LIMIT_CALL, &call, &e);
	for (int stage = CALL_POLICY; stage <= (int)until; stage++) {
		if (stage == CALL_APPROVE)
			call = json_set(call, "approval", json_set_str(jv_object(), "state", "none"));
		if (stage == CALL_CRED)
			call = json_set(call, "credential", jv_array());
		if (stage == CALL_RUN)
			call = json_set(call, "result", json_set_str(jv_object(), "state", "completed"));
		if (stage == CALL_REVOKE)
			call = json_set(call, "revocation", jv_array());
		call_seal(&call, &key, state.installation, (enum call_stage)stage, &e);
	}
	return call;
}

/* Consumes CALL. */
static const char *verdict(jv call, enum call_stage next)
{
	static struct sbx_error e;

	sbx_error_clear(&e);
	auto_jv owned = call;
	return call_verify(owned, &key, state.installation, next, &e) == 0 ? "verified" : e.code;
}

static jv change(jv call, const char *member, const char *name, const char *value)
{
	jv inner = json_get(call, member);

	return json_set(call, member, json_set_str(jv_is_valid(inner) ? inner : jv_object(), name, value));
}

static void test_seals(void)
{
	for (int stage = CALL_POLICY; stage < CALL_AUDIT; stage++) {
		CHECK_STR(verdict(sealed_call((enum call_stage)stage), (enum call_stage)(stage + 1)), "verified");
		CHECK_STR(verdict(change(sealed_call((enum call_stage)stage), "policy", "effect", "deny"), (enum call_stage)(stage + 1)), "seal_invalid");
		CHECK_STR(verdict(change(sealed_call((enum call_stage)stage), "call", "tool", "u"), (enum call_stage)(stage + 1)), "seal_invalid");
		if (stage > CALL_POLICY) /* a stage skipped, or fed to the wrong one */
			CHECK_STR(verdict(sealed_call((enum call_stage)stage), (enum call_stage)stage), "seal_invalid");
	}
	/* A member that only a later stage may write. */
	CHECK_STR(verdict(change(sealed_call(CALL_POLICY), "approval", "state", "claimed"), CALL_APPROVE), "seal_invalid");
	CHECK_STR(verdict(change(sealed_call(CALL_APPROVE), "result", "state", "completed"), CALL_CRED), "seal_invalid");
	CHECK_STR(verdict(json_delete(sealed_call(CALL_APPROVE), "approval"), CALL_CRED), "seal_invalid");
	CHECK_STR(verdict(json_delete(sealed_call(CALL_APPROVE), "seals"), CALL_CRED), "seal_invalid");
	CHECK_STR(verdict(json_set(sealed_call(CALL_POLICY), "seals", jv_true()), CALL_APPROVE), "seal_invalid");
	jv foreign = sealed_call(CALL_POLICY);
	struct sbx_error e = SBX_ERROR_INIT;
	CHECK(call_verify(foreign, &key, "another installation", CALL_APPROVE, &e) == -1);
	jv_free(foreign);
}

static void test_errors(void)
{
	struct sbx_error e = SBX_ERROR_INIT, read = SBX_ERROR_INIT;
	jv call = sealed_call(CALL_POLICY);

	sbx_fail(&e, SBX_DENIED, "denied", "no");
	call = call_set_error(call, "approve", &e);
	sbx_error_clear(&e);
	call_seal(&call, &key, state.installation, CALL_APPROVE, &e);
	CHECK_STR(verdict(jv_copy(call), CALL_CRED), "verified");
	CHECK(call_get_error(call, &read) == 1 && read.class == SBX_DENIED && call_class(call) == SBX_DENIED);
	CHECK_STR(verdict(change(jv_copy(call), "error", "code", "none"), CALL_CRED), "seal_invalid");
	CHECK_STR(verdict(json_delete(jv_copy(call), "error"), CALL_CRED), "seal_invalid");
	/* Passed on: cred and audit seal it, run and revoke do not appear. */
	call_seal(&call, &key, state.installation, CALL_CRED, &e);
	CHECK_STR(verdict(jv_copy(call), CALL_AUDIT), "verified");
	jv_free(call);
	/* run_died stands under sbx-cred's second seal. */
	call = sealed_call(CALL_CRED);
	sbx_fail(&e, SBX_OUTCOME_UNKNOWN, "run_died", "gone");
	call = json_set(call_set_error(call, "run", &e), "revocation", jv_array());
	sbx_error_clear(&e);
	call_seal(&call, &key, state.installation, CALL_REVOKE, &e);
	CHECK_STR(verdict(jv_copy(call), CALL_AUDIT), "verified");
	CHECK(call_class(call) == SBX_OUTCOME_UNKNOWN);
	jv_free(call);
	/* An error added behind the seals, as if the stage before had failed. */
	sbx_fail(&e, SBX_DENIED, "denied", "no");
	CHECK_STR(verdict(call_set_error(sealed_call(CALL_POLICY), "approve", &e), CALL_APPROVE), "seal_invalid");
	CHECK_STR(verdict(call_set_error(sealed_call(CALL_POLICY), "nobody", &e), CALL_APPROVE), "seal_invalid");
}

static void test_stale(void)
{
	struct sbx_error e = SBX_ERROR_INIT;
	char text[CLOCK_RFC3339_SIZE];
	auto_jv call = sealed_call(CALL_POLICY);
	auto_jv seals = json_array(call, "seals");
	jv seal = json_at(seals, 0);

	/* Another time in a seal breaks its MAC: age cannot be changed from outside. */
	clock_format(clock_seconds() - 30, text);
	jv forged = json_set(jv_copy(call), "seals", json_append(jv_array(), json_set_str(seal, "time", text)));
	CHECK_STR(verdict(forged, CALL_APPROVE), "seal_invalid");
	CHECK(call_verify_stored(call, &key, state.installation, CALL_APPROVE, &e) == 0);
}

static void test_shape(void)
{
	struct sbx_error e = SBX_ERROR_INIT;
	jv call = jv_invalid();
	static const char *const wrong[] = {"[]", "{}", "{\"sbx\":2,\"error\":{}}", "{\"sbx\":1}", "{\"sbx\":1,\"call\":{},\"seals\":[]}",
					    "{\"sbx\":1,\"call\":{\"id\":\"x\",\"tool\":\"t\"},\"seals\":[],\"extra\":1}",
					    "{\"sbx\":1,\"call\":\"x\",\"seals\":[]}", "{\"sbx\":1,\"error\":{\"code\":\"x\"}}", "7"};

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		sbx_error_clear(&e);
		CHECK(call_parse(wrong[i], strlen(wrong[i]), SBX_PROTOCOL, &call, &e) == -1 && e.class == SBX_PROTOCOL);
	}
	sbx_error_clear(&e);
	CHECK(call_parse("", 0, SBX_BAD_REQUEST, &call, &e) == -1 && e.class == SBX_NO_INPUT);
	sbx_error_clear(&e);
	CHECK(call_parse("", 0, SBX_PROTOCOL, &call, &e) == -1 && e.class == SBX_PROTOCOL);
	sbx_error_clear(&e);
	static const char bare[] = "{\"sbx\":1,\"error\":{\"stage\":\"policy\",\"code\":\"x\",\"class\":70,\"message\":\"m\"}}";
	CHECK(call_parse(bare, sizeof bare - 1, SBX_PROTOCOL, &call, &e) == 0 && call_is_bare_error(call));
	jv_free(call);
}

static int may_run(const char *effect, const char *approval)
{
	jv call = json_set(jv_object(), "policy", json_set_str(jv_object(), "effect", effect));
	if (approval != NULL)
		call = json_set(call, "approval", json_set_str(jv_object(), "state", approval));
	auto_jv object = call;

	return call_may_run(object);
}

static void test_may_run(void)
{
	static const char *const effects[] = {"allow", "approve", "deny", NULL};
	static const char *const states[] = {"none", "waiting", "claimed", "", NULL};
	int good = 0;

	CHECK(may_run("allow", "none"));
	CHECK(may_run("approve", "claimed"));
	for (size_t i = 0; i < ARRAY_LEN(effects); i++)
		for (size_t j = 0; j < ARRAY_LEN(states); j++)
			good += may_run(effects[i], states[j]);
	CHECK(good == 2);
}

static void test_state_class(void)
{
	CHECK(call_state_class("completed") == SBX_OK);
	CHECK(call_state_class("failed") == SBX_COMMAND_FAILED && call_state_class("timeout") == SBX_COMMAND_FAILED);
	CHECK(call_state_class("cancelled") == SBX_COMMAND_FAILED);
	CHECK(call_state_class("unknown") == SBX_OUTCOME_UNKNOWN);
	CHECK(call_state_class("refused") == SBX_DENIED);
}

int main(void)
{
	struct sbx_error e = SBX_ERROR_INIT;

	if (mkdtemp(base) == NULL)
		return 1;
	test_state();
	test_stages();
	test_seals();
	test_errors();
	test_stale();
	test_shape();
	test_may_run();
	test_state_class();
	secret_clear(&key);
	state_close(&state);
	io_remove_tree(AT_FDCWD, base, &e);
	return unit_done();
}
