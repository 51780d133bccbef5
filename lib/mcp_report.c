/* A call's outcome in words. */
#include "mcp_report.h"

#include <string.h>

#include "finding.h"

/* Lines for a reader with a context window; the data holds all of them. */
static const int findings_shown = 60, safe_shown = 20, differences_shown = 40, reasons_shown = 20;
/* A sentence of a stage, and a name that someone else chose. */
static const size_t sentence_max = 800, name_max = 200;

static const char *or_unknown(const char *text)
{
	return text ? text : "unknown";
}

static const struct {
	const char *name;
	const char *sentence; /* behind the tool's name */
} states[] = {
	[MCP_COMPLETED] = {"completed", "completed"},
	[MCP_FAILED] = {"failed", "ran and failed"},
	[MCP_TIMEOUT] = {"timeout", "was stopped at its time limit"},
	[MCP_CANCELLED] = {"cancelled", "was cancelled while it ran"},
	[MCP_REFUSED] = {"refused", "was refused before its first step: nothing ran"},
	[MCP_UNKNOWN] = {"unknown",
			 "has an unknown outcome: it may have changed something, so look before you repeat it"},
	[MCP_APPROVAL] = {"approval_required", "was not run: a person must approve it first"},
	[MCP_DENIED] = {"denied", "was not run: denied"},
	[MCP_NOT_RUN] = {"not_run", "was not run"},
};

enum mcp_state mcp_report_state(jv result, jv error)
{
	const char *word = json_str(result, "state"), *code = json_str(error, "code");
	int64_t class = 0;

	for (enum mcp_state s = MCP_COMPLETED; word != NULL && s <= MCP_UNKNOWN; s++)
		if (strcmp(states[s].name, word) == 0)
			return s;
	if (word != NULL || !jv_is_valid(error))
		return MCP_UNKNOWN;
	json_int(error, "class", &class);
	if (class == SBX_OUTCOME_UNKNOWN)
		return MCP_UNKNOWN;
	if (class == SBX_APPROVAL_REQUIRED || (code != NULL && strcmp(code, "approval_required") == 0))
		return MCP_APPROVAL;
	return class == SBX_DENIED ? MCP_DENIED : MCP_NOT_RUN;
}

const char *mcp_report_state_name(enum mcp_state state)
{
	return states[state].name;
}

static void say_headline(struct words *w, const char *tool, enum mcp_state state, jv result)
{
	int64_t number;

	words_quote(w, tool, name_max);
	words_say(w, " %s", states[state].sentence);
	if (json_int(result, "exit", &number) == 0)
		words_say(w, ", exit %lld", (long long)number);
	if (json_int(result, "signal", &number) == 0)
		words_say(w, ", ended by signal %lld", (long long)number);
	if (json_int(result, "took_ms", &number) == 0)
		words_say(w, ", in %lld.%03lld s", (long long)(number / 1000), (long long)(number % 1000));
	words_say(w, ".\n");
}

static void say_error(struct words *w, jv error)
{
	words_say(w, "Reason: ");
	words_line(w, or_unknown(json_str(error, "message")), sentence_max);
	words_say(w, " (");
	words_line(w, or_unknown(json_str(error, "code")), name_max);
	words_say(w, ", stage ");
	words_line(w, or_unknown(json_str(error, "stage")), name_max);
	words_say(w, ")\n");
	if (json_str(error, "hint") != NULL) {
		words_say(w, "What to do: ");
		words_line(w, json_str(error, "hint"), sentence_max);
		words_say(w, "\n");
	}
}

/* Why it failed, as far as the stage that ran it knows. */
static void say_failure(struct words *w, jv result)
{
	const char *code = json_str(result, "code"), *hint = json_str(result, "hint");

	if (code == NULL)
		return;
	words_say(w, "Reason: ");
	words_line(w, hint != NULL ? hint : "", sentence_max);
	words_say(w, " (");
	words_line(w, code, name_max);
	words_say(w, ")\n");
}

static void say_list(struct words *w, jv list, const char *between, int max)
{
	int n = json_length(list), shown = n < max ? n : max;

	for (int i = 0; i < shown; i++) {
		auto_jv item = json_at(list, i);
		words_say(w, "%s", i > 0 ? between : "");
		words_line(w, json_text(item), sentence_max);
	}
	if (n > shown)
		words_say(w, "%s%d more", between, n - shown);
}

/* The reasons that the error has not said already. */
static void say_reasons(struct words *w, jv reasons, jv error)
{
	const char *message = json_str(error, "message"), *hint = json_str(error, "hint");
	int said = 0;

	for (int i = 0; i < json_length(reasons) && said < reasons_shown; i++) {
		auto_jv reason = json_at(reasons, i);
		const char *text = json_text(reason);
		if (text == NULL || (message && strcmp(text, message) == 0) || (hint && strcmp(text, hint) == 0))
			continue;
		words_say(w, "%s", said++ == 0 ? "Why: " : "     ");
		words_line(w, text, sentence_max);
		words_say(w, "\n");
	}
}

