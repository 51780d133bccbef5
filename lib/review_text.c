/* The review text, line by line. */
#include "review_text.h"

#include <string.h>

#include "call.h"
#include "review_writer.h"

/* Changes without a finding that are named: about a screen. */
static const int safe_max = 20;

static void put_head(struct writer *w, const struct review *review, const struct review_terms *terms, jv run)
{
	if (review->level == REVIEW_LEVEL_0)
		writer_put(w, "L0: this approval can be made by the agent's own account\n");
	writer_put(w, "Installation ");
	writer_put(w, review->installation);
	writer_put(w, ", target ");
	writer_member(w, run, "target");
	writer_put(w, ", isolation ");
	writer_member(w, run, "require");
	writer_put(w, " by driver ");
	writer_member(w, run, "driver");
	writer_put(w, "\nRequest ");
	writer_number(w, terms->number);
	writer_put(w, ", id ");
	writer_put(w, terms->id);
	writer_put(w, "\nAsked at ");
	writer_time(w, terms->created);
	writer_put(w, ", can be signed and used until ");
	writer_time(w, terms->expires);
	writer_put(w, "\n");
}

/* Who has signed already stands elsewhere: every person signs the same bytes. */
static void put_needed(struct writer *w, jv policy)
{
	auto_jv terms = json_object(policy, "approval");
	int64_t people = 0;

	json_int(terms, "threshold", &people);
	writer_put(w, "Needs the signatures of ");
	writer_number(w, people);
	writer_put(w, people == 1 ? " person" : " people");
	if (json_bool(terms, "user_verification") == 1)
		writer_put(w, people == 1 ? ", by a security key that checks who touches it"
					  : ", each by a security key that checks who touches it");
	writer_put(w, "\n");
}

static void put_who(struct writer *w, const struct review *review, const struct review_terms *terms, jv policy)
{
	const char *principal = call_principal(review->call), *tool = call_tool(review->call);

	writer_put(w, "\nAsked by principal ");
	writer_quote(w, principal != NULL ? principal : "");
	writer_put(w, "; its client calls itself ");
	if (terms->client != NULL)
		writer_quote(w, terms->client);
	writer_put(w, terms->client != NULL ? " (a claim, not checked)\n" : "nothing\n");
	writer_put(w, "Asks for tool ");
	writer_quote(w, tool != NULL ? tool : "");
	writer_put(w, ", tier ");
	writer_member(w, policy, "tier");
	writer_put(w, " by rule ");
	writer_member(w, policy, "rule");
	writer_put(w, "\n");
	put_needed(w, policy);
	auto_jv call = json_object(review->call, "call");
	auto_jv params = json_object(call, "params");
	writer_members(w, params, "  parameter ");
}

static void put_argv(struct writer *w, jv argv)
{
	for (int i = 0; i < json_length(argv); i++) {
		auto_jv slot = json_at(argv, i);
		writer_put(w, " ");
		if (jv_get_kind(slot) == JV_KIND_OBJECT && json_has(slot, "artifact")) {
			writer_put(w, "artifact ");
			writer_member(w, slot, "artifact");
		} else {
			writer_value(w, slot);
		}
	}
}

static void put_steps(struct writer *w, jv run)
{
	auto_jv steps = json_array(run, "steps");

	writer_put(w, "\nRuns in the sandbox\n");
	for (int i = 0; i < json_length(steps); i++) {
		auto_jv step = json_at(steps, i);
		auto_jv argv = json_array(step, "argv");
		writer_put(w, "  step ");
		writer_number(w, i + 1);
		writer_put(w, ": program ");
		writer_member(w, step, "program");
		writer_put(w, json_bool(step, "credentials") == 1 ? " with credentials, arguments"
								  : " without credentials, arguments");
		put_argv(w, argv);
		writer_put(w, "\n");
	}
	if (json_length(steps) == 0)
		writer_put(w, "  no step\n");
}

static void put_credentials(struct writer *w, jv policy)
{
	auto_jv credentials = json_array(policy, "credentials");

	for (int i = 0; i < json_length(credentials); i++) {
		auto_jv one = json_at(credentials, i);
		auto_jv settings = json_get(one, "settings");
		writer_put(w, "  credential: scope ");
		writer_member(w, one, "scope");
		writer_put(w, " of provider ");
		writer_member(w, one, "provider");
		writer_put(w, " as ");
		writer_member(w, one, "as");
		writer_put(w, ", target ");
		writer_member(w, one, "target");
		writer_put(w, ", seconds ");
		writer_member(w, one, "lifetime_s");
		writer_put(w, ", settings ");
		writer_value(w, settings);
		writer_put(w, "\n");
	}
	if (json_length(credentials) == 0)
		writer_put(w, "  credential: none\n");
}

