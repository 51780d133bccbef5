/* What a call comes to when nothing refused it: its tier, the effect of that, and the digests that an approval binds.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "policy_impl.h"

static const int64_t approval_ttl_s = LIMIT_APPROVAL_S;

/* What can make a tier; nothing else does. */
struct tier_inputs {
	enum tier tool;
	int has_plan;
	enum plan_verdict verdict; /* of the named plan */
	int64_t data_destroyed;	   /* objects that hold data, and that it destroys */
	enum tier when;
	jv raised; /* borrowed: the rules that raised */
	int is_agent_writable;
	enum tier taint; /* what untrusted output that was read of late asks for; TIER_LOW: nothing */
};

/* The highest of all inputs; FROM gets the names of those that reach it. */
static enum tier tier_max(const struct tier_inputs *in, jv *from)
{
	/* A low tool changes nothing, whatever its plan says. */
	int counts = in->has_plan && in->tool >= TIER_MEDIUM;
	enum tier plan = counts && in->verdict != PLAN_SAFE ? TIER_HIGH : TIER_LOW;
	enum tier data = counts && in->data_destroyed > 0 ? TIER_CRITICAL : TIER_LOW;
	enum tier writable = in->is_agent_writable ? TIER_HIGH : TIER_LOW;
	enum tier max = in->tool;

	max = plan > max ? plan : max;
	max = data > max ? data : max;
	max = writable > max ? writable : max;
	max = in->when > max ? in->when : max;
	max = in->taint > max ? in->taint : max;
	*from = jv_array();
	if (in->tool == max)
		*from = json_append(*from, jv_string("tool"));
	if (plan == max && plan > TIER_LOW)
		*from = json_append(*from, jv_string("plan"));
	if (data == max && data > TIER_LOW)
		*from = json_append(*from, jv_string("plan_data"));
	if (writable == max && writable > TIER_LOW)
		*from = json_append(*from, jv_string("agent_writable"));
	if (in->taint == max && in->taint > TIER_LOW)
		*from = json_append(*from, jv_string("taint"));
	for (int i = 0, n = json_length(in->raised); i < n; i++) {
		auto_jv rule = json_at(in->raised, i);
		char name[96];
		if (strcmp(json_str(rule, "tier"), tier_name(max)) != 0)
			continue;
		snprintf(name, sizeof name, "when:%s", json_str(rule, "name"));
		*from = json_append(*from, jv_string(name));
	}
	return max;
}

static int is_below(jv globs, const char *path)
{
	for (int i = 0, n = json_length(globs); path != NULL && i < n; i++) {
		auto_jv glob = json_at(globs, i);
		/* FNM_LEADING_DIR: what lies below such a directory is as writable. */
		if (fnmatch(json_text(glob), path, FNM_PATHNAME | FNM_LEADING_DIR | FNM_NOESCAPE) == 0)
			return 1;
	}
	return 0;
}

/* A directory whose files an agent writes is a program that the agent wrote: when a parameter names it, and when the steps
 * of RUN stand in it, be it that the tool's file says so or that it is where the named plan was made. */
static int is_agent_writable(const struct deciding *d, jv run)
{
	auto_jv globs = json_array(d->policy->root, "agent_writable"), workspace = json_object(run, "workspace");

	for (int i = jv_object_iter(d->params); jv_object_iter_valid(d->params, i);
	     i = jv_object_iter_next(d->params, i)) {
		auto_jv key = jv_object_iter_key(d->params, i), value = jv_object_iter_value(d->params, i);
		auto_jv declaration = json_object(d->declarations, json_text(key));
		char name[80];
		if (param_type(declaration) == PARAM_DIRECTORY &&
		    is_below(globs, param_path(json_text(value), name, sizeof name)))
			return 1;
	}
	return is_below(globs, json_str(workspace, "cwd"));
}

static int find_tier(const struct deciding *d, const struct when_outcome *outcome, jv run, enum tier *tier, jv *from,
		     struct sbx_error *err)
{
	struct tier_inputs in = {
		.has_plan = jv_is_valid(d->seal),
		.verdict = PLAN_DESTRUCTIVE,
		.when = outcome->raise,
		.raised = outcome->raised,
		.is_agent_writable = is_agent_writable(d, run),
	};

	int64_t for_s;

	*from = jv_invalid();
	if (jv_get_kind(d->taint) == JV_KIND_OBJECT)
		root_taint(d->policy->root, &in.taint, &for_s);
	if (tier_parse(json_str(d->tool, "tier"), &in.tool) < 0)
		return sbx_fail(err, SBX_BUG, "bug", "a tool that was checked has no tier");
	if (in.has_plan && (plan_verdict_parse(json_str(d->seal, "verdict"), &in.verdict) < 0 ||
			    json_int(d->seal, "data_destroyed", &in.data_destroyed) < 0 || in.data_destroyed < 0)) {
		sbx_fail(err, SBX_DENIED, "plan_seal_invalid", "the plan's seal does not say what the plan does");
		return sbx_hint(err, "make a new plan");
	}
	*tier = tier_max(&in, from);
	return 0;
}

