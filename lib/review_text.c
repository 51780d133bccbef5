/* The review text, line by line. */
#include "review_text.h"

#include <string.h>

#include "call.h"
#include "plan_format.h"
#include "review_changes.h"
#include "review_means.h"

/* Who has signed already stands elsewhere: every person signs the same bytes. */
static void put_needed(struct writer *w, jv policy)
{
	auto_jv terms = json_object(policy, "approval");
	int64_t people = 0;

	json_int(terms, "threshold", &people);
	writer_put(w, REVIEW_NEEDS);
	writer_number(w, people);
	writer_put(w, people == 1 ? " person" : " people");
	if (json_bool(terms, "user_verification") == 1)
		writer_put(w, people == 1 ? ", " REVIEW_VERIFIED : ", each " REVIEW_VERIFIED);
	writer_put(w, "\n");
}

static void put_head(struct writer *w, const struct review *review, const struct review_terms *terms, jv policy)
{
	auto_jv run = json_object(policy, "run");

	if (review->level == REVIEW_LEVEL_0)
		writer_put(w, REVIEW_LEVEL_0_LINE);
	writer_put(w, REVIEW_INSTALLATION);
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
	writer_put(w, ", nonce ");
	writer_put(w, terms->nonce);
	writer_put(w, "\n" REVIEW_ASKED);
	writer_time(w, terms->created);
	writer_put(w, REVIEW_UNTIL);
	writer_time(w, terms->expires);
	writer_put(w, "\n");
	put_needed(w, policy);
}

static void put_who(struct writer *w, const struct review *review, const struct review_terms *terms, jv policy)
{
	const char *principal = call_principal(review->call), *tool = call_tool(review->call);

	writer_put(w, "Asked by principal ");
	writer_quote(w, principal != NULL ? principal : "");
	writer_put(w, "; the program calls itself ");
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
	auto_jv call = json_object(review->call, "call");
	auto_jv params = json_object(call, "params");
	writer_members(w, params, "  parameter ");
}

/* What terraform loads beside itself when it runs the plan: each can do what the credential can. */
static void put_providers(struct writer *w, jv seal)
{
	auto_jv providers = json_array(seal, "providers");

	for (int i = 0; i < json_length(providers); i++) {
		auto_jv provider = json_at(providers, i);
		writer_put(w, "\n  provider ");
		writer_member(w, provider, "source");
		writer_put(w, " version ");
		writer_member(w, provider, "version");
		writer_put(w, ", package ");
		writer_member(w, provider, "package");
	}
	if (json_length(providers) == 0)
		writer_put(w, "\n  provider: none but what is built in");
}

static void put_backend(struct writer *w, jv seal)
{
	auto_jv backend = json_object(seal, "backend");

	writer_put(w, "\n  backend ");
	writer_member(w, backend, "type");
	writer_put(w, ", Terraform workspace ");
	writer_member(w, backend, "workspace");
}

/* The program whose words about the plan were believed. */
static jv judge_of(jv seal)
{
	return json_object(seal, plan_format_of(seal) == PLAN_FORMAT_TERRAFORM ? "terraform" : "judge");
}

/* What the plan was made with and against. */
static void put_terraform(struct writer *w, const struct review *review)
{
	auto_jv state = json_object(review->seal, "state");
	auto_jv terraform = judge_of(review->seal);
	const char *lineage = json_str(state, "lineage");

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
	put_backend(w, review->seal);
	put_providers(w, review->seal);
}

/* The call that runs a change names the plan alone; what was asked for stands in the seal. */
static void put_kubernetes(struct writer *w, const struct review *review)
{
	auto_jv params = json_object(review->seal, "params");
	auto_jv names = jv_is_valid(params) ? jv_keys(jv_copy(params)) : jv_array();

	writer_put(w, "\n  a change to the cluster of target ");
	writer_member(w, review->seal, "target");
	writer_put(w, ", as its API server previewed it; objects that changed since are not touched\n  asked for with tool ");
	writer_member(w, review->seal, "tool");
	for (int i = 0, n = json_length(names); i < n; i++) {
		auto_jv name = json_at(names, i);
		writer_put(w, i == 0 ? ": " : ", ");
		writer_value(w, name);
		writer_put(w, " is ");
		writer_member(w, params, json_text(name));
	}
}

