/* The seal of a kept plan. */
#include "sandbox_keep.h"

#include <string.h>

#include "call.h"
#include "clock.h"
#include "lock_file.h"
#include "plan.h"
#include "plan_format.h"
#include "sandbox_report.h"

int sandbox_makes_plan(jv run)
{
	auto_jv produces = json_array(run, "produces");

	for (int i = 0, n = json_length(produces); i < n; i++) {
		auto_jv entry = json_at(produces, i);
		const char *name = json_str(entry, "name");
		if (name != NULL && strcmp(name, "plan") == 0)
			return json_bool(run, "analyse") == 1;
	}
	return 0;
}

/* The program of the step that analyses: the one whose words about the plan were believed. */
static jv judged_by(jv run, jv digests, jv analysis)
{
	auto_jv steps = json_array(run, "steps");
	jv judge = json_set_str(jv_object(), "version", json_str(analysis, "terraform_version"));

	for (int i = 0, n = json_length(steps); i < n; i++) {
		auto_jv step = json_at(steps, i);
		const char *program = json_str(step, "program");
		if (program == NULL || json_str(step, "analyse") == NULL)
			continue;
		judge = json_set_str(judge, "program", program);
		judge = json_set_str(judge, "sha256", json_str(digests, program));
	}
	return judge;
}

static jv workspace_at(jv run)
{
	auto_jv workspace = json_object(run, "workspace"), state = json_object(workspace, "state");
	jv at = json_set_str(jv_object(), "name", json_str(workspace, "name"));

	at = json_set_str(at, "tree", json_str(workspace, "tree"));
	at = json_set_str(at, "cwd", json_str(workspace, "cwd"));
	return json_set_str(at, "state_path", json_str(state, "path"));
}

/* The terms of the call that made it, and where it stands. */
static jv seal_terms(const struct sandbox_plan *plan, jv run, const struct sandbox_outcome *outcome)
{
	auto_jv inner = json_object(plan->call, "call"), params = json_object(inner, "params");
	auto_jv workspace = json_object(run, "workspace");
	jv seal = json_set_str(jv_object(), "tool", call_tool(plan->call));

	seal = json_set(seal, "params", jv_is_valid(params) ? jv_copy(params) : jv_object());
	seal = json_set_str(seal, "principal", call_principal(plan->call));
	seal = json_set_str(seal, "made_by", call_id(plan->call));
	seal = json_set_str(seal, "driver", json_str(run, "driver"));
	seal = json_set_str(seal, "target", json_str(run, "target"));
	seal = json_set_str(seal, "isolation", json_str(outcome->isolation, "isolation"));
	seal = json_set(seal, "image", json_has(run, "image") ? json_get(run, "image") : jv_null());
	seal = json_set_str(seal, "target_sha256", plan->target_sha256);
	seal = json_set_str(seal, "workspace", json_str(workspace, "name"));
	seal = json_set(seal, "workspace_at", workspace_at(run));
	if (jv_is_valid(plan->backend))
		seal = json_set(seal, "backend", jv_copy(plan->backend));
	jv state = jv_is_valid(plan->state) ? plan->state : outcome->sealed_state;
	return jv_is_valid(state) ? json_set(seal, "state", jv_copy(state)) : seal;
}

/* How many findings the plan has; -1 when sbx-plan did not say, or said less than it listed. */
static int64_t count_findings(const struct sandbox_plan *plan, const struct sandbox_outcome *outcome,
			      struct sbx_error *err)
{
	int64_t total, listed = json_length(plan->findings) - sandbox_own_findings(outcome);

	if (json_int(outcome->analysis, "total", &total) < 0 || total < listed)
		return sbx_fail(err, SBX_COMMAND_FAILED, "plan_unreadable",
				"the plan cannot be judged: the list of its findings is not whole");
	/* What matters least stands last, and that is drift, which no apply does: when the last one that fits is
	 * another, one that does not fit may be the worst of its kind, and nobody would read of it. */
	auto_jv last = json_at(plan->findings, (int)listed - 1), signals = json_array(last, "signals"),
		first = json_at(signals, 0);
	if (total > listed && (jv_get_kind(first) != JV_KIND_STRING || strcmp(json_text(first), "drift") != 0)) {
		sbx_fail(err, SBX_COMMAND_FAILED, "plan_too_large",
			 "the plan has more findings than a person can be shown");
		sbx_hint(err, "split the change, so that it has at most %d at once", LIMIT_FINDINGS);
		return -1;
	}
	return total + sandbox_own_findings(outcome);
}

