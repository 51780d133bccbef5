/* A decision in words. Every value is shown as a JSON string, so that nothing in it can drive a terminal or look like a
 * heading. */
#include <string.h>

#include "json_out.h"
#include "policy_impl.h"
#include "tf_run.h"

static const int64_t ms_per_s = 1000;

/* Where the text goes; the first error stays. */
struct page {
	struct buf *out;
	struct sbx_error *err;
};

static int heading(const struct page *p, const char *name)
{
	return buf_addf(p->out, p->err, "%-11s ", name);
}

static int text(const struct page *p, const char *words)
{
	return buf_add_str(p->out, words, p->err);
}

static int quoted(const struct page *p, const char *value)
{
	return json_out_string(p->out, value ? value : "", value ? strlen(value) : 0, p->err);
}

/* "heading  words\n" */
static int line(const struct page *p, const char *name, const char *words)
{
	return heading(p, name) < 0 || text(p, words ? words : "none") < 0 || text(p, "\n") < 0 ? -1 : 0;
}

static int value_line(const struct page *p, const char *name, jv value)
{
	return heading(p, name) < 0 || json_write(value, p->out, p->err) < 0 || text(p, "\n") < 0 ? -1 : 0;
}

static int show_texts(const struct page *p, const char *name, jv texts)
{
	for (int i = 0, n = json_length(texts); i < n; i++) {
		auto_jv element = json_at(texts, i);
		if (line(p, i == 0 ? name : "", json_text(element)) < 0)
			return -1;
	}
	return 0;
}

static int show_workspace(const struct page *p, jv run)
{
	auto_jv workspace = json_object(run, "workspace"), state = json_object(workspace, "state");

	if (!jv_is_valid(workspace))
		return line(p, "workspace", NULL);
	if (heading(p, "workspace") < 0 || text(p, "a copy of ") < 0 || quoted(p, json_str(workspace, "tree")) < 0 ||
	    text(p, " of workspace ") < 0 || quoted(p, json_str(workspace, "name")) < 0 || text(p, ", runs in ") < 0 ||
	    quoted(p, json_str(workspace, "cwd")) < 0 || text(p, "\n") < 0)
		return -1;
	if (!jv_is_valid(state))
		return line(p, "state", NULL);
	return heading(p, "state") < 0 || text(p, json_str(state, "access")) < 0 || text(p, " ") < 0 ||
			       quoted(p, json_str(state, "path")) < 0 || text(p, "\n") < 0
		       ? -1
		       : 0;
}

static const char *check_words(jv step)
{
	if (json_bool(step, "check") != 1)
		return "";
	return tf_run_unlocks(step) ? " (a check: takes away a lock that a dead call left, and no other)"
				    : " (a check: nothing begins unless it ends with 0)";
}

static int show_steps(const struct page *p, jv run)
{
	auto_jv steps = json_array(run, "steps"), produces = json_array(run, "produces"), show = json_object(run, "show");

	for (int i = 0, n = json_length(steps); i < n; i++) {
		auto_jv step = json_at(steps, i), argv = json_array(step, "argv");
		if (buf_addf(p->out, p->err, "step %-6d ", i + 1) < 0 || json_write(argv, p->out, p->err) < 0 ||
		    text(p, json_has(step, "analyse") ? " (output is analysed, never shown)" : "") < 0 ||
		    text(p, check_words(step)) < 0 ||
		    text(p, json_has(step, "seals") ? " (output is the state, sealed and never shown)" : "") < 0 ||
		    (json_has(step, "keeps") && (text(p, " (keeps the ") < 0 || text(p, json_str(step, "keeps")) < 0 ||
						 text(p, " that it fetches)") < 0)) ||
		    text(p, json_bool(step, "credentials") == 1 ? " (with credentials)\n" : "\n") < 0)
			return -1;
	}
	for (int i = 0, n = json_length(produces); i < n; i++) {
		auto_jv made = json_at(produces, i);
		int64_t number = 0;
		json_int(made, "step", &number);
		if (heading(p, "artifact") < 0 || quoted(p, json_str(made, "name")) < 0 || text(p, " is ") < 0 ||
		    quoted(p, json_str(made, "path")) < 0 ||
		    buf_addf(p->out, p->err, ", taken after step %lld", (long long)number) < 0)
			return -1;
		const char *media = json_str(show, json_str(made, "name"));
		if ((media != NULL && (text(p, ", shown to the client as ") < 0 || text(p, media) < 0)) ||
		    text(p, "\n") < 0)
			return -1;
	}
	return 0;
}