static void say_policy(struct words *w, jv policy, jv error)
{
	const char *rule = json_str(policy, "rule"), *tier = json_str(policy, "tier");
	auto_jv from = json_array(policy, "tier_from"), reasons = json_array(policy, "reasons");

	if (rule != NULL) {
		words_say(w, "Rule: ");
		words_line(w, rule, name_max);
		words_say(w, "%s", tier ? "; tier " : "");
		words_line(w, tier, name_max);
		words_say(w, "%s", json_length(from) > 0 ? ", because of " : "");
		say_list(w, from, ", ", reasons_shown);
		words_say(w, "\n");
	}
	say_reasons(w, reasons, error);
}

static void sink_say(void *to, const char *text)
{
	words_say(to, "%s", text);
}

static void sink_quote(void *to, const char *bytes, size_t len, size_t max)
{
	words_quote_bytes(to, bytes, len, max);
}

static void say_finding(struct words *w, const struct finding_sink *sink, jv finding)
{
	const char *rule = finding_rule_text(finding);

	words_say(w, "- ");
	finding_say(sink, finding);
	if (rule != NULL) {
		words_say(w, "\n  in words: ");
		words_quote(w, rule, FINDING_SENTENCE_MAX);
	}
	words_say(w, "\n");
}

static void say_findings(struct words *w, const struct finding_sink *sink, jv result)
{
	auto_jv findings = json_array(result, "findings");
	int64_t total = json_length(findings);
	int shown = json_length(findings) < findings_shown ? json_length(findings) : findings_shown;

	json_int(result, "findings_total", &total);
	words_say(w, "Verdict of the plan: ");
	words_line(w, json_str(result, "verdict"), name_max);
	words_say(w, "; %lld finding%s%s\n", (long long)total, total == 1 ? "" : "s",
		  total > 0 ? ", the strongest first:" : ".");
	for (int i = 0; i < shown; i++) {
		auto_jv finding = json_at(findings, i);
		say_finding(w, sink, finding);
	}
	if (total > shown)
		words_say(w, "- and %lld more that are not shown\n", (long long)total - shown);
}

/* What has no finding, after what has one. */
static void say_safe(struct words *w, const struct finding_sink *sink, jv result)
{
	auto_jv safe = json_array(result, "safe");
	int64_t total = json_length(safe);
	int shown = json_length(safe) < safe_shown ? json_length(safe) : safe_shown;

	json_int(result, "safe_total", &total);
	if (total <= 0)
		return;
	words_say(w, "Changes without a finding: %lld\n", (long long)total);
	for (int i = 0; i < shown; i++) {
		auto_jv change = json_at(safe, i);
		words_say(w, "- ");
		finding_say_safe(sink, change);
		words_say(w, "\n");
	}
	if (total > shown)
		words_say(w, "- and %lld more\n", (long long)total - shown);
}

/* What a change to a cluster makes of each value. */
static void say_differences(struct words *w, const struct finding_sink *sink, jv result)
{
	auto_jv differences = json_array(result, "differences");
	int64_t total = json_length(differences);
	int shown = total < differences_shown ? (int)total : differences_shown;

	json_int(result, "differences_total", &total);
	if (total <= 0)
		return;
	words_say(w, "Values that become others: %lld\n", (long long)total);
	for (int i = 0; i < shown; i++) {
		auto_jv difference = json_at(differences, i);
		words_say(w, "- ");
		finding_say_difference(sink, difference);
		words_say(w, "\n");
	}
	if (total > shown)
		words_say(w, "- and %lld more\n", (long long)total - shown);
}

static void say_judgement(struct words *w, jv result)
{
	const struct finding_sink sink = {.to = w, .say = sink_say, .quote = sink_quote};
	auto_jv findings = json_array(result, "findings"), counts = json_object(result, "counts");
	int64_t destroyed = 0;

	if (!jv_is_valid(findings) || json_str(result, "verdict") == NULL)
		return;
	say_findings(w, &sink, result);
	if (json_int(result, "data_destroyed", &destroyed) == 0 && destroyed > 0) {
		words_say(w, "Data is lost: ");
		finding_say_data(&sink, destroyed);
		words_say(w, "\n");
	}
	if (jv_is_valid(counts)) {
		words_say(w, "The plan's changes: ");
		finding_say_counts(&sink, counts);
		words_say(w, "\n");
	}
	say_safe(w, &sink, result);
	say_differences(w, &sink, result);
}

