/* The object in the pipe: its shape, its error, its seals. */
#include "call.h"

#include <string.h>

#include "clock.h"
#include "digest.h"
#include "wire.h"

#define SEAL_CONTEXT "sbx-seal/1"

static const char *const stage_names[CALL_STAGES] = {"policy", "approve", "cred", "run", "revoke", "audit"};

/* Who writes which member; "error" belongs to the stage that it names. */
struct member {
	const char *name;
	jv_kind kind;
	enum call_stage writer;
};
static const struct member members[] = {
	{"sbx", JV_KIND_NUMBER, CALL_POLICY},	     {"call", JV_KIND_OBJECT, CALL_POLICY},
	{"policy", JV_KIND_OBJECT, CALL_POLICY},     {"approval", JV_KIND_OBJECT, CALL_APPROVE},
	{"credential", JV_KIND_ARRAY, CALL_CRED},    {"result", JV_KIND_OBJECT, CALL_RUN},
	{"revocation", JV_KIND_ARRAY, CALL_REVOKE},
};

const char *call_stage_name(enum call_stage stage)
{
	return stage < CALL_STAGES ? stage_names[stage] : "none";
}

static int has_shape(jv call)
{
	static const char *const allowed[] = {"sbx", "call", "policy", "approval", "credential", "result", "revocation", "error",
					      "seals", NULL};
	int64_t version;

	if (jv_get_kind(call) != JV_KIND_OBJECT)
		return 0;
	auto_free char *unknown = json_unknown_key(call, allowed);
	if (unknown != NULL || json_int(call, "sbx", &version) < 0 || version != CALL_VERSION)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		auto_jv value = json_get(call, members[i].name);
		if (jv_is_valid(value) && jv_get_kind(value) != members[i].kind)
			return 0;
	}
	auto_jv error = json_get(call, "error");
	auto_jv seals = json_get(call, "seals");
	if (jv_is_valid(error) && (json_str(error, "stage") == NULL || json_str(error, "code") == NULL))
		return 0;
	if (call_is_bare_error(call))
		return 1;
	return jv_get_kind(seals) == JV_KIND_ARRAY && call_id(call) != NULL && call_tool(call) != NULL;
}

int call_parse(const char *bytes, size_t len, enum sbx_class class, jv *call, struct sbx_error *err)
{
	struct sbx_error inner = SBX_ERROR_INIT;
	auto_jv value = jv_invalid();

	*call = jv_invalid();
	if (json_parse(bytes, len, LIMIT_CALL, &value, &inner) < 0) {
		inner.class = class;
		if (strcmp(inner.code, "json_empty") == 0) {
			sbx_fail(err, class == SBX_BAD_REQUEST ? SBX_NO_INPUT : class, "no_input", "there is nothing on stdin");
			return sbx_hint(err, "the stage before gave no object");
		}
		*err = inner;
		return -1;
	}
	if (!has_shape(value))
		return sbx_fail(err, class, "bad_call", "the object on stdin is no call of contract version %d", CALL_VERSION);
	*call = take_jv(&value);
	return 0;
}

int call_is_bare_error(jv call)
{
	return json_length(call) == 2 && json_has(call, "sbx") && json_has(call, "error");
}

/* A string member of a member, borrowed from CALL. */
static const char *inner_str(jv call, const char *member, const char *key)
{
	auto_jv inner = json_object(call, member);

	return jv_is_valid(inner) ? json_str(inner, key) : NULL;
}

const char *call_id(jv call)
{
	return inner_str(call, "call", "id");
}

const char *call_tool(jv call)
{
	return inner_str(call, "call", "tool");
}

const char *call_principal(jv call)
{
	auto_jv inner = json_object(call, "call");

	return jv_is_valid(inner) ? inner_str(inner, "principal", "name") : NULL;
}

const char *call_approval_state(jv call)
{
	return inner_str(call, "approval", "state");
}

static void copy_text(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text != NULL ? text : "");
}

int call_get_error(jv call, struct sbx_error *err)
{
	auto_jv error = json_object(call, "error");
	int64_t class;

	if (!jv_is_valid(error))
		return 0;
	if (json_int(error, "class", &class) < 0 || !sbx_is_class(class))
		class = SBX_BUG;
	err->class = (enum sbx_class)class;
	copy_text(err->code, sizeof err->code, json_str(error, "code"));
	copy_text(err->message, sizeof err->message, json_str(error, "message"));
	copy_text(err->hint, sizeof err->hint, json_str(error, "hint"));
	return 1;
}