/* Where each program stands on the host, and what else it sees of it. */
static void put_programs(struct writer *w, jv run)
{
	auto_jv programs = json_object(run, "programs");
	auto_jv names = jv_is_valid(programs) ? jv_keys(jv_copy(programs)) : jv_array();

	for (int i = 0; i < json_length(names); i++) {
		auto_jv name = json_at(names, i);
		auto_jv program = jv_object_get(jv_copy(programs), jv_copy(name));
		auto_jv mounts = json_array(program, "mounts");
		writer_put(w, "  program ");
		writer_value(w, name);
		writer_put(w, " is ");
		writer_member(w, program, "path");
		writer_put(w, json_length(mounts) > 0 ? ", and sees " : "");
		writer_list(w, mounts, LIMIT_ARGV);
		writer_put(w, "\n");
	}
}

static void put_means(struct writer *w, jv run)
{
	auto_jv egress = json_array(run, "egress");
	auto_jv workspace = json_object(run, "workspace");
	auto_jv state = json_object(workspace, "state");
	auto_jv environment = json_object(run, "env");
	auto_jv limits = json_object(run, "limits");

	writer_put(w, "  network: ");
	writer_put(w, json_length(egress) == 0 ? "none" : "");
	writer_list(w, egress, LIMIT_ARGV);
	writer_put(w, "\n  workspace: ");
	if (jv_is_valid(workspace)) {
		writer_put(w, "root ");
		writer_member(w, workspace, "name");
		writer_put(w, ", tree ");
		writer_member(w, workspace, "tree");
		writer_put(w, ", directory ");
		writer_member(w, workspace, "cwd");
	} else {
		writer_put(w, "none");
	}
	writer_put(w, "\n  Terraform state: ");
	if (jv_is_valid(state)) {
		writer_member(w, state, "access");
		writer_put(w, " at ");
		writer_member(w, state, "path");
	} else {
		writer_put(w, "none");
	}
	writer_put(w, "\n");
	put_programs(w, run);
	writer_members(w, environment, "  environment ");
	writer_members(w, limits, "  limit ");
}

static void put_findings(struct writer *w, jv report)
{
	auto_jv findings = json_array(report, "findings");
	struct finding_sink sink = writer_sink(w);
	int64_t total = 0;

	json_int(report, "findings_total", &total);
	writer_put(w, "\nFindings: ");
	writer_number(w, total);
	writer_put(w, "\n");
	for (int i = 0, n = json_length(findings); i < n; i++) {
		auto_jv finding = json_at(findings, i);
		const char *rule = finding_rule_text(finding);
		writer_put(w, "  ");
		finding_say(&sink, finding);
		if (rule != NULL) {
			writer_put(w, "\n    in words: ");
			sink.quote(sink.to, rule, strlen(rule), FINDING_SENTENCE_MAX);
		}
		writer_put(w, "\n");
	}
}

static void put_safe(struct writer *w, jv report)
{
	auto_jv safe = json_array(report, "safe");
	struct finding_sink sink = writer_sink(w);
	int64_t total = 0, shown = 0;

	json_int(report, "safe_total", &total);
	writer_put(w, "Changes without a finding: ");
	writer_number(w, total);
	writer_put(w, "\n");
	for (int i = 0, n = json_length(safe); i < n && shown < safe_max; i++, shown++) {
		auto_jv change = json_at(safe, i);
		writer_put(w, "  ");
		finding_say_safe(&sink, change);
		writer_put(w, "\n");
	}
	if (total > shown) {
		writer_put(w, "  and ");
		writer_number(w, total - shown);
		writer_put(w, " more\n");
	}
}

/* What is lost first, then why. */
static void put_changes(struct writer *w, jv report)
{
	auto_jv counts = json_object(report, "counts");
	struct finding_sink sink = writer_sink(w);
	int64_t destroyed = 0;

	if (json_int(report, "data_destroyed", &destroyed) == 0 && destroyed > 0) {
		writer_put(w, "\nData is lost: ");
		finding_say_data(&sink, destroyed);
	}
	writer_put(w, "\nThe plan's changes: ");
	finding_say_counts(&sink, counts);
	put_findings(w, report);
	put_safe(w, report);
}