static int show_programs(const struct page *p, jv run)
{
	auto_jv programs = json_object(run, "programs"), names = jv_keys(jv_copy(programs)),
		env = json_object(run, "env");

	for (int i = 0, n = json_length(names); i < n; i++) {
		auto_jv name = json_at(names, i), program = json_object(programs, json_text(name)),
			mounts = json_array(program, "mounts");
		if (heading(p, "program") < 0 || text(p, json_text(name)) < 0 || text(p, " is ") < 0 ||
		    quoted(p, json_str(program, "path")) < 0 || text(p, ", sees ") < 0 ||
		    json_write(mounts, p->out, p->err) < 0 || text(p, "\n") < 0)
			return -1;
	}
	return value_line(p, "environment", env);
}

static int show_rights(const struct page *p, jv credential)
{
	auto_jv permissions = json_get(credential, "permissions");
	const char *namespace = json_str(credential, "namespace");

	if (namespace != NULL && (heading(p, "  namespace") < 0 || quoted(p, namespace) < 0 || text(p, "\n") < 0))
		return -1;
	return jv_is_valid(permissions) ? value_line(p, "  may", permissions) : 0;
}

static int show_credentials(const struct page *p, jv credentials)
{
	int n = json_length(credentials);

	for (int i = 0; i < n; i++) {
		auto_jv credential = json_at(credentials, i);
		int64_t lifetime = 0;
		json_int(credential, "lifetime_s", &lifetime);
		if (heading(p, "credential") < 0 || text(p, json_str(credential, "scope")) < 0 || text(p, " as ") < 0 ||
		    text(p, json_str(credential, "as")) < 0 || text(p, " from ") < 0 ||
		    text(p, json_str(credential, "provider")) < 0 || text(p, ", named by ") < 0 ||
		    text(p, json_str(credential, "env")) < 0 ||
		    buf_addf(p->out, p->err, ", for %lld s\n", (long long)lifetime) < 0 ||
		    show_rights(p, credential) < 0)
			return -1;
	}
	return n > 0 ? 0 : line(p, "credential", NULL);
}

static int show_limits(const struct page *p, jv run)
{
	auto_jv limits = json_object(run, "limits"), egress = json_array(run, "egress");
	int64_t deadline = 0, grace = 0, memory = 0, pids = 0, output = 0, connections = 0, traffic = 0;

	json_int(limits, "deadline_ms", &deadline);
	json_int(limits, "grace_ms", &grace);
	json_int(limits, "memory", &memory);
	json_int(limits, "pids", &pids);
	json_int(limits, "output", &output);
	if (buf_addf(p->out, p->err,
		     "%-11s %lld s and %lld s to stop, %lld MiB of memory, %lld processes, %lld KiB of output\n",
		     "limits", (long long)(deadline / ms_per_s), (long long)(grace / ms_per_s),
		     (long long)(memory >> 20), (long long)pids, (long long)(output >> 10)) < 0)
		return -1;
	if (line(p, "isolation", json_str(run, "require")) < 0)
		return -1;
	if (json_length(egress) == 0)
		return line(p, "network", NULL);
	if (value_line(p, "network", egress) < 0)
		return -1;
	if (json_int(limits, "connections", &connections) < 0 || json_int(limits, "traffic", &traffic) < 0)
		return 0;
	return buf_addf(p->out, p->err, "%-11s at most %lld connections and %lld KiB\n", "", (long long)connections,
			(long long)(traffic >> 10));
}

static int show_run(const struct page *p, const struct policy_answer *answer)
{
	auto_jv run = json_object(answer->policy, "run"), credentials = json_array(answer->policy, "credentials");

	if (!jv_is_valid(run))
		return 0;
	if (line(p, "driver", json_str(run, "driver")) < 0 || show_workspace(p, run) < 0 || show_steps(p, run) < 0 ||
	    show_programs(p, run) < 0 || show_credentials(p, credentials) < 0 || show_limits(p, run) < 0)
		return -1;
	return line(p, "subject", json_str(answer->policy, "subject_sha256"));
}

int policy_explain(const struct policy_question *question, const struct policy_answer *answer, struct buf *out,
		   struct sbx_error *err)
{
	const struct page p = {.out = out, .err = err};
	auto_jv reasons = json_array(answer->policy, "reasons");
	const char *tier = json_str(answer->policy, "tier");

	if (heading(&p, "tool") < 0 || quoted(&p, question->tool) < 0 || text(&p, "\n") < 0 ||
	    line(&p, "decision", json_str(answer->policy, "effect")) < 0 ||
	    (tier != NULL && line(&p, "tier", tier) < 0) || heading(&p, "rule") < 0 ||
	    quoted(&p, json_str(answer->policy, "rule")) < 0 || text(&p, "\n") < 0 ||
	    show_texts(&p, "because", reasons) < 0)
		return -1;
	if (answer->denial.class == SBX_OK && value_line(&p, "parameters", answer->params) < 0)
		return -1;
	return show_run(&p, answer);
}