jv call_set_error(jv call, const char *stage, const struct sbx_error *err)
{
	jv error = jv_object();

	error = json_set_str(error, "stage", stage);
	error = json_set_int(error, "class", err->class);
	error = json_set_str(error, "code", err->code);
	error = json_set_str(error, "message", err->message);
	error = json_set_str(error, "hint", err->hint[0] != '\0' ? err->hint : NULL);
	return json_set(call, "error", error);
}

jv call_bare_error(const char *stage, const struct sbx_error *err)
{
	return call_set_error(json_set_int(jv_object(), "sbx", CALL_VERSION), stage, err);
}

/* The stage whose seal covers the error: the one it names, but run_died, which sbx-cred writes for a sbx-run that gave no answer.
 * CALL_STAGES: no error, or one of no stage. */
static enum call_stage error_writer(jv call)
{
	const char *stage = inner_str(call, "error", "stage"), *code = inner_str(call, "error", "code");

	if (stage == NULL || code == NULL)
		return CALL_STAGES;
	if (strcmp(stage, "run") == 0 && strcmp(code, "run_died") == 0)
		return CALL_REVOKE;
	for (int i = 0; i < CALL_STAGES; i++)
		if (strcmp(stage, stage_names[i]) == 0)
			return (enum call_stage)i;
	return CALL_STAGES;
}

/* What a failing sbx-cred had minted is revoked and said under its one seal. */
static enum call_stage member_writer(jv call, const struct member *member)
{
	if (member->writer == CALL_REVOKE && error_writer(call) == CALL_CRED)
		return CALL_CRED;
	return member->writer;
}

static jv covered(jv call, enum call_stage stage)
{
	jv object = jv_object();

	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (member_writer(call, &members[i]) == stage && json_has(call, members[i].name))
			object = json_set(object, members[i].name, json_get(call, members[i].name));
	if (error_writer(call) == stage)
		object = json_set(object, "error", json_get(call, "error"));
	return object;
}

static int compute_mac(jv call, const struct secret *key, const char *installation, enum call_stage stage, const char *time,
		       const char *previous, char mac[DIGEST_HEX_SIZE], struct sbx_error *err)
{
	auto_buf canonical = BUF_INIT(2 * LIMIT_CALL), text = BUF_INIT(3 * LIMIT_CALL);
	unsigned char digest[DIGEST_SIZE];
	auto_jv object = covered(call, stage);

	if (json_write(object, &canonical, err) < 0 || wire_put_str(&text, SEAL_CONTEXT, err) < 0 ||
	    wire_put_str(&text, installation, err) < 0 || wire_put_str(&text, call_stage_name(stage), err) < 0 ||
	    wire_put_str(&text, call_id(call), err) < 0 || wire_put_str(&text, time, err) < 0 ||
	    wire_put_str(&text, previous, err) < 0 || wire_put_bytes(&text, buf_str(&canonical), canonical.len, err) < 0)
		return -1;
	digest_hmac(key, buf_str(&text), text.len, digest);
	digest_to_hex(digest, sizeof digest, mac);
	return 0;
}

int call_seal(jv *call, const struct secret *key, const char *installation, enum call_stage stage, struct sbx_error *err)
{
	char time[CLOCK_RFC3339_SIZE], mac[DIGEST_HEX_SIZE];
	jv seals = json_array(*call, "seals");

	if (!jv_is_valid(seals))
		seals = jv_array();
	auto_jv last = json_at(seals, json_length(seals) - 1);
	const char *previous = json_str(last, "mac");
	clock_now(time);
	if (compute_mac(*call, key, installation, stage, time, previous, mac, err) < 0) {
		jv_free(seals);
		return -1;
	}
	jv seal = json_set_str(jv_object(), "stage", call_stage_name(stage));
	seal = json_set_str(json_set_str(seal, "time", time), "mac", mac);
	*call = json_set(take_jv(call), "seals", json_append(seals, seal));
	return 0;
}

static int invalid(struct sbx_error *err)
{
	sbx_fail(err, SBX_DENIED, "seal_invalid", "the call does not carry the seals of the stages before this one");
	return sbx_hint(err, "feed each stage the output of the one before it, from the same installation");
}

/* The seals that CALL must have for NEXT. */
static size_t expected_seals(jv call, enum call_stage next, enum call_stage out[CALL_STAGES])
{
	enum call_stage failed = error_writer(call);
	size_t count = 0;

	for (int i = 0; i < (int)next; i++) {
		enum call_stage stage = (enum call_stage)i;
		int after_early_error = failed <= CALL_CRED && (stage == CALL_RUN || stage == CALL_REVOKE);
		int died = failed == CALL_REVOKE && stage == CALL_RUN;
		if (!after_early_error && !died)
			out[count++] = stage;
	}
	return count;
}