/* The terms of an approval for TIER; invalid when it needs none. */
static jv approval_terms(jv root, enum tier tier)
{
	auto_jv tiers = json_object(root, "tiers"), terms = json_object(tiers, tier_name(tier)),
		ttl = json_get(terms, "ttl");
	int64_t ttl_ms = approval_ttl_s * 1000;
	int verified = json_bool(terms, "user_verification");

	if (tier < TIER_HIGH)
		return jv_invalid();
	/* A touch says that somebody was there; for what is critical the key must know who. */
	if (verified < 0)
		verified = tier == TIER_CRITICAL;
	schema_duration(ttl, &ttl_ms);
	jv approval = json_set_int(json_set_int(jv_object(), "threshold", root_threshold(root, tier)), "ttl_s",
				   ttl_ms / 1000);
	return verified ? json_set_bool(approval, "user_verification", 1) : approval;
}

static jv join_reason(enum tier tier, jv from)
{
	char text[300];
	size_t used = (size_t)snprintf(text, sizeof text, "tier %s %s (decided by:", tier_name(tier),
				       tier >= TIER_HIGH ? "needs an approval" : "runs without an approval");

	for (int i = 0, n = json_length(from); i < n && used < sizeof text; i++) {
		auto_jv name = json_at(from, i);
		used += (size_t)snprintf(text + used, sizeof text - used, " %s", json_text(name));
	}
	if (used < sizeof text)
		snprintf(text + used, sizeof text - used, ")");
	return jv_string(text);
}

static int digest_decision(jv policy, char out[65], struct sbx_error *err)
{
	static const char *const covered[] = {"tier", "rule", "approval", "run", "credentials"};
	auto_jv decision = jv_object();

	for (size_t i = 0; i < ARRAY_LEN(covered); i++) {
		jv member = json_get(policy, covered[i]);
		decision = json_set(take_jv(&decision), covered[i], jv_is_valid(member) ? member : jv_null());
	}
	return json_digest(decision, out, err);
}

static int digest_subject(const struct deciding *d, const char *decision, char out[65], struct sbx_error *err)
{
	auto_jv subject = json_set_str(jv_object(), "installation", d->world->installation);

	subject = json_set_str(take_jv(&subject), "principal", d->question->principal);
	subject = json_set_str(take_jv(&subject), "tool", d->question->tool);
	subject = json_set(take_jv(&subject), "params", jv_copy(d->params));
	subject = json_set(take_jv(&subject), "plan", jv_is_valid(d->seal) ? jv_string(d->seal_sha256) : jv_null());
	subject = json_set_str(take_jv(&subject), "decision", decision);
	return json_digest(subject, out, err);
}

static jv plan_member(const struct deciding *d)
{
	auto_free char *name = tool_param_of(d->tool, PARAM_PLAN);
	jv plan = json_set_str(jv_object(), "id", json_str(d->params, name));

	plan = json_set_str(plan, "seal_sha256", d->seal_sha256);
	plan = json_set_str(plan, "verdict", json_str(d->seal, "verdict"));
	return json_set_str(plan, "created_at", json_str(d->seal, "created_at"));
}

/* The member "policy" of a call that was not denied. Consumes RUN, CREDENTIALS and FROM. */
static int build_policy(const struct deciding *d, enum tier tier, jv from, jv run, jv credentials, jv *out,
			struct sbx_error *err)
{
	auto_jv policy = json_set_str(jv_object(), "effect", tier >= TIER_HIGH ? "approve" : "allow");
	jv approval = approval_terms(d->policy->root, tier);
	char decision[65], subject[65];

	policy = json_set_str(take_jv(&policy), "tier", tier_name(tier));
	policy = json_set_str(take_jv(&policy), "rule", d->rule);
	policy = json_set(take_jv(&policy), "reasons", json_append(jv_array(), join_reason(tier, from)));
	policy = json_set(take_jv(&policy), "tier_from", from);
	policy = json_set(take_jv(&policy), "run",
			  json_set_str(run, "require", run_require(d->policy->root, d->tool, tier)));
	policy = json_set(take_jv(&policy), "credentials", credentials);
	if (jv_is_valid(approval))
		policy = json_set(take_jv(&policy), "approval", approval);
	if (jv_is_valid(d->seal))
		policy = json_set(take_jv(&policy), "plan", plan_member(d));
	if (digest_decision(policy, decision, err) < 0 || digest_subject(d, decision, subject, err) < 0)
		return -1;
	policy = json_set_str(take_jv(&policy), "decision_sha256", decision);
	policy = json_set_str(take_jv(&policy), "subject_sha256", subject);
	*out = json_set_str(take_jv(&policy), "policy_sha256", d->policy->files.sha256);
	return 0;
}

int outcome_build(const struct deciding *d, const struct when_outcome *outcome, jv run, jv credentials, jv *out,
		  struct sbx_error *err)
{
	auto_jv owned_run = run, owned_credentials = credentials, from = jv_invalid();
	enum tier tier = TIER_CRITICAL;

	if (find_tier(d, outcome, owned_run, &tier, &from, err) < 0)
		return -1;
	return build_policy(d, tier, take_jv(&from), take_jv(&owned_run), take_jv(&owned_credentials), out, err);
}