static void put_plan(struct writer *w, const struct review *review, jv policy)
{
	auto_jv named = json_object(policy, "plan");
	auto_jv state = json_object(review->seal, "state");
	auto_jv terraform = json_object(review->seal, "terraform");
	const char *lineage = json_str(state, "lineage");

	writer_put(w, "\nApplies plan ");
	writer_member(w, named, "id");
	writer_put(w, ", verdict ");
	writer_member(w, named, "verdict");
	writer_put(w, ", made at ");
	writer_member(w, review->seal, "created_at");
	writer_put(w, " with ");
	writer_member(w, terraform, "program");
	writer_put(w, " version ");
	writer_member(w, terraform, "version");
	if (lineage != NULL && lineage[0] != '\0') {
		writer_put(w, "\n  against state lineage ");
		writer_quote(w, lineage);
		writer_put(w, " serial ");
		writer_member(w, state, "serial");
	} else {
		writer_put(w, "\n  against no state: there is none yet");
	}
	put_changes(w, review->report);
}

static void put_unseen(struct writer *w, const struct review *review, jv run)
{
	auto_jv workspace = json_object(run, "workspace");
	auto_jv findings = json_array(review->report, "findings");
	int64_t total = 0;

	json_int(review->report, "findings_total", &total);
	writer_put(w, "\nNot inspected\n");
	if (total > json_length(findings)) {
		writer_put(w, "  findings that do not stand above: ");
		writer_number(w, total - json_length(findings));
		writer_put(w, "\n");
	}
	if (jv_is_valid(review->seal)) {
		writer_put(w, "  values that no rule asks for, and what provisioners and other programs that "
			      "the plan starts will do\n");
		return;
	}
	writer_put(w, "  what the tool will change: it has no plan that could be read before it runs\n");
	if (jv_is_valid(workspace))
		writer_put(w, "  the files of the workspace: they are taken as they are when the tool runs\n");
}

static void put_digest(struct writer *w, const char *name, jv object, const char *key)
{
	const char *value = json_str(object, key);

	if (value == NULL || value[0] == '\0')
		return;
	writer_put(w, "  ");
	writer_put(w, name);
	writer_put(w, " ");
	writer_quote(w, value);
	writer_put(w, "\n");
}

static void put_digests(struct writer *w, const struct review *review, const struct review_terms *terms, jv policy)
{
	auto_jv named = json_object(policy, "plan");

	writer_put(w, "\nDigests (SHA-256)\n");
	put_digest(w, "subject  ", policy, "subject_sha256");
	put_digest(w, "decision ", policy, "decision_sha256");
	put_digest(w, "plan seal", named, "seal_sha256");
	put_digest(w, "plan file", review->seal, "plan_sha256");
	put_digest(w, "tree     ", review->seal, "tree_sha256");
	put_digest(w, "lock file", review->seal, "lock_sha256");
	put_digest(w, "findings ", review->seal, "findings_sha256");
	auto_jv digest = json_object(review->seal, "digest");
	put_digest(w, "effect   ", digest, "effect");
	writer_put(w, "  record    ");
	writer_put(w, terms->head);
	writer_put(w, "\nNonce ");
	writer_put(w, terms->nonce);
	writer_put(w, "\nA signature under this text lets exactly this call run, once.\n");
}

int review_text(const struct review *review, const struct review_terms *terms, struct buf *out, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(LIMIT_REVIEW_TEXT);
	struct sbx_error inner = SBX_ERROR_INIT;
	struct writer w = {&text, &inner, 0};
	auto_jv policy = json_object(review->call, "policy");
	auto_jv run = json_object(policy, "run");

	put_head(&w, review, terms, run);
	put_who(&w, review, terms, policy);
	if (jv_is_valid(review->seal))
		put_plan(&w, review, policy);
	put_unseen(&w, review, run);
	put_steps(&w, run);
	put_credentials(&w, policy);
	put_means(&w, run);
	put_digests(&w, review, terms, policy);
	if (!w.failed)
		return buf_add(out, buf_str(&text), text.len, err);
	if (strcmp(inner.code, "too_large") == 0) {
		sbx_fail(err, SBX_DENIED, "review_too_large", "the review text would have more than %zu bytes",
			 LIMIT_REVIEW_TEXT);
		return sbx_hint(err, "make a plan with fewer changes at once");
	}
	*err = inner;
	return -1;
}