/* Every member present must be covered by a seal that is there: a member of a later stage is a forgery. */
static int members_are_covered(jv call, const enum call_stage *stages, size_t count)
{
	unsigned sealed = 0;

	for (size_t i = 0; i < count; i++)
		sealed |= 1u << stages[i];
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (json_has(call, members[i].name) && !(sealed & 1u << member_writer(call, &members[i])))
			return 0;
	if (json_has(call, "error")) {
		enum call_stage writer = error_writer(call);
		if (writer == CALL_STAGES || !(sealed & 1u << writer))
			return 0;
	}
	return 1;
}

static int verify_chain(jv call, const struct secret *key, const char *installation, enum call_stage next, char newest[CLOCK_RFC3339_SIZE],
			struct sbx_error *err)
{
	enum call_stage stages[CALL_STAGES];
	size_t count = expected_seals(call, next, stages);
	char previous[DIGEST_HEX_SIZE] = "", mac[DIGEST_HEX_SIZE];
	auto_jv seals = json_array(call, "seals");

	if (call_id(call) == NULL || (size_t)json_length(seals) != count || !members_are_covered(call, stages, count))
		return invalid(err);
	for (size_t i = 0; i < count; i++) {
		auto_jv seal = json_at(seals, (int)i);
		const char *stage = json_str(seal, "stage"), *time = json_str(seal, "time"), *claimed = json_str(seal, "mac");
		if (stage == NULL || time == NULL || claimed == NULL || json_length(seal) != 3 ||
		    strcmp(stage, call_stage_name(stages[i])) != 0 || strlen(claimed) != DIGEST_HEX_SIZE - 1 ||
		    strlen(time) >= CLOCK_RFC3339_SIZE)
			return invalid(err);
		if (compute_mac(call, key, installation, stages[i], time, previous, mac, err) < 0)
			return -1;
		if (!digest_equal((const unsigned char *)mac, (const unsigned char *)claimed, DIGEST_HEX_SIZE - 1))
			return invalid(err);
		memcpy(previous, mac, sizeof previous);
		copy_text(newest, CLOCK_RFC3339_SIZE, time);
	}
	return 0;
}

int call_verify_stored(jv call, const struct secret *key, const char *installation, enum call_stage next, struct sbx_error *err)
{
	char newest[CLOCK_RFC3339_SIZE] = "";

	return verify_chain(call, key, installation, next, newest, err);
}

int call_verify(jv call, const struct secret *key, const char *installation, enum call_stage next, struct sbx_error *err)
{
	char newest[CLOCK_RFC3339_SIZE] = "";
	int64_t sealed;

	if (verify_chain(call, key, installation, next, newest, err) < 0)
		return -1;
	if (clock_parse(newest, &sealed) < 0)
		return invalid(err);
	int64_t age = clock_seconds() - sealed;
	if (age > LIMIT_SEAL_AGE_S || age < -LIMIT_SEAL_AHEAD_S) {
		sbx_fail(err, SBX_DENIED, "seal_stale", "the newest seal of the call is not of the last %d seconds", LIMIT_SEAL_AGE_S);
		return sbx_hint(err, "make the call again; a call cannot be kept");
	}
	return 0;
}

int call_may_run(jv call)
{
	const char *effect = inner_str(call, "policy", "effect"), *state = call_approval_state(call);

	if (effect == NULL || state == NULL)
		return 0;
	return (strcmp(effect, "allow") == 0 && strcmp(state, "none") == 0) ||
	       (strcmp(effect, "approve") == 0 && strcmp(state, "claimed") == 0);
}

enum sbx_class call_state_class(const char *state)
{
	if (strcmp(state, "completed") == 0)
		return SBX_OK;
	if (strcmp(state, "unknown") == 0)
		return SBX_OUTCOME_UNKNOWN;
	return strcmp(state, "refused") == 0 ? SBX_DENIED : SBX_COMMAND_FAILED;
}

enum sbx_class call_class(jv call)
{
	struct sbx_error err = SBX_ERROR_INIT;

	if (call_get_error(call, &err))
		return err.class;
	const char *state = inner_str(call, "result", "state");
	return state == NULL ? SBX_OK : call_state_class(state);
}

jv call_outcome(jv call)
{
	auto_jv error = json_object(call, "error");
	jv outcome = json_set_int(jv_object(), "class", call_class(call));

	if (jv_is_valid(error)) {
		outcome = json_set_str(outcome, "code", json_str(error, "code"));
		outcome = json_set_str(outcome, "stage", json_str(error, "stage"));
	}
	return json_set_str(outcome, "state", inner_str(call, "result", "state"));
}