static void put_plan(struct writer *w, const struct review *review, jv policy)
{
	auto_jv named = json_object(policy, "plan"), judge = judge_of(review->seal);

	writer_put(w, REVIEW_PLAN_HEADING);
	writer_member(w, named, "id");
	writer_put(w, ", verdict ");
	writer_member(w, named, "verdict");
	writer_put(w, ", made at ");
	writer_member(w, review->seal, "created_at");
	writer_put(w, " with ");
	writer_member(w, judge, "program");
	if (plan_format_of(review->seal) == PLAN_FORMAT_TERRAFORM)
		put_terraform(w, review);
	else
		put_kubernetes(w, review);
	review_put_changes(w, review->report);
}

static void put_unseen(struct writer *w, const struct review *review, jv run)
{
	auto_jv workspace = json_object(run, "workspace");

	writer_put(w, jv_is_valid(review->seal) ? "Not inspected\n" : "\nNot inspected\n");
	if (jv_is_valid(review->seal)) {
		review_put_uninspected(w, review->report);
		writer_put(w, plan_format_of(review->seal) == PLAN_FORMAT_TERRAFORM
				      ? "  values that no rule asks for, and what provisioners and other programs that "
					"the plan starts will do\n"
				      : "  values that no rule asks for, and what controllers and admission webhooks of the "
					"cluster make of the change\n");
		return;
	}
	writer_put(w, "  what the tool will change: it has no plan that could be read before it runs\n");
	if (jv_is_valid(workspace))
		writer_put(w, "  the files of the workspace: they are taken as they are when the tool runs\n");
}

/* HEADING begins with two blanks. */
static void put_digest(struct writer *w, const char *heading, jv object, const char *key)
{
	const char *value = json_str(object, key);

	if (value == NULL || value[0] == '\0')
		return;
	writer_put(w, heading);
	writer_put(w, " ");
	writer_quote(w, value);
	writer_put(w, "\n");
}

static void put_digests(struct writer *w, const struct review *review, const struct review_terms *terms, jv policy)
{
	auto_jv named = json_object(policy, "plan");

	writer_put(w, "\nDigests (SHA-256)\n");
	put_digest(w, "  subject  ", policy, "subject_sha256");
	put_digest(w, "  decision ", policy, "decision_sha256");
	put_digest(w, "  plan seal", named, "seal_sha256");
	put_digest(w, REVIEW_PLAN_FILE, review->seal, "plan_sha256");
	put_digest(w, REVIEW_TREE, review->seal, "tree_sha256");
	put_digest(w, REVIEW_LOCK, review->seal, "lock_sha256");
	put_digest(w, REVIEW_MODULES, review->seal, "modules_sha256");
	auto_jv judge = judge_of(review->seal), backend = json_object(review->seal, "backend");
	put_digest(w, REVIEW_PROGRAM, judge, "sha256");
	put_digest(w, "  backend  ", backend, "config_sha256");
	put_digest(w, "  findings ", review->seal, "findings_sha256");
	auto_jv digest = json_object(review->seal, "digest");
	put_digest(w, "  effect   ", digest, "effect");
	writer_put(w, "  record    ");
	writer_put(w, terms->head);
	writer_put(w, "\n");
}

int review_text(const struct review *review, const struct review_terms *terms, struct buf *out, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(LIMIT_REVIEW_TEXT);
	struct sbx_error inner = SBX_ERROR_INIT;
	struct writer w = {&text, &inner, 0};
	auto_jv policy = json_object(review->call, "policy");
	auto_jv run = json_object(policy, "run");

	put_head(&w, review, terms, policy);
	put_who(&w, review, terms, policy);
	if (jv_is_valid(review->seal))
		put_plan(&w, review, policy);
	put_unseen(&w, review, run);
	review_put_means(&w, policy);
	put_digests(&w, review, terms, policy);
	if (jv_is_valid(review->seal))
		review_put_more(&w, review->report);
	writer_put(&w, "A signature under this text lets exactly this call run, once.\n");
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