/* What a person is shown of the plan. */
static jv make_report(const struct sandbox_plan *plan, jv answer, int64_t total)
{
	static const char *const members[] = {"counts",	    "data_destroyed", "safe",
					      "safe_total", "differences",    "differences_total"};
	jv report = json_set_int(json_set(jv_object(), "findings", jv_copy(plan->findings)), "findings_total", total);

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		jv member = json_get(answer, members[i]);
		if (jv_is_valid(member))
			report = json_set(report, members[i], member);
	}
	return report;
}

/* How many objects the plan changes: an apply of it cannot leave the state as it was. */
static int64_t count_changes(jv answer)
{
	static const char *const names[] = {"create", "update", "replace", "delete", "forget"};
	auto_jv counts = json_object(answer, "counts");
	int64_t count, sum = 0;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (json_int(counts, names[i], &count) == 0)
			sum += count;
	return sum;
}

/* What decides about a call that names the plan, and about what its run leaves. */
static jv add_judgement(jv seal, const struct sandbox_plan *plan, jv answer)
{
	int64_t destroyed = 0;

	json_int(answer, "data_destroyed", &destroyed);
	seal = json_set_str(seal, "verdict", plan->verdict);
	seal = json_set_int(seal, "data_destroyed", destroyed);
	seal = json_set_int(seal, "changes", count_changes(answer));
	return json_set(seal, "digest", json_get(answer, "digest"));
}

int sandbox_keep(const struct state *state, const struct secret *key, const struct sandbox_plan *plan,
		 const struct sandbox_outcome *outcome, jv *kept, struct sbx_error *err)
{
	auto_jv policy = json_object(plan->call, "policy"), run = json_object(policy, "run");
	auto_jv workspace = json_object(run, "workspace"), seal = jv_invalid(), report = jv_invalid();
	char plan_sha256[DIGEST_HEX_SIZE], lock_sha256[DIGEST_HEX_SIZE], findings_sha256[65], seal_sha256[65];
	char id[STATE_ID_SIZE], now[CLOCK_RFC3339_SIZE], end[CLOCK_RFC3339_SIZE];
	uint64_t size;
	int64_t total = count_findings(plan, outcome, err);

	if (total < 0)
		return -1;
	report = make_report(plan, outcome->analysis, total);
	if (digest_fd_hex(outcome->plan_fd, LIMIT_ARTIFACT, plan_sha256, &size, err) < 0 ||
	    lock_file_digest(plan->tree.fd, plan->tree.size, json_str(workspace, "cwd"), lock_sha256, err) < 0 ||
	    json_digest(report, findings_sha256, err) < 0)
		return -1;
	clock_format(clock_seconds(), now);
	clock_format(clock_seconds() + PLAN_TTL_S, end);
	seal = seal_terms(plan, run, outcome);
	seal = json_set_str(take_jv(&seal), "plan_sha256", plan_sha256);
	seal = json_set_str(take_jv(&seal), "tree_sha256", plan->tree.fd >= 0 ? plan->tree.sha256 : "");
	seal = json_set_str(take_jv(&seal), "lock_sha256", lock_sha256);
	enum plan_format format = plan_format_of_run(run);
	seal = json_set_str(take_jv(&seal), "format", plan_format_name(format));
	seal = json_set(take_jv(&seal), format == PLAN_FORMAT_TERRAFORM ? "terraform" : "judge", judged_by(run, plan->programs, outcome->analysis));
	seal = json_set(take_jv(&seal), "programs", jv_copy(plan->programs));
	seal = json_set(take_jv(&seal), "mounts", jv_copy(plan->mounts));
	seal = json_set(take_jv(&seal), "providers",
			jv_is_valid(plan->providers) ? jv_copy(plan->providers) : jv_array());
	if (plan->fetched->key[0] != '\0')
		seal = json_set_str(take_jv(&seal), "fetched", plan->fetched->key);
	if (plan->fetched->modules_sha256[0] != '\0')
		seal = json_set_str(take_jv(&seal), "modules_sha256", plan->fetched->modules_sha256);
	seal = add_judgement(take_jv(&seal), plan, outcome->analysis);
	seal = json_set_str(take_jv(&seal), "findings_sha256", findings_sha256);
	seal = json_set_int(take_jv(&seal), "findings", total);
	seal = json_set_str(json_set_str(take_jv(&seal), "created_at", now), "expires_at", end);
	if (plan_keep(state, key, seal, outcome->plan_fd, plan->tree.fd, report, id, seal_sha256, err) < 0)
		return -1;
	jv made = json_set_str(json_set_str(jv_object(), "id", id), "seal_sha256", seal_sha256);
	*kept = json_set_str(json_set_str(made, "verdict", plan->verdict), "expires_at", end);
	return 0;
}