static void say_plan(struct words *w, jv result)
{
	auto_jv plan = json_object(result, "plan");
	const char *id = json_str(plan, "id"), *until = json_str(plan, "expires_at");

	if (id == NULL)
		return;
	words_say(w, "Plan ");
	words_line(w, id, name_max);
	words_say(w, " is sealed%s", until ? " and can be applied until " : "");
	words_line(w, until, name_max);
	words_say(w, ". A tool that takes a plan (such as terraform_apply) runs exactly this one: {\"plan\": ");
	words_quote(w, id, name_max);
	words_say(w, "}\n");
}

static void say_approval(struct words *w, enum mcp_state state, jv approval, jv error)
{
	const char *id = json_str(approval, "id"), *hint = json_str(error, "hint");
	auto_jv signers = json_array(approval, "signers");
	int64_t needed = 0;

	if (state == MCP_APPROVAL) {
		if (id != NULL) {
			words_say(w, "Approval ");
			words_line(w, id, name_max);
			if (json_int(approval, "needed", &needed) == 0 && needed > 1)
				words_say(w,
					  " is waiting: %d of the %lld people who must sign have "
					  "signed.",
					  json_length(signers), (long long)needed);
			else
				words_say(w, " is waiting.");
		}
		/* The hint names the command where the stage knows more (another settings file, a desk). */
		if (id != NULL &&
		    (hint == NULL || strstr(hint, "sbx-approve") == NULL || strstr(hint, " sign ") == NULL)) {
			words_say(w, " A person types: sbx-approve sign ");
			words_line(w, id, name_max);
		}
		words_say(w, "\nTell the person. Do not retry before it is approved; then make exactly the same call "
			     "again: it continues "
			     "this request. Nothing else approves it.\n");
	} else if (json_length(signers) > 0) {
		words_say(w, "Approval ");
		words_line(w, or_unknown(id), name_max);
		words_say(w, ", signed by ");
		say_list(w, signers, ", ", reasons_shown);
		words_say(w, "; it is spent.\n");
	}
}

static void say_end(struct words *w, jv call, jv result)
{
	auto_jv isolation = json_object(result, "isolation");
	const char *kind = json_str(isolation, "isolation"), *id = json_str(call, "id"),
		   *head = json_str(result, "record_head");
	const char *state_file = json_str(result, "state_file");

	if (state_file != NULL && strcmp(state_file, "kept_beside") == 0)
		words_say(w, "The state file that the command left was not taken: it is kept beside the state, for a "
			     "person to look at.\n");
	if (state_file != NULL && strcmp(state_file, "not_taken") == 0)
		words_say(w, "The state file that the command left could not be taken back yet: it waits in the call's "
			     "directory, and the next call that uses this state takes it.\n");
	if (kind != NULL) {
		words_say(w, "Isolation: ");
		words_line(w, kind, name_max);
		words_say(w, "\n");
	}
	if (id != NULL) {
		words_say(w, "Call ");
		words_line(w, id, name_max);
		words_say(w, "%s", head ? ", record head " : "");
		words_line(w, head, name_max);
		words_say(w, "\n");
	}
}

/* What the command printed, between marks that it cannot have guessed. */
static void show_output(struct words *w, jv result, const char *key, const char *fence)
{
	auto_jv text = json_get(result, key);

	size_t len = jv_get_kind(text) == JV_KIND_STRING ? (size_t)jv_string_length_bytes(jv_copy(text)) : 0;
	if (len == 0)
		return;
	const char *bytes = jv_string_value(text);
	words_say(w, "----- begin %s %s (untrusted output) -----\n", key, fence);
	words_show(w, bytes, len);
	words_say(w, "%s----- end %s %s -----\n", bytes[len - 1] == '\n' ? "" : "\n", key, fence);
}

void mcp_report(struct words *w, const char *tool, enum mcp_state state, jv call, int status)
{
	auto_jv result = json_object(call, "result"), error = json_object(call, "error"),
		policy = json_object(call, "policy");
	auto_jv approval = json_object(call, "approval"), inner = json_object(call, "call");

	say_headline(w, tool, state, result);
	if (jv_is_valid(error))
		say_error(w, error);
	else
		say_failure(w, result);
	if (state == MCP_COMPLETED && !jv_is_valid(error) && status != 0)
		words_say(w, "Yet the last stage ended with status %d: the outcome may not be on the record.\n",
			  status);
	if (state != MCP_COMPLETED && state != MCP_FAILED)
		say_policy(w, policy, error);
	say_approval(w, state, approval, error);
	say_judgement(w, result);
	say_plan(w, result);
	say_end(w, inner, result);
}

void mcp_report_output(struct words *w, jv result, const char *fence)
{
	if (json_bool(result, "truncated") == 1)
		words_say(w, "The output below is cut; the whole is kept with the call.\n");
	show_output(w, result, "stdout", fence);
	show_output(w, result, "stderr", fence);
}
