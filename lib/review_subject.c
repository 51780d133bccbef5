/* What a review is made from, and the digest that is the same each time the same thing is asked. */
#include "review_text.h"

#include <string.h>

#include "call.h"
#include "plan.h"
#include "review_quote.h"

static int load_plan(const struct state *state, const struct secret *key, jv named, struct review *review,
		     struct sbx_error *err)
{
	const char *id = json_str(named, "id"), *decided = json_str(named, "seal_sha256");
	char seal_sha256[65];

	if (!state_is_id(id) || decided == NULL)
		return sbx_fail(err, SBX_DENIED, "plan_changed", "the call names no plan that could be found");
	if (plan_find(state, key, id, &review->seal, seal_sha256, err) < 0)
		return -1;
	if (strcmp(seal_sha256, decided) != 0)
		return sbx_fail(err, SBX_DENIED, "plan_changed",
				"the plan is not the one that the decision was made about");
	return plan_open_report(state, review->seal, &review->report, err);
}

int review_load(const struct state *state, const struct secret *key, jv call, enum review_level level,
		struct review *review, struct sbx_error *err)
{
	auto_jv policy = json_object(call, "policy");
	auto_jv named = json_object(policy, "plan");

	review->call = jv_copy(call);
	review->installation = state->installation;
	review->level = level;
	return jv_is_valid(named) ? load_plan(state, key, named, review, err) : 0;
}

void review_clear(struct review *review)
{
	jv_free(review->call);
	jv_free(review->seal);
	jv_free(review->report);
	*review = (struct review)REVIEW_INIT;
}

int review_subject(const struct review *review, char sha256[65], struct sbx_error *err)
{
	auto_jv call = json_object(review->call, "call");
	auto_jv policy = json_object(review->call, "policy");
	auto_jv plan = json_object(policy, "plan");
	auto_jv params = json_object(call, "params");
	const char *principal = call_principal(review->call), *seal = json_str(plan, "seal_sha256");
	const char *decision = json_str(policy, "decision_sha256"), *claimed = json_str(policy, "subject_sha256");

	if (principal == NULL || decision == NULL || claimed == NULL || !jv_is_valid(params))
		return sbx_fail(err, SBX_PROTOCOL, "bad_call", "the call lacks what an approval is bound to");
	jv subject = json_set_str(jv_object(), "installation", review->installation);
	subject = json_set_str(subject, "principal", principal);
	subject = json_set_str(subject, "tool", call_tool(review->call));
	subject = json_set(subject, "params", jv_copy(params));
	subject = json_set(subject, "plan", seal != NULL ? jv_string(seal) : jv_null());
	auto_jv whole = json_set_str(subject, "decision", decision);
	if (json_digest(whole, sha256, err) < 0)
		return -1;
	if (strcmp(sha256, claimed) != 0)
		return sbx_fail(err, SBX_DENIED, "subject_mismatch",
				"the call's subject is not the digest of what it asks for");
	return 0;
}

static int is_deleted(jv finding)
{
	auto_jv actions = json_array(finding, "actions");

	for (int i = 0, n = json_length(actions); i < n; i++) {
		auto_jv action = json_at(actions, i);
		const char *text = json_text(action);
		if (text != NULL && strcmp(text, "delete") == 0)
			return 1;
	}
	return 0;
}

/* A person types it: an address that the text cuts is none. */
static void quote_lost(const char *address, char lost[REVIEW_LOST_SIZE])
{
	auto_buf quoted = BUF_INIT(LIMIT_CALL);
	struct sbx_error ignored = SBX_ERROR_INIT;
	size_t len = strlen(address);

	if (review_quote(&quoted, address, len, &ignored) < 0 || quoted.len < 2 ||
	    quoted.data[quoted.len - 1] != '"' || quoted.len - 2 >= REVIEW_LOST_SIZE)
		return;
	memcpy(lost, quoted.data + 1, quoted.len - 2);
	lost[quoted.len - 2] = '\0';
}

void review_lost(const struct review *review, char lost[REVIEW_LOST_SIZE])
{
	auto_jv findings = json_array(review->report, "findings");
	size_t shortest = SIZE_MAX;

	lost[0] = '\0';
	for (int i = 0, n = json_length(findings); i < n; i++) {
		auto_jv finding = json_at(findings, i);
		const char *address = json_str(finding, "address");
		if (json_bool(finding, "holds_data") != 1 || address == NULL ||
		    address[0] == '\0' || strlen(address) >= shortest || !is_deleted(finding))
			continue;
		shortest = strlen(address);
		quote_lost(address, lost);
	}
}

int review_plan(const char *text, size_t len, char id[STATE_ID_SIZE])
{
	/* Nobody else's words stand at the start of a line. */
	const char *at = memmem(text, len, REVIEW_PLAN_HEADING, strlen(REVIEW_PLAN_HEADING));
	size_t left = at != NULL ? len - (size_t)(at - text) - strlen(REVIEW_PLAN_HEADING) : 0;

	if (left < STATE_ID_SIZE + 1) /* and both quotes */
		return 0;
	memcpy(id, at + strlen(REVIEW_PLAN_HEADING) + 1, STATE_ID_SIZE - 1);
	id[STATE_ID_SIZE - 1] = '\0';
	return state_is_id(id);
}

enum review_level review_level_of(const char *text, size_t len)
{
	const size_t line = strlen(REVIEW_LEVEL_0_LINE);

	return len >= line && memcmp(text, REVIEW_LEVEL_0_LINE, line) == 0 ? REVIEW_LEVEL_0 : REVIEW_SEPARATE;
}
